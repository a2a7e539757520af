"""What refers to a bundle in a registry: signatures, attestations, SBOMs; manifests with the bundle as their subject.

In: a registry, a manifest's digest. Out: Referrers, by the referrers API or, where a registry has none, by the tag that
stands in for it; RegistryReferrers makes them look as those of a layout do.
Source: OCI distribution specification 1.1, "Listing Referrers", "Referrers Tag Schema".
Called by transfer and by the trust workflow.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kerncap.bundle.documents import canonical_json, parse_json
from kerncap.bundle.limits import MAX_MANIFEST_BYTES
from kerncap.bundle.manifest import OCI_INDEX, OCI_MANIFEST, Descriptor
from kerncap.bundle.referrers import Referrer, check_count, parse_node, parse_referrer
from kerncap.errors import BundleError, TransportError
from kerncap.transport.registry import KerncapRegistry
from kerncap.transport.streams import StreamBody

_LOG = logging.getLogger(__name__)
_TAG_ATTEMPTS = 5
_MOST_EMPTY_PAGES = 10
_NO_SUCH_API = (405, 406, 501)
"""Beside 404: how registries that came before the referrers API answer."""
_OCTETS = "application/octet-stream"


class RegistryReferrers:
    """Referrers of the manifests of one repository."""

    def __init__(self, registry: KerncapRegistry) -> None:
        self._registry = registry

    @property
    def name(self) -> str:
        return str(self._registry.reference)

    def referring_to(self, digest: str) -> list[Referrer]:
        """As list_referrers."""
        return list_referrers(self._registry, digest)

    def manifest(self, referrer: Referrer) -> bytes:
        """No more of it than the list says it has. Raises: TransportError; BundleError `bundle.digest-mismatch`."""
        return self._registry.get_manifest(referrer.digest, OCI_MANIFEST, limit=referrer.size)

    def read(self, blob: Descriptor) -> bytes:
        """Raises: TransportError; BundleError `bundle.digest-mismatch`, `bundle.missing-blob`."""
        return self._registry.read_blob(blob)

    def attach(self, raw: bytes, blobs: Mapping[str, bytes]) -> Referrer:
        """Blobs first, then the manifest. Raises: TransportError."""
        for digest, data in blobs.items():
            blob = Descriptor(_OCTETS, digest, len(data))
            if not self._registry.has_blob(blob):
                body = StreamBody(len(data), lambda data=data: iter((data,)), lambda count: None)  # type: ignore[misc]
                self._registry.push_body(blob, body)
        return push_referrer(self._registry, raw)


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
    attached = parse_referrer(raw, what="referrer")
    referrer, digest = attached.referrer, attached.subject
    if registry.push_manifest(raw, name=referrer.digest) != digest:
        _add_to_tag(registry, digest, referrer)
    return referrer


def _from_api(registry: KerncapRegistry, digest: str) -> list[Referrer] | None:
    """None: the registry has no such API. All pages together are as long as a list under a tag may be."""
    url: str | None = registry.referrers_url(digest)
    found: list[Referrer] = []
    seen: set[str] = set()
    left = MAX_MANIFEST_BYTES
    while url is not None:
        if url in seen:
            raise TransportError(f"{url}: the list of referrers goes in circles", code="transport.protocol")
        seen.add(url)
        try:
            raw, url = registry.get_page(url, OCI_INDEX, left)
        except TransportError as error:
            none_such = error.code == "transport.not-found" or error.status in _NO_SUCH_API
            if not none_such or found:
                raise
            return None
        left -= len(raw)
        found += _parse(raw, f"{registry.reference.name}: referrers of {digest}")
        check_count(len(found), registry.reference.name)
        if len(seen) > len(found) + _MOST_EMPTY_PAGES:
            raise TransportError(f"{url}: the list of referrers goes on with empty pages", code="transport.protocol")
    return found


def _from_tag(registry: KerncapRegistry, digest: str) -> list[Referrer]:
    try:
        raw = registry.get_manifest(fallback_tag(digest), OCI_INDEX)
    except TransportError as error:
        if error.code != "transport.not-found":
            raise
        return []
    found = _parse(raw, f"{registry.reference.name}:{fallback_tag(digest)}")
    check_count(len(found), registry.reference.name)
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


def _parse(raw: bytes, what: str) -> list[Referrer]:
    nodes = parse_json(raw, what=what, limit=MAX_MANIFEST_BYTES).get("manifests")
    if not isinstance(nodes, list):
        raise BundleError(f"{what}: no list of manifests", code="bundle.malformed")
    return [parse_node(node, what) for node in nodes]
