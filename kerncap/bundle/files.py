"""Files of this package: opened without following links, read in bounded pieces, synced; errors of the system in words.

In: paths. Out: open files and bytes; operating-system errors become HostError with a hint that fits the machine.
Called by every other module of this package and by transport.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

from kerncap.bundle.compression import Readable
from kerncap.errors import FULL_ERRORS, NOT_REGULAR, PERMISSION_ERRORS, BundleError, HostError, typed

COPY_BYTES = 256 << 10  # stays in a core's own cache between reading, hashing and writing; 1 MiB takes twice the time


def digest_of(path: Path) -> str:
    """`sha256:...` of a file's bytes. Raises: OSError."""
    with open_named(path) as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def host_errors(path: Path) -> Iterator[None]:
    """Turn OSError into HostError `host.disk-full`, `host.permission` or `host.io`."""
    try:
        yield
    except OSError as error:
        raise host_error(error, path) from error


def host_error(error: OSError, path: Path) -> HostError:
    """`path` is what was read or written, whether or not it exists by now; hints name only what exists."""
    folder = _nearest_folder(path)
    if error.errno in FULL_ERRORS:
        return _disk_full(error, path, folder)
    text = f"{error.filename or path}: {error.strerror or error}"
    if error.errno in PERMISSION_ERRORS:
        return HostError(text, code="host.permission", hint=typed("ls", "-ld", folder))
    parent = path.absolute().parent
    if error.errno == errno.ENOENT and not parent.exists():
        return HostError(f"{parent}: no such folder", code="host.no-folder", hint=typed("mkdir", "-p", parent))
    return HostError(text, code="host.io", hint=typed("ls", "-ld", folder))


def _disk_full(error: OSError, path: Path, folder: Path) -> HostError:
    mount = _mount_point(folder)
    text = f"{path}: {os.strerror(error.errno or 0)}: file system {mount}"
    if error.errno == errno.EDQUOT:
        return HostError(f"{text}, your quota", code="host.disk-full", hint="quota -s")
    if error.errno == errno.EFBIG:
        text = f"{text} or this shell takes no file of that size"
        return HostError(text, code="host.disk-full", hint=f"ulimit -f unlimited; {typed('df', '-hT', mount)}")
    # What fills it, biggest last: that is what can be freed.
    hint = f"{typed('df', '-h', mount)}; {typed('du', '-xhd', '1', mount)} | sort -h"
    return HostError(text, code="host.disk-full", hint=hint)


def _nearest_folder(path: Path) -> Path:
    """The path itself or the first folder above that exists."""
    path = path.absolute()
    return next((folder for folder in (path, *path.parents) if folder.is_dir()), Path("/"))


def _mount_point(folder: Path) -> Path:
    folder = folder.resolve()
    return next((above for above in (folder, *folder.parents) if os.path.ismount(above)), folder)


def open_regular(path: Path, *, what: str) -> IO[bytes]:
    """Open for reading; a link, device or directory in that place is refused.

    Raises: BundleError `bundle.missing-file`, `bundle.hostile-file`; HostError.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise BundleError(f"{what}: {path} is missing", code="bundle.missing-file") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENOTDIR):
            raise BundleError(f"{what}: {path} is not a regular file", code="bundle.hostile-file") from None
        raise host_error(error, path) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise BundleError(f"{what}: {path} is not a regular file", code="bundle.hostile-file")
    return os.fdopen(fd, "rb", buffering=0)


def open_named(path: Path) -> BufferedReader:
    """Open a file that a person named, for reading; links are followed. A FIFO would be waited for, others never end.

    Raises: OSError, of a FIFO, socket or device with `strerror` "not a regular file".
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(NOT_REGULAR, "not a regular file", os.fspath(path))


def read_named(path: Path) -> bytes:
    """All of it. Raises: as open_named."""
    with open_named(path) as file:
        return file.read()


def read_regular(path: Path, *, what: str, limit: int) -> bytes:
    """The whole file, at most `limit` bytes. Raises: BundleError `bundle.limit` and as open_regular."""
    with open_regular(path, what=what) as file, host_errors(path):
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise BundleError(f"{what}: {path} has {size} bytes, at most {limit} are allowed", code="bundle.limit")
        return read_exactly(file, size, what=what)


class Window(io.RawIOBase):
    """The next `size` bytes of a file and no more."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int = -1) -> Any:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


def read_exactly(file: Readable, size: int, *, what: str) -> bytes:
    """Raises: BundleError `bundle.truncated`."""
    pieces = []
    left = size
    while left:
        piece = file.read(min(left, COPY_BYTES))
        if not piece:
            raise BundleError(f"{what}: ends {left} bytes early", code="bundle.truncated")
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def read_pieces(file: IO[bytes], size: int, *, what: str) -> Iterator[memoryview]:
    """The next `size` bytes, piece by piece in one buffer: a piece holds until the next is asked for.

    Raises: BundleError `bundle.truncated`.
    """
    buffer = memoryview(bytearray(min(size, COPY_BYTES)))
    left = size
    while left:
        count: int = file.readinto(buffer[: min(left, COPY_BYTES)])  # type: ignore[attr-defined]
        if not count:
            raise BundleError(f"{what}: ends {left} bytes early", code="bundle.truncated")
        yield buffer[:count]
        left -= count


def start_writeback(fd: int, offset: int, size: int) -> None:
    """Have the system write these bytes to the disk now, beside what follows: the sync at the end waits for little.

    Source: posix_fadvise(2), mm/fadvise.c: POSIX_FADV_DONTNEED starts the writeback of dirty pages and keeps them.
    """
    if sys.platform == "linux" and size:
        with contextlib.suppress(OSError):
            os.posix_fadvise(fd, offset, size, os.POSIX_FADV_DONTNEED)


def write_file(path: Path, data: bytes) -> None:
    """A new file in a directory of new_directory, which syncs it. Raises: HostError."""
    with host_errors(path), path.open("xb") as file:
        file.write(data)


def replace_file(path: Path, data: bytes) -> None:
    """Whole or not at all, in place of what is there; under `.NAME.PID.part` until then. Raises: OSError."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync_directory(path.parent)


def sync_tree(folder: Path) -> None:
    """Sync every file and directory below and including `folder`.

    Once at the end and not file by file: the system writes in the background while the next file is filled.
    """
    for name, _, files in os.walk(folder, topdown=False):
        for file in files:
            _sync(Path(name) / file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        sync_directory(Path(name))


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """One process at a time that asks for the same folder; the lock ends with its process, however that ends.

    Raises: OSError.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def sync_directory(folder: Path) -> None:
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    fd = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
