"""Files that a run writes again: reports and the state, replaced as a whole.

In: a path and bytes. Out: the file, never half of it. Called by state.py and the commands matrix and bisect.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from kerncap.bundle.files import sync_directory
from kerncap.errors import UsageError, typed


def check_replaceable(path: Path) -> None:
    """Before work is done whose result goes there. Raises: UsageError `usage.path`."""
    parent = path.absolute().parent
    if not parent.is_dir():
        raise UsageError(f"{parent} is no directory", code="usage.path", hint=typed("mkdir", "-p", parent))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError(f"{parent} cannot be written", code="usage.path", hint=typed("ls", "-ld", parent))
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise UsageError(f"{path} is no regular file", code="usage.path", hint=typed("ls", "-ld", path))


def replace_file(path: Path, data: bytes) -> None:
    """Under a temporary name first, synced. Raises: OSError."""
    partial = path.absolute().parent / f".{path.name}.{os.getpid()}.partial"
    try:
        with open(partial, "wb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
    sync_directory(path.absolute().parent)
