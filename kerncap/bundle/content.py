"""What a bundle holds, as bytes: captured memory, and the code object.

In: a bundle, a place in a region. Out: raw bytes, decompressed within the bounds that the index promises.
Called by the replay workflow, which looks at inputs to find out what they are, and by whatever reads the code object.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from kerncap.bundle.compression import decompress_frame
from kerncap.bundle.files import COPY_BYTES, read_exactly
from kerncap.bundle.index import Chunk
from kerncap.bundle.manifest import CHUNKS, Descriptor
from kerncap.bundle.reader import Bundle
from kerncap.bundle.shuffle import unshuffle
from kerncap.bundle.store import check_digest


def write_code_object(bundle: Bundle, to: Path) -> Path:
    """The captured code object as a file of its own.

    Raises: BundleError `bundle.missing-blob`, `bundle.truncated`, `bundle.hostile-file`.
    """
    code = bundle.data_blobs[0]
    with bundle.store.open_checked(code) as stored, to.open("wb") as file:
        while piece := stored.read(COPY_BYTES):
            file.write(piece)
    return to


def read_before(bundle: Bundle, region: int, offset: int, length: int) -> bytes:
    """`length` bytes of the region's pre-state from `offset` on.

    Raises: BundleError `bundle.corrupt-chunk`.
    """
    return read_chunks(bundle, region, bundle.index.regions[region].pre, offset, length)


def read_after(bundle: Bundle, region: int, offset: int, length: int) -> bytes:
    """The same of the post-state, which holds the chunks that the dispatch changed.

    Raises: BundleError `bundle.corrupt-chunk`.
    """
    changed = {chunk.at: chunk for chunk in bundle.index.regions[region].post}
    chunks = [changed.get(chunk.at, chunk) for chunk in bundle.index.regions[region].pre]
    return read_chunks(bundle, region, chunks, offset, length)


def read_chunks(bundle: Bundle, region: int, chunks: Sequence[Chunk], offset: int, length: int) -> bytes:
    """`length` bytes from `offset` on of a state of the region that these chunks, in order, are.

    Raises: BundleError `bundle.corrupt-chunk`, `bundle.digest-mismatch`.
    """
    pieces = []
    first = max(bisect_right(chunks, offset, key=lambda chunk: chunk.at) - 1, 0)
    for chunk in itertools.islice(chunks, first, None):
        if chunk.at >= offset + length:
            break
        low, high = max(offset, chunk.at), min(offset + length, chunk.at + chunk.length)
        if low < high:
            pieces.append(_raw(bundle, region, chunk, high - chunk.at)[low - chunk.at :])
    return b"".join(pieces)


_last_read: dict[str, bytes] = {}
"""The chunk that was read last, by the digest that it was found to have: who reads small pieces reads it once."""


def _raw(bundle: Bundle, region: int, chunk: Chunk, wanted: int) -> bytes:
    """The chunk's first `wanted` bytes; of a stored one all are read, so that they can be checked."""
    if chunk.blob is None:
        return (chunk.value.to_bytes(8, "little") * (wanted // 8 + 1))[:wanted]
    content = _last_read.get(chunk.raw_sha256)
    if content is None or len(content) != chunk.length:
        content = _stored(bundle, region, chunk)
        _last_read.clear()
        _last_read[chunk.raw_sha256] = content
    return content[:wanted]


def _stored(bundle: Bundle, region: int, chunk: Chunk) -> bytes:
    assert chunk.blob is not None
    place = f"{bundle.name}: region {region}, chunk at {chunk.at}"
    reference = bundle.index.blobs[chunk.blob]
    blob = Descriptor(CHUNKS, reference.digest, reference.size)
    with bundle.store.open_frame(blob, chunk.offset, chunk.stored) as file:
        stored = read_exactly(file, chunk.stored, what=place)
    content = unshuffle(decompress_frame(stored, chunk.length, what=place), chunk.width)
    check_digest(content, f"sha256:{chunk.raw_sha256}", what=place)
    return content
