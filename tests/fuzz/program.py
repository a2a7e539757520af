"""A generated program: statements that can be dropped one by one, phases, and the fields that workitems carry.

In: nothing. Called by generate.py, which makes programs, render.py, which writes them out, and campaign.py, which reduces them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lanes import Crossing
from operations import TYPES

COUNTS = {"u32": 5, "i32": 3, "u64": 3, "f32": 3, "h2": 3}  # fields of a type in the struct, else two
UNIFORM = ("u32", "i32", "u64", "i64", "u16", "u8", "f32", "f64")
FLOATING = ("f16", "f32", "f64", "h2", "f2", "d2")
FIELDS = [f"{t}_{n}" for t in TYPES for n in range(COUNTS.get(t, 2))]
UNIFORM_FIELDS = [f"q_{t}_{n}" for t in UNIFORM for n in range(2)]
# Results of functions that hardware only bounds, never read again: within units in the last place, within an absolute error.
NEAR_FIELDS = [f"near_f32_{n}" for n in range(3)]
TURN_FIELDS = [f"turn_f32_{n}" for n in range(2)]
OUTPUTS = [*FIELDS, *UNIFORM_FIELDS, *NEAR_FIELDS, *TURN_FIELDS]


def type_of(name: str) -> str:
    return name.removeprefix("q_").removeprefix("near_").removeprefix("turn_").rsplit("_", 1)[0]


@dataclass
class Statement:
    """A line, or blocks of statements between the lines of a compound statement; `dropped` ones are left out."""

    lines: list[str]
    blocks: list[list[Statement]] = field(default_factory=list)
    dropped: bool = False

    def text(self, depth: int) -> str:
        if self.dropped:
            return ""
        out = "  " * depth + self.lines[0] + "\n"
        for block, line in zip(self.blocks, self.lines[1:], strict=True):
            out += "".join(s.text(depth + 1) for s in block) + "  " * depth + line + "\n"
        return out

    def walk(self) -> Iterator[Statement]:
        yield self
        for block in self.blocks:
            for s in block:
                yield from s.walk()


@dataclass
class Phase:
    statements: list[Statement]
    noinline: bool
    crossing: Crossing | None
    condition: str | None
    crossing_dropped: bool = False


@dataclass
class Program:
    seed: int
    rdna: bool
    floats: bool  # without: -ffast-math leaves nothing to compare of them
    items: int  # workitems of a workgroup
    groups: int
    functions: list[str]
    phases: list[Phase]

    def statements(self) -> list[Statement]:
        return [s for p in self.phases for top in p.statements for s in top.walk()]

    @property
    def wave(self) -> int:
        return 32 if self.rdna else 64
