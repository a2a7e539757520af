"""Where mismatches lie, counted in a bounded number of bins, as types and JSON (docs/verdict.md).

In: `kerncap.verdict.heat`, or a verdict's JSON. Out: MismatchMap, which reports draw.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_REGIONS = 16
MAX_OUTPUTS = 8
MAX_STRIP_BINS = 1024
"""Of one region, or of the elements of an output without a known shape."""
MAX_GRID_SIDE = 64
"""Rows and columns of bins of a tensor."""


@dataclass(frozen=True)
class Bins:
    """The bins in which something differs: their numbers in ascending order, how many differ in each, and how many of
    those by more than the tolerance allows."""

    numbers: tuple[int, ...]
    counts: tuple[int, ...]
    beyond: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        return {"bins": list(self.numbers), "counts": list(self.counts), "beyond": list(self.beyond)}


@dataclass(frozen=True)
class RegionMap:
    """Bytes of one region: bin n is the bytes from `start + n * bin_bytes` on, `start` counted from the region's."""

    region: int
    va: int
    size: int
    start: int
    bin_bytes: int
    bins: Bins

    def to_json(self) -> dict[str, Any]:
        return {
            "region": self.region,
            "va": self.va,
            "size": self.size,
            "start": self.start,
            "bin_bytes": self.bin_bytes,
            **self.bins.to_json(),
        }


@dataclass(frozen=True)
class OutputMap:
    """Elements behind one argument, in rows and columns.

    A tensor's last dimension is the columns, all others are flattened to the rows; what has no known shape, or one
    dimension, is one row, whose first element is `start`. A bin is `row_step` by `column_step` elements; bins are
    numbered row after row, `columns / column_step` (rounded up) in each. `outside`: elements that differ and have no
    place in the tensor.
    """

    argument: str | None
    region: int
    offset: int
    type: str
    shape: tuple[int, ...] | None
    start: int
    rows: int
    columns: int
    row_step: int
    column_step: int
    outside: int
    bins: Bins

    @property
    def bins_per_row(self) -> int:
        return -(-self.columns // self.column_step)

    @property
    def bin_rows(self) -> int:
        return -(-self.rows // self.row_step)

    def to_json(self) -> dict[str, Any]:
        return {
            "argument": self.argument,
            "region": self.region,
            "offset": self.offset,
            "type": self.type,
            "shape": None if self.shape is None else list(self.shape),
            "start": self.start,
            "rows": self.rows,
            "columns": self.columns,
            "row_step": self.row_step,
            "column_step": self.column_step,
            "outside": self.outside,
            **self.bins.to_json(),
        }


@dataclass(frozen=True)
class MismatchMap:
    """Of one run, noise that the bundle recorded left out. Regions and outputs with the most mismatches are here;
    `more_regions` and `more_outputs` say how many others have some."""

    run: str
    complete: bool
    """All bytes that differ were counted: a dump may hold only the first of them."""
    regions: tuple[RegionMap, ...]
    outputs: tuple[OutputMap, ...]
    more_regions: int = 0
    more_outputs: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "complete": self.complete,
            "regions": [one.to_json() for one in self.regions],
            "outputs": [one.to_json() for one in self.outputs],
            "more_regions": self.more_regions,
            "more_outputs": self.more_outputs,
        }


def parse_map(document: Mapping[str, Any] | None) -> MismatchMap | None:
    """What `to_json()` wrote; a container or a stranger may have written something else.

    Raises: KeyError, TypeError, ValueError.
    """
    if document is None:
        return None
    regions, outputs = document["regions"], document["outputs"]
    if len(regions) > MAX_REGIONS or len(outputs) > MAX_OUTPUTS:
        raise ValueError("the mismatch map describes more regions or outputs than it may")
    return MismatchMap(
        run=str(document["run"]),
        complete=document["complete"] is True,
        regions=tuple(_region(one) for one in regions),
        outputs=tuple(_output(one) for one in outputs),
        more_regions=_count(document["more_regions"]),
        more_outputs=_count(document["more_outputs"]),
    )


def _region(document: Mapping[str, Any]) -> RegionMap:
    names = ("region", "va", "size", "start", "bin_bytes")
    number = {name: _count(document[name]) for name in names}
    return RegionMap(**number, bins=_bins(document, MAX_STRIP_BINS, number["bin_bytes"]))


def _output(document: Mapping[str, Any]) -> OutputMap:
    names = ("region", "offset", "start", "rows", "columns", "row_step", "column_step", "outside")
    number = {name: _count(document[name]) for name in names}
    if not number["row_step"] or not number["column_step"]:
        raise ValueError("a bin of no elements")
    shape = document["shape"]
    argument = document["argument"]
    one = OutputMap(
        argument=None if argument is None else str(argument),
        type=str(document["type"]),
        shape=None if shape is None else tuple(_count(n) for n in shape),
        bins=Bins((), (), ()),
        **number,
    )
    sides = one.bin_rows, one.bins_per_row
    if sides[0] > 1 and max(sides) > MAX_GRID_SIDE:
        raise ValueError(f"a grid of {sides[0]} x {sides[1]} bins")
    most = sides[0] * sides[1]
    bins = _bins(document, min(most, MAX_GRID_SIDE**2 if sides[0] > 1 else MAX_STRIP_BINS), 1)
    return OutputMap(**{**one.__dict__, "bins": bins})


def _bins(document: Mapping[str, Any], most: int, step: int) -> Bins:
    bins = Bins(*(tuple(_count(n) for n in document[name]) for name in ("bins", "counts", "beyond")))
    numbers = bins.numbers
    if not len(numbers) == len(bins.counts) == len(bins.beyond) or not step:
        raise ValueError("bins without counts")
    if any(a >= b for a, b in itertools.pairwise(numbers)) or (numbers and numbers[-1] >= most):
        raise ValueError("bins out of order, or more than there may be")
    return bins


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise ValueError(f"{str(value)[:40]!r} is no count")
    return value
