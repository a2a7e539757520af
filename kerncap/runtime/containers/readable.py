"""Whether the container's user can read what is mounted.

In: the mounts. Out: an error that says what to do. Called by line.py.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from kerncap.errors import HostError, typed

_SOURCE_PARTS = ("src", "vfs.yaml", "compile.json", "triton.json")
_BUNDLE_PARTS = ("oci-layout", "index.json", "blobs", "capture", "capture.json", *_SOURCE_PARTS)


def require_readable(volumes: tuple[tuple[Path, str], ...], own_user: str | None) -> None:
    """As root the container runs as the image's own user, who must be able to read what is mounted, all of it."""
    for source, _ in volumes:
        for path in _read_inside(source):
            if _is_readable(path, own_user):
                continue
            whom = "is readable only to its owner, and the container does not run as root"
            raise HostError(
                f"{path} {whom if own_user is None else 'is not readable'}",
                code="host.unreadable-bundle",
                hint=typed("chmod", "-R", f"{'o' if own_user is None else 'u'}+rX", source),
            )


def _read_inside(source: Path) -> Iterator[Path]:
    """A mounted file or folder and everything in it that a command reads; what else lies there is nobody's business."""
    yield source
    if source.is_dir() and os.access(source, os.R_OK | os.X_OK):
        for name in _BUNDLE_PARTS:
            if os.path.lexists(source / name):
                yield source / name
            if not (source / name).is_symlink():  # refused by the reader inside, and not to be followed here
                for at, folders, files in os.walk(source / name):
                    yield from (Path(at, entry) for entry in (*folders, *files))


def _is_readable(path: Path, own_user: str | None) -> bool:
    """What was listed and is gone was renamed: a bundle that is used while it arrives gets whole blobs so."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True
    if own_user is not None:
        return os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)) or not os.path.lexists(path)
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else 0)
    return status.st_mode & needed == needed
