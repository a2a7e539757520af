"""What a bundle holds, as bytes: captured memory, and the code object.

In: a bundle, a place in a region. Out: raw bytes, decompressed within the bounds that the index promises.
Called by the replay workflow, which looks at inputs to find out what they are, and by whatever reads the code object.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import zstandard

from kerncap.bundle.compression import open_stream
from kerncap.bundle.files import Window, open_regular
from kerncap.bundle.index import Chunk
from kerncap.bundle.manifest import CHUNKS, Descriptor
from kerncap.bundle.reader import Bundle
from kerncap.errors import BundleError


def write_code_object(bundle: Bundle, to: Path) -> Path:
    """The captured code object as a file of its own.

    Raises: BundleError `bundle.missing-blob`, `bundle.truncated`, `bundle.hostile-file`.
    """
    location = bundle.locate(bundle.data_blobs[0])
    with open_regular(location.path, what=bundle.name) as stored:
        stored.seek(location.offset)
        to.write_bytes(Window(stored, location.size).read())
    return to


def read_before(bundle: Bundle, region: int, offset: int, length: int) -> bytes:
    """`length` bytes of the region's pre-state from `offset` on.

    Raises: BundleError `bundle.corrupt-chunk`.
    """
    return _read(bundle, region, bundle.index.regions[region].pre, offset, length)


def read_after(bundle: Bundle, region: int, offset: int, length: int) -> bytes:
    """The same of the post-state, which holds the chunks that the dispatch changed.

    Raises: BundleError `bundle.corrupt-chunk`.
    """
    changed = {chunk.at: chunk for chunk in bundle.index.regions[region].post}
    chunks = [changed.get(chunk.at, chunk) for chunk in bundle.index.regions[region].pre]
    return _read(bundle, region, chunks, offset, length)


def _read(bundle: Bundle, region: int, chunks: Iterable[Chunk], offset: int, length: int) -> bytes:
    pieces = []
    for chunk in chunks:
        low, high = max(offset, chunk.at), min(offset + length, chunk.at + chunk.length)
        if low < high:
            pieces.append(_raw(bundle, region, chunk, high - chunk.at)[low - chunk.at :])
    return b"".join(pieces)


def _raw(bundle: Bundle, region: int, chunk: Chunk, wanted: int) -> bytes:
    """The chunk's first `wanted` bytes."""
    if chunk.blob is None:
        return (chunk.value.to_bytes(8, "little") * (wanted // 8 + 1))[:wanted]
    place = f"{bundle.name}: region {region}, chunk at {chunk.at}"
    reference = bundle.index.blobs[chunk.blob]
    location = bundle.locate(Descriptor(CHUNKS, reference.digest, reference.size))
    raw = bytearray()
    with open_regular(location.path, what=bundle.name) as file:
        file.seek(location.offset + chunk.offset)
        try:
            with open_stream(Window(file, chunk.stored)) as stream:
                while len(raw) < wanted and (piece := stream.read(wanted - len(raw))):
                    raw += piece
        except zstandard.ZstdError as error:
            raise BundleError(f"{place}: does not decompress: {error}", code="bundle.corrupt-chunk") from None
    if len(raw) != wanted:
        raise BundleError(f"{place}: the frame does not hold {chunk.length} bytes", code="bundle.corrupt-chunk")
    return bytes(raw)
