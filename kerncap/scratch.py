"""Temporary folders that are gone whatever ends the command, an interrupt in the middle of their removal too.

In: a prefix. Out: a folder for a `with` block. Called by every part that needs files of its own for a while.
A command that is killed leaves its folders; the next one removes them, for nobody holds their lock any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import logging
import os
import re
import shutil
import tempfile
import time
import weakref
from pathlib import Path

log = logging.getLogger(__name__)

# So old is one that nobody can be about to lock.
_SETTLED_S = 60.0
# Those of processes that can be asked stay: these go on when the command that started them is killed.
_LEFT_IN_TEMP = re.compile(r"kerncap-(?!attach-)[a-z]+-\w+")


class Scratch:
    """A temporary folder, as text, for a `with` block."""

    def __init__(self, prefix: str, folder: str | os.PathLike[str] | None = None) -> None:
        if folder is None:
            _sweep_temp(tempfile.gettempdir())
        self._name = tempfile.mkdtemp(prefix=prefix, dir=folder)
        self._remove = weakref.finalize(self, _unlock_and_remove, self._name, lock_tree(self._name))

    def __enter__(self) -> str:
        return self._name

    def __exit__(self, *raised: object) -> None:
        self._remove()


def lock_tree(folder: str | os.PathLike[str]) -> int:
    """A descriptor that keeps the folder from being swept until it is closed. Raises: OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with contextlib.suppress(OSError):  # a file system without locks: swept by nobody either
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd


def sweep(parent: str | os.PathLike[str], names: re.Pattern[str]) -> None:
    """Remove the folders in `parent` with such a name that are ours and that a killed command left."""
    try:
        with os.scandir(parent) as entries:
            found = [Path(entry.path) for entry in entries if names.fullmatch(entry.name)]
    except OSError:
        return
    for folder in found:
        with contextlib.suppress(OSError):  # gone meanwhile, somebody else's, or in use
            _remove_if_left(folder)


def _remove_if_left(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid() or time.time() - status.st_mtime < _SETTLED_S:
            return
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        log.info("%s is removed: the command that made it was killed", folder)
        remove_tree(folder)
    finally:
        os.close(fd)


@functools.cache
def _sweep_temp(folder: str) -> None:
    """Once a process."""
    sweep(folder, _LEFT_IN_TEMP)


def _unlock_and_remove(folder: str, lock: int) -> None:
    remove_tree(folder)
    os.close(lock)


def remove_tree(folder: str | os.PathLike[str]) -> None:
    """Remove it all, as far as the system lets us; an interrupt leaves when that is done."""
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            shutil.rmtree(folder, ignore_errors=True)
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
