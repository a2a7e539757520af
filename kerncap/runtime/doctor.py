"""What this host can do, and what to do about the rest: one check a line, each with the command that mends it.

In: the host as it is. Out: a Report. Called by `kerncap doctor`. Nothing is changed and nothing is started.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import docker.errors
from docker import DockerClient

from kerncap import native
from kerncap.errors import KerncapError
from kerncap.runtime import catalog, engine

State = Literal["ok", "warn", "fail"]

_KFD = Path("/dev/kfd")
_DRI = Path("/dev/dri")
_HSA_LIBRARIES = ("libhsa-runtime64.so.1", "/opt/rocm/lib/libhsa-runtime64.so.1")
_NATIVE_FILES = ("kerncap-isa", "kerncap-replay", "libkerncap.so", "libkerncap-vgpu.so")
_LOW_DISK_BYTES = 10 << 30
_NO_DISK_BYTES = 1 << 30


@dataclass(frozen=True)
class Check:
    """One fact. `mend` can be typed; it is None where nothing is wrong or nothing helps."""

    name: str
    state: State
    detail: str
    mend: str | None = None


@dataclass(frozen=True)
class Report:
    """All checks, and what follows from them: what works on this host."""

    checks: tuple[Check, ...]

    def state(self, name: str) -> State:
        return next(check.state for check in self.checks if check.name == name)

    @property
    def can(self) -> dict[str, bool]:
        """`hold`: pull, inspect, verify; `run`: in a container; `replay`: on this host itself; `capture` on it."""
        good: Callable[[str], bool] = lambda name: self.state(name) == "ok"  # noqa: E731
        here = good("hsa-runtime") and good("native-files")
        return {
            "hold": self.state("disk") != "fail",
            "run": good("docker") and self.state("images") != "fail",
            "replay": here,
            "capture": here,
        }


def examine() -> Report:
    """Every check, in the order in which a person would mend them."""
    return Report((*_docker(), _gpu(), _hsa_runtime(), _native_files(), _disk()))


def _docker() -> tuple[Check, Check, Check]:
    """The engine, what its containers are shut in by, and the images."""
    unknown = "unknown without a Docker engine"
    try:
        with engine.connect() as client:
            version = str(client.version().get("Version", "of unknown version"))
            answers = Check("docker", "ok", f"Docker engine {version} answers")
            return answers, _sandbox(client.info()), _images(client)
    except KerncapError as error:
        mend = engine.mend()
        return (
            Check("docker", "fail", error.message, mend),
            Check("sandbox", "fail", unknown, mend),
            Check("images", "fail", unknown, _build_images()),
        )


def _sandbox(info: Mapping[str, Any]) -> Check:
    """Whether the engine can hold a container to the limits that it is given. Source: Docker Engine API, `/info`."""
    security = " ".join(info.get("SecurityOptions") or ())
    lacks = [
        *([] if info.get("MemoryLimit", True) else ["memory limit"]),
        *([] if info.get("PidsLimit", True) else ["limit of processes"]),
        *([] if "seccomp" in security else ["seccomp profile"]),
    ]
    if lacks:
        detail = f"containers of this engine have no {', no '.join(lacks)}: a stranger's bundle may take what it likes"
        return Check("sandbox", "warn", detail, "docker info  # its last lines say why")
    return Check("sandbox", "ok", "limits of memory and processes, seccomp")


def _build_images(*suites: str) -> str:
    if catalog.find_checkout() is None:
        return "make images  # in a clone of the repository"
    return " ".join(("kerncap image build", *suites))


def _images(client: DockerClient) -> Check:
    suites = catalog.load().default_suites if catalog.find_checkout() else (catalog.DEFAULT_SUITE,)
    present, missing, lacking = [], [], []
    for suite in suites:
        name = catalog.image_name("runtime", suite)
        try:
            client.images.get(name)
            present.append(name)
        except docker.errors.ImageNotFound:
            missing.append(name)
            lacking.append(suite)
    if not missing:
        return Check("images", "ok", ", ".join(present))
    state: State = "warn" if present else "fail"
    return Check("images", state, f"not built: {', '.join(missing)}", _build_images(*lacking))


def _gpu() -> Check:
    if not _KFD.exists():
        return Check(
            "gpu", "warn", "no /dev/kfd: only the virtual GPU can be used", "modprobe amdgpu  # with an AMD GPU"
        )
    nodes = [_KFD, *sorted(_DRI.glob("renderD*"))]
    closed = [node for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        groups = sorted({_group_name(node) for node in closed})
        names = ", ".join(map(str, closed))
        return Check("gpu", "fail", f"no access to {names}", f"usermod -aG {','.join(groups)} $USER")
    gpus = native.real_gpus()
    if not gpus:
        return Check("gpu", "warn", "/dev/kfd is there, but the driver lists no GPU", "dmesg | grep amdgpu")
    return Check("gpu", "ok", ", ".join(f"gpu:{gpu.index} {gpu.target}" for gpu in gpus))


def _group_name(node: Path) -> str:
    try:
        return node.group()
    except KeyError:
        return str(node.stat().st_gid)


def _hsa_runtime() -> Check:
    """Only the loader is asked: the runtime itself is not initialised, since that opens the device."""
    for name in _HSA_LIBRARIES:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return Check("hsa-runtime", "ok", name)
    detail = "no libhsa-runtime64.so.1: no replay or capture on this host itself"
    return Check("hsa-runtime", "warn", detail, "kerncap run BUNDLE  # in a container instead")


def _native_files() -> Check:
    dev = catalog.image_name("dev", catalog.DEFAULT_SUITE)
    mend = f'docker run -it --rm -v "$PWD:/work" -w /work {dev}  # extract and replay in there'
    try:
        directory = native.find_native().directory
    except KerncapError as error:
        return Check("native-files", "warn", error.message, mend)
    missing = [name for name in _NATIVE_FILES if not (directory / name).is_file()]
    if missing:
        return Check("native-files", "fail", f"{directory} has no {', '.join(missing)}", "make native")
    return Check("native-files", "ok", str(directory))


def _disk() -> Check:
    """Where captures and pulls go: here; and where temporary files go."""
    places = {Path.cwd(), Path(tempfile.gettempdir())}
    free = {place: shutil.disk_usage(place).free for place in places}
    place, least = min(free.items(), key=lambda item: item[1])
    detail = f"{least / (1 << 30):.1f} GiB free in {place}"
    if least >= _LOW_DISK_BYTES:
        return Check("disk", "ok", detail)
    return Check("disk", "fail" if least < _NO_DISK_BYTES else "warn", detail, f"df -h {place}")
