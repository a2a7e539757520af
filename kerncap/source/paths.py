"""Paths that hold `..`: which file the system finds, and under which name clang's VFS overlay looks for it.

In: paths as a compile command or a compiler writes them. Out: absolute ones without `.` and `..`. Called by the rest of
`source`. The two differ only behind a symbolic link: `link/../x.h` is in the folder above what `link` leads to.
"""

from __future__ import annotations

import os
from pathlib import Path


def as_found(path: str | os.PathLike[str]) -> Path:
    """The file or folder that the system finds there. Other symbolic links stay as they are: they are names."""
    at = "/"
    for part in os.path.join(os.getcwd(), path).split("/"):
        if part == "..":
            at = os.path.dirname(os.path.realpath(at) if os.path.islink(at) else at)
        elif part not in ("", "."):
            at = os.path.join(at, part)
    return Path(at)


def as_looked_up(cwd: Path, written: str) -> Path:
    """The name that stands for it in an overlay.

    Source: llvm/lib/Support/VirtualFileSystem.cpp, RedirectingFileSystem::lookupPath: the path is made absolute, then
    `.` and `..` are taken out of its text.
    """
    return Path(os.path.normpath(cwd / written))
