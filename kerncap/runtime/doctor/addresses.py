"""Checks of host memory and addresses: whether a process here can have the captured addresses, and hold the memory.

In: a Need, a Host. Out: Checks. Source: Linux, Documentation/admin-guide/sysctl/vm.rst; arch/x86/mm (5-level paging).
"""

from __future__ import annotations

from collections.abc import Iterator

from kerncap.runtime.doctor.host import Host
from kerncap.runtime.doctor.need import Need
from kerncap.runtime.doctor.report import Check, size

# The last page below 2^47 is nobody's. Source: Linux, arch/x86/include/asm/page_64_types.h, TASK_SIZE_MAX.
_END_4_LEVEL = (1 << 47) - 4096
_CAP_SYS_RAWIO = 17
_MAPS = "/proc/sys/vm/max_map_count"
_DEFAULT_MAPS = 65530
# A replay maps each span twice (reserved, then backed), and itself with its libraries.
_MAPS_A_SPAN = 2
_OWN_MAPS = 1000
_FEW_FILES = 256
_LARGER = "kerncap run BUNDLE --memory BYTES  # or docker run --memory; a GPU has memory of its own: --device gpu"
_ELSEWHERE = "--device gpu  # with a GPU that has as much; or a host with more memory: free -h"


def checks(need: Need, host: Host) -> Iterator[Check]:
    yield _range(need, host)
    yield _maps(need, host)
    yield _limits(need, host)


def _range(need: Need, host: Host) -> Check:
    name = "addresses"
    if need.spans == 0:
        return Check(name, "ok", "the bundle has no memory")
    text = f"{need.lowest:#x}..{need.highest:#x}"
    least = host.number("/proc/sys/vm/mmap_min_addr") or 0
    if need.lowest < least and not _may_map_low(host):
        mend = f"sudo sysctl -w vm.mmap_min_addr={need.lowest // 4096 * 4096}"
        return Check(name, "fail", f"captured memory begins at {need.lowest:#x}, allowed is {least:#x}", mend)
    if need.highest > _END_4_LEVEL and not has_5_levels(host):
        detail = f"captured memory ends at {need.highest:#x}, and this host gives addresses below {_END_4_LEVEL:#x}"
        return Check(name, "fail", detail, "grep -o -m1 la57 /proc/cpuinfo  # a host that has it, 5-level paging, can")
    return Check(name, "ok", text)


def _may_map_low(host: Host) -> bool:
    """CAP_SYS_RAWIO. Source: Linux, security/commoncap.c, cap_mmap_addr."""
    for line in (host.text("/proc/self/status") or "").splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            return bool(int(value, 16) >> _CAP_SYS_RAWIO & 1)
    return False


def has_5_levels(host: Host) -> bool:
    flags = (line for line in (host.text("/proc/cpuinfo") or "").splitlines() if line.startswith("flags"))
    return "la57" in next(flags, "").split()


def _maps(need: Need, host: Host) -> Check:
    name = "maps"
    most = max_maps(host)
    text = f"{need.spans} ranges of captured addresses, vm.max_map_count is {most}"
    wanted = need.spans * _MAPS_A_SPAN + _OWN_MAPS
    mend = f"sudo sysctl -w vm.max_map_count={max(wanted * 2, 4 * _DEFAULT_MAPS)}"
    if need.spans > most:
        return Check(name, "fail", text, mend)
    return Check(name, "warn", text, mend) if wanted > most else Check(name, "ok", text)


def max_maps(host: Host) -> int:
    return host.number(_MAPS) or _DEFAULT_MAPS


def _limits(need: Need, host: Host) -> Check:
    name = "limits"
    address_space, files = host.limit("AS"), host.limit("NOFILE")
    if address_space is not None and need.memory_bytes > address_space:
        text = f"the bundle has {size(need.memory_bytes)}, ulimit -v allows {size(address_space)}"
        return Check(name, "fail", text, "ulimit -v unlimited")
    free = commit_left(host)
    if free is not None and need.memory_bytes > free:
        text = f"vm.overcommit_memory is 2, and {size(free)} of {size(need.memory_bytes)} may be had"
        return Check(name, "warn", text, "sudo sysctl -w vm.overcommit_memory=0")
    if files is not None and files < _FEW_FILES:
        return Check(name, "warn", f"ulimit -n allows {files} open files", f"ulimit -n {4 * _FEW_FILES}")
    return Check(name, "ok", "address space, commitment and open files")


def commit_left(host: Host) -> int | None:
    """Bytes that may still be promised where the kernel counts strictly; None where it does not."""
    if host.number("/proc/sys/vm/overcommit_memory") != 2:
        return None
    memory = host.memory()
    if "CommitLimit" not in memory:
        return None
    return max(0, memory["CommitLimit"] - memory.get("Committed_AS", 0))


def host_memory(need: Need, host: Host) -> Check:
    """The virtual GPU holds its memory in the host's."""
    name = "memory"
    memory = host.memory()
    swap = memory.get("SwapTotal", 0)
    total, limit = memory.get("MemTotal", 0), host.memory_limit()
    if not total:
        return Check(name, "ok", "this host does not say how much it has")
    bounded = limit is not None and limit < total
    most = (limit if limit is not None and bounded else total) + swap
    whose = "the cgroup allows" if bounded else "this host has"
    text = f"the bundle has {size(need.memory_bytes)}, {whose} {size(most)}"
    if need.memory_bytes > most and need.nonzero_bytes() > most:
        return Check(name, "fail", text, _LARGER if bounded else _ELSEWHERE)
    available = memory.get("MemAvailable")
    if available is not None and need.memory_bytes > available and need.nonzero_bytes() > available:
        return Check(name, "warn", f"{text}, {size(available)} available", "free -h  # other programs have it")
    return Check(name, "ok", text)


def address_space(host: Host) -> Check:
    """What holds without a bundle."""
    name = "address-space"
    bits = 57 if has_5_levels(host) else 47
    text = f"{bits} bits from {host.number('/proc/sys/vm/mmap_min_addr') or 0:#x}, {max_maps(host)} mappings"
    address_space_limit, left = host.limit("AS"), commit_left(host)
    if address_space_limit is not None:
        mend = "ulimit -v unlimited"
        return Check(name, "warn", f"{text}; ulimit -v allows {size(address_space_limit)}", mend)
    if left is not None:
        mend = "sudo sysctl -w vm.overcommit_memory=0"
        return Check(name, "warn", f"{text}; vm.overcommit_memory is 2, {size(left)} may be promised", mend)
    if max_maps(host) < _DEFAULT_MAPS:
        mend = f"sudo sysctl -w vm.max_map_count={4 * _DEFAULT_MAPS}"
        return Check(name, "warn", f"{text}: fewer than the kernel's default", mend)
    return Check(name, "ok", text)
