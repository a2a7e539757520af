"""Outputs: written under a temporary name beside the final one, synced, renamed when whole.

In: the final path. Out: a file or directory to fill; nothing under the final name unless complete and on the disk.
Called by sink, unpack and the workflows.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kerncap.bundle.files import host_errors, sync_directory, sync_tree
from kerncap.bundle.location import refuse_existing
from kerncap.errors import TransportError, UsageError, typed
from kerncap.scratch import lock_tree, remove_tree, sweep

_LOG = logging.getLogger(__name__)


@contextmanager
def new_directory(final: Path) -> Iterator[Path]:
    """A directory to fill under a temporary name; renamed to `final` at the end, removed when an exception leaves.

    Raises: UsageError `usage.output-exists`; HostError.
    """
    refuse_existing(final)
    partial = _partial_name(final)
    with host_errors(final):
        # Of a command that was killed; it may be as big as a GPU's memory.
        sweep(partial.parent, re.compile(re.escape(f".{final.name}.") + r"[0-9]+\.partial"))
        partial.mkdir()
        lock = lock_tree(partial)
        try:
            yield partial
            sync_tree(partial)
            refuse_existing(final)
            partial.rename(final)
            sync_directory(final.absolute().parent)
        except BaseException:
            remove_tree(partial)
            raise
        finally:
            os.close(lock)


@contextmanager
def resumable_directory(final: Path) -> Iterator[Path]:
    """As new_directory, but what an earlier, broken or killed attempt left is given again, to check and to go on from.

    Kept when a transfer fails or is interrupted, removed when anything else goes wrong (full disk, hostile content).
    Raises: UsageError `usage.output-exists`, `usage.output-busy`; HostError.
    """
    refuse_existing(final)
    partial = _resumable_name(final)
    with host_errors(final):
        with contextlib.suppress(FileExistsError):
            partial.mkdir()
        lock = os.open(partial, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _lock_own(lock, partial)
            with _kept_when_broken(partial):
                yield partial
                sync_tree(partial)
                refuse_existing(final)
                partial.rename(final)
                sync_directory(final.absolute().parent)
        finally:
            os.close(lock)


@contextmanager
def resumable_file(final: Path) -> Iterator[IO[bytes]]:
    """As new_file, with what an earlier, broken or killed attempt left still in it; kept as resumable_directory does.

    Raises: UsageError `usage.output-exists`, `usage.output-busy`; HostError.
    """
    refuse_existing(final)
    partial = _resumable_name(final)
    with host_errors(final), open(partial, "r+b", buffering=0, opener=_open_or_create) as file:
        _lock_own(file.fileno(), partial)
        with _kept_when_broken(partial):
            yield file
            os.fsync(file.fileno())
            give_final_name(partial, final)


def _open_or_create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def _resumable_name(final: Path) -> Path:
    return final.absolute().parent / f".{final.name}.partial"


@contextmanager
def _kept_when_broken(partial: Path) -> Iterator[None]:
    try:
        yield
    except (TransportError, KeyboardInterrupt):
        _LOG.warning("what has arrived is kept in %s; the same command goes on from there", partial)
        raise
    except BaseException:
        if partial.is_dir():
            remove_tree(partial)
        else:
            partial.unlink(missing_ok=True)
        raise


def _lock_own(fd: int, path: Path) -> None:
    """Only what is ours alone, and only by one process at a time.

    Raises: UsageError `usage.output-busy`; PermissionError.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Who held the lock until now may have given the thing its final name.
        there = path.lstat() if path.exists() else None
    except BlockingIOError:
        there = None
    status = os.fstat(fd)
    if there is None or not os.path.samestat(status, there):
        hint = typed("fuser", "-v", path)
        raise UsageError(f"another process is writing {path}", code="usage.output-busy", hint=hint)
    plain = stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1)
    if status.st_uid != os.geteuid() or not plain:
        raise PermissionError(errno.EPERM, "belongs to somebody else, or is no plain file", str(path))


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
