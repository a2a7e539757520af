"""Device nodes of this host that a container gets, and their groups. In: a device's name. Out: called by line.py."""

from __future__ import annotations

import stat
from pathlib import Path

from kerncap.errors import HostError

_KFD = Path("/dev/kfd")
_DRI = Path("/dev/dri")


def gpu_present() -> bool:
    return _KFD.exists()


def devices_of(device: str | None) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Device nodes and their numeric groups, when a real GPU may be used. The image need not know the groups' names."""
    if device is None or device.startswith("vgpu"):
        return (), ()
    if not gpu_present():
        if device.startswith("gpu"):
            raise HostError("no GPU here: there is no /dev/kfd", code="host.no-gpu", hint="--device vgpu:gfx942")
        return (), ()
    nodes = [_KFD, *sorted(_DRI.glob("renderD*"))]
    groups = {node.stat().st_gid for node in nodes if node.stat().st_mode & stat.S_IRGRP}
    return tuple(map(str, nodes)), tuple(sorted(groups - {0}))
