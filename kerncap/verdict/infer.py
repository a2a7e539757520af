"""What inputs of unknown type may be, judged by their bytes: which of them can be perturbed, and how.

In: the bytes that a dispatch reads before it stores them, the captured memory. Out: typed ranges for a perturbed run.
Called by the plan for all but known float data (integers, `extern "C"` names, pointers in memory).

A wrong guess must not make a right variant differ for a bad reason: data that hold an address are left alone,
and so are sorted integers (row offsets), but for those that count up by one (test data, identity permutations). The
captured code object runs from the same state first, and a guess that makes it fault or hang is given up. Floats of
unknown width get their lowest bits flipped (`bits16`), other values change places with a neighbour (`pair32`,
`pair64`): all of them are values that the kernel met anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from kerncap.bundle.capture import Capture
from kerncap.bundle.index import Index
from kerncap.verdict.ranges import Ranges, normalise, subtract
from kerncap.verdict.types import ELEMENT_BYTES, TypedRange
from kerncap.verdict.values import values_of

ReadBefore = Callable[[int, int, int], bytes]
"""(region, offset, length) -> captured bytes."""

ELEMENT_SIZES = {**ELEMENT_BYTES, "bits16": 2, "pair32": 8, "pair64": 16}
_WORD = 4
_GROUP_BYTES = 4 << 20
_ALL_BYTES = 64 << 20
_MAX_RANGES = 1 << 16
_COUNTING = 8
# Floats that programs compute with; small integers and addresses lie far below as floats, negative integers are NaN.
_F32_EXPONENTS = (127 - 60, 127 + 60)
_F64_EXPONENTS = (1023 - 200, 1023 + 200)


def inferred_ranges(
    capture: Capture, index: Index, read_before: ReadBefore, known: tuple[TypedRange, ...] = ()
) -> tuple[TypedRange, ...]:
    """Ranges of the read set outside of `known`, by what they hold; at most 4 MiB of each buffer and 64 MiB in all."""
    if capture.write_set is None:
        return ()
    out: list[TypedRange] = []
    left = _ALL_BYTES
    read = subtract(normalise(capture.write_set.read_first), normalise(one[:3] for one in known))
    for group in _groups(capture, index, read):
        pieces, left = _limited(group, left)
        if not pieces:
            continue
        data = b"".join(read_before(*piece) for piece in pieces)
        kind = element_kind(data, index)
        if kind is not None:
            out += _whole_elements(pieces, kind)
    return tuple(sorted(out[:_MAX_RANGES]))


def swapped_ranges(
    capture: Capture, index: Index, read_before: ReadBefore, floats: tuple[TypedRange, ...]
) -> tuple[TypedRange, ...]:
    """The read set once more, with neighbours to change places wherever that is safe, in float data as well.

    For kernels that a small change of their inputs makes no difference to (comparisons, signs, ranks).
    """
    out: list[TypedRange] = []
    for region, offset, length, kind in floats:
        piece = (region, offset, min(length, _GROUP_BYTES))
        values = values_of(read_before(*piece), kind)
        if not bool(np.all(values[1:] >= values[:-1])):
            out += _whole_elements([piece], "pair64" if kind == "f64" else "pair32")
    for one in inferred_ranges(capture, index, read_before, floats):
        # What looks like floats may have 8 bytes each.
        kind = one[3] if one[3].startswith("pair") else "pair64"
        out += _whole_elements([one[:3]], kind)
    return tuple(sorted(out))


def element_kind(data: bytes, index: Index) -> str | None:
    """How these bytes may be perturbed: `f64`, `f32`, `bits16`, `pair32`, `pair64`, or None: better not at all."""
    size = len(data) // 8 * 8
    wide = np.frombuffer(data[:size], dtype="<u8")
    words = np.frombuffer(data[: len(data) // _WORD * _WORD], dtype="<u4")
    if not words.any() or _holds_address(wide, index):
        return None
    halves = words.view("<u2")
    if _all_within((halves >> 10) & 31, halves != 0, 1, 30) and _is_upper_half_used(words):
        return "bits16"
    if _all_within((words >> 23) & 255, words != 0, *_F32_EXPONENTS):
        return "f32"
    if wide.any() and _all_within((wide >> np.uint64(52)) & np.uint64(2047), wide != 0, *_F64_EXPONENTS):
        return "f64"
    signed = wide.view("<i8")
    if len(signed) > 1 and bool(np.all((signed >= -(1 << 31)) & (signed < 1 << 31))):
        return None if bool(np.all(signed[1:] >= signed[:-1])) and not _counts_up(wide) else "pair64"
    return None if _is_sorted(words) and not _counts_up(words) else "pair32"


def _groups(capture: Capture, index: Index, read: Ranges) -> Iterator[list[tuple[int, int, int]]]:
    """The read set, cut where arguments point to: one group is one buffer, as far as anybody can tell."""
    starts: dict[int, set[int]] = {}
    for argument in (one for step in capture.steps for one in step.kernarg.args):
        if argument.region is not None and argument.region_offset is not None:
            starts.setdefault(argument.region, set()).add(argument.region_offset)
    groups: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for region, offset, length in read:
        if region >= len(index.regions) or _is_kernarg(index, region):
            continue
        cuts = sorted(c for c in starts.get(region, ()) if offset < c < offset + length)
        edges = [offset, *cuts, offset + length]
        for low, high in pairwise(edges):
            buffer = max((s for s in starts.get(region, ()) if s <= low), default=-1)
            groups.setdefault((region, buffer), []).append((region, low, high - low))
    yield from groups.values()


def _is_kernarg(index: Index, region: int) -> bool:
    return index.regions[region].segment == "kernarg" or "holds-kernarg" in index.regions[region].flags


def _limited(group: list[tuple[int, int, int]], left: int) -> tuple[list[tuple[int, int, int]], int]:
    """The group's whole words, as many as the limits allow."""
    out: list[tuple[int, int, int]] = []
    room = min(_GROUP_BYTES, left)
    for region, offset, length in group:
        start = -(-offset // _WORD) * _WORD
        size = min((offset + length - start) // _WORD * _WORD, room)
        if size <= 0 or len(out) >= _MAX_RANGES:
            continue
        out.append((region, start, size))
        room -= size
        left -= size
    return out, left


def _whole_elements(pieces: list[tuple[int, int, int]], kind: str) -> Iterator[TypedRange]:
    size = ELEMENT_SIZES[kind]
    for region, offset, length in pieces:
        start = -(-offset // size) * size
        end = (offset + length) // size * size
        if start < end:
            yield (region, start, end - start, kind)


def _all_within(exponents: npt.NDArray[Any], used: npt.NDArray[np.bool_], low: int, high: int) -> bool:
    return bool(np.all((exponents[used] >= low) & (exponents[used] <= high)))


def _is_upper_half_used(words: npt.NDArray[np.uint32]) -> bool:
    """Small integers in words of 4 bytes have nothing in the upper half; floats of any width do."""
    used = words != 0
    return int((words[used] >> 16 != 0).sum()) * 2 > int(used.sum())


def _holds_address(wide: npt.NDArray[np.uint64], index: Index) -> bool:
    """Whether a word of 8 bytes points into captured memory, or looks like an address of this kind of process."""
    ends = np.array([region.va + region.size for region in index.regions], dtype=np.uint64)
    starts = np.array([region.va for region in index.regions], dtype=np.uint64)
    if not len(starts):
        return False
    at = np.searchsorted(starts, wide, side="right").astype(np.int64) - 1
    inside = (at >= 0) & (wide < ends[np.maximum(at, 0)])
    return bool(inside.any()) or bool(((wide >> np.uint64(40)) == np.uint64(0x7F)).any())


def _counts_up(words: npt.NDArray[Any]) -> bool:
    """No offsets of rows: each would have one element."""
    return len(words) >= _COUNTING and bool(np.all(words[1:] - words[:-1] == 1))


def _is_sorted(words: npt.NDArray[np.uint32]) -> bool:
    signed = words.view("<i4")
    return bool(np.all(signed[1:] >= signed[:-1])) or bool(np.all(words[1:] >= words[:-1]))
