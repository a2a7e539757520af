"""What refers to a bundle in a registry: signatures, attestations, SBOMs; manifests with the bundle as their subject.

In: a registry, a manifest's digest. Out: Referrers, by the referrers API or, where a registry has none, by the tag that
stands in for it. Source: OCI distribution specification 1.1, "Listing Referrers", "Referrers Tag Schema".
Called by transfer, and by whatever attaches something to a bundle.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kerncap.bundle.documents import canonical_json, parse_json
from kerncap.bundle.limits import MAX_BLOBS, MAX_MANIFEST_BYTES
from kerncap.bundle.manifest import OCI_INDEX, OCI_MANIFEST, Descriptor, is_digest, sha256_digest
from kerncap.errors import BundleError, TransportError
from kerncap.transport.registry import KerncapRegistry

_LOG = logging.getLogger(__name__)
_MAX_REFERRERS = 1000
_MAX_DEPTH = 4  # a signature of an attestation of a bundle is at 2
_MAX_BLOB_BYTES = 1 << 40
_TAG_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Referrer:
    """A manifest that names another one as its subject."""

    media_type: str
    digest: str
    size: int
    artifact_type: str
    annotations: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Its descriptor in an OCI index."""
        node: dict[str, Any] = {"mediaType": self.media_type, "digest": self.digest, "size": self.size}
        node |= {"artifactType": self.artifact_type} if self.artifact_type else {}
        return node | ({"annotations": dict(self.annotations)} if self.annotations else {})


def fallback_tag(digest: str) -> str:
    """The tag under which registries without the referrers API hold the list."""
    return digest.replace(":", "-", 1)


def list_referrers(registry: KerncapRegistry, digest: str, artifact_type: str | None = None) -> list[Referrer]:
    """Every one, or those of one type, in the registry's order.

    Raises: TransportError; BundleError `bundle.malformed`, `bundle.limit` for a list that is none.
    """
    found = _from_api(registry, digest)
    if found is None:
        found = _from_tag(registry, digest)
    return [one for one in found if artifact_type in (None, one.artifact_type)]


def push_referrer(registry: KerncapRegistry, raw: bytes) -> Referrer:
    """Push a manifest that has a `subject`, whose blobs are there already; see to it that it is found.

    Raises: TransportError; BundleError `bundle.malformed` when it has none.
    """
    document = parse_json(raw, what="referrer", limit=MAX_MANIFEST_BYTES)
    subject = document.get("subject")
    digest = subject.get("digest") if isinstance(subject, dict) else None
    if not isinstance(digest, str) or not is_digest(digest):
        raise BundleError("a manifest without subject refers to nothing", code="bundle.malformed")
    config = document.get("config")
    type_of_config = config.get("mediaType", "") if isinstance(config, dict) else ""
    annotations = document.get("annotations")
    referrer = Referrer(
        OCI_MANIFEST,
        sha256_digest(raw),
        len(raw),
        str(document.get("artifactType") or type_of_config),
        {str(k): str(v) for k, v in annotations.items()} if isinstance(annotations, dict) else {},
    )
    if registry.push_manifest(raw, name=referrer.digest) != digest:
        _add_to_tag(registry, digest, referrer)
    return referrer


def copy_referrers(
    source: KerncapRegistry, target: KerncapRegistry, digest: str, send: Callable[[Descriptor], None], *, depth: int = 1
) -> int:
    """Take everything along that refers to a manifest, and what refers to that; `send` brings one blob over.

    Gives how many. Raises: TransportError; BundleError `bundle.limit`, `bundle.unknown-media-type`.
    """
    count = 0
    for referrer in list_referrers(source, digest):
        if referrer.media_type != OCI_MANIFEST:
            raise BundleError(
                f"{source.reference.name}@{referrer.digest}: a referrer of type {referrer.media_type[:100]!r}",
                code="bundle.unknown-media-type",
            )
        if depth > _MAX_DEPTH:
            raise BundleError(f"referrers of referrers, {depth} deep: {referrer.digest}", code="bundle.limit")
        raw = source.get_manifest(referrer.digest, OCI_MANIFEST)
        for blob in _blobs_of(raw, f"{source.reference.name}@{referrer.digest}"):
            send(blob)
        push_referrer(target, raw)
        count += 1 + copy_referrers(source, target, referrer.digest, send, depth=depth + 1)
    return count


def _from_api(registry: KerncapRegistry, digest: str) -> list[Referrer] | None:
    """None: the registry has no such API."""
    url: str | None = registry.referrers_url(digest)
    found: list[Referrer] = []
    seen: set[str] = set()
    while url is not None:
        if url in seen:
            raise TransportError(f"{url}: the list of referrers goes in circles", code="transport.protocol")
        seen.add(url)
        try:
            raw, url = registry.get_page(url, OCI_INDEX, MAX_MANIFEST_BYTES)
        except TransportError as error:
            if error.code != "transport.not-found" or found:
                raise
            return None
        found += _parse(raw, f"{registry.reference.name}: referrers of {digest}")
        _check_count(len(found), registry)
    return found


def _from_tag(registry: KerncapRegistry, digest: str) -> list[Referrer]:
    try:
        raw = registry.get_manifest(fallback_tag(digest), OCI_INDEX)
    except TransportError as error:
        if error.code != "transport.not-found":
            raise
        return []
    found = _parse(raw, f"{registry.reference.name}:{fallback_tag(digest)}")
    _check_count(len(found), registry)
    return found


def _add_to_tag(registry: KerncapRegistry, digest: str, referrer: Referrer) -> None:
    """Read, change, write, and read again: somebody else may have written meanwhile.

    Source: OCI distribution specification 1.1, "Pushing Manifests with Subject".
    """
    for _ in range(_TAG_ATTEMPTS):
        there = _from_tag(registry, digest)
        if referrer.digest in (one.digest for one in there):
            return
        nodes = [one.to_json() for one in (*there, referrer)]
        index = canonical_json({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": nodes})
        registry.push_manifest(index, media_type=OCI_INDEX, name=fallback_tag(digest))
        _LOG.info("%s has no referrers API: listed under %s", registry.reference.host, fallback_tag(digest))
    if referrer.digest not in (one.digest for one in _from_tag(registry, digest)):
        raise TransportError(
            f"{registry.reference.name}:{fallback_tag(digest)} is changed by others again and again",
            code="transport.busy",
            hint="kerncap copy REF REF --recursive  # again",
        )


def _check_count(count: int, registry: KerncapRegistry) -> None:
    if count > _MAX_REFERRERS:
        raise BundleError(f"{registry.reference.name}: more than {_MAX_REFERRERS} referrers", code="bundle.limit")


def _parse(raw: bytes, what: str) -> list[Referrer]:
    nodes = parse_json(raw, what=what, limit=MAX_MANIFEST_BYTES).get("manifests")
    if not isinstance(nodes, list):
        raise BundleError(f"{what}: no list of manifests", code="bundle.malformed")
    return [_referrer(node, what) for node in nodes]


def _referrer(node: Any, what: str) -> Referrer:
    blob = _descriptor(node, what, MAX_MANIFEST_BYTES)
    artifact_type, annotations = node.get("artifactType", ""), node.get("annotations") or {}
    if (
        not isinstance(artifact_type, str)
        or not isinstance(annotations, dict)
        or not all(isinstance(value, str) for value in annotations.values())
    ):
        raise BundleError(f"{what}: a malformed entry", code="bundle.malformed")
    return Referrer(blob.media_type, blob.digest, blob.size, artifact_type, annotations)


def _blobs_of(raw: bytes, what: str) -> Iterator[Descriptor]:
    document = parse_json(raw, what=what, limit=MAX_MANIFEST_BYTES)
    layers = document.get("layers")
    if not isinstance(layers, list) or len(layers) > MAX_BLOBS:
        raise BundleError(f"{what}: layers is missing, not a list or too long", code="bundle.malformed")
    seen: set[str] = set()
    for node in (document.get("config"), *layers):
        blob = _descriptor(node, what, _MAX_BLOB_BYTES)
        if blob.digest not in seen:
            seen.add(blob.digest)
            yield blob


def _descriptor(node: Any, what: str, most: int) -> Descriptor:
    if not isinstance(node, dict):
        raise BundleError(f"{what}: a malformed descriptor", code="bundle.malformed")
    media_type, digest, size = node.get("mediaType"), node.get("digest"), node.get("size")
    if not isinstance(media_type, str) or not isinstance(digest, str) or not is_digest(digest):
        raise BundleError(f"{what}: a malformed descriptor", code="bundle.malformed")
    if type(size) is not int or not 0 <= size <= most:
        raise BundleError(
            f"{what}: {digest} has {str(size)[:40]} bytes, at most {most} are allowed", code="bundle.limit"
        )
    return Descriptor(media_type, digest, size)
