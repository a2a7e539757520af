"""Counts what differs by its place, in a bounded number of bins: by address and by element.

In: the bytes and elements of a mismatch dump as `output_differences` meets them. Out: a MismatchMap. Nothing here runs
where nothing differs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kerncap.bundle.capture import Capture
from kerncap.bundle.dispatch import Tensor
from kerncap.results.mismatch_map import (
    MAX_GRID_SIDE,
    MAX_OUTPUTS,
    MAX_REGIONS,
    MAX_STRIP_BINS,
    Bins,
    MismatchMap,
    OutputMap,
    RegionMap,
)
from kerncap.verdict.types import SHOWN_BYTES, TypedRange, argument_at, argument_of, name_of

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_HELD_REGIONS = 256
"""Of more regions that differ, the later ones are only counted: their bins take memory before the fullest are known."""


class Heat:
    """Collects one run's mismatches; `spans`: (va, size) of every region."""

    def __init__(self, spans: tuple[tuple[int, int], ...]) -> None:
        self._spans = spans
        self._regions: dict[int, _Strip] = {}
        self._uncounted: set[int] = set()
        self._outputs: dict[TypedRange, _Strip | _Grid] = {}

    def bytes(self, region: int, offsets: Numbers, beyond: Flags) -> None:
        """Bytes that differ, by their offsets in the region; `beyond`: those that no tolerance allows."""
        strip = self._regions.get(region)
        if strip is None and len(self._regions) == _HELD_REGIONS:
            self._uncounted.add(region)
            return
        self._regions.setdefault(region, _Strip()).add(offsets, beyond)

    def elements(self, typed: TypedRange, tensor: Tensor | None, numbers: Numbers, beyond: Flags) -> None:
        """Elements that differ, by their number behind the pointer."""
        if typed not in self._outputs:
            self._outputs[typed] = _Grid(tensor) if tensor is not None and is_grid(tensor) else _Strip()
        self._outputs[typed].add(numbers, beyond)

    def result(self, run: str, capture: Capture, *, complete: bool) -> MismatchMap | None:
        """None where nothing differs."""
        if not self._regions:
            return None
        regions = sorted(self._regions, key=lambda region: -self._regions[region].total)[:MAX_REGIONS]
        outputs = sorted(self._outputs, key=lambda typed: -self._outputs[typed].total)[:MAX_OUTPUTS]
        return MismatchMap(
            run=run,
            complete=complete,
            regions=tuple(self._region(region) for region in sorted(regions)),
            outputs=tuple(self._output(typed, capture) for typed in sorted(outputs)),
            more_regions=len(self._regions) + len(self._uncounted) - len(regions),
            more_outputs=len(self._outputs) - len(outputs),
        )

    def _region(self, region: int) -> RegionMap:
        strip = self._regions[region]
        va, size = self._spans[region]
        return RegionMap(region, va, size, strip.start, strip.column_step, strip.bins())

    def _output(self, typed: TypedRange, capture: Capture) -> OutputMap:
        region, offset, _, kind = typed
        counted = self._outputs[typed]
        argument = argument_of(capture, region, offset)
        tensor = argument.tensor if argument else None
        return OutputMap(
            argument=name_of(argument) if argument else argument_at(capture, region, offset),
            region=region,
            offset=offset,
            type=kind,
            shape=tensor.shape if tensor else None,
            start=counted.start,
            rows=counted.rows,
            columns=counted.columns,
            row_step=counted.row_step,
            column_step=counted.column_step,
            outside=counted.outside,
            bins=counted.bins(),
        )


@dataclass
class _Strip:
    """Places on a line: bins of one power of two, no more than MAX_STRIP_BINS between the first and the last."""

    column_step: int = 1
    low: int = -1
    high: int = -1
    total: int = 0
    rows: int = 1
    row_step: int = 1
    outside: int = 0
    _bins: dict[int, list[int]] = field(default_factory=dict)
    """By their number from place 0 on."""

    @property
    def start(self) -> int:
        return self.low // self.column_step * self.column_step

    @property
    def columns(self) -> int:
        """Places from `start` to the last that differs."""
        return self.high + 1 - self.start

    def add(self, places: Numbers, beyond: Flags) -> None:
        first, last = int(places.min()), int(places.max())
        self.total += len(places)
        self.low = first if self.low < 0 else min(first, self.low)
        self.high = max(last, self.high)
        self._widen()
        _count_into(self._bins, places // self.column_step, beyond)

    def _widen(self) -> None:
        old = self.column_step
        while self.high // self.column_step - self.low // self.column_step >= MAX_STRIP_BINS:
            self.column_step *= 2
        if self.column_step == old:
            return
        wider: dict[int, list[int]] = {}
        for number, (count, beyond) in self._bins.items():
            into = wider.setdefault(number * old // self.column_step, [0, 0])
            into[0] += count
            into[1] += beyond
        self._bins = wider

    def bins(self) -> Bins:
        return _sorted(self._bins, self.low // self.column_step)


@dataclass
class _Grid:
    """Elements of a tensor by their subscripts: the last dimension across, the others down."""

    tensor: Tensor
    start: int = 0
    total: int = 0
    outside: int = 0
    _bins: dict[int, list[int]] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        return self.tensor.shape[-1]

    @property
    def rows(self) -> int:
        return math.prod(self.tensor.shape[:-1])

    @property
    def row_step(self) -> int:
        return -(-self.rows // MAX_GRID_SIDE)

    @property
    def column_step(self) -> int:
        return -(-self.columns // MAX_GRID_SIDE)

    def add(self, numbers: Numbers, beyond: Flags) -> None:
        self.total += len(numbers)
        rows, columns, has_place = subscripts(self.tensor, numbers)
        self.outside += int(len(numbers) - has_place.sum())
        across = -(-self.columns // self.column_step)
        bins = rows // self.row_step * across + columns // self.column_step
        _count_into(self._bins, bins[has_place], beyond[has_place])

    def bins(self) -> Bins:
        return _sorted(self._bins, 0)


def is_grid(tensor: Tensor) -> bool:
    """Has rows and columns, and each element behind the pointer has one place in them at most."""
    shape, strides = tensor.shape, tensor.strides
    return (
        sum(n > 1 for n in shape) > 1
        and all(shape)
        and len(shape) == len(strides)
        and all(s >= 0 for s in strides)
        and math.prod(shape) < 1 << 62
        and max(strides) < 1 << 62
    )


def subscripts(tensor: Tensor, numbers: Numbers) -> tuple[Numbers, Numbers, Flags]:
    """(row, column, whether the tensor has the element) of elements by their number behind the pointer; as
    `index_of`, of many at once. The tensor `is_grid`."""
    left = np.array(numbers, dtype=np.int64)
    index = np.zeros((len(tensor.shape), len(left)), dtype=np.int64)
    for axis in sorted(range(len(tensor.shape)), key=lambda axis: -tensor.strides[axis]):
        stride = tensor.strides[axis]
        if stride and tensor.shape[axis] > 1:
            index[axis] = np.minimum(left // stride, tensor.shape[axis] - 1)
            left -= index[axis] * stride
    rows = np.zeros(len(left), dtype=np.int64)
    for axis, extent in enumerate(tensor.shape[:-1]):
        rows = rows * extent + index[axis]
    return rows, index[-1], np.asarray(left == 0)


def first_element(typed: TypedRange, offsets: Numbers) -> Numbers:
    """Numbers behind the pointer of elements whose first bytes lie at these offsets."""
    return np.asarray((offsets - typed[1]) // SHOWN_BYTES[typed[3]])


def _count_into(bins: dict[int, list[int]], numbers: Numbers, beyond: Flags) -> None:
    if not len(numbers):
        return
    least = int(numbers.min())
    counts = np.bincount(numbers - least)
    over = np.bincount(numbers[beyond] - least, minlength=len(counts))
    for place in np.flatnonzero(counts).tolist():
        into = bins.setdefault(least + place, [0, 0])
        into[0] += int(counts[place])
        into[1] += int(over[place])


def _sorted(bins: dict[int, list[int]], first: int) -> Bins:
    numbers = sorted(bins)
    return Bins(
        tuple(number - first for number in numbers),
        tuple(bins[number][0] for number in numbers),
        tuple(bins[number][1] for number in numbers),
    )
