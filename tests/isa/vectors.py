"""Test vectors of single instructions for the native tests, computed by model/.

Usage: vectors.py ROWS.json > tests/native/data/isa_vectors.txt; ROWS.json is the output of `kerncap-isa rows`. A line:
    NAME CARRY OLD SOURCES -> DST BIT
NAME: NAME@ocp where the 8-bit floats are those of OCP, on other targets than gfx942;
CARRY: the lane's bit of a carry-in or select mask, or SCC; OLD: the destination before; SOURCES: hex, comma-separated;
DST: hex, `nan` for any quiet NaN, `-` for none; BIT: of the mask result or SCC afterwards, `-` where nobody looks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import edges
import model

COUNT = 20
SCALAR = ("sop1", "sop2", "sopc")
VECTOR = ("vop1", "vop2", "vopc", "vop3", "vop3p", "vopd")


@dataclass(frozen=True)
class Vector:
    """One line."""

    name: str
    carry: bool
    old: int
    sources: tuple[int, ...]
    dst: int | None
    bit: bool | None

    def line(self) -> str:
        dst = "-" if self.dst is None else "nan" if self.dst == model.NAN else f"{self.dst:x}"
        bit = "-" if self.bit is None else str(int(self.bit))
        sources = ",".join(f"{s:x}" for s in self.sources)
        return f"{self.name} {int(self.carry)} {self.old:x} {sources} -> {dst} {bit}"


def parse(line: str) -> Vector:
    name, carry, old, sources, _, dst, bit = line.split()
    return Vector(
        name,
        carry == "1",
        int(old, 16),
        tuple(int(s, 16) for s in sources.split(",")),
        None if dst == "-" else model.NAN if dst == "nan" else int(dst, 16),
        None if bit == "-" else bit == "1",
    )


def source_kinds(row: dict[str, object]) -> list[str]:
    kinds = [kind for kind in row["src"] if kind not in ("none", "mask")]  # type: ignore[attr-defined]
    if "literal" in row["flags"]:  # type: ignore[operator]
        kinds.append(kinds[0])  # K, the third in the order of the operation's text
    return kinds


def of_row(row: dict[str, object], count: int = COUNT) -> Iterator[Vector]:
    """Vectors of a row, or none when the model does not define it."""
    name = str(row["name"])
    yield from _of_name(row, name, count)
    yield from _of_name(row, name + model.OCP, count)


def _of_name(row: dict[str, object], name: str, count: int) -> Iterator[Vector]:
    define = model.find(name)
    if define is None or row["format"] not in SCALAR + VECTOR or row["fidelity"] == "unsupported":
        return
    kinds = source_kinds(row)
    if not kinds or "simm" in kinds:
        return
    olds = edges.values(str(row["dst"])) if row["dst"] != "none" else (0,)
    for number, sources in enumerate(edges.tuples(kinds, count, name)):
        carry, old = bool(number & 1), olds[(number * 3 + 1) % len(olds)]
        # K of fmamk and fmaak (madmk, madak) is the last source here; the model wants the order of the text.
        shown = (sources[0], sources[2], sources[1]) if "mk_" in name else sources
        result = define(model.DEFAULT, list(shown), old, carry)
        if result is None or result == model.Result():
            continue
        yield Vector(name, carry, old, tuple(sources), result.dst, result.bit)


def generate(rows: dict[str, list[dict[str, object]]]) -> Iterator[Vector]:
    seen: set[str] = set()
    for table in rows.values():
        for row in table:
            if str(row["name"]) not in seen:
                seen.add(str(row["name"]))
                yield from of_row(row)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = json.load(file)["targets"]
    sys.stdout.write("# Written by tests/isa/vectors.py from tests/isa/model/; do not edit.\n")
    for vector in sorted(generate(rows), key=lambda v: v.name):
        sys.stdout.write(vector.line() + "\n")


if __name__ == "__main__":
    main()
