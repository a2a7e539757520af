"""What a code object says of itself, read by LLVM's tools: symbols, line tables, compile units, machine code.

In: an ELF file. Out: symbol values, file and line of addresses, the compile units, the code. Called by `trail` and
`closure`, and by the check workflow for source lines. Without the tools (a host that has no LLVM) nothing is known.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kerncap import proc
from kerncap.names import base_name
from kerncap.source.paths import as_found

_VERSIONS = ("", "-21", "-19", "-17")
_TIMEOUT_S = 60.0
_MAX_TEXT_BYTES = 64 << 20
_ATTRIBUTE = re.compile(r'^[ \t]+DW_AT_(producer|language|name|comp_dir)\s+\((?:"(.*)"|(\w+))\)$')


@dataclass(frozen=True)
class Unit:
    """A DW_TAG_compile_unit."""

    producer: str = ""
    language: str = ""
    """`DW_LANG_C_plus_plus_14`."""
    name: str = ""
    comp_dir: str = ""

    @property
    def file(self) -> Path | None:
        """The main file, absolute unless the unit does not say where it was compiled."""
        if not self.name:
            return None
        place = os.path.join(self.comp_dir, self.name)
        return as_found(place) if os.path.isabs(place) else Path(os.path.normpath(place))


def llvm_tool(name: str) -> str | None:
    """A tool of any LLVM that the images or a ROCm installation have on the path; the newest of them first."""
    rocm = f"/opt/rocm/llvm/bin/{name}"
    return next((path for tool in (*(name + v for v in _VERSIONS), rocm) if (path := shutil.which(tool))), None)


def symbol_value(elf: Path, name: str) -> int | None:
    """Value of a dynamic symbol. None when it is not there, or without llvm-nm."""
    tool = llvm_tool("llvm-nm")
    if tool is None:
        return None
    argv = [tool, "--dynamic", "--defined-only", "--format=posix", str(elf)]
    for line in proc.run(argv, timeout_s=_TIMEOUT_S, keep_bytes=_MAX_TEXT_BYTES).text.split("\n"):
        words = line.split(" ")
        if len(words) >= 3 and words[0] == name:
            return int(words[2], 16)
    return None


def base_names(mangled: Sequence[str]) -> dict[str, str]:
    """Base name of each; without llvm-cxxfilt only of those that are not mangled."""
    tool = llvm_tool("llvm-cxxfilt")
    if tool is None or not mangled:
        return {name: name for name in mangled if not name.startswith("_Z")}
    done = proc.run([tool], timeout_s=_TIMEOUT_S, stdin="".join(f"{name}\n" for name in mangled).encode())
    return {name: base_name(text) for name, text in zip(mangled, done.text.split("\n"), strict=False)}


def machine_code(elf: Path, scratch: Path) -> bytes | None:
    """Sections .text and .rodata: instructions, kernel descriptors, constants. None without llvm-objcopy or .text."""
    tool = llvm_tool("llvm-objcopy")
    if tool is None:
        return None
    places = {section: scratch / f"section{section}" for section in (".text", ".rodata")}
    dumps = [f"--dump-section={section}={place}" for section, place in places.items()]
    # One that is not there is an error of the tool: then the code alone.
    for words in (dumps, dumps[:1]):
        done = proc.run([tool, *words, str(elf), os.devnull], timeout_s=_TIMEOUT_S)
        if done.ok:
            found = [place.read_bytes() for place in places.values() if place.is_file()]
            for place in places.values():
                place.unlink(missing_ok=True)
            return b"".join(len(section).to_bytes(8, "little") + section for section in found)
    return None


def lines_at(elf: Path, addresses: Iterable[int], *, outermost: bool = False) -> dict[int, tuple[str, int]]:
    """File and line of each address: of the innermost of the functions inlined there, or of that which holds them."""
    tool, wanted = llvm_tool("llvm-symbolizer"), list(addresses)
    if tool is None or not wanted:
        return {}
    argv = [tool, f"--obj={elf}", "--output-style=JSON", *(f"{address:#x}" for address in wanted)]
    try:
        answers = json.loads(proc.run(argv, timeout_s=_TIMEOUT_S, keep_bytes=_MAX_TEXT_BYTES).text)
    except ValueError:
        return {}
    found: dict[int, tuple[str, int]] = {}
    for address, answer in zip(wanted, answers, strict=False):
        named = [frame for frame in answer.get("Symbol", []) if frame.get("FileName") and frame.get("Line")]
        if named:
            frame = named[-1 if outermost else 0]
            found[address] = (str(frame["FileName"]), int(frame["Line"]))
    return found


def compile_units(elf: Path) -> tuple[Unit, ...]:
    """The compile units, without what is in them."""
    tool = llvm_tool("llvm-dwarfdump")
    if tool is None:
        return ()
    argv = [tool, "--debug-info", "--show-children", "--recurse-depth=0", str(elf)]
    text = proc.run(argv, timeout_s=_TIMEOUT_S, keep_bytes=_MAX_TEXT_BYTES).text
    units: list[dict[str, str]] = []
    for line in text.split("\n"):  # not splitlines(): a path may hold what that takes for the end of a line
        if line.endswith("DW_TAG_compile_unit"):
            units.append({})
        elif units and (match := _ATTRIBUTE.match(line)):
            units[-1].setdefault(match.group(1), match.group(2) or match.group(3) or "")
    return tuple(Unit(**unit) for unit in units)
