"""What every topic's definitions are written with: results, modes, operands, and the register of definitions.

In: names or patterns of names, with functions. Out: find(). Called by the other files of this package.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import softfloat as sf
from softfloat import F32, NAN, Format

M8, M16, M32, M64 = 0xFF, 0xFFFF, 0xFFFFFFFF, (1 << 64) - 1


@dataclass(frozen=True)
class Result:
    """`dst` is None for comparisons; `bit` is the lane's bit of a mask result or SCC, None where it stays."""

    dst: int | None = None
    bit: bool | None = None


@dataclass(frozen=True)
class Mode:
    """MODE of the wave: rounding and denormals of f32 and of f64/f16 (bit 0 inputs kept, bit 1 outputs kept)."""

    round32: int = 0
    round64: int = 0
    denorm32: int = 3
    denorm64: int = 3


DEFAULT = Mode()
Function = Callable[..., Any]
EXACT: dict[str, Function] = {}
_patterns: list[tuple[re.Pattern[str], Function]] = []


def op(*names: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        for name in names:
            EXACT[name] = function
        return function

    return register


def pattern(text: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        _patterns.append((re.compile(text + r"\Z"), function))
        return function

    return register


OCP = "@ocp"
"""Behind the name of an instruction with OCP's 8-bit floats, where one of that name on gfx942 has other ones."""


def find_for(name: str, target: str) -> Callable[[Mode, list[int], int, bool], Result | None] | None:
    """The definition that holds on a target."""
    own = find(name + OCP) if target != "gfx942" else None
    return own or find(name)


def find(name: str) -> Callable[[Mode, list[int], int, bool], Result | None] | None:
    """The definition of an instruction: (mode, sources, old destination, carry or SCC in) -> result."""
    name = name.replace("v_dual_", "v_")
    function = EXACT.get(name)
    groups: tuple[str, ...] = ()
    if function is None:
        for regex, candidate in _patterns:
            match = regex.match(name)
            if match:
                function, groups = candidate, match.groups()
                break
    if function is None:
        return None

    def call(mode: Mode, sources: list[int], old: int, carry: bool) -> Result | None:
        found = function(Args(mode, sources, old, carry), *groups)
        if found is None or isinstance(found, Result):
            return found
        return Result(found)

    return call


@dataclass(frozen=True)
class Args:
    mode: Mode
    s: list[int]
    old: int
    carry: bool

    def rounding(self, f: Format) -> int:
        return self.mode.round32 if f is F32 else self.mode.round64

    def kept(self, f: Format, which: int) -> bool:
        return bool((self.mode.denorm32 if f is F32 else self.mode.denorm64) >> which & 1)

    def floats(self, f: Format) -> list[int]:
        return self.s if self.kept(f, 0) else [sf.flush(f, x) for x in self.s]

    def old_float(self, f: Format) -> int:
        return self.old if self.kept(f, 0) else sf.flush(f, self.old)

    def out(self, f: Format, bits: int) -> int:
        return bits if bits == NAN or self.kept(f, 1) else sf.flush(f, bits)


def signed(x: int, width: int) -> int:
    return x - (1 << width) if x >> (width - 1) & 1 else x


def fmt(name: str) -> Format:
    return sf.FORMATS[name]


def byte_of(x: int, i: int) -> int:
    return x >> (8 * i) & M8


def leading(x: int, width: int) -> int:
    return width - x.bit_length() if x else M32


def trailing(x: int) -> int:
    return (x & -x).bit_length() - 1 if x else M32


def sign_run(x: int, width: int) -> int:
    """Position of the first bit that differs from the sign, from the top; -1 when all are alike."""
    top = x >> (width - 1)
    return next((i for i in range(1, width) if x >> (width - 1 - i) & 1 != top), M32)


def reverse(x: int, width: int) -> int:
    return int(f"{x:0{width}b}"[::-1], 2)
