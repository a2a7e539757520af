"""Blobs on their way: a download that can go on where it broke, an upload streamed from elsewhere.

In: pieces of bytes. Out: verified blobs; memory is bounded by one piece. Called by `kerncap.transport.registry`.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator

from kerncap.bundle.files import open_regular
from kerncap.bundle.manifest import Descriptor
from kerncap.bundle.sink import Slot
from kerncap.bundle.store import BlobLocation, digest_mismatch
from kerncap.errors import BundleError, TransportError
from kerncap.transport.failures import Failed

PIECE_BYTES = 1 << 20

AddBytes = Callable[[int], None]
"""Told how many more (or, negative, fewer) bytes are done."""


class Download:
    """How far one blob has come, across attempts."""

    def __init__(self, blob: Descriptor, slot: Slot, add: AddBytes) -> None:
        self.blob = blob
        self.position = 0
        self._slot = slot
        self._add = add
        self._digest = hashlib.sha256()
        self._mismatches = 0

    def restart(self) -> None:
        """From the first byte again."""
        self._add(-self.position)
        self.position = 0
        self._digest = hashlib.sha256()

    def take(self, piece: bytes) -> None:
        self._slot.write_at(self.position, piece)
        self._digest.update(piece)
        self.position += len(piece)
        self._add(len(piece))

    def finish(self, what: str) -> None:
        """Raises: Failed when bytes are missing or (once) wrong; BundleError when they are wrong again."""
        if self.position < self.blob.size:
            missing = self.blob.size - self.position
            raise Failed(
                TransportError(f"{what}: {self.blob.digest} ended {missing} bytes early", code="transport.short")
            )
        found = "sha256:" + self._digest.hexdigest()
        if found != self.blob.digest:
            self._mismatches += 1
            error = digest_mismatch(f"{what}: blob", self.blob.digest, found)
            if self._mismatches > 1:
                raise error
            self.restart()
            raise Failed(error)


class MemorySlot(Slot):
    def __init__(self, size: int) -> None:
        super().__init__(-1, 0, size)
        self.data = bytearray(size)

    def write_at(self, position: int, data: bytes | memoryview) -> None:
        if position + len(data) > len(self.data):
            raise BundleError(f"more than the promised {len(self.data)} bytes arrived", code="bundle.digest-mismatch")
        self.data[position : position + len(data)] = data


class Body:
    """A request body of known length; iterating again starts again. No read(): pieces stay big."""

    def __init__(self, size: int, add: AddBytes) -> None:
        self._size = size
        self._add = add
        self._sent = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        self.take_back()
        for piece in self.pieces():
            yield piece
            self._sent += len(piece)
            self._add(len(piece))

    def pieces(self) -> Iterator[bytes]:
        """All of it, from the start."""
        raise NotImplementedError

    def take_back(self) -> None:
        """The bytes of a failed attempt do not count."""
        self._add(-self._sent)
        self._sent = 0


class FileBody(Body):
    """Streamed from part of a file."""

    def __init__(self, location: BlobLocation, what: str, cancel: threading.Event, add: AddBytes) -> None:
        super().__init__(location.size, add)
        self._location = location
        self._what = what
        self._cancel = cancel

    def pieces(self) -> Iterator[bytes]:
        with open_regular(self._location.path, what=self._what) as file:
            file.seek(self._location.offset)
            left = self._location.size
            while left:
                piece = file.read(min(PIECE_BYTES, left))
                if not piece or self._cancel.is_set():
                    raise OSError(f"{self._location.path} ends early, or the transfer was cancelled")
                yield piece
                left -= len(piece)


class StreamBody(Body):
    """Streamed from wherever `source` takes it, from the start at each call."""

    def __init__(self, size: int, source: Callable[[], Iterator[bytes]], add: AddBytes) -> None:
        super().__init__(size, add)
        self._source = source

    def pieces(self) -> Iterator[bytes]:
        return self._source()
