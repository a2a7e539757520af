"""Hosts that are not here: /dev, /sys, /proc and /etc below a folder, with the GPUs that a test names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kerncap.runtime.doctor.host import Host, Node

GIB = 1 << 30
RENDER_GID = 109
SRAMECC = 1 << 26
# Source: Linux amdkfd, gfx_target_version.
VERSIONS = {
    "gfx906": 90006,
    "gfx908": 90008,
    "gfx90a": 90010,
    "gfx90c": 90012,
    "gfx942": 90402,
    "gfx1030": 100300,
    "gfx1100": 110000,
}


@dataclass(frozen=True)
class FakeHost(Host):
    """`nodes`: owner, group and mode of device nodes, which a test cannot set without being root."""

    nodes: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)

    def node(self, path: str) -> Node | None:
        if super().node(path) is None:
            return None
        uid, gid, mode = self.nodes.get(path, (0, RENDER_GID, 0o660))
        return Node(Path(path), uid, gid, mode)


@dataclass
class Builder:
    """Writes the files of a host; `host()` is it, as a user of the group `render` sees it unless a test says other."""

    root: Path

    def __post_init__(self) -> None:
        self.write("/etc/group", f"root:x:0:\nrender:x:{RENDER_GID}:\nusers:x:1000:\n")
        self.write("/etc/passwd", "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n")
        self.write("/etc/subuid", "ada:100000:65536\n")
        self.write("/etc/subgid", "ada:100000:65536\n")
        self.write("/proc/sys/vm/mmap_min_addr", "65536\n")
        self.write("/proc/sys/vm/max_map_count", "65530\n")
        self.write("/proc/sys/vm/overcommit_memory", "0\n")
        self.write("/proc/sys/kernel/osrelease", "6.12.1\n")
        self.write("/proc/cpuinfo", "processor : 0\nflags\t\t: fpu sse2 avx2\n\n")
        self.write("/proc/self/status", "Name: kerncap\nCapEff:\t0000000000000000\n")
        self.memory(total=64 * GIB, available=60 * GIB)

    def write(self, path: str, text: str) -> None:
        at = self.root / path.lstrip("/")
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)

    def memory(self, *, total: int, available: int, swap: int = 0, **more: int) -> None:
        numbers = {"MemTotal": total, "MemAvailable": available, "SwapTotal": swap, **more}
        self.write("/proc/meminfo", "".join(f"{name}:  {value >> 10} kB\n" for name, value in numbers.items()))

    def driver(self, *, noretry: int = -1, version: str | None = "6.10.5") -> None:
        self.write("/sys/module/amdgpu/parameters/noretry", f"{noretry}\n")
        if version is not None:
            self.write("/sys/module/amdgpu/version", f"{version}\n")
        self.write("/dev/kfd", "")
        self.write(f"{self._nodes}/0/properties", "cpu_cores_count 8\ngfx_target_version 0\n")

    @property
    def _nodes(self) -> str:
        return "/sys/devices/virtual/kfd/kfd/topology/nodes"

    def gpu(
        self, target: str, *, vram: int = 64 * GIB, used: int = GIB, sramecc: bool = True, node: bool = True
    ) -> None:
        number = len(list((self.root / self._nodes.lstrip("/")).iterdir()))
        minor = 127 + number
        capability = SRAMECC if sramecc else 0
        at = f"{self._nodes}/{number}"
        lines = f"gfx_target_version {VERSIONS[target]}\ncapability {capability}\ndrm_render_minor {minor}\n"
        self.write(f"{at}/properties", lines)
        self.write(f"{at}/mem_banks/0/properties", f"heap_type 2\nsize_in_bytes {vram}\n")
        if node:
            self.write(f"/dev/dri/renderD{minor}", "")
        self.write(f"/sys/class/drm/renderD{minor}/device/mem_info_vram_total", f"{vram}\n")
        self.write(f"/sys/class/drm/renderD{minor}/device/mem_info_vram_used", f"{used}\n")

    def host(
        self,
        *,
        uid: int = 1000,
        groups: tuple[int, ...] = (1000, RENDER_GID),
        environ: Mapping[str, str] | None = None,
        limits: Mapping[str, int] | None = None,
        nodes: Mapping[str, tuple[int, int, int]] | None = None,
    ) -> FakeHost:
        plenty = {"AS": -1, "NOFILE": 1024}
        return FakeHost(self.root, uid, frozenset(groups), environ or {}, plenty | dict(limits or {}), nodes or {})
