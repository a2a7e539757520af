"""Checks of the GPU: driver, device nodes and who may open them, agents, XNACK.

In: a Host. Out: Checks. Called by the report and, for a replay on a GPU, before it. Source of paths: Linux, amdgpu.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kerncap import native, proc
from kerncap.errors import HostError, typed
from kerncap.runtime.doctor import agents
from kerncap.runtime.doctor.agents import Agent
from kerncap.runtime.doctor.host import Host, Node
from kerncap.runtime.doctor.report import Check, size

_KFD = "/dev/kfd"
_AMD = "0x1002"
_DISPLAY_CLASSES = ("0x03", "0x12")  # display controllers; processing accelerators. Source: PCI code and ID assignment
_ROCMINFO_S = 20.0


def gpu_checks(host: Host) -> list[Check]:
    """Without a driver there is one line: the virtual GPU is what is left."""
    driver = _driver(host)
    if driver.state != "ok":
        return [driver, virtual_gpu(host)]
    checks = [driver, *node_checks(host)]
    found = agents.agents(host) if all(check.state == "ok" for check in checks) else []
    checks.append(_agents(host, found))
    if found:
        checks.append(_xnack(host, found))
    return [*checks, virtual_gpu(host)]


def _driver(host: Host) -> Check:
    name = "kernel-driver"
    if host.exists("/sys/module/amdgpu") or host.exists(_KFD):
        version = (host.text("/sys/module/amdgpu/version") or "").strip()
        kernel = (host.text("/proc/sys/kernel/osrelease") or "of unknown version").strip()
        of = f"amdgpu {version}" if version else "amdgpu of the kernel itself"
        return Check(name, "ok", f"{of}, Linux {kernel}")
    found = _amd_gpus(host)
    if found:
        text = f"an AMD GPU is here ({', '.join(found)}), but its driver is not loaded"
        return Check(name, "fail", text, "sudo modprobe amdgpu  # then dmesg | grep amdgpu")
    text = "no AMD GPU is here: only the virtual GPU can be used"
    return Check(name, "warn", text, "--device vgpu:gfx942  # or run on a host with an AMD GPU and the driver amdgpu")


def _amd_gpus(host: Host) -> list[str]:
    """PCI addresses."""
    return [
        device.name
        for device in host.listed("/sys/bus/pci/devices", "*")
        if (_word(device / "vendor") == _AMD and _word(device / "class").startswith(_DISPLAY_CLASSES))
    ]


def _word(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def node_checks(host: Host, agent: Agent | None = None) -> list[Check]:
    """/dev/kfd, and the render node of one agent, or all of them."""
    kfd = host.node(_KFD)
    if kfd is None:
        text = f"the driver is loaded, but there is no {_KFD}"
        mend = "docker run --device /dev/kfd --device /dev/dri ..." if host.in_container else "dmesg | grep -i kfd"
        return [Check("kfd", "fail", text, mend)]
    names = [agent.render_node] if agent is not None else [p.name for p in host.listed("/dev/dri", "renderD*")]
    nodes = [(name, host.node(f"/dev/dri/{name}")) for name in names if name]
    return [_access(host, "kfd", [kfd]), _render_nodes(host, nodes)]


def _render_nodes(host: Host, nodes: Sequence[tuple[str, Node | None]]) -> Check:
    missing = [name for name, node in nodes if node is None]
    if missing or not nodes:
        which = ", ".join(f"/dev/dri/{name}" for name in missing) or "/dev/dri/renderD*"
        mend = "docker run --device /dev/kfd --device /dev/dri ..." if host.in_container else "ls -l /dev/dri"
        return Check("render-nodes", "fail", f"there is no {which}", mend)
    return _access(host, "render-nodes", [node for _, node in nodes if node is not None])


def _access(host: Host, name: str, nodes: Sequence[Node]) -> Check:
    closed = [node for node in nodes if not host.may_use(node)]
    said = ", ".join(f"{node.path} (group {_group(host, node)}, mode {node.mode:o})" for node in closed or nodes)
    if not closed:
        return Check(name, "ok", said)
    ours = ", ".join(map(str, sorted(host.groups)))
    return Check(name, "fail", f"no access to {said}: this process is of the groups {ours}", _open_up(host, closed))


def _group(host: Host, node: Node) -> str:
    name = host.group_name(node.gid)
    return f"{node.gid} {name}" if name else str(node.gid)


def _open_up(host: Host, closed: Sequence[Node]) -> str:
    both = 0o60
    without = [node for node in closed if node.mode & both != both]
    if without:
        return typed("sudo", "chmod", "g+rw", *(node.path for node in without))
    gids = sorted({node.gid for node in closed})
    if host.in_container:
        return typed("docker", "run", *(word for gid in gids for word in ("--group-add", gid)), "...")
    if all(host.in_group_file(gid) for gid in gids):
        return f"newgrp {host.group_name(gids[0]) or gids[0]}  # or log in again: the groups are newer than this login"
    named = [name for name in map(host.group_name, gids) if name]
    if len(named) < len(gids):
        return f"sudo groupadd -g {gids[0]} gpu  # then: sudo usermod -aG gpu $USER, and log in again"
    return f"sudo usermod -aG {','.join(named)} $USER  # then log in again"


def _agents(host: Host, found: Sequence[Agent]) -> Check:
    name, visible = "agents", host.environ.get(native.VISIBLE_VARIABLE)
    if not found and visible is not None:
        text = f"{native.VISIBLE_VARIABLE}={visible} shows no GPU"
        return Check(name, "warn", text, f"unset {native.VISIBLE_VARIABLE}")
    if not found:
        text = "the driver lists no GPU that can be used"
        return Check(name, "warn", text, "dmesg | grep amdgpu  # until then: --device vgpu:gfx942")
    text = "; ".join(f"gpu:{agent.index} {agent.isa}{_memory(agent)}" for agent in found)
    hidden = len(native.real_gpus(host.topology, host.at(_KFD), {})) - len(found)
    if hidden:
        text += f"; {native.VISIBLE_VARIABLE}={visible} hides {hidden} more"
        return Check(name, "warn", text, f"unset {native.VISIBLE_VARIABLE}")
    told = _told_by_rocminfo(host)
    if told is not None and sorted(told) != sorted(agent.isa for agent in found):
        text += f"; but rocminfo says {', '.join(told) or 'none'}, and a replay believes the runtime"
        return Check(name, "warn", text, "rocminfo")
    return Check(name, "ok", text)


def _memory(agent: Agent) -> str:
    if not agent.vram_bytes:
        return ""
    free = "" if agent.vram_free_bytes is None else f", {size(agent.vram_free_bytes)} free"
    return f" ({size(agent.vram_bytes)}{free})"


def _told_by_rocminfo(host: Host) -> list[str] | None:
    """Full ISA names as the HSA runtime gives them; None without the program, or when it fails."""
    program = host.program("rocminfo")
    if program is None or not host.is_real:
        return None
    try:
        done = proc.run([program], timeout_s=_ROCMINFO_S)
    except HostError:
        return None
    return isa_names(done.text) if done.ok else None


def isa_names(text: str) -> list[str]:
    """The first ISA of each GPU in what rocminfo prints; generic ones follow it."""
    lines = [line.split() for line in text.splitlines()]
    found: list[str] = []
    first = False
    for words in lines:
        if words == ["ISA", "1"]:
            first = True
        elif first and words[:1] == ["Name:"] and len(words) == 2:
            found += [words[1]] if words[1].startswith("amdgcn-") else []
            first = False
    return found


def _xnack(host: Host, found: Sequence[Agent]) -> Check:
    name = "xnack"
    able = [agent for agent in found if agents.has_xnack(agent.target)]
    if not able:
        return Check(name, "ok", "no GPU here has it: code for any of them runs")
    text = "; ".join(f"gpu:{agent.index} {'on' if agent.isa.endswith('xnack+') else 'off'}" for agent in able)
    wanted = host.environ.get("HSA_XNACK")
    return Check(name, "ok", text + (f" (HSA_XNACK={wanted})" if wanted is not None else ""))


def virtual_gpu(host: Host) -> Check:
    name = "virtual-gpu"
    try:
        files = native.find_native()
        assert files.virtual_gpu
    except HostError as error:
        mend = "kerncap run BUNDLE  # the runtime images have it"
        return Check(name, "warn", f"not on this host itself: {error.message}", mend)
    return Check(name, "ok", ", ".join(f"vgpu:{target} {agents.virtual_isa(target)}" for target in native.VGPU_TARGETS))
