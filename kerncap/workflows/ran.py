"""Where and when a verdict is found: this moment, this machine or container, its HSA runtime.

In: nothing but what is here. Out: Ran. Called by the replay workflow; the run workflow adds the image from outside.
"""

from __future__ import annotations

import importlib.metadata
import platform
from datetime import UTC, datetime
from pathlib import Path

from kerncap.results import Ran

_HSA_NAME = "libhsa-runtime64.so."
_HSA_FOLDERS = ("/opt/rocm/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64")


def ran_here() -> Ran:
    """What cannot be told is left out."""
    versions = {"kerncap": _own_version(), "hsa_runtime": _hsa_runtime(), "os": _os(), "linux": platform.release()}
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Ran(at, {name: version for name, version in versions.items() if version})


def _own_version() -> str:
    try:
        return importlib.metadata.version("kerncap")
    except importlib.metadata.PackageNotFoundError:
        return "source checkout"


def _hsa_runtime() -> str:
    """`1.14.60401`: what the library's file name says behind its soname."""
    for folder in _HSA_FOLDERS:
        found = Path(folder, _HSA_NAME + "1")
        if found.exists():
            return found.resolve().name.removeprefix(_HSA_NAME)
    return ""


def _os() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""
