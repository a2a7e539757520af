"""A byte string as a source of choices, so that a fuzzer's bytes, a file of the corpus and a random seed do the same.

Called by mutate.py and readers.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


class Choices:
    """Reads from the front; behind the end everything is 0."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def below(self, count: int) -> int:
        """0 to count - 1."""
        size = max(1, (max(count - 1, 1).bit_length() + 7) // 8)
        return int.from_bytes(self.take(size), "little") % count

    def one_of(self, items: Sequence[_T]) -> _T:
        return items[self.below(len(items))]

    def take(self, size: int) -> bytes:
        """So many bytes."""
        piece = self._data[self._at : self._at + size]
        self._at += size
        return piece.ljust(size, b"\0")

    def rest(self) -> bytes:
        piece = self._data[self._at :]
        self._at = len(self._data)
        return piece
