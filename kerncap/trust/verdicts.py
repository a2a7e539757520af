"""A verdict about a bundle as something that can be signed: "reproduced on gfx942 with this runtime image".

In: a Verdict, the bundle that it is about, the image that it was judged in. Out: a predicate that obeys
`verdict-attestation.schema.json`; the same for a stranger's predicate. Called by the trust workflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerncap.bundle import Bundle
from kerncap.bundle.documents import check_schema_version, validate
from kerncap.errors import BundleError, TrustError, UsageError, typed
from kerncap.results import Verdict

_SCHEMA = "kerncap.verdict-attestation/1"


@dataclass(frozen=True)
class RuntimeImage:
    """What a verdict was found in. `image_id` is the digest of the image's config, `repository_digest` that of its
    manifest where it came from a registry."""

    name: str
    image_id: str
    repository_digest: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "imageId": self.image_id, "repositoryDigest": self.repository_digest}


def predicate_of_verdict(bundle: Bundle, verdict: Verdict, image: RuntimeImage | None, verifier: str) -> dict[str, Any]:
    """`verifier`: name and version of the Kerncap that attests.

    Raises: UsageError `usage.other-bundle` when the verdict is about another one.
    """
    if verdict.bundle != bundle.manifest_digest:
        raise UsageError(
            f"the verdict is about {verdict.bundle or 'a reproducer'}, {bundle.name} is {bundle.manifest_digest}",
            code="usage.other-bundle",
            hint=typed("kerncap", "run", bundle.name, "--attest"),
        )
    document = {
        "schema": _SCHEMA,
        "verdict": verdict.verdict,
        "passed": verdict.passed,
        "target": bundle.capture.code_object.target,
        "device": verdict.device,
        "product": verdict.product,
        "capturedOn": verdict.captured_on,
        "variant": verdict.hsaco,
        "judged": [judgement.name for judgement in verdict.judgements],
        "iterations": verdict.iterations,
        "tolerance": dict(verdict.tolerance) if verdict.tolerance else None,
        "bytesCompared": verdict.bytes_compared,
        "mismatchBytes": verdict.mismatch_bytes,
        "runtimeImage": None if image is None else image.to_json(),
        "verifier": verifier,
    }
    validate(document, "verdict-attestation", what="verdict attestation")
    return document


def check_predicate(predicate: Mapping[str, Any], *, what: str) -> None:
    """Raises: TrustError `trust.malformed`."""
    try:
        check_schema_version(dict(predicate), "kerncap.verdict-attestation", 1, what=what)
        validate(predicate, "verdict-attestation", what=what)
    except BundleError as error:
        raise TrustError(error.message, code="trust.malformed") from None


def sentence(predicate: Mapping[str, Any]) -> str:
    """`faithful on vgpu:gfx942 in kerncap/runtime:trixie (sha256:...)`, of a checked predicate."""
    image = predicate["runtimeImage"]
    where = "" if image is None else f" in {image['name']} ({image['repositoryDigest'] or image['imageId']})"
    what = "" if predicate["variant"] is None else f", of the variant {predicate['variant']}"
    return f"{predicate['verdict']} on {predicate['device']}{where}{what}"
