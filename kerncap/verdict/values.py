"""Bytes as numbers, and how far two of them are from each other.

In: little-endian bytes and an element type. Out: arrays. Called by the comparison, the inference and the verdict's
text; a module of its own, since numpy takes time to load and `types` is needed by commands that compute nothing.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from kerncap.verdict.types import ELEMENT_BYTES, F8_FORMATS, SHOWN_BYTES

# So many digits tell any two values of the type apart.
_DIGITS = {"f64": 17, "f32": 9, "f16": 5, "bf16": 4, **dict.fromkeys(F8_FORMATS, 3)}
NO_ULP = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""The distance of a NaN from a number."""


def values_of(data: bytes, kind: str) -> npt.NDArray[Any]:
    """The whole elements of type `kind` in little-endian bytes: floats as float64, integers as they are."""
    size = SHOWN_BYTES[kind]
    data = data[: len(data) // size * size]
    if kind == "bf16":
        wide = np.frombuffer(data, dtype="<u2").astype(np.uint32) << np.uint32(16)
        return _widened(wide.view(np.float32))
    if kind in F8_FORMATS:
        return _table(kind)[np.frombuffer(data, dtype=np.uint8)]
    values = np.frombuffer(data, dtype=f"<{kind[0]}{size}")
    return _widened(values) if kind[0] == "f" else values


def _widened(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """A signalling NaN becomes a quiet one, which the processor mentions."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


@functools.cache
def _table(kind: str) -> npt.NDArray[Any]:
    """The values of all 256 patterns of a float of 8 bits."""
    form = F8_FORMATS[kind]
    bits = np.arange(256)
    significand, exponent = bits & ((1 << form.mantissa) - 1), (bits & 0x7F) >> form.mantissa
    scale = np.exp2(np.maximum(exponent, 1) - form.bias - form.mantissa)
    values = scale * (significand + np.where(exponent > 0, 1 << form.mantissa, 0))
    top = exponent == (0x7F >> form.mantissa)
    if form.special == "ieee":
        values[top] = np.where(significand[top] == 0, np.inf, np.nan)
    elif form.special == "fn":
        values[(bits & 0x7F) == 0x7F] = np.nan
    values = np.asarray(np.where(bits & 0x80, -values, values))
    if form.special == "fnuz":
        values[0x80] = np.nan
    values.setflags(write=False)
    return values


def ulp_distance(expected: bytes, actual: bytes, kind: str) -> npt.NDArray[np.uint64]:
    """How many values of float type `kind` lie from one element to the other, plus one; 0 for the same value.

    The two zeros are one value, and so are all NaN; a NaN and a number are `NO_ULP` apart. An infinity is one step
    behind the largest finite value.
    """
    size = ELEMENT_BYTES[kind]
    sign = np.uint64(1 << (8 * size - 1))

    def ranks(data: bytes) -> npt.NDArray[np.uint64]:
        bits = np.frombuffer(data[: len(data) // size * size], dtype=f"<u{size}").astype(np.uint64)
        magnitude = bits & (sign - np.uint64(1))
        return np.where(bits & sign, sign - magnitude, sign + magnitude)

    a, b = ranks(expected), ranks(actual)
    distance = np.maximum(a, b) - np.minimum(a, b)
    a_nan, b_nan = np.isnan(values_of(expected, kind)), np.isnan(values_of(actual, kind))
    distance[a_nan | b_nan] = NO_ULP
    distance[a_nan & b_nan] = 0
    return distance


def absolute_difference(expected: npt.NDArray[Any], actual: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Of integers exactly, without overflow; of floats as float64, NaN where there is none."""
    if expected.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(np.abs(actual - expected))
    unsigned = f"u{expected.dtype.itemsize}"
    a, b = expected.view(unsigned), actual.view(unsigned)
    return np.asarray(np.where(actual > expected, b - a, a - b))


def text_of(value: float | int, kind: str) -> str:
    """With as many digits as the type has."""
    return format(value, f".{_DIGITS[kind]}g" if kind in _DIGITS else "d")
