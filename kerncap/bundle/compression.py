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


def decompress_frame(stored: bytes, length: int, *, what: str) -> bytes:
    """The content of a chunk's frame (bundle_spec/SPEC.md, 5): `stored` is one whole frame, with checksum, which says
    that it holds `length` bytes and needs neither a dictionary nor a window above 64 MiB.

    Raises: BundleError `bundle.corrupt-chunk`.
    """

    def corrupt(text: object) -> BundleError:
        return BundleError(f"{what}: {text}", code="bundle.corrupt-chunk")

    try:
        frame = zstandard.get_frame_parameters(stored)
        # Of a skippable frame these say nothing.
        if stored[:4] != zstandard.FRAME_HEADER or frame.content_size != length:
            raise corrupt(f"the frame does not hold {length} bytes, or does not say so")
        if not frame.has_checksum:
            raise corrupt("the frame has no checksum")
        if frame.dict_id or frame.window_size > MAX_ZSTD_WINDOW_BYTES:
            raise corrupt("the frame needs a dictionary, or a window that is too big")
        content = _decompressor().decompress(stored, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise corrupt(f"does not decompress: {error}") from None
    if len(content) != length:
        raise corrupt(f"the frame does not hold {length} bytes")
    return content


def open_stream(file: Readable) -> zstandard.ZstdDecompressionReader:
    """A reader of raw bytes; the caller counts them against its limit."""
    return _decompressor().stream_reader(cast(IO[bytes], file), read_size=1 << 20, closefd=False)


def _decompressor() -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW_BYTES)
