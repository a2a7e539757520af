"""Checks of disk space: where captures, pulls, temporary files and images go.

In: folders. Out: Checks. Called by the report and by the checks of engines.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kerncap.errors import typed
from kerncap.runtime.doctor.report import Check, size

_LOW_BYTES = 10 << 30
_NO_BYTES = 1 << 30


def disk() -> Check:
    """Where captures and pulls go: here; and where temporary files go."""
    try:
        return free_in("disk", [Path.cwd(), Path(tempfile.gettempdir())])
    except OSError as error:
        return Check("disk", "fail", f"the working directory or the temporary one: {error.strerror}", "cd; df -h .")


def free_in(name: str, places: Sequence[Path], mend: str | None = None) -> Check:
    try:
        free = {place: shutil.disk_usage(place).free for place in places}
    except OSError as error:
        detail = f"{error.filename or places[0]}: {error.strerror}"
        return Check(name, "fail", detail, typed("ls", "-ld", *places))
    place, least = min(free.items(), key=lambda item: item[1])
    detail = f"{size(least)} free in {place}"
    if least >= _LOW_BYTES:
        return Check(name, "ok", detail)
    return Check(name, "fail" if least < _NO_BYTES else "warn", detail, mend or typed("df", "-h", place))


def room_for(size_bytes: int) -> Check:
    """For a bundle that is fetched: it lies in the folder of temporary files while it is replayed."""
    name, place = "room", Path(tempfile.gettempdir())
    free = shutil.disk_usage(place).free
    detail = f"the bundle takes {size(size_bytes)}, {size(free)} free in {place}"
    if size_bytes > free:
        return Check(name, "fail", detail, "export TMPDIR=FOLDER  # on a larger disk")
    return Check(name, "ok", detail)
