"""Keys, signed bundles and crafted envelopes, for the tests of trust."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from kerncap.bundle import Bundle
from kerncap.bundle.manifest import OCI_MANIFEST, Descriptor
from kerncap.bundle.referrers import build_referrer
from kerncap.transport import referrers_of
from kerncap.trust import kinds
from kerncap.trust.envelope import DSSE, IN_TOTO, STATEMENT, pre_authentication
from kerncap.trust.examine import predicate_of_signature
from kerncap.trust.keys import ED25519, PrivateKey, load_private, new_pair


def no_passphrase(question: str) -> str:
    raise AssertionError(question)


def make_key(folder: Path, name: str, algorithm: str = ED25519) -> tuple[PrivateKey, Path]:
    """The private key, and the path of the public one."""
    private, public, _ = new_pair(str(folder / name), algorithm, "")
    return load_private(private, no_passphrase), public


def statement(digest: str, **changes: Any) -> dict[str, Any]:
    """A sound one of a signature; members that are None are left out."""
    sound = {
        "_type": STATEMENT,
        "subject": [{"name": "manifest", "digest": {"sha256": digest.removeprefix("sha256:")}}],
        "predicateType": kinds.SIGNATURE_PREDICATE,
        "predicate": predicate_of_signature(),
    }
    return {name: value for name, value in {**sound, **changes}.items() if value is not None}


def signature(key: PrivateKey, payload: bytes, *, key_id: str | None = None, payload_type: str = IN_TOTO) -> Any:
    signed = key.sign(pre_authentication(payload_type, payload))
    return {"keyid": key.key_id if key_id is None else key_id, "sig": base64.b64encode(signed).decode()}


def envelope(payload: bytes, signatures: Any, **changes: Any) -> bytes:
    document = {"payloadType": IN_TOTO, "payload": base64.b64encode(payload).decode(), "signatures": signatures}
    return json.dumps({**document, **changes}).encode()


def signed(key: PrivateKey, document: dict[str, Any], **changes: Any) -> bytes:
    payload = json.dumps(document).encode()
    return envelope(payload, [signature(key, payload)], **changes)


def attach(
    bundle: Bundle, content: bytes, *, artifact_type: str = kinds.SIGNATURE_ARTIFACT, layer_type: str = DSSE
) -> str:
    """Gives the referrer's digest."""
    assert bundle.manifest is not None
    subject = Descriptor(OCI_MANIFEST, bundle.manifest.digest, len(bundle.manifest.raw))
    raw, blobs = build_referrer(subject, artifact_type, layer_type, content, title="crafted.json")
    return referrers_of(bundle).attach(raw, blobs).digest
