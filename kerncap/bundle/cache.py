"""The local store of blobs, shared by all bundles and processes of a user: what was pulled once is not pulled again.

In: blobs that arrived, checked. Out: the same blobs for another bundle, linked or copied, and checked again.
Called by transport and cli. Nothing depends on it: where it cannot be used (full disk, no permission), a command goes
on without. A blob has its final name only when it is whole; removing one takes it from nobody, for outputs hold links
or copies of their own.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kerncap.bundle.files import open_regular, read_pieces
from kerncap.bundle.manifest import Descriptor, is_digest
from kerncap.bundle.sink import Sink
from kerncap.bundle.store import LAYOUT_FILE, BlobLocation
from kerncap.errors import FULL_ERRORS, PERMISSION_ERRORS, BundleError, HostError, KerncapError, UsageError

FOLDER_VARIABLE = "KERNCAP_CACHE_DIR"
LIMIT_VARIABLE = "KERNCAP_CACHE_LIMIT"
DEFAULT_LIMIT_BYTES = 20 << 30
TRIMMED_TO = 0.9
"""Of the limit: so much is left when it was reached, so that not every further blob trims again."""

SETTLED_S = 60.0
"""A file that was begun and that nobody holds is removed when it is so old."""

_LOG = logging.getLogger(__name__)
_BEGUN = re.compile(r"\.new-\w+")


def cache_folder() -> Path:
    """KERNCAP_CACHE_DIR, or `kerncap` in XDG_CACHE_HOME, or `~/.cache/kerncap`.

    Raises: HostError `host.no-home` for a user whom the system does not know, as in some containers.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named).absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(shared):
        return Path(shared) / "kerncap"
    try:
        return Path.home() / ".cache" / "kerncap"
    except RuntimeError:
        hint = f"export {FOLDER_VARIABLE}=DIR"
        raise HostError("this user has no home folder, which the cache is in", code="host.no-home", hint=hint) from None


def cache_limit() -> int:
    """KERNCAP_CACHE_LIMIT in bytes; 0: nothing is kept. Raises: UsageError `usage.number`."""
    text = os.environ.get(LIMIT_VARIABLE, str(DEFAULT_LIMIT_BYTES))
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise UsageError(
            f"{LIMIT_VARIABLE} is {text[:40]!r}, expected a number of bytes",
            code="usage.number",
            hint=f"export {LIMIT_VARIABLE}={DEFAULT_LIMIT_BYTES}",
        )
    return int(text)


@dataclass(frozen=True, slots=True)
class Entry:
    digest: str
    size: int
    used_ns: int
    """When it was last taken or kept, nanoseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Pruned:
    removed_blobs: int
    removed_bytes: int
    kept_bytes: int


class BlobCache:
    """The store in `folder`. `take` and `keep` may be called from several threads, and never fail a command."""

    def __init__(self, folder: Path | None = None, limit_bytes: int | None = None) -> None:
        self.limit_bytes = cache_limit() if limit_bytes is None else limit_bytes
        try:
            self.folder = cache_folder() if folder is None else folder
        except HostError:
            self.folder, self.limit_bytes = Path(os.devnull), 0
        self._blobs = self.folder / "blobs" / "sha256"
        self._lock = threading.Lock()
        self._off = self.limit_bytes == 0
        self._total: int | None = None
        self._not_ours = self._why_not_ours()
        if self._not_ours is not None:
            self._give_up(self._not_ours)

    def take(self, sink: Sink, blob: Descriptor) -> bool:
        """Link or copy the blob into the sink, if it is here and right; a damaged one is removed."""
        path = self._path(blob.digest)
        try:
            if self._off or not stat.S_ISREG(path.lstat().st_mode):
                return False
            sink.put_location(blob, BlobLocation(path, 0, blob.size), what=f"cache {self.folder}")
        except BundleError as error:
            if error.code == "bundle.missing-file":  # removed meanwhile
                return False
            _LOG.warning("%s: it is removed from the cache", error.message)
            with contextlib.suppress(OSError):
                path.unlink()
            return False
        except FileNotFoundError:
            return False
        except HostError as error:
            self._give_up(error.message)
            return False
        except OSError as error:
            if error.errno in FULL_ERRORS:
                raise  # of the sink: nothing is written here
            self._give_up(error.strerror or str(error), quietly=error.errno in PERMISSION_ERRORS)
            return False
        with contextlib.suppress(OSError):  # removed meanwhile, or of a cache that is only read here
            os.utime(path)
        return True

    def keep(self, sink: Sink, blob: Descriptor) -> None:
        """Link or copy a blob that arrived in the sink and was checked."""
        if self._off or blob.size > self.limit_bytes:
            return
        try:
            if self._add(sink, blob):
                self._count(blob.size)
        except KerncapError as error:
            self._give_up(error.message)
        except OSError as error:
            self._give_up(error.strerror or str(error), quietly=error.errno in PERMISSION_ERRORS)

    def entries(self) -> list[Entry]:
        """Every blob, the least recently used first. Raises: OSError."""
        found = []
        try:
            with os.scandir(self._blobs) as files:
                for file in files:
                    if is_digest(f"sha256:{file.name}") and file.is_file(follow_symlinks=False):
                        with contextlib.suppress(FileNotFoundError):
                            status = file.stat(follow_symlinks=False)
                            found.append(Entry(f"sha256:{file.name}", status.st_size, status.st_mtime_ns))
        except FileNotFoundError:
            return []
        return sorted(found, key=lambda entry: (entry.used_ns, entry.digest))

    def prune(self, to_bytes: int) -> Pruned:
        """Remove the least recently used blobs until `to_bytes` are left, and what killed commands left half-written.

        Raises: OSError; HostError `host.no-cache`.
        """
        if self._not_ours is not None:
            raise HostError(self._not_ours, code="host.no-cache", hint=f"export {FOLDER_VARIABLE}=DIR")
        if not self._blobs.is_dir():
            return Pruned(0, 0, 0)
        with self._locked(fcntl.LOCK_EX):
            return self._prune(to_bytes)

    def _why_not_ours(self) -> str | None:
        """Blobs are removed here: those of a bundle, which a link or a variable led to, are not for that."""
        links = [path for path in (self._blobs.parent, self._blobs) if path.is_symlink()]
        if links:
            return f"{self.folder} is no cache: {links[0]} is a link"
        return f"{self.folder} is no cache: it is a bundle" if (self.folder / LAYOUT_FILE).exists() else None

    def _prune(self, to_bytes: int) -> Pruned:
        removed_blobs = removed_bytes = 0
        self._sweep()
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if total <= to_bytes:
                break
            with contextlib.suppress(FileNotFoundError):
                self._path(entry.digest).unlink()
            total -= entry.size
            removed_blobs += 1
            removed_bytes += entry.size
        self._total = total
        return Pruned(removed_blobs, removed_bytes, total)

    def _path(self, digest: str) -> Path:
        return self._blobs / digest.removeprefix("sha256:")

    def _add(self, sink: Sink, blob: Descriptor) -> bool:
        """False: it was here already."""
        self._blobs.mkdir(parents=True, exist_ok=True, mode=0o700)
        path, there = self._path(blob.digest), sink.location(blob)
        if path.exists():
            return False
        with open_regular(there.path, what=str(sink.place)) as file:
            status = os.fstat(file.fileno())
            if there.offset == 0 and status.st_size == blob.size and status.st_mode & 0o444 == 0o444:
                try:
                    os.link(there.path, path, follow_symlinks=False)
                    return True
                except FileExistsError:
                    return False
                except OSError:
                    pass  # another file system, or one without hard links
            self._need_room(sink, blob)
            file.seek(there.offset)
            with self._new_file() as (new, name):
                for piece in read_pieces(file, blob.size, what=str(sink.place)):
                    new.write(piece)
                new.flush()
                os.rename(name, path)
        return True

    def _need_room(self, sink: Sink, blob: Descriptor) -> None:
        """A copy must not take the room that the output itself needs. Raises: OSError ENOSPC."""
        room = os.statvfs(self._blobs)
        output = sink.place if sink.place.exists() else sink.place.absolute().parent
        same = output.stat().st_dev == self._blobs.stat().st_dev
        if room.f_bavail * room.f_frsize < blob.size + (sink.manifest.total_bytes if same else 0):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._blobs))

    @contextmanager
    def _new_file(self) -> Iterator[tuple[IO[bytes], str]]:
        """A temporary name that is locked while it is written, so that one without lock is known to be abandoned."""
        fd, name = tempfile.mkstemp(prefix=".new-", dir=self._blobs)
        try:
            with os.fdopen(fd, "wb") as file:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.fchmod(fd, 0o644)  # as in an output, which it may be linked into; nobody else gets into the folder
                yield file, name
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)

    def _sweep(self) -> None:
        for path in self._blobs.iterdir():
            if _BEGUN.fullmatch(path.name):
                with contextlib.suppress(OSError):  # gone, or somebody writes it
                    if abs(time.time() - path.lstat().st_mtime) < SETTLED_S:
                        continue  # who made it may be about to lock it
                    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                    try:
                        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        path.unlink()
                    finally:
                        os.close(fd)

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """One process prunes at a time; the lock ends with its process, however that ends. Raises: OSError."""
        fd = os.open(self.folder / "blobs" / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, how)
            yield
        finally:
            os.close(fd)

    def _count(self, size: int) -> None:
        """Other processes' blobs are counted when this one trims."""
        with self._lock:
            if self._total is None:
                self._total = sum(entry.size for entry in self.entries())
            else:
                self._total += size
            if self._total > self.limit_bytes:
                # Who prunes already may be stopped: a transfer does not wait for it.
                with contextlib.suppress(BlockingIOError), self._locked(fcntl.LOCK_EX | fcntl.LOCK_NB):
                    self._prune(int(self.limit_bytes * TRIMMED_TO))

    def _give_up(self, reason: str, *, quietly: bool = False) -> None:
        """Once. `quietly` where one may not write, as in a container: there never was a cache to miss."""
        with self._lock:
            if self._off:
                return
            self._off = True
        _LOG.log(logging.INFO if quietly else logging.WARNING, "going on without the cache %s: %s", self.folder, reason)
