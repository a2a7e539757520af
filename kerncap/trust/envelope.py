"""Signed statements: a DSSE envelope around an in-toto Statement v1 about one manifest digest.

In: a digest, a predicate, a key; or an envelope of a stranger. Out: canonical bytes; or which of the keys that are
trusted signed just these bytes. What a name or a `keyid` in an envelope says is never believed.
Sources: DSSE 1.0 (envelope.md, protocol.md), in-toto attestation framework 1.0 (spec/v1/statement.md).
Called by examine and by the trust workflow.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kerncap.bundle import limits
from kerncap.bundle.documents import canonical_json, parse_json
from kerncap.bundle.manifest import is_digest
from kerncap.errors import BundleError, TrustError
from kerncap.trust.keys import PrivateKey, PublicKey

DSSE = "application/vnd.dsse.envelope.v1+json"
IN_TOTO = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
_MAX_SIGNATURES = 16
_MAX_TEXT = 1024
_URL_SAFE = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class Envelope:
    """`signatures`: (key id that is claimed, signature); none was checked."""

    payload_type: str
    payload: bytes
    signatures: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """`predicate` about the manifest with digest `subject`."""

    subject: str
    predicate_type: str
    predicate: Mapping[str, Any]


def build_statement(subject: str, predicate_type: str, predicate: Mapping[str, Any]) -> bytes:
    """`subject` is `sha256:...`; the same bytes for the same content."""
    return canonical_json(
        {
            "_type": STATEMENT,
            "subject": [{"name": "manifest", "digest": {"sha256": subject.removeprefix("sha256:")}}],
            "predicateType": predicate_type,
            "predicate": dict(predicate),
        }
    )


def sign(payload: bytes, key: PrivateKey) -> bytes:
    """The envelope around a statement."""
    signature = key.sign(pre_authentication(IN_TOTO, payload))
    return canonical_json(
        {
            "payloadType": IN_TOTO,
            "payload": base64.b64encode(payload).decode("ascii"),
            "signatures": [{"keyid": key.key_id, "sig": base64.b64encode(signature).decode("ascii")}],
        }
    )


def pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """What is signed. Source: DSSE 1.0, protocol.md, PAE: lengths first, so that no two pairs give the same bytes."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def signers(envelope: Envelope, keys: Sequence[PublicKey]) -> tuple[PublicKey, ...]:
    """Those of the keys that signed this payload as this payload type, whatever key ids it claims."""
    data = pre_authentication(envelope.payload_type, envelope.payload)
    return tuple(key for key in keys if any(key.accepts(sig, data) for _, sig in envelope.signatures))


def parse_envelope(raw: bytes, *, what: str) -> Envelope:
    """Raises: TrustError `trust.malformed`."""
    document = _parse(raw, what)
    payload_type, nodes = document.get("payloadType"), document.get("signatures")
    if not isinstance(payload_type, str) or len(payload_type) > _MAX_TEXT:
        raise _malformed(what, "payloadType is missing or no text")
    if not isinstance(nodes, list) or not 1 <= len(nodes) <= _MAX_SIGNATURES:
        raise _malformed(what, f"signatures are no list of 1 to {_MAX_SIGNATURES}")
    payload = _decode(document.get("payload"), f"{what}: payload")
    return Envelope(payload_type, payload, tuple(_signature(node, what) for node in nodes))


def parse_statement(payload: bytes, *, what: str) -> Statement:
    """About exactly one subject, so that there is no doubt what is said of which.

    Raises: TrustError `trust.malformed`.
    """
    document = _parse(payload, what)
    kind, predicate_type, predicate = (document.get(name) for name in ("_type", "predicateType", "predicate"))
    if kind != STATEMENT:
        raise _malformed(what, f"_type is {str(kind)[:80]!r}, expected {STATEMENT}")
    if not isinstance(predicate_type, str) or len(predicate_type) > _MAX_TEXT or not isinstance(predicate, dict):
        raise _malformed(what, "predicateType or predicate is missing")
    subjects = document.get("subject")
    one = subjects[0] if isinstance(subjects, list) and len(subjects) == 1 else None
    digests = one.get("digest") if isinstance(one, dict) else None
    value = digests.get("sha256") if isinstance(digests, dict) else None
    if not isinstance(value, str) or not is_digest(f"sha256:{value}"):
        raise _malformed(what, "it is not about exactly one subject with a sha256")
    return Statement(f"sha256:{value}", predicate_type, predicate)


def _parse(raw: bytes, what: str) -> dict[str, Any]:
    """Strict JSON: a member that comes twice could be one thing to us and another to somebody else."""
    try:
        return parse_json(raw, what=what, limit=limits.MAX_ENVELOPE_BYTES)
    except BundleError as error:
        raise TrustError(error.message, code="trust.malformed") from None


def _signature(node: Any, what: str) -> tuple[str, bytes]:
    key_id = node.get("keyid", "") if isinstance(node, dict) else None
    if not isinstance(key_id, str) or len(key_id) > _MAX_TEXT:
        raise _malformed(what, "a signature is malformed")
    return key_id, _decode(node.get("sig"), f"{what}: signature")


def _decode(text: Any, what: str) -> bytes:
    """Standard or URL-safe base64, as DSSE allows; nothing else in it."""
    if not isinstance(text, str) or not text.isascii():
        raise _malformed(what, "no base64")
    try:
        return base64.b64decode(text.translate(_URL_SAFE), validate=True)
    except binascii.Error:
        raise _malformed(what, "no base64") from None


def _malformed(what: str, why: str) -> TrustError:
    return TrustError(f"{what}: {why}", code="trust.malformed")
