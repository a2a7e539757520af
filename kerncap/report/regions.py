"""The map of a bundle's memory: one strip for each thing that is known of it, all with the same addresses above
each other.

In: the regions, the mismatch map. Out: Lanes, whose SVG holds numbers alone. Called by page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from kerncap.report.facts import Ranges, Region
from kerncap.report.span import WIDTH, Placed, place, rectangles
from kerncap.results import MismatchMap


@dataclass(frozen=True)
class Lane:
    """`path` is None where the thing is not known; empty where there is none of it."""

    name: str
    kind: str
    path: Markup | None
    says: str


@dataclass(frozen=True)
class RegionStrip:
    """The regions themselves."""

    boxes: Markup
    folds: Markup
    width: int = WIDTH


def region_strip(regions: tuple[Region, ...]) -> RegionStrip:
    """Each region's box, every second one in another shade; a mark where addresses between two are left out."""
    placed = place([(region.va, region.size) for region in regions])
    boxes = [
        f'<rect class="r{n % 2}" x="{p.x:.5g}" width="{p.width:.4g}" y="0" height="10"/>' for n, p in enumerate(placed)
    ]
    folds = [f"M{p.x - 1:.5g} 0v10" for p in placed if p.folded]
    return RegionStrip(Markup("".join(boxes)), Markup("".join(folds)))


def lanes(regions: tuple[Region, ...], found: MismatchMap | None) -> tuple[Lane, ...]:
    """Read, written, changed, differs."""
    ordered = sorted(regions, key=lambda region: (region.va, region.size))
    placed = place([(region.va, region.size) for region in ordered])
    read = [region.read for region in ordered]
    written = [region.written for region in ordered]
    known = any(one is not None for one in read)
    return (
        Lane("read", "read", _path(placed, read) if known else None, "loaded before anything was stored there"),
        Lane("written", "written", _path(placed, written) if known else None, "stored by the captured dispatch"),
        Lane("changed", "changed", _path(placed, [r.changed for r in ordered]), "chunks with other bytes afterwards"),
        *_differs(ordered, placed, found),
    )


def _differs(ordered: list[Region], placed: tuple[Placed, ...], found: MismatchMap | None) -> Iterable[Lane]:
    if found is None:
        return
    by_number: dict[int, Ranges] = {
        one.region: tuple((one.start + number * one.bin_bytes, one.bin_bytes) for number in one.bins.numbers)
        for one in found.regions
    }
    path = _path(placed, [by_number.get(region.number, ()) for region in ordered])
    yield Lane("differs", "differs", path, f"other than expected ({found.run} run)")


def _path(placed: tuple[Placed, ...], ranges: Iterable[Ranges | None]) -> Markup:
    """In units of a tenth of a region's pixel, so that a million ranges are no more than fit on the line."""
    boxes: dict[int, tuple[float, float]] = {}
    for one, some in zip(placed, ranges, strict=True):
        for offset, length in some or ():
            x, width = one.stretch(offset, length)
            key = int(x * 2)
            before = boxes.get(key)
            end = max(x + width, sum(before)) if before else x + width
            start = min(x, before[0]) if before else x
            boxes[key] = (start, end - start)
    return Markup(rectangles(boxes.values(), 0, 10))
