"""Native files, devices and control files: what Python must know to start a native program.

In: `--device` texts, KERNCAP_NATIVE_DIR, the kernel's KFD topology. Out: paths, environments, control documents.
Called by capture, the workflows and runtime. The documents are described in docs/interfaces.md.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.errors import HostError, UsageError, typed

NATIVE_DIR_VARIABLE = "KERNCAP_NATIVE_DIR"
# What captures and replays where this machine has no HSA runtime.
IN_THE_DEV_IMAGE = 'docker run -it --rm -v "$PWD:/work" -w /work kerncap/dev:trixie'
INSTALLED_NATIVE_DIR = Path("/opt/kerncap/lib")
VGPU_VARIABLE = "KERNCAP_VGPU"
VISIBLE_VARIABLE = "ROCR_VISIBLE_DEVICES"
TRITON_RECORDS_VARIABLE = "KERNCAP_TRITON_RECORDS"
TRITON_SHIM_DIR = Path(__file__).parent / "triton" / "shim"
# Processors that run a generic target's code. Source: LLVM, "User Guide for AMDGPU Backend", Generic Processor.
_GENERIC_TARGETS = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx942", "gfx950", "gfx940", "gfx941"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx11-generic": ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    "gfx12-generic": ("gfx1201", "gfx1200"),
}
VGPU_TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
# Of targets that not every distribution's runtimes know.
TARGET_NEEDS = {
    "gfx950": "gfx950 needs an HSA runtime of ROCm 6.4 or newer (suite sid), and HIP 7 for HIP programs",
    "gfx1201": "gfx1201 needs an HSA runtime of ROCm 6.2 or newer (suite sid), and code for it in the application",
}
TOPOLOGY_DIR = Path("/sys/devices/virtual/kfd/kfd/topology/nodes")

_GPU = re.compile(r"gpu:([0-9]{1,6})\Z")
_VGPU_OPTION = re.compile(r"(bar=(private|large)|gpus=[1-9][0-9]?|vram=[0-9]{1,7}|log=[0-4])\Z")
_VRAM_MIB = range(64, (1 << 20) + 1)
_DEVICE_HINT = "--device vgpu:gfx942  # or gpu:0, or auto"


@dataclass(frozen=True)
class Device:
    """What a process is to run on: `kind` is `vgpu` (then `target` is set) or `gpu` (then `index` counts GPUs)."""

    kind: str
    target: str | None = None
    options: tuple[str, ...] = ()
    index: int = 0

    def __str__(self) -> str:
        if self.kind == "vgpu":
            return ",".join((f"vgpu:{self.target}", *self.options))
        return f"gpu:{self.index}"


@dataclass(frozen=True)
class Gpu:
    """A real GPU of this host, as the kernel driver lists it."""

    index: int
    target: str
    node: int


def parse_device(text: str) -> Device | None:
    """`vgpu:TARGET[,bar=large][,gpus=N][,vram=MIB]`, `gpu[:N]`; None for `auto`.

    Raises: UsageError `usage.device`.
    """
    if text == "auto":
        return None
    if text == "gpu":
        return Device("gpu")
    gpu = _GPU.match(text)
    if gpu is not None:
        return Device("gpu", index=int(gpu[1]))
    if text.startswith("vgpu:"):
        target, *options = text[5:].split(",")
        if target not in VGPU_TARGETS:
            raise UsageError(
                f"the virtual GPU knows no target {target!r}, only {', '.join(VGPU_TARGETS)}",
                code="usage.device",
                hint=f"--device vgpu:{VGPU_TARGETS[1]}",
            )
        for option in options:
            if not _VGPU_OPTION.match(option):
                raise UsageError(
                    f"the virtual GPU has no option {option!r}",
                    code="usage.device",
                    hint=f"--device vgpu:{target},bar=large  # or gpus=2, vram=4096, log=3",
                )
            if option.startswith("vram=") and int(option[5:]) not in _VRAM_MIB:
                raise UsageError(
                    f"{option!r}: a virtual GPU has {_VRAM_MIB.start} to {_VRAM_MIB.stop - 1} MiB of memory",
                    code="usage.device",
                    hint=f"--device vgpu:{target},vram=4096",
                )
        return Device("vgpu", target=target, options=tuple(options))
    raise UsageError(f"{text!r} is no device", code="usage.device", hint=_DEVICE_HINT)


def target_of_isa(isa: str) -> str:
    """`gfx942` of `amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-`."""
    return isa.rsplit("--", 1)[-1].split(":", 1)[0]


def runs_on(target: str, processor: str) -> bool:
    """Code of this target runs on that processor: it is the same, or one of a generic target's."""
    return target == processor or processor in _GENERIC_TARGETS.get(target, ())


def _virtual_for(target: str) -> str | None:
    """A virtual GPU that runs code of this target."""
    return next((one for one in (target, *_GENERIC_TARGETS.get(target, ())) if one in VGPU_TARGETS), None)


def real_gpus(
    topology: Path = TOPOLOGY_DIR, device_file: Path = Path("/dev/kfd"), environ: Mapping[str, str] | None = None
) -> list[Gpu]:
    """The GPUs that the driver lists, in its order; empty without a driver. Where `environ` (None: this process's) has
    ROCR_VISIBLE_DEVICES, those that it names, in its order: so the HSA runtime counts them."""
    if not device_file.exists() or not topology.is_dir():
        return []
    found: list[tuple[str, int, str]] = []
    for node in sorted((p for p in topology.iterdir() if p.name.isdigit()), key=lambda p: int(p.name)):
        try:
            text = (node / "properties").read_text()
        except OSError:
            continue
        properties = dict(line.split(None, 1) for line in text.splitlines() if " " in line)
        version = int(properties.get("gfx_target_version", "0"))
        if version:
            uuid = f"GPU-{int(properties.get('unique_id', '0')):016x}"
            found.append((target_of_version(version), int(node.name), uuid))
    chosen = _visible([uuid for _, _, uuid in found], os.environ if environ is None else environ)
    return [Gpu(index, *found[number][:2]) for index, number in enumerate(chosen)]


def _visible(uuids: list[str], environ: Mapping[str, str]) -> list[int]:
    """Which of the GPUs the HSA runtime shows. Source: ROCr, amd_filter_device.cpp: numbers or beginnings of UUIDs; the
    list ends at the first that is neither, or that comes again."""
    text = environ.get(VISIBLE_VARIABLE)
    if text is None:
        return list(range(len(uuids)))
    chosen: list[int] = []
    for word in text.split(","):
        name = word.strip()
        if name.startswith("GPU-"):
            numbers = [number for number, uuid in enumerate(uuids) if uuid.lower().startswith(name.lower())]
        else:
            numbers = [int(name)] if name.isascii() and name.isdigit() and int(name) < len(uuids) else []
        if len(numbers) != 1 or numbers[0] in chosen:
            break
        chosen += numbers
    return chosen


def visible_word(index: int, environ: Mapping[str, str]) -> str:
    """What shows a process of the GPUs of real_gpus() this one alone."""
    text = environ.get(VISIBLE_VARIABLE)
    return str(index) if text is None else text.split(",")[index].strip()


def target_of_version(version: int) -> str:
    """`gfx90a` of 90010. Source: Linux amdkfd, gfx_target_version = major * 10000 + minor * 100 + stepping."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def capture_device(choice: str | None) -> Device:
    """The device that an application is captured on: a named one, or a GPU that is present.

    Raises: HostError `host.no-gpu`, UsageError `usage.device`.
    """
    device = parse_device(choice) if choice else None
    gpus = real_gpus()
    if device is None:
        if not gpus:
            raise HostError(
                "this host has no GPU, and no device was named",
                code="host.no-gpu",
                hint=f"--device vgpu:gfx942  # or {', '.join(f'vgpu:{t}' for t in VGPU_TARGETS if t != 'gfx942')}",
            )
        return Device("gpu", index=0)
    if device.kind == "gpu" and device.index >= len(gpus):
        raise _no_such_gpu(device.index, gpus)
    return device


def works_for(target: str) -> str:
    """What code of this target runs on, and what else would do: for whoever has no such GPU."""
    processors = _GENERIC_TARGETS.get(target)
    ways = [f"a GPU that is one of {', '.join(processors)}" if processors else f"a GPU that is a {target}"]
    virtual = _virtual_for(target)
    if virtual is not None:
        ways.append(f"the virtual GPU (--device vgpu:{virtual})")
    generic = next((name for name, members in _GENERIC_TARGETS.items() if target in members), None)
    if generic is not None:
        others = ", ".join(one for one in _GENERIC_TARGETS[generic] if one != target)
        ways.append(f"a capture of the application compiled for {generic}, which also runs on {others}")
    ways.append("a capture of it compiled for the GPU that is here")
    return "; ".join(ways)


def replay_device(choice: str, target: str, gpus: list[Gpu] | None = None) -> tuple[Device, str | None]:
    """The device for a bundle of `target`, and a note for the person when it is not what they may expect.

    `auto` takes the real GPU that matches, else the virtual GPU that does; it says so when a real GPU was passed over.
    `gpus`: those of the host; None: those that the driver lists.

    Raises: HostError `host.no-gpu`, `host.wrong-gpu`, `host.no-device`; UsageError `usage.device`.
    """
    device = parse_device(choice)
    gpus = real_gpus() if gpus is None else gpus
    if device is None:
        for gpu in gpus:
            if runs_on(target, gpu.target):
                return Device("gpu", index=gpu.index), None
        virtual = _virtual_for(target)
        if virtual is None:
            raise HostError(
                f"no GPU of this host is a {target}, and the virtual GPU knows only {', '.join(VGPU_TARGETS)}; "
                f"what works: {works_for(target)}",
                code="host.no-device",
                hint=f"kerncap doctor  # a host with a {target} is needed",
            )
        passed_over = ", ".join(gpu.target for gpu in gpus)
        text = f"the GPUs of this host ({passed_over}) are no {target}: using the virtual GPU" if gpus else None
        return Device("vgpu", target=virtual), text
    if device.kind == "gpu":
        if device.index >= len(gpus):
            raise _no_such_gpu(device.index, gpus, target)
        found = gpus[device.index].target
        if not runs_on(target, found):
            raise _wrong(f"GPU {device.index} of this host is a {found}", target)
    elif not runs_on(target, device.target or ""):
        raise _wrong(f"{device} is named", target)
    return device, None


def without_gpu(choice: str, found: Device) -> str | None:
    """A note for the person where `auto` came to the virtual GPU since this host, or this container, has no other."""
    if choice != "auto" or found.kind != "vgpu":
        return None
    why = "the driver lists none" if Path("/dev/kfd").exists() else "there is no /dev/kfd"
    return f"no GPU is here ({why}): using the virtual GPU"


def _no_such_gpu(index: int, gpus: list[Gpu], target: str | None = None) -> HostError:
    virtual = _virtual_for(target) if target else VGPU_TARGETS[1]
    hint = f"--device vgpu:{virtual}" if virtual else f"kerncap doctor  # a host with a {target} is needed"
    have = f"{len(gpus)} ({', '.join(g.target for g in gpus)})" if gpus else "none"
    return HostError(f"there is no GPU {index}: the driver lists {have}", code="host.no-gpu", hint=hint)


def _wrong(what: str, target: str) -> HostError:
    virtual = _virtual_for(target)
    hint = f"--device vgpu:{virtual}" if virtual else f"kerncap doctor  # a host with a {target} is needed"
    text = f"{what}, the kernel was captured for {target}; what works: {works_for(target)}"
    return HostError(text, code="host.wrong-gpu", hint=hint)


@dataclass(frozen=True)
class NativeFiles:
    """The native files that a dev or runtime image has."""

    directory: Path

    @property
    def tool_library(self) -> Path:
        return self._need("libkerncap.so")

    @property
    def virtual_gpu(self) -> Path:
        return self._need("libkerncap-vgpu.so")

    @property
    def replay(self) -> Path:
        return self._need("kerncap-replay")

    @property
    def isa(self) -> Path:
        return self._need("kerncap-isa")

    def _need(self, name: str) -> Path:
        path = self.directory / name
        if not path.is_file():
            raise HostError(f"{path} is missing", code="host.no-native-files", hint=f"export {NATIVE_DIR_VARIABLE}=DIR")
        return path


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """A control file or request. JSON is UTF-8, and so must be every path in it.

    Raises: HostError `host.path-not-utf8`.
    """
    try:
        path.write_bytes(json.dumps(document, ensure_ascii=False).encode("utf-8"))
    except UnicodeEncodeError as error:
        text = str(error.object)
        named = Path(text[text.rfind('"', 0, error.start) + 1 : text.find('"', error.start)])
        raise path_not_utf8(named) from None


def is_utf8(path: Path) -> bool:
    return not any("\udc80" <= char <= "\udcff" for char in str(path))


def path_not_utf8(path: Path) -> HostError:
    return HostError(
        f"{path}: only a path that is UTF-8 can be told to another program",
        code="host.path-not-utf8",
        hint=typed("mv", path, "NAME"),
    )


def find_native() -> NativeFiles:
    """The directory with the native files.

    Raises: HostError `host.no-native-files`.
    """
    named = os.environ.get(NATIVE_DIR_VARIABLE)
    directory = Path(named) if named else INSTALLED_NATIVE_DIR
    if not directory.is_dir():
        raise HostError(
            f"the native files of kerncap are not on this host: there is no {directory}",
            code="host.no-native-files",
            hint=IN_THE_DEV_IMAGE,
        )
    return NativeFiles(directory.resolve())


CHECKS = ("memory", "race", "hazards", "all")


@dataclass(frozen=True)
class CheckFiles:
    """The checked mode of the virtual GPU: which checks, where findings go, where exact region sizes are."""

    checks: str
    report: Path
    regions: Path


def device_environment(
    device: Device,
    native: NativeFiles,
    base: Mapping[str, str],
    trace: Path | None = None,
    check: CheckFiles | None = None,
    stops: Path | None = None,
) -> dict[str, str]:
    """`base` with what puts one process on `device`; nothing of it may reach any other process."""
    env = dict(base)
    env.pop(VGPU_VARIABLE, None)
    if device.kind == "vgpu":
        words = [str(device.target), *device.options]
        if trace is not None:
            words.append(f"trace={trace}")
        if check is not None:
            words += [f"check={check.checks}", f"check-report={check.report}", f"check-regions={check.regions}"]
        if stops is not None:
            words.append(f"stops={stops}")
        env[VGPU_VARIABLE] = ",".join(words)
        env["LD_PRELOAD"] = ":".join(filter(None, [str(native.virtual_gpu), base.get("LD_PRELOAD", "")]))
    return env


@dataclass(frozen=True)
class Stop:
    """Why the virtual GPU stopped a queue: a dotted code and its text."""

    code: str
    text: str


_STOP_LINE = re.compile(r"^kerncap-vgpu: (vgpu\.[a-z-]+): (.*)$", re.MULTILINE)


def stops_in(text: str) -> list[Stop]:
    """The virtual GPU's stop lines in what a process said."""
    return [Stop(code, why) for code, why in _STOP_LINE.findall(text)]


def read_stops(path: Path) -> list[Stop]:
    """What the virtual GPU wrote to its `stops` file; nothing stopped when there is none."""
    try:
        return stops_in(path.read_text("utf-8", errors="replace"))
    except FileNotFoundError:
        return []


def capture_control(
    work_dir: Path,
    selection: Mapping[str, Any],
    *,
    mode: str = "capture",
    after: str = "continue",
    ranks: str = "first",
    zstd_level: int = 1,
    timeout_s: float = 300.0,
    threads: int = 2,
) -> dict[str, Any]:
    """The `kerncap.capture-control/1` document; `selection` says which dispatch (Selection.control)."""
    return {
        "schema": "kerncap.capture-control/1",
        "mode": mode,
        "work_dir": str(work_dir),
        **selection,
        "after": after,
        "ranks": int(ranks) if ranks.isdecimal() else ranks,
        "timeout_s": max(1, round(timeout_s)),
        "threads": threads,
        "zstd_level": zstd_level,
    }


Ranges = tuple[tuple[int, int, int], ...]
"""(region, offset, length), sorted and disjoint."""


@dataclass(frozen=True)
class Launch:
    """How a code object is launched: workitems, and bytes of LDS beside those that its descriptor names."""

    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    dynamic_group_segment_bytes: int

    def to_json(self) -> dict[str, Any]:
        return {
            "grid": list(self.grid),
            "workgroup": list(self.workgroup),
            "dynamic_group_segment_bytes": self.dynamic_group_segment_bytes,
        }


@dataclass(frozen=True)
class ReplayRun:
    """One run of a replay request: which code object, from which state, compared with what."""

    hsaco: Path | None = None
    iterations: int = 1
    kernel: str | None = None
    """Of whose code object `hsaco` takes the place; None: of the first dispatch's."""
    warmup: int = 0
    dispatch: bool = True
    poisoned: Ranges | None = None
    perturbed: tuple[tuple[int, int, int, str], ...] | None = None
    seed: int = 1
    expect_post: bool = True
    expect_dump: Path | None = None
    dump: Path | None = None
    mismatch_dump: Path | None = None
    mismatch_limit: int = 0
    """Bytes of the dump beyond which no more are added; 0: none."""
    launch: Launch | None = None
    """Of `hsaco`, where it needs another launch than the captured one."""

    def to_json(self) -> dict[str, Any]:
        initial: dict[str, Any] = {"kind": "captured"}
        if self.poisoned is not None:
            initial = {"kind": "poisoned", "ranges": [list(r) for r in self.poisoned]}
        elif self.perturbed is not None:
            initial = {"kind": "perturbed", "seed": self.seed, "ranges": [list(r) for r in self.perturbed]}
        expect: dict[str, Any] | None = None
        if self.expect_dump is not None:
            expect = {"kind": "dump", "path": str(self.expect_dump)}
        elif self.expect_post:
            expect = {"kind": "post"}
        return {
            "hsaco": str(self.hsaco) if self.hsaco else None,
            "kernel": self.kernel if self.hsaco else None,
            "iterations": self.iterations,
            "warmup": self.warmup,
            "dispatch": self.dispatch,
            "initial": initial,
            "expect": expect,
            "dump": str(self.dump) if self.dump else None,
            "mismatch_dump": str(self.mismatch_dump) if self.mismatch_dump else None,
            "mismatch_limit": self.mismatch_limit,
            "launch": self.launch.to_json() if self.launch and self.hsaco else None,
        }


def replay_request(
    capture: Path,
    index: Path,
    blobs: Mapping[str, Mapping[str, Any]],
    runs: Iterable[ReplayRun],
    *,
    agent: int = 0,
    timeout_s: float = 60,
    max_mismatches: int = 16,
    withhold_variables: bool = False,
    arriving: Path | None = None,
) -> dict[str, Any]:
    """The `kerncap.replay-request/1` document. `arriving`: the marker of whoever still brings chunk blobs."""
    return {
        "schema": "kerncap.replay-request/1",
        "capture": str(capture),
        "index": str(index),
        "blobs": {digest: dict(where) for digest, where in blobs.items()},
        "arriving": None if arriving is None else str(arriving),
        "agent": agent,
        "timeout_s": max(1, round(timeout_s)),
        "max_mismatches": max_mismatches,
        "withhold_variables": withhold_variables,
        "runs": [run.to_json() for run in runs],
    }
