"""The OCI manifest of a bundle: media types, descriptors, parsing and building.

In: manifest bytes from a stranger, kept raw because their digest names the bundle. Out: a frozen Manifest whose
layers have known media types and bounded sizes. Called by the layout reader, by seal and by transport.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kerncap.bundle import limits
from kerncap.bundle.documents import canonical_json, parse_json, unsupported_version
from kerncap.errors import A_NEWER_KERNCAP, BundleError

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
ARTIFACT_TYPE = "application/vnd.kerncap.bundle.v1"
ANY_ARTIFACT_TYPE = "application/vnd.kerncap.bundle.v"
"""How it begins in each major version."""
CONFIG = "application/vnd.kerncap.bundle.config.v1+json"
INDEX = "application/vnd.kerncap.index.v1+zstd"
CODE = "application/vnd.kerncap.code.v1.tar+zstd"
HSACO = "application/vnd.kerncap.hsaco.v1"
CHUNKS = "application/vnd.kerncap.chunks.v1+zstd"

TITLE = "org.opencontainers.image.title"
REF_NAME = "org.opencontainers.image.ref.name"
SPEC_VERSION = "1.0"
SPEC_MAJOR = 1

_LARGEST = {
    CONFIG: limits.MAX_CONFIG_BYTES,
    INDEX: limits.MAX_INDEX_STORED_BYTES,
    CODE: limits.MAX_CODE_STORED_BYTES,
    HSACO: limits.MAX_HSACO_BYTES,
    CHUNKS: limits.MAX_BLOB_BYTES,
}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}").fullmatch


def sha256_digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def is_digest(text: object) -> bool:
    return isinstance(text, str) and _DIGEST(text) is not None


@dataclass(frozen=True, slots=True)
class Descriptor:
    media_type: str
    digest: str
    size: int
    title: str | None = None

    def to_json(self) -> dict[str, Any]:
        node: dict[str, Any] = {"mediaType": self.media_type, "digest": self.digest, "size": self.size}
        if self.title is not None:
            node["annotations"] = {TITLE: self.title}
        return node


@dataclass(frozen=True, slots=True)
class Manifest:
    raw: bytes = field(repr=False)
    digest: str
    config: Descriptor
    index: Descriptor
    code: Descriptor | None
    hsacos: tuple[Descriptor, ...]
    """Code objects: of the first dispatch, and of a sequence's later ones as far as they are others."""
    chunks: tuple[Descriptor, ...]
    annotations: Mapping[str, str]

    def blobs(self) -> Iterator[Descriptor]:
        """Every blob once, in the order of the manifest: config first, chunk blobs last."""
        yield self.config
        yield self.index
        if self.code is not None:
            yield self.code
        yield from self.hsacos
        yield from self.chunks

    @property
    def total_bytes(self) -> int:
        return sum(blob.size for blob in self.blobs())


def build_manifest(
    *,
    config: Descriptor,
    index: Descriptor,
    code: Descriptor | None,
    hsacos: Sequence[Descriptor],
    chunks: Sequence[Descriptor],
    annotations: Mapping[str, str],
) -> Manifest:
    layers = [index, *([code] if code else []), *hsacos, *chunks]
    raw = canonical_json(
        {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "artifactType": ARTIFACT_TYPE,
            "config": config.to_json(),
            "layers": [layer.to_json() for layer in layers],
            "annotations": dict(annotations),
        }
    )
    if len(raw) > limits.MAX_MANIFEST_BYTES:
        raise BundleError(
            f"the manifest would have {len(raw)} bytes, registries accept {limits.MAX_MANIFEST_BYTES}",
            code="bundle.limit",
        )
    return Manifest(raw, sha256_digest(raw), config, index, code, tuple(hsacos), tuple(chunks), annotations)


def parse_manifest(raw: bytes, *, what: str = "manifest") -> Manifest:
    """Raises: BundleError `bundle.not-a-bundle`, `bundle.unsupported-version`, `bundle.unknown-media-type`, ..."""
    document = parse_json(raw, what=what, limit=limits.MAX_MANIFEST_BYTES)
    _check_artifact_type(document, what)
    layers = document.get("layers")
    if not isinstance(layers, list) or len(layers) > limits.MAX_BLOBS + 2 + limits.MAX_STEPS:
        raise BundleError(f"{what}: layers is missing, not a list or too long", code="bundle.malformed")
    config = _descriptor(document.get("config"), f"{what}: config")
    if config.media_type != CONFIG:
        raise _unknown_media_type(f"{what}: config", config.media_type)
    groups: dict[str, list[Descriptor]] = {INDEX: [], CODE: [], HSACO: [], CHUNKS: []}
    seen: dict[str, int] = {}
    for i, node in enumerate(layers):
        layer = _descriptor(node, f"{what}: layers/{i}")
        if layer.media_type not in groups:
            raise _unknown_media_type(f"{what}: layers/{i}", layer.media_type)
        if layer.digest in seen or layer.digest == config.digest:
            raise BundleError(f"{what}: layers/{i}: {layer.digest} is listed twice", code="bundle.malformed")
        seen[layer.digest] = i
        groups[layer.media_type].append(layer)
    _check_titles([config, *(layer for group in groups.values() for layer in group)], what)
    for media_type, least, most in (
        (INDEX, 1, 1),
        (CODE, 0, 1),
        (HSACO, 1, limits.MAX_STEPS),
        (CHUNKS, 0, limits.MAX_BLOBS),
    ):
        if not least <= len(groups[media_type]) <= most:
            raise BundleError(f"{what}: {len(groups[media_type])} layers of type {media_type}", code="bundle.malformed")
    return Manifest(
        raw=raw,
        digest=sha256_digest(raw),
        config=config,
        index=groups[INDEX][0],
        code=groups[CODE][0] if groups[CODE] else None,
        hsacos=tuple(groups[HSACO]),
        chunks=tuple(groups[CHUNKS]),
        annotations=_annotations(document.get("annotations", {}), what),
    )


def _check_artifact_type(document: dict[str, Any], what: str) -> None:
    found = document.get("artifactType")
    version = (
        re.fullmatch(r"application/vnd\.kerncap\.bundle\.v([0-9]{1,6})", found) if isinstance(found, str) else None
    )
    if version is None:
        raise BundleError(
            f"{what}: artifactType is {str(found)[:120]!r}, a kerncap bundle has {ARTIFACT_TYPE!r}",
            code="bundle.not-a-bundle",
        )
    if int(version[1]) != SPEC_MAJOR:
        raise unsupported_version(what, f"v{version[1]}", f"v{SPEC_MAJOR}")
    if document.get("schemaVersion") != 2:
        raise BundleError(f"{what}: schemaVersion is not 2", code="bundle.malformed")
    if document.get("mediaType", OCI_MANIFEST) != OCI_MANIFEST:
        raise _unknown_media_type(what, str(document["mediaType"]))


def _descriptor(node: Any, what: str) -> Descriptor:
    if not isinstance(node, dict):
        raise BundleError(f"{what} is not a descriptor", code="bundle.malformed")
    media_type, digest, size = node.get("mediaType"), node.get("digest"), node.get("size")
    if not isinstance(media_type, str) or type(size) is not int:
        raise BundleError(f"{what}: mediaType or size is missing or has the wrong type", code="bundle.malformed")
    if not isinstance(digest, str) or not is_digest(digest):
        raise BundleError(
            f"{what}: digest {str(digest)[:100]!r} is not sha256: and 64 hex digits", code="bundle.malformed"
        )
    if size < 1 or size > _LARGEST.get(media_type, limits.MAX_BLOB_BYTES):
        raise BundleError(
            f"{what}: a size of {str(size)[:40]} bytes is not allowed for {media_type[:100]}", code="bundle.limit"
        )
    title = _annotations(node.get("annotations", {}), what).get(TITLE)
    return Descriptor(media_type, digest, size, title)


def _annotations(node: Any, what: str) -> dict[str, str]:
    if not isinstance(node, dict) or not all(isinstance(value, str) for value in node.values()):
        raise BundleError(f"{what}: annotations are not strings", code="bundle.malformed")
    return node


def _check_titles(blobs: Sequence[Descriptor], what: str) -> None:
    titles = [blob.title for blob in blobs if blob.title is not None]
    twice = {title for title in titles if titles.count(title) > 1} if len(titles) <= 64 else set()
    if twice or len(set(titles)) != len(titles):
        raise BundleError(f"{what}: several layers have the title {sorted(twice)[:1]}", code="bundle.malformed")
    for title in titles:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", title):
            raise BundleError(f"{what}: the title {title[:100]!r} is not a plain file name", code="bundle.hostile-path")


def _unknown_media_type(what: str, media_type: str) -> BundleError:
    return BundleError(
        f"{what}: media type {media_type[:120]!r} is unknown here",
        code="bundle.unknown-media-type",
        hint=A_NEWER_KERNCAP,
    )
