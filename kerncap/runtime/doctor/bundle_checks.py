"""Checks of one bundle on one device of this host: the report's, and those that stop a replay before it starts.

In: a Need, the device, a Host. Out: Checks. Only a few files of /proc and /sys are read: a replay waits for them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

from kerncap import native
from kerncap.errors import HostError
from kerncap.runtime.doctor import addresses, agents
from kerncap.runtime.doctor.agents import Agent
from kerncap.runtime.doctor.host import Host
from kerncap.runtime.doctor.need import Need
from kerncap.runtime.doctor.report import Check, size

_log = logging.getLogger(__name__)


def choose_device(need: Need, choice: str, host: Host) -> tuple[native.Device | None, Check]:
    """The device that `--device CHOICE` is for this bundle; None where there is none, and the check says what would do.

    Raises: UsageError `usage.device`.
    """
    try:
        device, remark = native.replay_device(choice, need.target, agents.gpus(host))
    except HostError as error:
        return None, Check("target", "fail", error.message, error.hint)
    text = f"{need.isa.rpartition('--')[2]} on {device}"
    return device, Check("target", "ok", f"{text}; {remark}" if remark else text)


def checks_on(need: Need, device: native.Device, host: Host, *, nodes: bool = True) -> Iterator[Check]:
    """On the virtual GPU: code features, addresses, host memory; on a GPU device nodes and its own memory instead."""
    if device.kind == "vgpu":
        yield _features(need, agents.virtual_isa(device.target or ""), None)
        yield addresses.host_memory(need, host)
        yield _virtual_memory(need, device)
    else:
        agent = next((agent for agent in agents.agents(host) if agent.index == device.index), None)
        if agent is None:
            yield Check("target", "fail", f"there is no GPU {device.index}", "--device auto")
            return
        if nodes:
            from kerncap.runtime.doctor.gpu import node_checks  # the virtual GPU has none, and need not wait for it

            yield from node_checks(host, agent)
        yield _features(need, agent.isa, agent, in_a_container=host.in_container or not nodes)
        yield _video_memory(need, agent)
    yield from addresses.checks(need, host)


def require(need: Need, device: native.Device, host: Host | None = None, *, nodes: bool = True) -> None:
    """What the doctor would call a failure of this bundle on this device, before anything is started. `nodes`: whether
    this process itself opens the device (else a container does, which is given the groups).

    Raises: HostError `host.NAME`, NAME being the check's.
    """
    host = host or Host()
    if not nodes:
        host = replace(host, environ={})  # the container's has none of this process's variables
    for check in checks_on(need, device, host, nodes=nodes):
        if check.state == "fail":
            raise check.error()
        if check.state == "warn":
            _log.warning("%s: %s", check.name, check.detail)


def require_addresses(need: Need, host: Host | None = None) -> None:
    """As require(), where a launcher or a container brings a device of which nothing is known here."""
    for check in addresses.checks(need, host or Host()):
        if check.state == "fail":
            raise check.error()


def _features(need: Need, isa: str, agent: Agent | None, *, in_a_container: bool = False) -> Check:
    """The target ID: what the code was compiled for beside the processor."""
    missing = agents.missing_features(need.isa, isa)
    wanted, has = need.isa.rpartition("--")[2], isa.rpartition("--")[2]
    name = "xnack" if any(feature.startswith("xnack") for feature in missing) else "target-id"
    if not missing:
        return Check(name, "ok", f"code for {wanted}, agent {has}")
    text = f"the code is for {wanted}, the agent is a {has}: it lacks {', '.join(missing)}"
    if agent is None:
        mend = f"--device gpu  # a {need.target} that has it; or capture code that asks for no {missing[0][:-1]}"
        return Check(name, "fail", text, mend)
    sure = name != "xnack" or agents.xnack_is_sure(agent.target)
    return Check(name, "fail" if sure else "warn", text, _mend_features(need, agent, missing, in_a_container))


def _mend_features(need: Need, agent: Agent, missing: tuple[str, ...], in_a_container: bool) -> str:
    feature = missing[-1]
    if feature.startswith("sramecc"):
        state = "on" if feature.endswith("+") else "off"
        return f"--device vgpu:{need.target}  # or a {need.target} with ECC {state}"
    on = feature.endswith("+")
    if agents.xnack_can_be_chosen(agent.target):
        # A container has not the environment of this process; its kerncap-replay gets one by a launcher.
        named = f"--device gpu:{agent.index} --launcher 'env HSA_XNACK={int(on)}'"
        return named if in_a_container else f"export HSA_XNACK={int(on)}"
    return f"sudo modprobe -r amdgpu && sudo modprobe amdgpu noretry={int(not on)}"


def _video_memory(need: Need, agent: Agent) -> Check:
    name, bundle = "vram", size(need.memory_bytes)
    if not agent.vram_bytes:
        return Check(name, "ok", f"the bundle has {bundle}; the driver does not say how much the GPU has")
    free = agent.vram_free_bytes
    text = f"the bundle has {bundle}, gpu:{agent.index} has {size(agent.vram_bytes)}"
    if need.memory_bytes > agent.vram_bytes:
        mend = f"--device vgpu:{need.target}  # or a GPU with more memory"
        return Check(name, "fail", text, mend)
    if free is not None and need.memory_bytes > free:
        return Check(name, "warn", f"{text}, {size(free)} of them free", "rocm-smi --showpids  # who has the rest")
    return Check(name, "ok", text)


def _virtual_memory(need: Need, device: native.Device) -> Check:
    name = "vram"
    option = next((option for option in device.options if option.startswith("vram=")), None)
    if option is None:
        return Check(name, "ok", "the virtual GPU has as much as the GPU that it is")
    mib = int(option.removeprefix("vram="))
    text = f"the bundle has {size(need.memory_bytes)}, {device} has {size(mib << 20)}"
    if need.memory_bytes > mib << 20:
        return Check(name, "fail", text, f"--device vgpu:{device.target}")
    return Check(name, "ok", text)
