"""Files of this package: opened without following links, written under a temporary name, renamed when whole.

In: paths. Out: nothing under a final name unless complete and synced. Operating-system errors become HostError.
Called by seal, unpack, layout and transport.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import logging
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from kerncap.bundle.location import refuse_existing
from kerncap.errors import BundleError, HostError, TransportError, UsageError, typed

_LOG = logging.getLogger(__name__)
COPY_BYTES = 256 << 10


@contextmanager
def host_errors(path: Path) -> Iterator[None]:
    """Turn OSError into HostError `host.disk-full`, `host.permission` or `host.io`."""
    try:
        yield
    except OSError as error:
        raise host_error(error, path) from error


def host_error(error: OSError, path: Path) -> HostError:
    folder = path if path.is_dir() else path.parent
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return HostError(f"{path}: {os.strerror(error.errno)}", code="host.disk-full", hint=typed("df", "-h", folder))
    text = f"{error.filename or path}: {error.strerror or error}"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return HostError(text, code="host.permission", hint=typed("ls", "-ld", folder))
    return HostError(text, code="host.io", hint=typed("ls", "-ld", folder))


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


def read_exactly(file: IO[bytes], size: int, *, what: str) -> bytes:
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


def write_file(path: Path, data: bytes) -> None:
    """A new file in a directory of new_directory, which syncs it. Raises: HostError."""
    with host_errors(path), path.open("xb") as file:
        file.write(data)


def sync_tree(folder: Path) -> None:
    """Sync every file and directory below and including `folder`.

    Once at the end and not file by file: the system writes in the background while the next file is filled.
    """
    for name, _, files in os.walk(folder, topdown=False):
        for file in files:
            _sync(Path(name) / file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        sync_directory(Path(name))


def sync_directory(folder: Path) -> None:
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    fd = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def new_directory(final: Path) -> Iterator[Path]:
    """A directory to fill under a temporary name; renamed to `final` at the end, removed when an exception leaves.

    Raises: UsageError `usage.output-exists`; HostError.
    """
    refuse_existing(final)
    partial = _partial_name(final)
    with host_errors(final):
        partial.mkdir()
        try:
            yield partial
            sync_tree(partial)
            refuse_existing(final)
            partial.rename(final)
            sync_directory(final.absolute().parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


@contextmanager
def resumable_directory(final: Path) -> Iterator[Path]:
    """As new_directory, but what an earlier, broken or killed attempt left is given again, to check and to go on from.

    Kept when a transfer fails or is interrupted, removed when anything else goes wrong (full disk, hostile content).
    Raises: UsageError `usage.output-exists`, `usage.output-busy`; HostError.
    """
    refuse_existing(final)
    partial = final.absolute().parent / f".{final.name}.partial"
    with host_errors(final):
        with contextlib.suppress(FileExistsError):
            partial.mkdir()
        lock = _lock_directory(partial)
        try:
            yield partial
            sync_tree(partial)
            refuse_existing(final)
            partial.rename(final)
            sync_directory(final.absolute().parent)
        except (TransportError, KeyboardInterrupt):
            _LOG.warning("what has arrived is kept in %s; the same command goes on from there", partial)
            raise
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        finally:
            os.close(lock)


def _lock_directory(folder: Path) -> int:
    """Only our own directory, and only by one process at a time."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(fd).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "belongs to somebody else", str(folder))
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        hint = typed("fuser", "-v", folder)
        raise UsageError(f"another process is writing {folder}", code="usage.output-busy", hint=hint) from None
    except BaseException:
        os.close(fd)
        raise
    return fd


@contextmanager
def new_file(final: Path) -> Iterator[IO[bytes]]:
    """A file to write under a temporary name; given the name `final` at the end, removed when an exception leaves.

    Raises: UsageError `usage.output-exists`; HostError.
    """
    refuse_existing(final)
    partial = _partial_name(final)
    with host_errors(final):
        file = partial.open("x+b", buffering=0)
        try:
            with file:
                yield file
                os.fsync(file.fileno())
            give_final_name(partial, final)
        except BaseException:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise


def give_final_name(partial: Path, final: Path) -> None:
    """Rename a file without ever replacing another one."""
    try:
        os.link(partial, final)
        partial.unlink()
    except FileExistsError:
        refuse_existing(final)
        raise
    except OSError:
        # A file system without hard links: the window between check and rename is all that is lost.
        refuse_existing(final)
        partial.rename(final)
    sync_directory(final.absolute().parent)


def _partial_name(final: Path) -> Path:
    return final.absolute().parent / f".{final.name}.{os.getpid()}.partial"
