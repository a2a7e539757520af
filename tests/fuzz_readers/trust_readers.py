"""What stands between a stranger's registry and a policy: headers of answers, and what refers to a bundle.

In: any bytes. Out: nothing, or an exception that is a fault of the reader. Called by readers.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mutate
import requests
from choices import Choices
from craft import dump
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kerncap.bundle.manifest import OCI_MANIFEST, Descriptor, sha256_digest
from kerncap.bundle.referrers import Referrer, build_referrer, parse_node
from kerncap.errors import BundleError
from kerncap.transport.failures import named_address, retry_after
from kerncap.transport.registry import _next_page
from kerncap.trust.envelope import DSSE, build_statement, sign
from kerncap.trust.examine import predicate_of_signature, require_signature
from kerncap.trust.keys import PrivateKey, PublicKey
from kerncap.trust.kinds import SIGNATURE_ARTIFACT, SIGNATURE_PREDICATE

_LINK = b'</v2/a/b/referrers/x?last=y>; title="a; b"; rel="prev next", <https://b.example/>; rel=last'
_WHERE = "https://a.example/v2/a/b/blobs/uploads/"


def headers(data: bytes) -> None:
    """Where the next page is, where an upload goes, how long to wait."""
    choices = Choices(data)
    response = requests.Response()
    kind = choices.below(3)
    text = (choices.rest() if kind == 2 else mutate.damaged((_LINK, b"https://a.example:443/x")[kind], choices)).decode(
        "latin-1"
    )
    response.headers["Link"] = response.headers["Retry-After"] = text
    following = _next_page(response)
    waiting = retry_after(response)
    if waiting is not None and not 0 <= waiting <= 30:
        raise AssertionError(f"waits {waiting} s")
    for target in (text, following or ""):
        named_address(target, where=_WHERE, base=_WHERE if kind else "")


class _Place:
    """What refers to a bundle, as a stranger gives it; blobs are right, since places compare them with their digest."""

    name = "place"

    def __init__(self, listed: list[Referrer], blobs: Mapping[str, bytes]) -> None:
        self._listed, self._blobs = listed, blobs

    def referring_to(self, digest: str) -> list[Referrer]:
        return self._listed

    def manifest(self, referrer: Referrer) -> bytes:
        return self.read(Descriptor(referrer.media_type, referrer.digest, referrer.size))

    def read(self, blob: Descriptor) -> bytes:
        found = self._blobs.get(blob.digest)
        if found is None or len(found) != blob.size:
            raise BundleError("missing", code="bundle.missing-blob")
        return found

    def attach(self, raw: bytes, blobs: Mapping[str, bytes]) -> Referrer:
        raise NotImplementedError


def policy(data: bytes) -> None:
    """A signature of one bundle, changed in any way, is none of another; untouched it is one of its own."""
    choices = Choices(data)
    statement = build_statement(_GOOD.digest, SIGNATURE_PREDICATE, predicate_of_signature())
    wanted = choices.one_of((_GOOD, _EVIL))
    content = sign(statement, _PRIVATE)
    content = _changed(content, choices)
    raw, blobs = build_referrer(wanted, SIGNATURE_ARTIFACT, DSSE, content, title="t")
    if choices.below(2):
        raw = _changed(raw, choices)
    node: Any = {"mediaType": OCI_MANIFEST, "digest": sha256_digest(raw), "size": len(raw)}
    node = mutate.mutated(node, choices) if choices.below(4) == 0 else node
    place = _Place([parse_node(node, "list")], {**blobs, sha256_digest(raw): raw, sha256_digest(content): content})
    by = require_signature(place, wanted.digest, [_PUBLIC])
    if by != (_PUBLIC,) or wanted is not _GOOD:
        raise AssertionError("believed")


def _changed(raw: bytes, choices: Choices) -> bytes:
    """One of three: as it is, another value somewhere, other bytes."""
    how = choices.below(3)
    if how == 0:
        return raw
    return dump(mutate.mutated(json.loads(raw), choices)) if how == 1 else mutate.damaged(raw, choices)


_GOOD, _EVIL = (Descriptor(OCI_MANIFEST, "sha256:" + digit * 64, 700) for digit in "12")
_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_PRIVATE = PrivateKey("sha256:" + "5" * 64, _KEY)
_PUBLIC = PublicKey("key", "sha256:" + "5" * 64, _KEY.public_key())
