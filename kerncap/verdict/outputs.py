"""What differs in each output of a kernel, counted and measured by its elements.

In: the mismatch dump of one run, the typed ranges, the capture. Out: an OutputDifference for each argument that leads
to memory which differs. Called by `classify`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kerncap.bundle.capture import Capture
from kerncap.bundle.dispatch import Argument, Tensor
from kerncap.results import ElementDifference, OutputDifference
from kerncap.verdict.compare import elements_agree
from kerncap.verdict.heat import Heat, first_element
from kerncap.verdict.mismatches import Dump, Piece, inside, pieces_of, positions_of
from kerncap.verdict.plan import Tolerance
from kerncap.verdict.ranges import intersect, normalise, total
from kerncap.verdict.types import ELEMENT_BYTES, SHOWN_BYTES, TypedRange, argument_at, argument_of, name_of
from kerncap.verdict.values import NO_ULP, absolute_difference, text_of, ulp_distance, values_of

MAX_FIRST = 4


def output_differences(
    run: str,
    dump: Dump,
    capture: Capture,
    shown: Sequence[TypedRange],
    tolerance: Tolerance,
    heat: Heat | None = None,
) -> tuple[OutputDifference, ...]:
    """By argument, in the order of the typed ranges; then bytes of unknown type, by region. `heat` is told of all.

    Raises: ReplayError `replay.bad-result`.
    """
    noise = normalise(capture.noise)
    tallies = [_Tally(one, argument_of(capture, one[0], one[1])) for one in shown]
    rest: dict[int, _Bytes] = {}
    for piece in pieces_of(dump):
        wrong = (piece.expected != piece.actual) & ~inside(piece, noise)
        differing, beyond = np.flatnonzero(wrong), wrong.copy()
        for tally in tallies:
            places = positions_of(piece, tally.typed)
            places = places[wrong[places].any(axis=1)]
            if len(places):
                left = tally.add(piece, places, tolerance)
                wrong[places] = False
                if heat is not None:
                    beyond[places[~left]] = False
                    numbers = first_element(tally.typed, piece.offsets[places[:, 0]])
                    heat.elements(tally.typed, tally.tensor, numbers, left)
        if heat is not None and len(differing):
            heat.bytes(piece.region, piece.offsets[differing], beyond[differing])
        if wrong.any():
            rest.setdefault(piece.region, _Bytes(piece.region)).add(piece, wrong)
    found = [tally.result(run, capture) for tally in tallies if tally.differing]
    return (*found, *(one.result(run, capture) for one in rest.values()))


@dataclass
class _Tally:
    """Of one typed range."""

    typed: TypedRange
    argument: Argument | None
    differing: int = 0
    beyond: int = 0
    max_abs: float | None = None
    max_rel: float | None = None
    max_ulp: int | None = None
    nan: list[int] = field(default_factory=lambda: [0, 0])
    inf: list[int] = field(default_factory=lambda: [0, 0])
    first: list[ElementDifference] = field(default_factory=list)
    first_beyond: list[ElementDifference] = field(default_factory=list)

    @property
    def tensor(self) -> Tensor | None:
        return self.argument.tensor if self.argument else None

    def add(self, piece: Piece, places: npt.NDArray[np.int64], tolerance: Tolerance) -> npt.NDArray[np.bool_]:
        """Which of these elements differ by more than the tolerance allows."""
        kind = self.typed[3]
        expected, actual = piece.expected[places].tobytes(), piece.actual[places].tobytes()
        want, got = values_of(expected, kind), values_of(actual, kind)
        self.differing += len(want)
        agrees = kind in ELEMENT_BYTES and elements_agree(expected, actual, kind, tolerance)
        beyond = ~np.broadcast_to(agrees, want.shape)
        self.beyond += int(beyond.sum())
        self._measure(want, got)
        if kind in ELEMENT_BYTES:
            distance = ulp_distance(expected, actual, kind)
            self.max_ulp = _larger(self.max_ulp, distance[distance != NO_ULP])
            for number, values in enumerate((want, got)):
                self.nan[number] += int(np.isnan(values).sum())
                self.inf[number] += int(np.isinf(values).sum())
        for some, chosen in ((self.first, np.arange(len(want))), (self.first_beyond, np.flatnonzero(beyond))):
            for number in chosen[: MAX_FIRST - len(some)].tolist():
                offset = int(piece.offsets[places[number, 0]])
                texts = text_of(want[number].item(), kind), text_of(got[number].item(), kind)
                some.append(ElementDifference(offset, self._index(offset), *texts))
        return beyond

    def _measure(self, want: npt.NDArray[Any], got: npt.NDArray[Any]) -> None:
        finite = np.isfinite(want) & np.isfinite(got)
        error, size = absolute_difference(want[finite], got[finite]), np.abs(want[finite].astype(np.float64))
        self.max_abs = _larger(self.max_abs, error)
        with np.errstate(over="ignore"):
            self.max_rel = _larger(self.max_rel, error[size > 0] / size[size > 0])

    def _index(self, offset: int) -> tuple[int, ...] | None:
        element = (offset - self.typed[1]) // SHOWN_BYTES[self.typed[3]]
        return (element,) if self.tensor is None else index_of(self.tensor, element)

    def result(self, run: str, capture: Capture) -> OutputDifference:
        region, offset, _, kind = self.typed
        tensor = self.tensor
        return OutputDifference(
            run=run,
            argument=name_of(self.argument) if self.argument else argument_at(capture, region, offset),
            region=region,
            offset=offset,
            type=kind,
            shape=tensor.shape if tensor else None,
            elements=self._elements(capture),
            differing=self.differing,
            beyond=self.beyond,
            max_abs=_finite(self.max_abs),
            max_rel=_finite(self.max_rel),
            max_ulp=self.max_ulp,
            nan=(self.nan[0], self.nan[1]),
            inf=(self.inf[0], self.inf[1]),
            first=tuple(self.first_beyond or self.first),
        )

    def _elements(self, capture: Capture) -> int:
        """Of the tensor; else of what the captured dispatch wrote there, as far as that is known."""
        if self.tensor is not None:
            return math.prod(self.tensor.shape)
        region, offset, length, kind = self.typed
        written = length
        if capture.write_set is not None:
            written = total(intersect(((region, offset, length),), normalise(capture.write_set.written)))
        # A variant may write more than the captured dispatch did.
        return max(written // SHOWN_BYTES[kind], self.differing)


@dataclass
class _Bytes:
    """Of a region what lies in no typed range."""

    region: int
    differing: int = 0
    first: list[ElementDifference] = field(default_factory=list)

    def add(self, piece: Piece, wrong: npt.NDArray[np.bool_]) -> None:
        at = np.flatnonzero(wrong)
        self.differing += len(at)
        for number in at[: MAX_FIRST - len(self.first)].tolist():
            texts = f"{piece.expected[number]:02x}", f"{piece.actual[number]:02x}"
            self.first.append(ElementDifference(int(piece.offsets[number]), None, *texts))

    def result(self, run: str, capture: Capture) -> OutputDifference:
        offset = self.first[0].offset
        return OutputDifference(
            run=run,
            argument=argument_at(capture, self.region, offset),
            region=self.region,
            offset=offset,
            type=None,
            shape=None,
            elements=self.differing,
            differing=self.differing,
            beyond=self.differing,
            max_abs=None,
            max_rel=None,
            max_ulp=None,
            nan=(0, 0),
            inf=(0, 0),
            first=tuple(self.first),
        )


def index_of(tensor: Tensor, element: int) -> tuple[int, ...] | None:
    """The subscripts of the element that lies `element` elements behind the first; None: the tensor has none there.

    Of a broadcast dimension (stride 0) the first. Strides below 0, or such that no order of dimensions nests them, have
    no answer here.

    >>> index_of(Tensor("fp16", (2, 3), (4, 1), 0), 6)
    (1, 2)
    """
    if not all(tensor.shape) or len(tensor.shape) != len(tensor.strides) or any(s < 0 for s in tensor.strides):
        return None
    index = [0] * len(tensor.shape)
    for axis in sorted(range(len(index)), key=lambda axis: -tensor.strides[axis]):
        stride = tensor.strides[axis]
        if stride and tensor.shape[axis] > 1:
            index[axis] = min(element // stride, tensor.shape[axis] - 1)
            element -= index[axis] * stride
    return tuple(index) if element == 0 else None


def _larger(known: Any, values: npt.NDArray[Any]) -> Any:
    if not len(values):
        return known
    largest = values.max().item()
    return largest if known is None else max(known, largest)


def _finite(value: float | None) -> float | None:
    """JSON has no infinity: the difference of two huge doubles is one."""
    return None if value is None else min(float(value), np.finfo(np.float64).max.item())
