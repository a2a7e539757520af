"""What a kernel's machine code takes and does: registers, LDS, scratch, occupancy, instructions by unit.

In: code objects and a kernel's name. Out: CodeFacts, what changed between two. Called by `loop` and `session`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kerncap import native, proc
from kerncap.bundle.files import open_named
from kerncap.errors import UsageError, typed

_TIMEOUT_S = 120
_ELF = b"\x7fELF"
_OFFLOAD_BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
_GFX9 = ("gfx90a", "gfx942", "gfx950")


@dataclass(frozen=True)
class Registers:
    """Of one SIMD: vector registers of a lane, in which pieces they are given, how many waves it holds at most."""

    total: int
    granule: int
    waves: int


# Source: LLVM AMDGPUBaseInfo.cpp, getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU.
def registers_of(target: str, wave_size: int) -> Registers:
    if target in _GFX9:
        return Registers(512, 8, 8)
    return Registers(1536, 24, 16) if wave_size == 32 else Registers(768, 12, 16)


@dataclass(frozen=True)
class CodeFacts:
    """One kernel. Bytes and registers are those of the code object's metadata; `mix` counts instructions by unit."""

    target: str
    wave_size: int
    resources: Mapping[str, int]
    mix: Mapping[str, int]
    instructions: tuple[str, ...]
    leads_to: Mapping[int, int] = field(default_factory=dict)
    """Of each branch with a distance in it, by its place in `instructions`: the place that it leads to."""

    @property
    def waves_per_simd(self) -> int:
        """That fit by their vector registers (and scalar ones, where these are limited); LDS may allow fewer."""
        file = registers_of(self.target, self.wave_size)
        pieces = max(1, -(-self.resources["vgprs"] // file.granule))
        waves = min(file.waves, file.total // (pieces * file.granule))
        # Source: LLVM GCNSubtarget::getOccupancyWithNumSGPRs: more than 100 scalar registers leave room for 7 waves.
        if self.target in _GFX9 and self.resources["sgprs"] > 100:
            waves = min(waves, 7)
        return waves

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "wave_size": self.wave_size,
            "resources": dict(self.resources),
            "waves_per_simd": self.waves_per_simd,
            "instructions": len(self.instructions),
            "mix": dict(self.mix),
        }


def is_code_object(path: Path, target: str | None = None) -> bool:
    """It is an ELF file. `target`: for the hint. Raises: OSError; UsageError `usage.not-a-code-object` for what hipcc
    makes unless it is told not to: an offload bundle.
    """
    with open_named(path) as file:
        magic = file.read(len(_OFFLOAD_BUNDLE))
    if magic == _OFFLOAD_BUNDLE:
        which = f"--offload-arch={target} " if target else ""
        raise UsageError(
            f"{path} is an offload bundle, not a raw code object",
            code="usage.not-a-code-object",
            hint=f"hipcc --cuda-device-only --no-gpu-bundle-output {which}...",
        )
    return magic.startswith(_ELF)


def facts_of(hsaco: Path, mangled: str) -> CodeFacts:
    """Of a kernel. Raises: HostError `host.no-native-files`; UsageError `usage.no-such-file`,
    `usage.not-a-code-object`, `usage.no-such-kernel`.
    """
    document = _isa("listing", hsaco, mangled)
    if not document["kernel"] or document["resources"] is None:
        raise UsageError(
            f"{hsaco}: {mangled} is no kernel of it, or its metadata does not describe it", code="usage.no-such-kernel"
        )
    return facts_from(document)


def function_facts(hsaco: Path, mangled: str) -> CodeFacts:
    """Of a device function, which has no resources of its own. Raises as `facts_of` does."""
    return facts_from(_isa("listing", hsaco, mangled))


def functions_of(hsaco: Path) -> dict[str, bool]:
    """The functions of a code object by mangled name, True for kernels. Raises as `facts_of` does."""
    return {function["name"]: function["kernel"] for function in _isa("code", hsaco)["functions"]}


def _isa(command: str, hsaco: Path, *more: str) -> dict[str, Any]:
    try:
        open_named(hsaco).close()
    except OSError as error:
        raise UsageError(
            f"{hsaco}: {error.strerror}", code="usage.no-such-file", hint=typed("ls", "-l", hsaco)
        ) from None
    tool = native.find_native().isa
    done = proc.run([tool, command, hsaco, *more], timeout_s=_TIMEOUT_S, keep_bytes=256 << 20)
    if not done.ok:
        raise UsageError(
            f"{hsaco}: the code cannot be listed: {done.error_text.strip()[-300:]}", code="usage.not-a-code-object"
        )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def facts_from(document: Mapping[str, Any]) -> CodeFacts:
    """Of a `kerncap.isa-listing/1` document."""
    lines = document["instructions"]
    mix = Counter(str(line["group"]) for line in lines)
    places = {int(line["offset"]): place for place, line in enumerate(lines)}
    return CodeFacts(
        document["target"],
        document["wave_size"],
        {name: int(value) for name, value in (document["resources"] or {}).items()},
        dict(sorted(mix.items())),
        tuple(str(line["text"]) for line in lines),
        {place: places[line["to"]] for place, line in enumerate(lines) if line.get("to") in places},
    )


def code_document(facts: CodeFacts) -> dict[str, Any]:
    """`kerncap.code/1`: all of it, the text of the instructions too."""
    leads_to = {str(place): to for place, to in facts.leads_to.items()}
    listing = list(facts.instructions)
    return {"schema": "kerncap.code/1", "code": facts.to_json(), "listing": listing, "leads_to": leads_to}


def facts_from_document(document: Mapping[str, Any]) -> CodeFacts:
    """The reverse of `code_document`."""
    code = document["code"]
    leads_to = {int(place): int(to) for place, to in document["leads_to"].items()}
    return CodeFacts(
        code["target"], code["wave_size"], code["resources"], code["mix"], tuple(document["listing"]), leads_to
    )


_SHOWN = {
    "vgprs": "VGPRs",
    "agprs": "AccVGPRs",
    "sgprs": "SGPRs",
    "vgpr_spills": "VGPR spills",
    "sgpr_spills": "SGPR spills",
    "lds_bytes": "bytes of LDS",
    "scratch_bytes": "bytes of scratch",
    "dynamic_stack": "dynamic stack",
    "kernarg_bytes": "bytes of kernel arguments",
    "max_workgroup_workitems": "most workitems of a workgroup",
    "wavefront_size": "lanes of a wave",
}


def changes(before: CodeFacts, after: CodeFacts) -> list[str]:
    """`VGPRs 24 to 32`, `waves/SIMD 8 to 7`, `valu 40 to 44`: what is no longer the same."""
    found = [
        f"{text} {before.resources[name]} to {after.resources[name]}"
        for name, text in _SHOWN.items()
        if before.resources.get(name) != after.resources.get(name)
    ]
    if before.waves_per_simd != after.waves_per_simd:
        found.append(f"waves/SIMD {before.waves_per_simd} to {after.waves_per_simd}")
    for unit in sorted({*before.mix, *after.mix}):
        old, new = before.mix.get(unit, 0), after.mix.get(unit, 0)
        if old != new:
            found.append(f"{unit} {old} to {new}")
    if before.target != after.target:
        found.append(f"target {before.target} to {after.target}")
    if not found and before.instructions != after.instructions:
        found.append("other instructions of the same kinds")
    return found
