"""zstd with bounds: documents, the code layer and chunks are never decompressed beyond what was promised.

In: stored bytes from a stranger. Out: raw bytes of a known or bounded size. Called by reader, code, verify and seal.
"""

from __future__ import annotations

from typing import IO, Protocol, cast

import zstandard

from kerncap.bundle.limits import MAX_ZSTD_WINDOW_BYTES
from kerncap.errors import BundleError

DOCUMENT_LEVEL = 9


class Readable(Protocol):
    """What can be read in pieces."""

    def read(self, size: int = -1, /) -> bytes: ...


def compress_document(data: bytes) -> bytes:
    """One frame with content size and checksum."""
    return zstandard.ZstdCompressor(level=DOCUMENT_LEVEL, write_checksum=True, write_content_size=True).compress(data)


def decompress_bounded(data: bytes, limit: int, *, what: str) -> bytes:
    """Everything in `data`, if it is at most `limit` bytes.

    Raises: BundleError `bundle.corrupt`, `bundle.limit`.
    """
    pieces: list[bytes] = []
    total = 0
    try:
        with _decompressor().stream_reader(data, read_across_frames=True) as reader:
            while piece := reader.read(1 << 20):
                total += len(piece)
                if total > limit:
                    raise BundleError(f"{what} decompresses to more than {limit} bytes", code="bundle.limit")
                pieces.append(piece)
    except zstandard.ZstdError as error:
        raise BundleError(f"{what} does not decompress: {error}", code="bundle.corrupt") from None
    return b"".join(pieces)


def open_stream(file: Readable) -> zstandard.ZstdDecompressionReader:
    """A reader of raw bytes; the caller counts them against its limit."""
    return _decompressor().stream_reader(cast(IO[bytes], file), read_size=1 << 20, closefd=False)


def _decompressor() -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW_BYTES)
