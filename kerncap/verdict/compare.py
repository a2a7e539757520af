"""Typed comparison of mismatched bytes: noise that the bundle recorded, and float elements under a tolerance.

In: a mismatch dump of kerncap-replay. Out: how many bytes still mismatch and how many were tolerated.
Called by `classify`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerncap.verdict.mismatches import Dump, Piece, inside, pieces_of, positions_of
from kerncap.verdict.plan import Tolerance
from kerncap.verdict.ranges import Ranges, normalise
from kerncap.verdict.types import TypedRange
from kerncap.verdict.values import ulp_distance, values_of


@dataclass(frozen=True)
class Compared:
    """`left_bytes` mismatch after all; `tolerated_bytes` and `noise_bytes` mismatch in an allowed way."""

    left_bytes: int
    tolerated_bytes: int
    noise_bytes: int
    nan_count: int


def compare_dump(dump: Dump, typed: tuple[TypedRange, ...], noise: Ranges, tolerance: Tolerance) -> Compared:
    """Judge every byte of a mismatch dump.

    Raises: ReplayError `replay.bad-result`.
    """
    left = tolerated = noisy = nans = 0
    noise = normalise(noise)
    for piece in pieces_of(dump):
        wrong = piece.expected != piece.actual
        in_noise = inside(piece, noise) & wrong
        wrong &= ~in_noise
        noisy += int(in_noise.sum())
        before = int(wrong.sum())
        if not tolerance.exact:
            nans += _tolerate(piece, typed, tolerance, wrong)
        after = int(wrong.sum())
        left += after
        tolerated += before - after
    return Compared(left, tolerated, noisy, nans)


def _tolerate(piece: Piece, typed: tuple[TypedRange, ...], tolerance: Tolerance, wrong: npt.NDArray[np.bool_]) -> int:
    """Clear `wrong` for the bytes of elements that agree; returns how many actual elements are NaN."""
    nans = 0
    for one in typed:
        places = positions_of(piece, one)
        want, got = piece.expected[places].tobytes(), piece.actual[places].tobytes()
        agrees = elements_agree(want, got, one[3], tolerance)
        nans += int(np.isnan(values_of(got, one[3])).sum())
        wrong[places[agrees]] = False
    return nans


def elements_agree(expected: bytes, actual: bytes, kind: str, tolerance: Tolerance) -> npt.NDArray[np.bool_]:
    """Of float elements: equal (infinities and signed zeros too), both NaN, or within the tolerance; an infinity is
    near nothing else.
    """
    want, got = values_of(expected, kind), values_of(actual, kind)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(got - want) <= tolerance.atol + tolerance.rtol * np.abs(want)
    if tolerance.ulp:
        near |= ulp_distance(expected, actual, kind) <= np.uint64(tolerance.ulp)
    near &= np.isfinite(want) & np.isfinite(got)
    return np.asarray(near | (got == want) | (np.isnan(want) & np.isnan(got)))
