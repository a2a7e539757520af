"""The GPUs of a host as HSA agents: their full ISA names, XNACK, memory; and the virtual GPU's.

In: a Host. Out: Agents. Read from the driver's topology in /sys: nothing is opened, nothing is started. Called by the
checks of the GPU and of a bundle.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kerncap import native
from kerncap.runtime.doctor.host import Host

_ISA = "amdgcn-amd-amdhsa--"
# Source: LLVM, "User Guide for AMDGPU Backend", table of processors, target features.
_SRAMECC = frozenset({"gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"})
_XNACK = frozenset(
    {"gfx801", "gfx810", "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90a", "gfx90c"}
    | {"gfx940", "gfx941", "gfx942", "gfx950", "gfx1010", "gfx1011", "gfx1012", "gfx1013"}
)
# Source: Linux, amdgpu, KFD_SUPPORT_XNACK_PER_PROCESS (GC 9.4.2 and newer of the gfx9 family).
_XNACK_OF_A_PROCESS = frozenset({"gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"})
# Decided when the driver is loaded: off, unless noretry is 0. Source: Linux, amdgpu_gmc_noretry_set. Of the others
# (APUs, gfx10) it depends on more than this.
_XNACK_OF_THE_DRIVER = frozenset({"gfx900", "gfx906", "gfx908"})
_NORETRY = "/sys/module/amdgpu/parameters/noretry"
# Source: Linux, kfd_topology.h, HSA_CAP_SRAM_EDCSUPPORTED; hsakmttypes.h, HSA_HEAPTYPE.
_CAPABILITY_SRAMECC = 1 << 26
_VRAM_HEAPS = ("1", "2")


@dataclass(frozen=True)
class Agent:
    """A GPU that the driver lists. `isa` is its full name; `vram_free_bytes` is None where the driver does not say."""

    index: int
    target: str
    isa: str
    render_node: str | None
    vram_bytes: int
    vram_free_bytes: int | None


def agents(host: Host) -> list[Agent]:
    """In the order that `--device gpu:N` counts: the driver's, or that of ROCR_VISIBLE_DEVICES."""
    return [_agent(host, gpu) for gpu in gpus(host)]


def gpus(host: Host) -> list[native.Gpu]:
    return native.real_gpus(host.topology, host.at("/dev/kfd"), host.environ)


def _agent(host: Host, gpu: native.Gpu) -> Agent:
    node = host.topology / str(gpu.node)
    properties = _properties(node / "properties")
    minor = properties.get("drm_render_minor", 0)
    render = f"renderD{minor}" if minor else None
    sysfs = f"/sys/class/drm/{render}/device"
    total, used = (host.number(f"{sysfs}/mem_info_vram_{word}") for word in ("total", "used"))
    banks = [_properties(bank / "properties") for bank in (node / "mem_banks").glob("*")]
    vram = sum(bank.get("size_in_bytes", 0) for bank in banks if str(bank.get("heap_type")) in _VRAM_HEAPS)
    sramecc = bool(properties.get("capability", 0) & _CAPABILITY_SRAMECC)
    return Agent(
        index=gpu.index,
        target=gpu.target,
        isa=full_isa(gpu.target, sramecc=sramecc, xnack=xnack_is_on(host, gpu.target)),
        render_node=render,
        vram_bytes=vram or total or 0,
        vram_free_bytes=total - used if total is not None and used is not None else None,
    )


def _properties(path: Path) -> dict[str, int]:
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    words = (line.split() for line in lines)
    return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdecimal()}


def full_isa(target: str, *, sramecc: bool, xnack: bool) -> str:
    """The name that the HSA runtime gives: features that a processor does not have are not in it."""
    name = _ISA + target
    if target in _SRAMECC:
        name += ":sramecc+" if sramecc else ":sramecc-"
    if target in _XNACK:
        name += ":xnack+" if xnack else ":xnack-"
    return name


def virtual_isa(target: str) -> str:
    """Of the virtual GPU: with ECC, without XNACK. Source: native/vgpu/kfd/topology.cpp, ioctls.cpp."""
    return full_isa(target, sramecc=True, xnack=False)


def has_xnack(target: str) -> bool:
    return target in _XNACK


def xnack_can_be_chosen(target: str) -> bool:
    """HSA_XNACK decides for each process; of other GPUs a parameter of the driver."""
    return target in _XNACK_OF_A_PROCESS


def xnack_is_sure(target: str) -> bool:
    """Whether xnack_is_on() knows for this processor; else it is a guess, and only the runtime knows."""
    return target in _XNACK_OF_A_PROCESS | _XNACK_OF_THE_DRIVER or target not in _XNACK


def xnack_is_on(host: Host, target: str) -> bool:
    """For a process that is started now. Source: Linux, amdgpu, kfd_process_xnack_mode; ROCr, flag.h, HSA_XNACK."""
    if target not in _XNACK:
        return False
    wanted = host.environ.get("HSA_XNACK", "")
    if target in _XNACK_OF_A_PROCESS and wanted in ("0", "1"):
        return wanted == "1"
    return host.number(_NORETRY) == 0


def missing_features(code_isa: str, agent_isa: str) -> tuple[str, ...]:
    """Features of the code's target ID (`xnack+`) that the agent's has not. Source: native/replay/target.cpp."""
    has = agent_isa.split(":")[1:]
    return tuple(feature for feature in code_isa.split(":")[1:] if feature not in has)
