"""The write set of a dispatch, from the virtual GPU's store trace.

In: the trace file of a replay, the regions, where variables lay in that replay. Out: written and read-first ranges.
Called by the extract workflow; docs/interfaces.md has the trace line.
"""

from __future__ import annotations

import functools
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle.index import Index
from kerncap.errors import ReplayError
from kerncap.verdict.ranges import Ranges, normalise, subtract

_PAGE_BYTES = 4096


@dataclass(frozen=True)
class TracedSet:
    """What one dispatch stored and what it loaded first; `outside`: (va, length) of what no region holds."""

    written: Ranges
    read_first: Ranges
    outside_bytes: int
    outside: tuple[tuple[int, int], ...] = ()

    def touches(self, va: int, size: int) -> bool:
        """Whether it used anything in the pages of these bytes, which no region holds."""
        low = va // _PAGE_BYTES * _PAGE_BYTES
        high = (va + max(size, 1) + _PAGE_BYTES - 1) // _PAGE_BYTES * _PAGE_BYTES
        return any(start < high and start + length > low for start, length in self.outside)

    def to_json(self) -> dict[str, Any]:
        return {
            "source": "vgpu-trace",
            "written": [list(r) for r in self.written],
            "read_first": [list(r) for r in self.read_first],
        }


def read_trace(
    path: Path, kernel_objects: Sequence[int], index: Index, variables: Iterable[tuple[int, int]]
) -> TracedSet:
    """The sets of the first dispatches of these kernel objects, which follow each other in the trace, taken together.

    What one of them read is `read_first` only where none before had stored it.

    Raises: ReplayError `replay.no-trace` when the trace has no such dispatches.
    """
    wanted = list(kernel_objects)
    places = list(variables)
    steps: list[TracedSet] = []
    for entry in _entries(path):
        if len(steps) < len(wanted) and entry["kernel_object"] == wanted[len(steps)]:
            steps.append(_translate(entry, index, places))
    if len(steps) < len(wanted):
        raise ReplayError(
            f"the store trace has no dispatch of kernel object {wanted[len(steps)]:#x}",
            code="replay.no-trace",
            hint="--device vgpu:TARGET,log=2 shows what the virtual GPU ran",
        )
    return functools.reduce(_followed_by, steps)


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                entry = json.loads(line)
                if "stopped" not in entry:
                    yield entry


def _followed_by(first: TracedSet, second: TracedSet) -> TracedSet:
    return TracedSet(
        normalise((*first.written, *second.written)),
        normalise((*first.read_first, *subtract(second.read_first, first.written))),
        first.outside_bytes + second.outside_bytes,
        tuple(sorted({*first.outside, *second.outside})),
    )


def _translate(entry: dict[str, Any], index: Index, variables: Iterable[tuple[int, int]]) -> TracedSet:
    moved = dict(variables)
    places = sorted(
        (moved.get(number, region.va), region.size, number)
        for number, region in enumerate(index.regions)
        if region.kind != "variable" or number in moved
    )
    starts = [va for va, _, _ in places]

    def regions_of(ranges: list[list[int]]) -> tuple[Ranges, list[tuple[int, int]]]:
        found: list[tuple[int, int, int]] = []
        outside: list[tuple[int, int]] = []
        for start, length in ranges:
            at, end = start, start + length
            while at < end:
                i = bisect_right(starts, at) - 1
                if i >= 0 and at < places[i][0] + places[i][1]:
                    stop = min(end, places[i][0] + places[i][1])
                    number = places[i][2]
                    original = index.regions[number].alias_of
                    found.append((number if original is None else original, at - places[i][0], stop - at))
                else:
                    stop = min(end, starts[i + 1]) if i + 1 < len(starts) else end
                    outside.append((at, stop - at))
                at = stop
        return normalise(found), outside

    written, outside = regions_of(entry["written"])
    read_first, outside_too = regions_of(entry["read_first"])
    stored_bytes = sum(length for _, length in outside)
    return TracedSet(written, read_first, stored_bytes, tuple(sorted(outside + outside_too)))
