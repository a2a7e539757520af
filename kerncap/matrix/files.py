"""Files that a run writes again, reports and the state: whether they can be, before anything runs.

In: a path. Out: an error that says what to do. Called by the commands matrix and bisect.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

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
