"""What a command in a container reported as wrong, as an exception of here. In: an Outcome. Called by the workflows."""

from __future__ import annotations

import json
import re
import signal

from kerncap.errors import HostError, KerncapError, error_from_code
from kerncap.runtime.containers.job import BUNDLE_AT, BUNDLE_TAR_AT, Outcome

_KILLED = 128 + signal.SIGKILL


def raise_for_failure(outcome: Outcome, doing: str, bundle: str | None = None) -> None:
    """For callers that need the command's result: any exit code but 0 and 1 becomes the error that was reported."""
    if outcome.exit_code in (0, 1):
        return
    raise error_of(outcome, doing, bundle)


def _named_here(text: str, bundle: str | None) -> str:
    """Source: kerncap.workflows.recompile unpacks the source of a sealed bundle below /tmp."""
    text = re.sub(r"/tmp/kerncap-source-[^/\s]+/", "", text)
    if bundle is None:
        return text
    # With what chose one of several: the name here has that as well.
    chosen = r"(:\w[\w.-]*|@sha256:[0-9a-f]{64})?"
    inside = rf"(?<![\w/.])(oci:)?({re.escape(BUNDLE_TAR_AT)}|{BUNDLE_AT}{chosen})(?![\w.-])"
    return re.sub(inside, lambda _: bundle, text)


def error_of(outcome: Outcome, doing: str, bundle: str | None = None) -> KerncapError:
    """The `kerncap.error/1` document of the command's stdout as an exception, or what is known without it.

    `bundle` is what the bundle is called here: it stands in the error instead of its name inside.
    """
    try:
        document = json.loads(outcome.stdout)
        code, message, hint = document["code"], str(document["message"]), document.get("hint")
        if code == "usage.no-such-bundle" and f"{BUNDLE_AT}@" in message:
            text = "the Kerncap in this image is older than this one: it knows no bundle by its digest"
            return HostError(text, code="host.old-image", hint="kerncap image build")
        return error_from_code(code, _named_here(message, bundle), _named_here(str(hint), bundle) if hint else None)
    except (ValueError, KeyError, TypeError, AttributeError):
        if outcome.exit_code == _KILLED:
            return HostError(
                f"{doing} in the container was killed: it needed more than --memory, or somebody ended it",
                code="host.container-killed",
                hint="--memory BYTES  # more; without it 0.8 of this host's memory",
            )
        tail = outcome.stderr.decode("utf-8", "replace").strip().splitlines()[-15:]
        text = "\n".join(tail) or "it said nothing"
        return HostError(
            f"{doing} in the container failed with exit code {outcome.exit_code}:\n{text}", code="host.container"
        )
