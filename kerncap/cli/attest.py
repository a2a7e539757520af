"""`kerncap attest`: attach where a bundle comes from, or what it came to, signed or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import note, print_json, say, set_verbosity
from kerncap.errors import UsageError, typed

if TYPE_CHECKING:
    from kerncap.bundle.referrers import Referrer
    from kerncap.cli.report import Page
    from kerncap.results import Verdict
    from kerncap.trust.keys import PrivateKey
    from kerncap.workflows.run_options import RunOptions

_MAX_VERDICT_BYTES = 16 << 20


def attest(
    bundle: options.AttachableBundle,
    verdict: Annotated[
        Path | None,
        typer.Option("--verdict", metavar="FILE", help="This verdict, as run --json printed it; default: provenance."),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option("--image", help="With --verdict: the runtime image that it was found in; its digest is recorded."),
    ] = None,
    key: options.SigningKeyOption = None,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Attach a statement about a bundle: its provenance (in-toto, SLSA v1), or a verdict."""
    from kerncap.cli.trusted import signing_key
    from kerncap.transport import open_any
    from kerncap.workflows import trust

    set_verbosity(verbose)
    if image is not None and verdict is None:
        raise UsageError("--image is of --verdict", code="usage.option-alone", hint="--verdict FILE --image NAME")
    opened = open_any(bundle, plain_http=plain_http)
    digest = trust.subject_of(opened).digest
    found = read_verdict(verdict) if verdict is not None else None
    private = signing_key(key)
    if found is None:
        done = trust.attach_provenance(opened, private)
    else:
        where = trust.runtime_image(image) if image is not None else None
        done = trust.attach_verdict(opened, found, where, private)
    kind = "provenance" if found is None else "verdict"
    if as_json:
        print_json(
            {
                "schema": "kerncap.attested/1",
                "bundle": bundle,
                "digest": digest,
                "kind": kind,
                "referrer": done.digest,
                "key": None if private is None else private.key_id,
            }
        )
    else:
        say(done.digest)
        _note(kind, digest, private)


def _note(kind: str, digest: str, key: PrivateKey | None) -> None:
    note(f"{kind} of {digest}, " + ("which nobody signed" if key is None else f"signed by {key.key_id}"))


def judge_and_attest(bundle: str, chosen: RunOptions, key: Path | None, page: Page, *, as_json: bool) -> int:
    """`run --attest`: what can go wrong with key and bundle goes wrong before anything runs."""
    from kerncap.cli.trusted import signing_key
    from kerncap.transport import open_any
    from kerncap.workflows import run as workflow
    from kerncap.workflows import trust
    from kerncap.workflows.image_of_run import chosen_image

    private = signing_key(key)
    opened = open_any(bundle, plain_http=chosen.plain_http)
    trust.require_attachable(opened)
    chosen = replace(chosen, image=chosen.image or chosen_image(opened, chosen.remark))
    image = trust.runtime_image(str(chosen.image))
    found = workflow.run(trust.pinned(bundle, trust.subject_of(opened).digest), chosen)
    trust.require_same_image(image)
    done: Referrer = trust.attach_verdict(opened, found, image, private)
    code = page.finish(found, as_json=as_json)
    note(f"attested: {done.digest}")
    _note("verdict", trust.subject_of(opened).digest, private)
    return code


def read_verdict(path: Path) -> Verdict:
    """What a command printed with --json. Raises: UsageError `usage.verdict`."""
    from kerncap.bundle.documents import parse_json, validate
    from kerncap.bundle.files import open_named
    from kerncap.errors import BundleError, ReplayError
    from kerncap.results import parse_verdict

    try:
        with open_named(path) as file:
            data = file.read(_MAX_VERDICT_BYTES + 1)
        document = parse_json(data, what=str(path), limit=_MAX_VERDICT_BYTES)
        validate(document, "verdict", what=str(path))
        return parse_verdict(document)
    except (OSError, BundleError, ReplayError) as error:
        text = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)
        hint = typed("kerncap", "run", "BUNDLE", "--json") + " > NEW.json"
        raise UsageError(f"{text}; a verdict is wanted", code="usage.verdict", hint=hint) from None


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "attest",
        attest,
        summary="Attach provenance or a verdict to a bundle.",
        example="kerncap attest localhost:5000/kernels/vector_add:v1 --key maintainer.pem\n"
        "kerncap attest oci:bundle --verdict verdict.json --image kerncap/runtime:trixie --key maintainer.pem",
    )
