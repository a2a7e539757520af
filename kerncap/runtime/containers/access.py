"""How a container gets at a GPU: device nodes with their numeric groups, CDI, or the runtime `amd`.

In: a device's name, what the engine can, the files of a host. Out: an Access. Called by the workflow run; line.py puts
it into the container's words. Source: CDI specification 1.0; AMD Container Toolkit (runtime, AMD_VISIBLE_DEVICES).
"""

from __future__ import annotations

import json
import logging
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kerncap import native
from kerncap.errors import HostError, UsageError
from kerncap.runtime import engine

_LOG = logging.getLogger(__name__)

Way = Literal["none", "devices", "cdi", "runtime"]
WAYS = ("auto", "devices", "cdi", "runtime")
_CDI_KIND = "amd.com/gpu"
_RUNTIME = "amd"
_MAX_SPEC_BYTES = 4 << 20


@dataclass(frozen=True)
class HostFiles:
    """Where a host says which GPUs it has; a test names others."""

    kfd: Path = Path("/dev/kfd")
    dri: Path = Path("/dev/dri")
    topology: Path = native.TOPOLOGY_DIR
    cdi: tuple[Path, ...] = (Path("/etc/cdi"), Path("/var/run/cdi"))


@dataclass(frozen=True)
class EngineAbilities:
    """What an engine offers. Source: Docker Engine API, `/info`: CDISpecDirs (empty: switched off), Runtimes."""

    cdi: bool = False
    runtimes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Access:
    """What a container gets, and why this way. `inside` is the `--device` of the command in it: it sees what it gets.

    `nodes` are device nodes, `groups` the numeric groups that own them, `cdi` names of devices such as `amd.com/gpu=0`.
    """

    way: Way
    why: str
    inside: str
    nodes: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    cdi: tuple[str, ...] = ()
    runtime: str | None = None
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _CdiDevice:
    name: str
    nodes: frozenset[str] = field(default_factory=frozenset)


def check_way(way: str) -> None:
    """Raises: UsageError `usage.gpu-access`."""
    if way not in WAYS:
        text = f"--gpu-access is {way[:40]!r}, expected {', '.join(WAYS)}"
        raise UsageError(text, code="usage.gpu-access", hint="--gpu-access auto")


def engine_abilities() -> EngineAbilities:
    """Raises: HostError `host.no-docker`, `host.docker`."""
    with engine.connect() as client, engine.engine_errors("asking for its runtimes"):
        info = client.info()
    return EngineAbilities(bool(info.get("CDISpecDirs")), tuple(sorted(info.get("Runtimes") or ())))


def wants_gpu(device: str, host: HostFiles | None = None) -> bool:
    """`auto` does where there is one. Raises: UsageError `usage.device`; HostError `host.no-gpu`."""
    host = host or HostFiles()
    parsed = native.parse_device(device)
    if parsed is not None and parsed.kind == "vgpu":
        return False
    if parsed is not None and not host.kfd.exists():
        raise HostError(f"no GPU here: there is no {host.kfd}", code="host.no-gpu", hint="--device vgpu:gfx942")
    return host.kfd.exists()


def choose(device: str, way: str, abilities: EngineAbilities, host: HostFiles | None = None) -> Access:
    """CDI before the runtime before plain device nodes, unless `way` names one.

    Raises: UsageError `usage.gpu-access`, `usage.device`; HostError `host.no-gpu`, `host.gpu-access`.
    """
    check_way(way)
    host = host or HostFiles()
    if not wants_gpu(device, host):
        return Access("none", "the virtual GPU needs nothing of the host", device)
    index = None if device == "auto" else _index(device)
    node = _render_node(host, index) if index is not None else None
    specs = list(_cdi_devices(host)) if way in ("auto", "cdi") else []
    if way == "cdi" or (way == "auto" and abilities.cdi and specs):
        return _by_cdi(device, index, node, specs, abilities, host)
    if way == "runtime" or (way == "auto" and _RUNTIME in abilities.runtimes):
        return _by_runtime(device, index, abilities, host)
    return _by_nodes(device, node, host, named=way == "devices")


def all_nodes(device: str, host: HostFiles | None = None) -> Access:
    """Every device node of this host: the command inside picks."""
    nodes = _all_nodes(host or HostFiles())
    return Access("devices", "all device nodes", device, tuple(map(str, nodes)), _groups(nodes))


def _index(device: str) -> int:
    parsed = native.parse_device(device)
    assert parsed is not None
    return parsed.index


def _by_cdi(
    device: str,
    index: int | None,
    node: str | None,
    specs: list[_CdiDevice],
    abilities: EngineAbilities,
    host: HostFiles,
) -> Access:
    if not specs:
        text = f"no CDI specification in {', '.join(map(str, host.cdi))} is of {_CDI_KIND}"
        raise _cannot(text, "sudo amd-ctk cdi generate --output=/etc/cdi/amd.json  # or --gpu-access devices")
    if not abilities.cdi:
        raise _cannot("this engine does not use CDI", "--gpu-access devices  # CDI: Docker 25 or newer, features.cdi")
    names = [one.name for one in specs]
    if index is None:
        chosen = ["all"] if "all" in names else names
    else:
        by_node = [one.name for one in specs if node is not None and one.nodes >= {node} and one.name != "all"]
        chosen = by_node[:1] or [name for name in names if name == str(index)]
        if not chosen:
            text = f"the CDI specification has no device for gpu:{index}, only {', '.join(names)[:200]}"
            raise _cannot(text, "--gpu-access devices")
    return Access(
        "cdi",
        "a CDI specification of this host names its GPUs, and the engine uses it",
        _inside(device),
        groups=_groups(_all_nodes(host)),
        cdi=tuple(f"{_CDI_KIND}={name}" for name in chosen),
    )


def _by_runtime(device: str, index: int | None, abilities: EngineAbilities, host: HostFiles) -> Access:
    if _RUNTIME not in abilities.runtimes:
        known = ", ".join(abilities.runtimes) or "none"
        raise _cannot(f"the engine knows no runtime {_RUNTIME!r}, only {known}", "--gpu-access devices")
    visible = "all" if index is None else str(index)
    return Access(
        "runtime",
        f"the engine knows the runtime {_RUNTIME!r}",
        _inside(device),
        groups=_groups(_all_nodes(host)),
        runtime=_RUNTIME,
        environment=(("AMD_VISIBLE_DEVICES", visible),),
    )


def _by_nodes(device: str, node: str | None, host: HostFiles, *, named: bool) -> Access:
    nodes = _all_nodes(host)
    why = "as --gpu-access says" if named else "the engine knows neither CDI devices nor a runtime of AMD here"
    if node is None:
        return Access("devices", why, device, tuple(map(str, nodes)), _groups(nodes))
    nodes = [host.kfd, Path(node)]
    return Access("devices", why, _inside(device), tuple(map(str, nodes)), _groups(nodes))


def _inside(device: str) -> str:
    """The driver shows a container only the GPUs whose render node it may open: a single one is the first.

    Source: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c, kfd_devcgroup_check_permission.
    """
    return device if device == "auto" else "gpu"


def _render_node(host: HostFiles, index: int) -> str | None:
    """Of the GPU that the driver lists at this place; None where it does not say. Raises: HostError `host.no-gpu`."""
    gpus = native.real_gpus(host.topology, host.kfd)
    if not gpus:
        return None
    if index >= len(gpus):
        have = ", ".join(gpu.target for gpu in gpus)
        text = f"there is no GPU {index}: the driver lists {len(gpus)} ({have})"
        raise HostError(text, code="host.no-gpu", hint="--device gpu:0  # or vgpu:gfx942")
    try:
        text = (host.topology / str(gpus[index].node) / "properties").read_text("utf-8", "replace")
    except OSError:
        return None
    words = dict(line.split(None, 1) for line in text.splitlines() if " " in line)
    minor = words.get("drm_render_minor", "0").strip()
    path = host.dri / f"renderD{minor}"
    return str(path) if minor.isdecimal() and int(minor) and path.exists() else None


def _all_nodes(host: HostFiles) -> list[Path]:
    return [host.kfd, *sorted(host.dri.glob("renderD*"))]


def _groups(nodes: list[Path]) -> tuple[int, ...]:
    """Numeric: the image need not know the groups' names."""
    found = (node.stat() for node in nodes)
    return tuple(sorted({one.st_gid for one in found if one.st_mode & stat.S_IRGRP} - {0}))


def _cdi_devices(host: HostFiles) -> Iterator[_CdiDevice]:
    for folder in host.cdi:
        for path in sorted((*folder.glob("*.json"), *folder.glob("*.yaml"))):
            document = _load(path)
            devices = document.get("devices") if document.get("kind") == _CDI_KIND else None
            for entry in devices if isinstance(devices, list) else ():
                if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                    yield _CdiDevice(entry["name"], _nodes_of(entry))


def _nodes_of(entry: dict[str, Any]) -> frozenset[str]:
    edits = entry.get("containerEdits")
    listed = edits.get("deviceNodes") if isinstance(edits, dict) else None
    nodes = (one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()
    return frozenset(str(one.get("hostPath") or one.get("path")) for one in nodes)


def _load(path: Path) -> dict[str, Any]:
    """Source: CDI specification: JSON, or YAML."""
    import yaml

    try:
        if path.stat().st_size > _MAX_SPEC_BYTES:
            raise ValueError("it is too large")
        text = path.read_text("utf-8")
        document = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        _LOG.warning("%s is not used: %s", path, error)
        return {}
    return document if isinstance(document, dict) else {}


def _cannot(text: str, hint: str) -> HostError:
    return HostError(text, code="host.gpu-access", hint=hint)
