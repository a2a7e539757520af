"""Typed comparison of mismatched bytes: noise that the bundle recorded, and float elements under a tolerance.

In: a mismatch dump of kerncap-replay (docs/interfaces.md). Out: how many bytes still mismatch
and how many were tolerated.
Called by `classify`. One range is in memory at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from kerncap.errors import ReplayError
from kerncap.verdict.plan import Tolerance
from kerncap.verdict.ranges import Range, Ranges, intersect, normalise
from kerncap.verdict.types import ELEMENT_BYTES, TypedRange
from kerncap.verdict.values import values_of

_PIECE_BYTES = 16 << 20

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Compared:
    """`left_bytes` mismatch after all; `tolerated_bytes` and `noise_bytes` mismatch in an allowed way."""

    left_bytes: int
    tolerated_bytes: int
    noise_bytes: int
    nan_count: int


def compare_dump(dump: Path, typed: tuple[TypedRange, ...], noise: Ranges, tolerance: Tolerance) -> Compared:
    """Judge every byte of a mismatch dump.

    Raises: ReplayError `replay.bad-result`.
    """
    left = tolerated = noisy = nans = 0
    noise = normalise(noise)
    for where, expected, actual in _pieces(dump):
        wrong = expected != actual
        in_noise = _mask(where, noise) & wrong
        wrong &= ~in_noise
        noisy += int(in_noise.sum())
        before = int(wrong.sum())
        if not tolerance.exact:
            nans += _tolerate(where, expected, actual, typed, tolerance, wrong)
        after = int(wrong.sum())
        left += after
        tolerated += before - after
    return Compared(left, tolerated, noisy, nans)


def _pieces(dump: Path) -> Iterator[tuple[Range, Bytes, Bytes]]:
    try:
        listing: dict[str, Any] = json.loads((dump / "mismatch.json").read_text("utf-8"))
        with (dump / "expected.bin").open("rb") as expected, (dump / "actual.bin").open("rb") as actual:
            for region, offset, length, at in listing["ranges"]:
                for start in range(0, length, _PIECE_BYTES):
                    size = min(_PIECE_BYTES, length - start)
                    want, got = _read(expected, at + start, size), _read(actual, at + start, size)
                    yield (region, offset + start, size), want, got
    except (OSError, ValueError, KeyError) as error:
        raise ReplayError(f"the mismatch dump cannot be read: {error}", code="replay.bad-result") from error


def _read(file: BinaryIO, at: int, size: int) -> Bytes:
    file.seek(at)
    data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{size - len(data)} bytes are missing at its end")
    return np.frombuffer(data, dtype=np.uint8)


def _mask(where: Range, ranges: Ranges) -> npt.NDArray[np.bool_]:
    mask = np.zeros(where[2], dtype=np.bool_)
    for _, offset, length in intersect((where,), ranges):
        mask[offset - where[1] : offset - where[1] + length] = True
    return mask


def _tolerate(
    where: Range,
    expected: Bytes,
    actual: Bytes,
    typed: tuple[TypedRange, ...],
    tolerance: Tolerance,
    wrong: npt.NDArray[np.bool_],
) -> int:
    """Clear `wrong` for the bytes of elements that agree; returns how many actual elements are NaN."""
    nans = 0
    for region, offset, length, kind in typed:
        for _, at, n in intersect((where,), ((region, offset, length),)):
            size = ELEMENT_BYTES[kind]
            first = -(-(at - offset) // size) * size + offset - where[1]
            count = (at + n - where[1] - first) // size
            if count <= 0:
                continue
            span = slice(first, first + count * size)
            want, got = values_of(expected[span].tobytes(), kind), values_of(actual[span].tobytes(), kind)
            agrees = elements_agree(want, got, tolerance)
            nans += int(np.isnan(got).sum())
            wrong[span] &= ~np.repeat(agrees, size)
    return nans


def elements_agree(
    expected: npt.NDArray[np.float64], actual: npt.NDArray[np.float64], tolerance: Tolerance
) -> npt.NDArray[np.bool_]:
    """Equal (infinities and signed zeros too), both NaN, or within the tolerance; an infinity is near nothing else."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(actual - expected) <= tolerance.atol + tolerance.rtol * np.abs(expected)
    near &= np.isfinite(expected) & np.isfinite(actual)
    both_nan = np.isnan(expected) & np.isnan(actual)
    result: npt.NDArray[np.bool_] = near | (expected == actual) | both_nan
    return result
