"""Writes a new bundle whose manifest is known: a layout directory or one deterministic tar file.

In: a manifest, then its blobs in any order and from several threads. Out: a bundle under its final name once every blob
has arrived. Called by seal and by transport.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from kerncap.bundle.documents import canonical_json
from kerncap.bundle.files import host_errors, open_regular, read_pieces, start_writeback, write_file
from kerncap.bundle.location import LayoutLocation, TarLocation
from kerncap.bundle.manifest import ARTIFACT_TYPE, OCI_INDEX, OCI_MANIFEST, REF_NAME, Descriptor, Manifest
from kerncap.bundle.outputs import new_directory, new_file, resumable_directory, resumable_file
from kerncap.bundle.progress import ProgressCall, no_progress
from kerncap.bundle.referrers import Attached, Referrer
from kerncap.bundle.store import (
    INDEX_FILE,
    LAYOUT_CONTENT,
    LAYOUT_FILE,
    BlobLocation,
    blob_name,
    check_digest,
    check_location,
    digest_mismatch,
    find_file,
    hash_location,
)
from kerncap.bundle.tar import END, header, padded
from kerncap.errors import BundleError

COPY_THREADS = min(8, (os.cpu_count() or 1) + 1)  # one more than cores: one of them waits for the disk
WRITEBACK_BYTES = 32 << 20


class Slot:
    """Where the bytes of one blob go; positions count from the blob's first byte."""

    def __init__(self, fd: int, base: int, size: int) -> None:
        self._fd = fd
        self._base = base
        self._size = size
        self._on_its_way = 0

    def write_at(self, position: int, data: bytes | memoryview) -> None:
        """Write all of `data`; beyond the promised size is refused before it reaches the disk."""
        if position + len(data) > self._size:
            raise BundleError(f"more than the promised {self._size} bytes arrived", code="bundle.digest-mismatch")
        position = _write_all(self._fd, self._base + position, data) - self._base
        if position - self._on_its_way >= WRITEBACK_BYTES or position == self._size:
            start_writeback(self._fd, self._base + self._on_its_way, position - self._on_its_way)
            self._on_its_way = position


def _write_all(fd: int, position: int, data: bytes | memoryview) -> int:
    """Gives the position behind."""
    view = memoryview(data)
    while view:
        count = os.pwrite(fd, view, position)
        position += count
        view = view[count:]
    return position


class Sink:
    """A bundle that is being written, at `place`. `slot` and `put_*` may be called from several threads."""

    def __init__(self, manifest: Manifest, place: Path) -> None:
        self.manifest = manifest
        self.place = place

    @contextmanager
    def slot(self, blob: Descriptor) -> Iterator[Slot]:
        """The place of a blob; it counts as arrived when the block ends without exception."""
        raise NotImplementedError
        yield

    def location(self, blob: Descriptor) -> BlobLocation:
        """Where a blob that has arrived lies until the bundle gets its final name."""
        raise NotImplementedError

    def has(self, blob: Descriptor) -> bool:
        """Whether an earlier attempt has brought the blob already; its digest is checked."""
        return False

    def link(self, blob: Descriptor, location: BlobLocation, *, what: str) -> bool:
        """Take over a blob without moving its bytes, if that can be done here; its digest is checked."""
        return False

    def put_bytes(self, blob: Descriptor, data: bytes) -> None:
        check_digest(data, blob.digest, what=blob.media_type)
        with self.slot(blob) as slot:
            slot.write_at(0, data)

    def put_location(self, blob: Descriptor, location: BlobLocation, *, what: str) -> None:
        """Link or copy a blob that lies on this machine, and check its digest."""
        if not self.link(blob, location, what=what):
            with self.slot(blob) as slot, open_regular(location.path, what=what) as file:
                file.seek(location.offset)
                copy_checked(file, slot, blob, what=what)


def copy_checked(file: IO[bytes], slot: Slot, blob: Descriptor, *, what: str) -> None:
    """Raises: BundleError `bundle.truncated`, `bundle.digest-mismatch`."""
    digest = hashlib.sha256()
    position = 0
    for piece in read_pieces(file, blob.size, what=f"{what}: blob {blob.digest}"):
        digest.update(piece)
        slot.write_at(position, piece)
        position += len(piece)
    found = "sha256:" + digest.hexdigest()
    if found != blob.digest:
        raise digest_mismatch(f"{what}: blob", blob.digest, found)


class LayoutSink(Sink):
    """Blobs as files of a directory, each under a `.part` name until it is whole."""

    def __init__(self, manifest: Manifest, folder: Path) -> None:
        super().__init__(manifest, folder)
        self._folder = folder
        self._referrers: dict[str, Attached] = {}
        (folder / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)

    @contextmanager
    def slot(self, blob: Descriptor) -> Iterator[Slot]:
        path = self._folder / blob_name(blob.digest)
        part = path.with_suffix(".part")
        # Never written into what is there: it may be a link that a killed command had just made.
        part.unlink(missing_ok=True)
        fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            yield Slot(fd, 0, blob.size)
        finally:
            os.close(fd)
        part.rename(path)

    def location(self, blob: Descriptor) -> BlobLocation:
        return BlobLocation(self._folder / blob_name(blob.digest), 0, blob.size)

    def has(self, blob: Descriptor) -> bool:
        found = find_file(self._folder, blob_name(blob.digest), str(self._folder))
        if found is None or found.size != blob.size:
            return False
        return hash_location(found, what=str(self._folder)) == blob.digest

    def link(self, blob: Descriptor, location: BlobLocation, *, what: str) -> bool:
        path = self._folder / blob_name(blob.digest)
        part = path.with_suffix(".part")
        if location.offset != 0 or not _only_ours(location.path):
            return False
        part.unlink(missing_ok=True)
        try:
            os.link(location.path, part, follow_symlinks=False)
        except OSError:
            return False  # another file system, or one without hard links: the caller copies
        if part.lstat().st_size != blob.size:
            raise BundleError(f"{what}: blob {blob.digest} has another size than promised", code="bundle.truncated")
        check_location(BlobLocation(part, 0, blob.size), blob, what=what)
        part.rename(path)
        return True

    def add_referrer(self, attached: Attached) -> None:
        """What refers to the bundle, or to what does; its blobs are here already (slot, put_location)."""
        self._referrers[attached.referrer.digest] = attached

    def finish(self, tag: str | None) -> None:
        manifest = self.manifest
        self._remove_strangers()
        write_file(self._folder / blob_name(manifest.digest), manifest.raw)
        for digest, attached in self._referrers.items():
            write_file(self._folder / blob_name(digest), attached.raw)
        referrers = [attached.referrer for attached in self._referrers.values()]
        write_file(self._folder / INDEX_FILE, layout_index(manifest, tag, referrers))
        write_file(self._folder / LAYOUT_FILE, LAYOUT_CONTENT)

    def _remove_strangers(self) -> None:
        """What an earlier attempt at another bundle left under the same name."""
        attached = (blob for one in self._referrers.values() for blob in one.blobs)
        wanted = {blob_name(blob.digest) for blob in (*self.manifest.blobs(), *attached)}
        for path in (self._folder / "blobs" / "sha256").iterdir():
            if f"blobs/sha256/{path.name}" not in wanted:
                path.unlink()
        for name in (INDEX_FILE, LAYOUT_FILE):
            (self._folder / name).unlink(missing_ok=True)


class TarSink(Sink):
    """Every blob at its final offset of one ustar file: order and headers depend on the manifest alone.

    The file may hold what an earlier attempt at the same manifest wrote.
    """

    def __init__(self, manifest: Manifest, file: IO[bytes], place: Path) -> None:
        super().__init__(manifest, place)
        self._fd = file.fileno()
        self._path = Path(file.name)
        self._offsets: dict[str, int] = {}
        small = (
            (LAYOUT_FILE, LAYOUT_CONTENT),
            (INDEX_FILE, layout_index(manifest, None)),
            (blob_name(manifest.digest), manifest.raw),
        )
        front = b"".join(header(name, len(data)) + data.ljust(padded(len(data)), b"\0") for name, data in small)
        self._resumed = os.pread(self._fd, len(front), 0) == front
        if not self._resumed:
            os.ftruncate(self._fd, 0)
        position = _write_all(self._fd, 0, front)
        for blob in manifest.blobs():
            position = _write_all(self._fd, position, header(blob_name(blob.digest), blob.size))
            self._offsets[blob.digest] = position
            position += padded(blob.size)
        os.ftruncate(self._fd, _write_all(self._fd, position, END))

    @contextmanager
    def slot(self, blob: Descriptor) -> Iterator[Slot]:
        yield Slot(self._fd, self._offsets[blob.digest], blob.size)

    def location(self, blob: Descriptor) -> BlobLocation:
        return BlobLocation(self._path, self._offsets[blob.digest], blob.size)

    def has(self, blob: Descriptor) -> bool:
        offset = self._offsets[blob.digest]
        if not self._resumed or _has_hole(self._fd, offset, blob.size):
            return False
        found = hash_location(BlobLocation(self._path, offset, blob.size), what=str(self._path))
        return found == blob.digest


def _has_hole(fd: int, offset: int, size: int) -> bool:
    """Whether part of the range was never written: then it need not be read to know that it has not arrived."""
    try:
        return os.lseek(fd, offset, os.SEEK_HOLE) < offset + size
    except OSError:
        return False


def _only_ours(path: Path) -> bool:
    """Whether nobody else can change the file behind a link that was checked."""
    status = path.lstat()
    return status.st_uid == os.geteuid() and not status.st_mode & stat.S_IWOTH


def layout_index(manifest: Manifest, tag: str | None, referrers: Sequence[Referrer] = ()) -> bytes:
    """The layout's own index.json, which names the one bundle, and what refers to it."""
    node: dict[str, Any] = {
        "mediaType": OCI_MANIFEST,
        "artifactType": ARTIFACT_TYPE,
        "digest": manifest.digest,
        "size": len(manifest.raw),
    }
    if tag is not None:
        node["annotations"] = {REF_NAME: tag}
    nodes = [node, *(referrer.to_json() for referrer in referrers)]
    return canonical_json({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": nodes})


@contextmanager
def new_bundle(location: LayoutLocation | TarLocation, manifest: Manifest, *, resume: bool = False) -> Iterator[Sink]:
    """A sink whose bundle gets its final name when the block ends without exception, and leaves nothing otherwise.

    With `resume` it goes on from what a broken transfer left (resumable_directory, resumable_file).
    Raises: UsageError `usage.output-exists`; HostError `host.disk-full`, ...
    """
    if isinstance(location, LayoutLocation):
        with (resumable_directory if resume else new_directory)(location.path) as folder:
            layout = LayoutSink(manifest, folder)
            yield layout
            layout.finish(location.tag)
    else:
        with (resumable_file if resume else new_file)(location.path) as file:
            yield TarSink(manifest, file, location.path)


def copy_blobs(
    sink: Sink, sources: list[tuple[Descriptor, BlobLocation]], *, what: str, progress: ProgressCall = no_progress
) -> None:
    """Link or copy many blobs with a few threads; the first error stops the rest."""
    total = sum(blob.size for blob, _ in sources)
    done = 0
    with ThreadPoolExecutor(COPY_THREADS) as pool:

        def copy(item: tuple[Descriptor, BlobLocation]) -> int:
            blob, location = item
            # What is full or refused is where it goes; an error of reading names its file itself.
            with host_errors(sink.place):
                sink.put_location(blob, location, what=what)
            return blob.size

        try:
            for size in pool.map(copy, sources):
                done += size
                progress(done, total)
        except BaseException:
            with contextlib.suppress(Exception):
                pool.shutdown(wait=True, cancel_futures=True)
            raise
