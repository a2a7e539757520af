"""Where the blobs of a bundle lie: a layout directory, one tar file, or a reproducer's capture directory.

In: a location of a stranger. Out: manifest bytes and, by digest, a path with offset and size that can be read in place.
Called by the bundle reader and by transport (which adds a store for registries).
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kerncap.bundle import limits
from kerncap.bundle.compression import Readable
from kerncap.bundle.documents import parse_json
from kerncap.bundle.files import Window, host_errors, open_regular, read_exactly, read_pieces
from kerncap.bundle.location import LayoutLocation, is_tag
from kerncap.bundle.manifest import ANY_ARTIFACT_TYPE, OCI_MANIFEST, REF_NAME, Descriptor, is_digest
from kerncap.bundle.tar import Member, read_members
from kerncap.errors import A_NEWER_KERNCAP, BundleError, KerncapError, UsageError, typed

LAYOUT_FILE = "oci-layout"
LAYOUT_CONTENT = b'{"imageLayoutVersion":"1.0.0"}'
INDEX_FILE = "index.json"
ARRIVING = "blobs/arriving"
"""Of a layout whose chunk blobs are still being brought: who brings them holds this file locked (flock, exclusive)."""
_LOOK_AGAIN_S = 0.02


def blob_name(digest: str) -> str:
    """The relative path of a blob in a layout and in a capture directory."""
    return "blobs/sha256/" + digest.removeprefix("sha256:")


class BlobLocation(NamedTuple):
    """`size` bytes at `offset` of the file `path`: the blob as it is stored, uncompressed in whatever holds it."""

    path: Path
    offset: int
    size: int


class Store(Protocol):
    """Read access to the blobs of one bundle."""

    @property
    def name(self) -> str:
        """How the user named it."""

    def manifest_bytes(self) -> bytes:
        """The raw manifest, checked against the digest that names it."""

    def locate(self, blob: Descriptor) -> BlobLocation:
        """Where the blob lies on this machine; presence and size are checked, content is not."""

    def read(self, blob: Descriptor) -> bytes:
        """A small blob, checked against its digest."""

    def open_checked(self, blob: Descriptor) -> AbstractContextManager[Readable]:
        """A blob of any size as a stream, checked against its digest before the first byte is given."""

    def open_frame(self, blob: Descriptor, offset: int, size: int) -> AbstractContextManager[Readable]:
        """Part of a blob as a stream, unchecked: whoever reads it knows a digest of what is in it."""


class LocalStore:
    """What layout and tar have in common; a subclass says where a relative path lies."""

    def __init__(self, name: str, tag: str | None, digest: str | None = None) -> None:
        self.name = name
        self._tag = tag
        self._digest = digest

    def find(self, relative: str) -> BlobLocation | None:
        raise NotImplementedError

    def locate(self, blob: Descriptor) -> BlobLocation:
        found = self.find(blob_name(blob.digest))
        if found is None:
            raise missing_blob(self.name, blob)
        if found.size != blob.size:
            raise BundleError(
                f"{self.name}: blob {blob.digest} has {found.size} bytes, expected {blob.size}", code="bundle.truncated"
            )
        return found

    @property
    def arriving(self) -> Path | None:
        """The marker of whoever still brings blobs."""
        return None

    def promise(self, blob: Descriptor) -> BlobLocation:
        """As locate; of a blob that is still on its way where it will lie, and nothing is checked."""
        return self.locate(blob)

    def read(self, blob: Descriptor) -> bytes:
        data = read_location(self.locate(blob), what=self.name)
        check_digest(data, blob.digest, what=f"{self.name}: blob")
        return data

    @contextmanager
    def open_checked(self, blob: Descriptor) -> Iterator[Readable]:
        check_location(self.locate(blob), blob, what=self.name)
        with self.open_frame(blob, 0, blob.size) as stream:
            yield stream

    @contextmanager
    def open_frame(self, blob: Descriptor, offset: int, size: int) -> Iterator[Readable]:
        location = self.locate(blob)
        with open_regular(location.path, what=self.name) as file:
            file.seek(location.offset + offset)
            yield Window(file, size)

    def manifest_bytes(self) -> bytes:
        self._check_layout_version()
        blob = self._choose(self.layout_index())
        if blob.size > limits.MAX_MANIFEST_BYTES:
            raise BundleError(f"{self.name}: the manifest has {blob.size} bytes", code="bundle.limit")
        return self.read(blob)

    def layout_index(self) -> dict[str, Any]:
        """index.json, whose `manifests` are objects. Raises: BundleError `bundle.malformed`, `bundle.limit`."""
        found = self._small_file(INDEX_FILE, limits.MAX_LAYOUT_INDEX_BYTES)
        index = parse_json(found, what=f"{self.name}: {INDEX_FILE}", limit=limits.MAX_LAYOUT_INDEX_BYTES)
        nodes = index.get("manifests")
        if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
            raise BundleError(f"{self.name}: {INDEX_FILE} has no list of manifests", code="bundle.malformed")
        return index

    def nodes(self) -> list[dict[str, Any]]:
        """Every entry of index.json: bundles, and what refers to them (is_referrer)."""
        nodes: list[dict[str, Any]] = self.layout_index()["manifests"]
        return nodes

    def _check_layout_version(self) -> None:
        data = self._small_file(LAYOUT_FILE, 4096)
        version = parse_json(data, what=f"{self.name}: {LAYOUT_FILE}", limit=4096).get("imageLayoutVersion")
        if not isinstance(version, str) or not version.startswith("1."):
            raise BundleError(
                f"{self.name}: image layout version {str(version)[:40]!r} is unknown, expected 1.0.0",
                code="bundle.unsupported-version",
                hint=A_NEWER_KERNCAP,
            )

    def _small_file(self, relative: str, limit: int) -> bytes:
        found = self.find(relative)
        if found is None:
            raise BundleError(
                f"{self.name}: {relative} is missing: not an OCI image layout", code="bundle.not-a-bundle"
            )
        if found.size > limit:
            raise BundleError(f"{self.name}: {relative} has {found.size} bytes", code="bundle.limit")
        return read_location(found, what=self.name)

    def _choose(self, index: dict[str, Any]) -> Descriptor:
        nodes = [node for node in index["manifests"] if not is_referrer(node)]
        if not nodes and index["manifests"]:
            kinds = sorted({str(node["artifactType"])[:120] for node in index["manifests"]})[:5]
            raise BundleError(
                f"{self.name}: {INDEX_FILE} names no bundle, only {', '.join(map(repr, kinds))}",
                code="bundle.not-a-bundle",
            )
        tags = [self._tag_of(node) for node in nodes]
        if self._digest is not None:
            return self._of_digest(nodes, self._digest)
        chosen = nodes if self._tag is None else [n for n, tag in zip(nodes, tags, strict=True) if tag == self._tag]
        known = sorted(tag for tag in tags if tag is not None and is_tag(tag))[:10]
        if len(chosen) != 1:
            raise self._no_choice(len(chosen), known)
        return self._descriptor(chosen[0])

    def _of_digest(self, nodes: list[dict[str, Any]], digest: str) -> Descriptor:
        """Under several tags it is the same manifest."""
        node = next((node for node in nodes if node.get("digest") == digest), None)
        if node is None:
            text = f"{self.name}: no bundle in {INDEX_FILE} has this digest"
            raise UsageError(text, code="usage.no-such-digest", hint=typed("kerncap", "inspect", f"oci:{self._place}"))
        return self._descriptor(node)

    def _descriptor(self, node: dict[str, Any]) -> Descriptor:
        digest: Any = node.get("digest")
        size = node.get("size")
        if not is_digest(digest) or type(size) is not int or size < 1 or node.get("mediaType") != OCI_MANIFEST:
            raise BundleError(f"{self.name}: {INDEX_FILE} has a malformed manifest entry", code="bundle.malformed")
        return Descriptor(OCI_MANIFEST, digest, size)

    def _tag_of(self, node: dict[str, Any]) -> str | None:
        annotations = node.get("annotations")
        tag = annotations.get(REF_NAME) if isinstance(annotations, dict) else annotations
        if tag is not None and not isinstance(tag, str):
            raise BundleError(f"{self.name}: {INDEX_FILE} has malformed annotations", code="bundle.malformed")
        return tag

    def _no_choice(self, count: int, known: list[str]) -> KerncapError:
        """The caller's fault only when there is a tag to ask for, or none of that name."""
        if count == 0 and self._tag is not None and not known:
            text = f"{self.name}: nothing has the tag {self._tag}, nor any other"
            return UsageError(text, code="usage.no-such-tag", hint=typed("kerncap", "inspect", f"oci:{self._place}"))
        if not known or (self._tag is not None and count > 1):
            text = f"{count} manifests in {INDEX_FILE}" + (f" with tag {self._tag}" if self._tag else "")
            return BundleError(f"{self.name}: {text} and no way to tell which is meant", code="bundle.malformed")
        text = f"{self.name}: {count} manifests fit, one is needed; tags here: {', '.join(known)}"
        return UsageError(text, code="usage.no-such-tag", hint=self._how_to_choose(known[0]))

    def _how_to_choose(self, tag: str) -> str:
        return typed("kerncap", "inspect", f"oci:{self._place}:{tag}")

    @property
    def _place(self) -> str:
        """The name without what chooses one of several."""
        return self.name


class LayoutStore(LocalStore):
    """A directory; nothing in it is reached through a symbolic link."""

    def __init__(self, path: Path, tag: str | None = None, digest: str | None = None) -> None:
        # As it can be typed again: without its tag it would name another bundle, or none.
        super().__init__(str(LayoutLocation(path, tag, digest) if tag or digest else path), tag, digest)
        self.path = path

    @property
    def _place(self) -> str:
        return str(self.path)

    def find(self, relative: str) -> BlobLocation | None:
        return find_file(self.path, relative, self.name)

    @property
    def arriving(self) -> Path | None:
        marker = self.path / ARRIVING
        return marker if self.find(ARRIVING) is not None and _is_held(marker) else None

    def promise(self, blob: Descriptor) -> BlobLocation:
        if self.find(blob_name(blob.digest)) is None and self.arriving is not None:
            return BlobLocation(self.path / blob_name(blob.digest), 0, blob.size)
        return self.locate(blob)

    def locate(self, blob: Descriptor) -> BlobLocation:
        """Waits for a blob that somebody is bringing. Raises: BundleError `bundle.missing-blob` when nobody is."""
        # In this order: what was brought last is there before the marker is given up.
        while self.arriving is not None and self.find(blob_name(blob.digest)) is None:
            time.sleep(_LOOK_AGAIN_S)
        return super().locate(blob)


class CaptureStore(LocalStore):
    """The capture directory of a reproducer: blobs as in a layout, but no manifest; the source lies in `reproducer`."""

    def __init__(self, path: Path, reproducer: Path) -> None:
        super().__init__(str(reproducer), None)
        self.path = path
        self.reproducer = reproducer

    def find(self, relative: str) -> BlobLocation | None:
        return find_file(self.path, relative, self.name)

    def manifest_bytes(self) -> bytes:
        raise UsageError(
            f"{self.name} is not sealed",
            code="usage.not-sealed",
            hint=typed("kerncap", "pack", self.name, "-o", "OUT"),
        )


class TarStore(LocalStore):
    """One uncompressed tar file with an OCI image layout in it; blobs are read where they lie."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), None)
        # The user named it: a link there is the user's own. Inside of a bundle links are refused.
        self.path = path.resolve()
        self._members = self._read_members()

    def find(self, relative: str) -> BlobLocation | None:
        member = self._members.get(relative)
        return None if member is None else BlobLocation(self.path, member.offset, member.size)

    def _how_to_choose(self, tag: str) -> str:
        """A tar file has no tags on the command line; the directory in it has."""
        unpacked = f"{self.name}.d"
        steps = (
            ("mkdir", unpacked),
            ("tar", "-xf", self.name, "-C", unpacked),
            ("kerncap", "inspect", f"oci:{unpacked}:{tag}"),
        )
        return " && ".join(typed(*step) for step in steps)

    def _read_members(self) -> dict[str, Member]:
        members: dict[str, Member] = {}
        with open_regular(self.path, what=self.name) as file, host_errors(self.path):
            size = os.fstat(file.fileno()).st_size
            for member in read_members(file, size, what=self.name):
                name = member.name.removeprefix("./")
                hex_part = name.removeprefix("blobs/sha256/")
                if name not in (LAYOUT_FILE, INDEX_FILE) and (hex_part == name or not is_digest("sha256:" + hex_part)):
                    raise BundleError(
                        f"{self.name}: {name[:100]!r} does not belong in a bundle", code="bundle.hostile-path"
                    )
                if name in members:
                    raise BundleError(f"{self.name}: {name} comes twice", code="bundle.hostile-path")
                members[name] = member
        return members


def is_referrer(node: dict[str, Any]) -> bool:
    """Whether an entry of index.json is something beside the bundles: no tag, and an artifact of another type."""
    found, annotations = node.get("artifactType"), node.get("annotations")
    tagged = isinstance(annotations, dict) and REF_NAME in annotations
    return isinstance(found, str) and not found.startswith(ANY_ARTIFACT_TYPE) and not tagged


def _is_held(marker: Path) -> bool:
    """Whether another open file holds the exclusive lock: of this process, or of one that sees the same file."""
    try:
        fd = os.open(marker, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    finally:
        os.close(fd)
    return False


def find_file(folder: Path, relative: str, what: str) -> BlobLocation | None:
    """The regular file at `relative`, no part of which may be a link. Raises: BundleError `bundle.hostile-file`."""
    path = folder
    parts = relative.split("/")
    for i, part in enumerate(parts):
        path = path / part
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        wanted = stat.S_ISREG if i == len(parts) - 1 else stat.S_ISDIR
        if not wanted(status.st_mode):
            raise BundleError(f"{what}: {path} is not a regular file or directory", code="bundle.hostile-file")
    return BlobLocation(path, 0, status.st_size)


def read_location(location: BlobLocation, *, what: str) -> bytes:
    with open_regular(location.path, what=what) as file, host_errors(location.path):
        file.seek(location.offset)
        return read_exactly(file, location.size, what=what)


def hash_location(location: BlobLocation, *, what: str) -> str:
    """The digest of the bytes there, read in pieces."""
    digest = hashlib.sha256()
    with open_regular(location.path, what=what) as file, host_errors(location.path):
        file.seek(location.offset)
        for piece in read_pieces(file, location.size, what=f"{what}: {location.path}"):
            digest.update(piece)
    return "sha256:" + digest.hexdigest()


def check_location(location: BlobLocation, blob: Descriptor, *, what: str) -> None:
    """Raises: BundleError `bundle.digest-mismatch`, `bundle.truncated`."""
    found = hash_location(location, what=what)
    if found != blob.digest:
        raise digest_mismatch(f"{what}: blob", blob.digest, found)


def check_digest(data: bytes | bytearray, digest: str, *, what: str) -> None:
    found = "sha256:" + hashlib.sha256(data).hexdigest()
    if found != digest:
        raise digest_mismatch(what, digest, found)


def digest_mismatch(what: str, expected: str, found: str) -> BundleError:
    return BundleError(
        f"{what}: content has digest {found}, expected {expected}",
        code="bundle.digest-mismatch",
        hint="kerncap pull REF -o OUT  # again, from where it came",
    )


def missing_blob(name: str, blob: Descriptor) -> BundleError:
    return BundleError(
        f"{name}: blob {blob.digest} ({blob.size} bytes, {blob.media_type}) is missing",
        code="bundle.missing-blob",
        hint="kerncap pull REF -o OUT  # again, from where it came",
    )
