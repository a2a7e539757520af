"""Where a kernel comes from, as its code object tells: which file, or why there is none.

In: the captured code object, the kernel's names. Out: a Trail; and, where no source was found, an error that says which
case it is. Called by `closure`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kerncap.errors import CompileError, typed
from kerncap.source.debug_info import Unit, compile_units, lines_at, symbol_value

# Source: Tensile, SolutionStructs naming: contraction, index letters of D, A and B ("Cijk_Ailk_Bljk_SB_MT64x64x16...").
_TENSILE = re.compile(r"Cij[a-z]*_A[a-z]+_B[a-z]+_")
# Source: hiprtc (HIP runtime) names its text so; comgr compiles in a folder of its own below the temporary one.
_RUNTIME_COMPILED = re.compile(r"(^|/)(CompileSource[^/]*|comgr-[0-9a-f-]+/.*|hiprtc[^/]*|<stdin>)$")
_WITHOUT_SOURCE = (
    "kerncap extract KERNEL ...  # without --source-dir: such a bundle replays and takes variants as code objects"
)


@dataclass(frozen=True)
class Trail:
    """What is known of a kernel's source from its code object; nothing without debug information or LLVM's tools."""

    code_object: Path | None
    mangled: str
    units: tuple[Unit, ...]

    @property
    def main_files(self) -> tuple[Path, ...]:
        return tuple(file for unit in self.units if (file := unit.file) is not None)

    def defined_in(self) -> Path | None:
        """The file with the kernel's first line, a header perhaps. Asks LLVM's tools."""
        if self.code_object is None or not self.units:
            return None
        entry = symbol_value(self.code_object, self.mangled)
        line = None if entry is None else lines_at(self.code_object, [entry], outermost=True).get(entry)
        return None if line is None else Path(line[0])


def read_trail(code_object: Path | None, mangled: str) -> Trail:
    """Of the code object that ran, if it lies in a file."""
    return Trail(code_object, mangled, () if code_object is None else compile_units(code_object))


def explained(error: CompileError, trail: Trail, source_dir: Path | None) -> CompileError:
    """The error, with what the code object says about the missing source and a hint that fits."""
    why, hint = _why(trail, source_dir)
    return CompileError(f"{error.message}; {why}", code=error.code, hint=hint or error.hint)


def _why(trail: Trail, source_dir: Path | None) -> tuple[str, str | None]:
    if _TENSILE.match(trail.mangled):
        return (
            "it is a kernel of Tensile (rocBLAS, hipBLASLt): generated assembly, of which no source exists",
            _WITHOUT_SOURCE,
        )
    units = trail.units
    if any("triton" in unit.producer.lower() or unit.name.endswith(".py") for unit in units):
        return f"it is a Triton kernel, written in Python: {units[0].file}", _WITHOUT_SOURCE
    if any("Assembler" in unit.language for unit in units):
        return f"it was assembled, from {units[0].file}: there is no HIP source", _WITHOUT_SOURCE
    if any(_RUNTIME_COMPILED.search(str(unit.file)) for unit in units):
        return "it was compiled while the application ran (hiprtc), from text that is no file", _WITHOUT_SOURCE
    place = trail.defined_in() or next(iter(trail.main_files), None)
    if place is None:
        return (
            "its code object has no line tables that would name a file: a library without debug information, or code "
            "that was compiled while the application ran",
            None,
        )
    if source_dir is not None and place.is_relative_to(source_dir.absolute()):
        return f"its line tables name {place}, which the compile database has no command for", None
    if not place.exists():
        return f"its line tables name {place}, which is not on this machine", _WITHOUT_SOURCE
    return (
        f"its line tables name {place}",
        f"{typed('--source-dir', _project_of(place))}  # or the folder of its build",
    )


def _project_of(place: Path) -> Path:
    """The nearest folder above the file with a compile database or a build file, else the file's own."""
    for folder in place.parents:
        if any(
            (folder / name).exists()
            for name in ("compile_commands.json", "build/compile_commands.json", "CMakeLists.txt")
        ):
            return folder
    return place.parent
