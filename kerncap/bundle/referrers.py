"""What refers to a bundle: signatures, attestations, SBOMs. Each is an OCI manifest whose `subject` is the bundle's.

In: a manifest's digest and a place that holds referrers: a layout (here) or a registry (transport). Out: Referrers,
their manifests and blobs, every byte checked against its digest. A referrer is no part of the bundle: whoever can write
to the place can add or remove some, so that nothing in one counts before a signature was checked (the trust stage).
Called by sink, transport and workflows; bundle_spec/SPEC.md, section 12, is the normative text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kerncap.bundle import limits
from kerncap.bundle.documents import canonical_json, parse_json
from kerncap.bundle.files import alone_in, host_errors, replace_file
from kerncap.bundle.manifest import OCI_MANIFEST, Descriptor, is_digest, sha256_digest
from kerncap.bundle.store import (
    INDEX_FILE,
    LayoutStore,
    LocalStore,
    blob_name,
    check_digest,
    hash_location,
    is_referrer,
)
from kerncap.errors import BundleError, UsageError, typed

EMPTY = "application/vnd.oci.empty.v1+json"
EMPTY_CONTENT = b"{}"
_MAX_DEPTH = 4  # a signature of an attestation of a bundle is at 2
_MAX_LAYERS = 256
_BEGUN = re.compile(r"\.([0-9a-f]{64}|index\.json)\.[0-9]+\.part")


@dataclass(frozen=True, slots=True)
class Referrer:
    """A manifest that names another one as its subject, as a list of referrers describes it."""

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


@dataclass(frozen=True, slots=True)
class Attached:
    """A referrer with its manifest, of which every member here was checked."""

    referrer: Referrer
    raw: bytes = field(repr=False)
    subject: str
    blobs: tuple[Descriptor, ...]
    """Config first; none twice."""
    layers: tuple[Descriptor, ...]


class ReferrerSource(Protocol):
    """A place that holds referrers."""

    @property
    def name(self) -> str:
        """How the user named it."""

    def referring_to(self, digest: str) -> list[Referrer]:
        """What says to have this manifest as its subject. Raises: BundleError `bundle.limit`, `bundle.malformed`."""

    def manifest(self, referrer: Referrer) -> bytes:
        """Its raw bytes, checked against its digest."""

    def read(self, blob: Descriptor) -> bytes:
        """A blob of a referrer, checked; the caller has bounded its size."""

    def attach(self, raw: bytes, blobs: Mapping[str, bytes]) -> Referrer:
        """Add a referrer: its manifest, and its blobs by digest."""


def build_referrer(
    subject: Descriptor,
    artifact_type: str,
    payload_type: str,
    payload: bytes,
    *,
    title: str,
    annotations: Mapping[str, str] | None = None,
) -> tuple[bytes, dict[str, bytes]]:
    """The manifest of a referrer with one layer, and its blobs by digest; the same for the same payload.

    Raises: BundleError `bundle.limit`.
    """
    if len(payload) > limits.MAX_REFERRER_BLOB_BYTES:
        raise BundleError(
            f"{title} has {len(payload)} bytes, a referrer at most {limits.MAX_REFERRER_BLOB_BYTES}",
            code="bundle.limit",
        )
    layer = Descriptor(payload_type, sha256_digest(payload), len(payload), title)
    config = Descriptor(EMPTY, sha256_digest(EMPTY_CONTENT), len(EMPTY_CONTENT))
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "artifactType": artifact_type,
        "config": config.to_json(),
        "layers": [layer.to_json()],
        "subject": Descriptor(OCI_MANIFEST, subject.digest, subject.size).to_json(),
    }
    raw = canonical_json(document | ({"annotations": dict(annotations)} if annotations else {}))
    return raw, {config.digest: EMPTY_CONTENT, layer.digest: payload}


def parse_referrer(raw: bytes, *, what: str) -> Attached:
    """Raises: BundleError `bundle.malformed` (no subject among it), `bundle.limit`."""
    document = parse_json(raw, what=what, limit=limits.MAX_MANIFEST_BYTES)
    subject = document.get("subject")
    digest = subject.get("digest") if isinstance(subject, dict) else None
    if not isinstance(digest, str) or not is_digest(digest):
        raise BundleError(f"{what}: a manifest without subject refers to nothing", code="bundle.malformed")
    nodes = document.get("layers")
    if not isinstance(nodes, list) or len(nodes) > _MAX_LAYERS:
        raise BundleError(f"{what}: layers is missing, not a list or too long", code="bundle.malformed")
    config = parse_descriptor(document.get("config"), what, limits.MAX_REFERRER_BLOB_BYTES)
    layers = tuple(parse_descriptor(node, what, limits.MAX_REFERRER_BLOB_BYTES) for node in nodes)
    blobs = {blob.digest: blob for blob in (*reversed(layers), config)}
    artifact_type = document.get("artifactType") or config.media_type
    annotations = document.get("annotations") or {}
    if not isinstance(artifact_type, str) or not _are_strings(annotations):
        raise BundleError(f"{what}: artifactType or annotations are not text", code="bundle.malformed")
    referrer = Referrer(OCI_MANIFEST, sha256_digest(raw), len(raw), artifact_type, annotations)
    return Attached(referrer, raw, digest, tuple(reversed(blobs.values())), layers)


def parse_node(node: Any, what: str) -> Referrer:
    """An entry of a list of referrers. Raises: BundleError `bundle.malformed`, `bundle.limit`."""
    blob = parse_descriptor(node, what, limits.MAX_MANIFEST_BYTES)
    artifact_type, annotations = node.get("artifactType", ""), node.get("annotations") or {}
    if not isinstance(artifact_type, str) or not _are_strings(annotations):
        raise BundleError(f"{what}: a malformed entry", code="bundle.malformed")
    return Referrer(blob.media_type, blob.digest, blob.size, artifact_type, annotations)


def parse_descriptor(node: Any, what: str, most: int) -> Descriptor:
    """Raises: BundleError `bundle.malformed`, `bundle.limit`."""
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


def _are_strings(annotations: Any) -> bool:
    return isinstance(annotations, dict) and all(isinstance(value, str) for value in annotations.values())


def open_attached(source: ReferrerSource, referrer: Referrer, subject: str) -> Attached:
    """The manifest of a referrer that `source` lists under `subject`.

    Raises: BundleError, `bundle.malformed` also when it has another subject: the list is a stranger's.
    """
    what = f"{source.name}: referrer {referrer.digest}"
    if referrer.media_type != OCI_MANIFEST:
        raise BundleError(f"{what} is of type {referrer.media_type[:100]!r}", code="bundle.unknown-media-type")
    attached = parse_referrer(source.manifest(referrer), what=what)
    if attached.subject != subject:
        raise BundleError(f"{what} refers to {attached.subject}, not to {subject}", code="bundle.malformed")
    return attached


def walk(source: ReferrerSource, digest: str) -> Iterator[Attached]:
    """Everything that refers to a manifest, each followed by what refers to that.

    Raises: BundleError `bundle.limit` for too many or too deep, `bundle.malformed`, `bundle.unknown-media-type`.
    """
    count = 0
    waiting = [(digest, 1, referrer) for referrer in reversed(source.referring_to(digest))]
    while waiting:
        subject, depth, referrer = waiting.pop()
        count += 1
        if depth > _MAX_DEPTH:
            raise BundleError(f"referrers of referrers, {depth} deep: {referrer.digest}", code="bundle.limit")
        check_count(count, source.name)
        yield open_attached(source, referrer, subject)
        waiting += [(referrer.digest, depth + 1, one) for one in reversed(source.referring_to(referrer.digest))]


def check_count(count: int, name: str) -> None:
    """Raises: BundleError `bundle.limit`."""
    if count > limits.MAX_REFERRERS:
        raise BundleError(f"{name}: more than {limits.MAX_REFERRERS} referrers", code="bundle.limit")


def too_much(name: str) -> BundleError:
    text = f"{name}: what refers to it has more than {limits.MAX_REFERRERS_READ_BYTES} bytes"
    return BundleError(text, code="bundle.limit")


class LocalReferrers:
    """Referrers in a layout directory, beside the bundle: entries of its index.json without a tag.

    A tar file that somebody made of such a layout is read alike; Kerncap puts none into one (SPEC.md, section 1).
    """

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self._found: dict[str, list[Referrer]] | None = None
        self._unreadable: list[Referrer] = []

    @property
    def name(self) -> str:
        return self._store.name

    def referring_to(self, digest: str) -> list[Referrer]:
        """With what cannot be read, which might refer to anything: whoever looks at one is told why."""
        if self._found is None:
            self._found = self._by_subject()
        return self._found.get(digest, []) + self._unreadable

    def manifest(self, referrer: Referrer) -> bytes:
        return self._store.read(Descriptor(referrer.media_type, referrer.digest, referrer.size))

    def read(self, blob: Descriptor) -> bytes:
        return self._store.read(blob)

    def attach(self, raw: bytes, blobs: Mapping[str, bytes]) -> Referrer:
        """Raises: UsageError `usage.no-referrers` for a tar file; BundleError; HostError."""
        if not isinstance(self._store, LayoutStore):
            raise no_referrers(self.name)
        self._found = None
        return _attach(self._store, raw, blobs)

    def _by_subject(self) -> dict[str, list[Referrer]]:
        nodes = [node for node in self._store.nodes() if is_referrer(node)]
        check_count(len(nodes), self.name)
        left = limits.MAX_REFERRERS_READ_BYTES
        found: dict[str, list[Referrer]] = {}
        self._unreadable = []
        for node in nodes:
            listed = parse_node(node, f"{self.name}: {INDEX_FILE}")
            if listed.media_type != OCI_MANIFEST:
                continue
            left -= listed.size
            if left < 0:
                raise too_much(self.name)
            try:
                attached = self._attached(listed)
            except BundleError:
                self._unreadable.append(listed)
                continue
            if attached is not None:
                found.setdefault(attached.subject, []).append(attached.referrer)
        return found

    def _attached(self, listed: Referrer) -> Attached | None:
        """None: other artifacts may lie in a layout as well."""
        raw = self.manifest(listed)
        what = f"{self.name}: referrer {listed.digest}"
        if "subject" not in parse_json(raw, what=what, limit=limits.MAX_MANIFEST_BYTES):
            return None
        return parse_referrer(raw, what=what)


def no_referrers(name: str) -> UsageError:
    """Nothing can be attached to a tar file: the same bundle is the same file."""
    return UsageError(
        f"{name} is a tar file, which carries the bundle and nothing that refers to it",
        code="usage.no-referrers",
        hint=typed("kerncap", "copy", name, f"oci:{name.removesuffix('.tar').removesuffix('.kcap')}"),
    )


def _attach(store: LayoutStore, raw: bytes, blobs: Mapping[str, bytes]) -> Referrer:
    referrer = parse_referrer(raw, what=f"{store.name}: new referrer").referrer
    with host_errors(store.path), alone_in(store.path):
        _sweep(store)
        index = store.layout_index()
        check_count(1 + sum(1 for node in index["manifests"] if is_referrer(node)), store.name)
        for digest, data in {**blobs, referrer.digest: raw}.items():
            check_digest(data, digest, what=store.name)
            if not _is_there(store, digest, len(data)):
                replace_file(store.path / blob_name(digest), data)
        if referrer.digest in (node.get("digest") for node in index["manifests"]):
            return referrer
        index["manifests"].append(referrer.to_json())
        data = canonical_json(index)
        if len(data) > limits.MAX_LAYOUT_INDEX_BYTES:
            raise BundleError(f"{store.name}: {INDEX_FILE} would have {len(data)} bytes", code="bundle.limit")
        replace_file(store.path / INDEX_FILE, data)
    return referrer


def _sweep(store: LayoutStore) -> None:
    """What a killed command had begun: nobody else attaches now."""
    blobs = store.path / "blobs" / "sha256"
    linked = blobs.is_symlink() or blobs.parent.is_symlink()
    for folder in (store.path,) if linked else (store.path, blobs):
        for path in folder.glob(".*.part"):
            if _BEGUN.fullmatch(path.name):
                path.unlink(missing_ok=True)


def _is_there(store: LayoutStore, digest: str, size: int) -> bool:
    """Whole, too: the same signature again mends one that was damaged."""
    found = store.find(blob_name(digest))
    return found is not None and found.size == size and hash_location(found, what=store.name) == digest
