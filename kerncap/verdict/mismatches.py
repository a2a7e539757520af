"""The mismatch dump of kerncap-replay (docs/interfaces.md), read in pieces, and the elements in a piece.

In: a dump directory. Out: Piece by Piece; positions of whole elements. Called by the typed comparison and by the
statistics of outputs. One piece is in memory at a time, and all work on it is numpy's: a dump may have a million
ranges.
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
from kerncap.verdict.ranges import Ranges
from kerncap.verdict.types import SHOWN_BYTES, TypedRange

_PIECE_BYTES = 1 << 20

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Piece:
    """Bytes of one region, from one or more ranges: where each lies, what was expected there and what is there."""

    region: int
    offsets: Offsets
    """In the region, ascending."""
    expected: Bytes
    actual: Bytes


@dataclass(frozen=True)
class Dump:
    """A dump whose listing was read, which may name a million ranges."""

    folder: Path
    complete: bool
    """It holds every mismatched byte: a run may limit its dump."""
    ranges: list[list[int]]
    """[region, offset, length, offset in the files] of each."""


def open_dump(folder: Path) -> Dump:
    """Raises: ReplayError `replay.bad-result`."""
    try:
        document: dict[str, Any] = json.loads((folder / "mismatch.json").read_text("utf-8"))
        return Dump(folder, document.get("complete", True) is True, document["ranges"])
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise _unreadable(error) from error


def pieces_of(dump: Dump) -> Iterator[Piece]:
    """All of a dump, in order. Raises: ReplayError `replay.bad-result`."""
    try:
        folder = dump.folder
        with (folder / "expected.bin").open("rb") as expected, (folder / "actual.bin").open("rb") as actual:
            for region, ranges in _grouped(dump.ranges):
                at, size = ranges[0][2], int(sum(length for _, length, _ in ranges))
                starts = np.array([start for start, _, _ in ranges], dtype=np.int64)
                lengths = np.array([length for _, length, _ in ranges], dtype=np.int64)
                before = np.cumsum(lengths) - lengths
                offsets = np.arange(size, dtype=np.int64) + np.repeat(starts - before, lengths)
                yield Piece(region, offsets, _read(expected, at, size), _read(actual, at, size))
    except (OSError, ValueError, TypeError) as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> ReplayError:
    return ReplayError(f"the mismatch dump cannot be read: {error}", code="replay.bad-result")


def _grouped(ranges: list[list[int]]) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """(region, [(offset, length, offset in the files)]) of at most a piece's bytes, which follow each other there."""
    group: list[tuple[int, int, int]] = []
    region, size, end = -1, 0, 0
    for other, offset, length, at in ranges:
        for start in range(0, length, _PIECE_BYTES):
            part = min(_PIECE_BYTES, length - start)
            if group and (other != region or size + part > _PIECE_BYTES or at + start != end):
                yield region, group
                group, size = [], 0
            region, end = other, at + start + part
            group.append((offset + start, part, at + start))
            size += part
    if group:
        yield region, group


def _read(file: BinaryIO, at: int, size: int) -> Bytes:
    file.seek(at)
    data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{size - len(data)} bytes are missing at its end")
    return np.frombuffer(data, dtype=np.uint8)


def inside(piece: Piece, ranges: Ranges) -> npt.NDArray[np.bool_]:
    """Which bytes of the piece lie in these ranges, which are normalised."""
    own = [(offset, offset + length) for region, offset, length in ranges if region == piece.region]
    if not own:
        return np.zeros(len(piece.offsets), dtype=np.bool_)
    starts, ends = np.array(own, dtype=np.int64).T
    near = np.searchsorted(starts, piece.offsets, side="right") - 1
    return np.asarray((near >= 0) & (piece.offsets < ends[np.maximum(near, 0)]))


def positions_of(piece: Piece, typed: TypedRange) -> npt.NDArray[np.int64]:
    """[elements, bytes of an element]: positions in the piece of the whole elements that it has of a typed range."""
    region, offset, length, kind = typed
    size = SHOWN_BYTES[kind]
    if region != piece.region:
        return np.empty((0, size), dtype=np.int64)
    low, high = np.searchsorted(piece.offsets, [offset, offset + length])
    first = np.flatnonzero((piece.offsets[low:high] - offset) % size == 0) + low
    first = first[first + size <= high]
    first = first[piece.offsets[first + size - 1] == piece.offsets[first] + size - 1]
    return np.asarray(first[:, None] + np.arange(size))
