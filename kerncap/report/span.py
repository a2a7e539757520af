"""Addresses on a line: regions to scale, with a least width, and the gaps between them folded.

In: (address, size) of regions. Out: places on a line of WIDTH units. Called by the drawing of regions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH = 1000
_GAP = 4.0
_LEAST = 10.0


@dataclass(frozen=True)
class Placed:
    """A region from `x` on; `scale` units a byte."""

    va: int
    size: int
    x: float
    width: float
    folded: bool
    """Bytes that belong to no region lie between this one and the one before."""

    def stretch(self, offset: int, length: int) -> tuple[float, float]:
        """(x, width) of some of its bytes; never wider than the region, never less than can be seen."""
        scale = self.width / max(self.size, 1)
        start = self.x + min(offset, self.size) * scale
        width = max(min(length, max(self.size - offset, 0)) * scale, 0.8)
        end = self.x + self.width
        return min(start, end - min(width, self.width)), min(width, self.width)


def place(regions: Sequence[tuple[int, int]]) -> tuple[Placed, ...]:
    """In the order of their addresses. The widths and gaps together are WIDTH."""
    ordered = sorted(regions)
    if not ordered:
        return ()
    gap = min(_GAP, WIDTH / 4 / len(ordered))
    least = min(_LEAST, WIDTH / 4 / len(ordered))
    total = sum(size for _, size in ordered) or 1
    left = WIDTH - gap * (len(ordered) - 1) - least * len(ordered)
    placed: list[Placed] = []
    x, end = 0.0, ordered[0][0]
    for va, size in ordered:
        width = least + left * size / total
        placed.append(Placed(va, size, x, width, va > end))
        x += width + gap
        end = max(end, va + size)
    return tuple(placed)


def rectangles(boxes: Iterable[tuple[float, float]], top: float, height: float) -> str:
    """One path of boxes (x, width); those that touch are one."""
    merged: list[list[float]] = []
    for x, width in sorted(boxes):
        if merged and x <= merged[-1][1] + 0.05:
            merged[-1][1] = max(merged[-1][1], x + width)
        else:
            merged.append([x, x + width])
    return "".join(f"M{x:.4g} {top:g}h{end - x:.3g}v{height:g}h-{end - x:.3g}z" for x, end in merged)
