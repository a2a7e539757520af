"""Heat maps of what differs: by address, by element.

In: a verdict's mismatch map. Out: HeatMaps, whose SVG holds numbers alone; five shades, darker for more.
Called by page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kerncap.report.text import dims
from kerncap.results import OutputMap, RegionMap
from kerncap.results.mismatch_map import Bins

LEVELS = ("some", "1 %", "10 %", "50 %", "all")
"""Least share of a bin that differs."""
_SHARES = (0.0, 0.01, 0.1, 0.5, 1.0)


@dataclass(frozen=True)
class HeatMap:
    """`shades`: paths in units of a bin, one a level; `allowed`: bins in which the tolerance allows all."""

    title: str
    says: str
    first: str
    last: str
    across: int
    down: int
    shades: tuple[Markup, ...]
    allowed: Markup
    height_px: int


def region_heat(one: RegionMap, name: str) -> HeatMap:
    """`name`: of the argument that leads there, if any."""
    across = one.bins.numbers[-1] + 1 if one.bins.numbers else 1
    end = min(one.start + across * one.bin_bytes, max(one.size, one.start + 1))
    capacity = [min(one.bin_bytes, max(one.size - one.start - n * one.bin_bytes, 1)) for n in one.bins.numbers]
    return _map(
        title=f"region {one.region}" + (f" ({name})" if name else ""),
        says=f"{sum(one.bins.counts):,} bytes differ; a column is {_counted(one.bin_bytes, 'byte')}",
        ends=(f"{one.va + one.start:#x} (+ {one.start:#x})", f"{one.va + end:#x} (+ {end:#x})"),
        sides=(across, 1),
        bins=one.bins,
        capacity=capacity,
    )


def output_heat(one: OutputMap) -> HeatMap:
    across, down = one.bins_per_row, one.bin_rows
    differing = f"{sum(one.bins.counts):,} elements differ"
    outside = f"; {one.outside:,} more outside of the tensor" if one.outside else ""
    name = one.argument or f"region {one.region} + {one.offset:#x}"
    if down == 1 and one.rows == 1:
        last = one.start + one.columns - 1
        says = f"{differing}{outside}; a column is {_counted(one.column_step, 'element')} of {one.type}"
        ends = (f"element {one.start:,}", f"element {last:,}")
    else:
        shape = dims(one.shape or (one.rows, one.columns))
        bin_ = f"{one.row_step} x {one.column_step}"
        flat = ": all dimensions but the last" if one.shape and len(one.shape) > 2 else ""
        says = f"{differing}{outside}; {one.rows:,} rows (down{flat}) x {one.columns:,} columns; a cell is {bin_}"
        ends = (f"[{'0, ' * (len(one.shape or (0, 0)) - 1)}0]", f"[{', '.join(str(n - 1) for n in one.shape or ())}]")
        name = f"{name}: {one.type}, {shape}"
    capacity = [
        min(one.column_step, one.columns - n % across * one.column_step)
        * min(one.row_step, max(one.rows - n // across * one.row_step, 1))
        for n in one.bins.numbers
    ]
    return _map(title=name, says=says, ends=ends, sides=(across, down), bins=one.bins, capacity=capacity)


def _map(
    *, title: str, says: str, ends: tuple[str, str], sides: tuple[int, int], bins: Bins, capacity: Sequence[int]
) -> HeatMap:
    across, down = sides
    cells: dict[int, list[int]] = {}
    strict = any(bins.beyond)
    for number, count, beyond, most in zip(bins.numbers, bins.counts, bins.beyond, capacity, strict=True):
        shown = beyond if strict else count
        # What the tolerance allows is another thing as soon as there is something that it does not allow.
        level = _level(shown / max(most, 1)) if shown else -1
        cells.setdefault(level, []).append(number)
    return HeatMap(
        title=title,
        says=says + ("" if strict else "; all of it is allowed"),
        first=ends[0],
        last=ends[1],
        across=across,
        down=down,
        shades=tuple(_cells(cells.get(level, ()), across) for level in range(len(_SHARES))),
        allowed=_cells(cells.get(-1, ()), across),
        height_px=40 if down == 1 else max(96, min(448, down * 12)),
    )


def _level(share: float) -> int:
    return sum(share >= least for least in _SHARES) - 1


def _cells(numbers: Sequence[int], across: int) -> Markup:
    """One path; neighbours in a row are one box."""
    pieces: list[str] = []
    at = 0
    while at < len(numbers):
        first, length = numbers[at], 1
        while at + length < len(numbers) and numbers[at + length] == first + length and (first + length) % across:
            length += 1
        pieces.append(f"M{first % across} {first // across}h{length}v1h-{length}z")
        at += length
    return Markup("".join(pieces))


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")
