"""Bytes as numbers.

In: little-endian bytes and an element type. Out: an array. Called by the comparison, the inference and the verdict's
text; a module of its own, since numpy takes time to load and `types` is needed by commands that compute nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kerncap.verdict.types import SHOWN_BYTES


def values_of(data: bytes, kind: str) -> npt.NDArray[Any]:
    """The whole elements of type `kind` in little-endian bytes: floats as float64, integers as they are."""
    size = SHOWN_BYTES[kind]
    data = data[: len(data) // size * size]
    if kind == "bf16":
        wide = np.frombuffer(data, dtype="<u2").astype(np.uint32) << np.uint32(16)
        return wide.view(np.float32).astype(np.float64)
    values = np.frombuffer(data, dtype=f"<{kind[0]}{size}")
    return values.astype(np.float64) if kind[0] == "f" else values
