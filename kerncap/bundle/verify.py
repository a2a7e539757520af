"""Checks every byte of a bundle: digests of all blobs, the code layer, the content digest, with `deep` every chunk.

In: an open Bundle (its schema and limits were checked when it was opened). Out: a Report with everything that is wrong.
Called by cli, workflows and transport (on arrival).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, TypeVar

from kerncap.bundle.code import SourceFile
from kerncap.bundle.compression import decompress_frame
from kerncap.bundle.files import COPY_BYTES, open_regular, read_exactly
from kerncap.bundle.index import Chunk
from kerncap.bundle.manifest import CHUNKS, Descriptor
from kerncap.bundle.progress import Meter, ProgressCall, no_progress
from kerncap.bundle.reader import Bundle
from kerncap.bundle.seal import content_digest
from kerncap.bundle.shuffle import unshuffle
from kerncap.bundle.store import BlobLocation, check_location
from kerncap.errors import BundleError

_THREADS = 2
_MAX_PROBLEMS = 16
_T = TypeVar("_T")


@dataclass(frozen=True)
class Report:
    """`problems` is empty when the bundle is whole; it stops at the first 16."""

    blobs: int
    stored_bytes: int
    chunks: int
    """Decompressed and compared; 0 without `deep`."""
    problems: tuple[BundleError, ...]


def verify(bundle: Bundle, *, deep: bool = False, progress: ProgressCall = no_progress) -> Report:
    """Read everything once (twice with `deep`); damage is collected, not raised.

    Raises: HostError when the machine cannot read.
    """
    blobs = list(bundle.manifest.blobs()) if bundle.manifest is not None else list(bundle.data_blobs)
    chunks = list(bundle.index.chunks()) if deep else []
    meter = Meter(progress, sum(blob.size for blob in blobs) + sum(chunk.length for _, _, chunk in chunks))
    problems = list(_collect(functools.partial(_check_blob, bundle, meter), blobs))
    if not problems:
        problems += _collect(lambda check: check(bundle), [_check_source])
        groups = _by_blob(chunks)
        problems += _collect(functools.partial(_check_chunks, bundle, meter), groups)
    return Report(len(blobs), sum(blob.size for blob in blobs), len(chunks), tuple(problems[:_MAX_PROBLEMS]))


def _collect(check: Callable[[_T], None], items: Iterable[_T]) -> Iterator[BundleError]:
    """Run a check over items with a few threads; yields what it raised, in the order of the items."""

    def guarded(item: _T) -> BundleError | None:
        try:
            check(item)
        except BundleError as error:
            return error
        return None

    with ThreadPoolExecutor(_THREADS) as pool:
        yield from (error for error in pool.map(guarded, items) if error is not None)


def _check_blob(bundle: Bundle, meter: Meter, blob: Descriptor) -> None:
    location = bundle.locate(blob)
    try:
        check_location(location, blob, what=bundle.name)
    finally:
        meter.add(blob.size)


def _check_source(bundle: Bundle) -> None:
    check_content(bundle, bundle.source_files())


def check_content(bundle: Bundle, source: tuple[SourceFile, ...]) -> None:
    """Whether the source files are those that were sealed. Raises: BundleError `bundle.inconsistent`."""
    if bundle.config is None:
        return
    if len(source) != bundle.config.summary.source_files:
        raise BundleError(
            f"{bundle.name}: {len(source)} source files, the config says {bundle.config.summary.source_files}",
            code="bundle.inconsistent",
        )
    found = content_digest(bundle, source)
    if found != bundle.config.content_digest:
        raise BundleError(
            f"{bundle.name}: contentDigest is {bundle.config.content_digest}, the content has {found}",
            code="bundle.inconsistent",
        )


_Group = tuple[int | None, list[tuple[int, str, Chunk]]]


def _by_blob(chunks: list[tuple[int, str, Chunk]]) -> list[_Group]:
    groups: dict[int | None, list[tuple[int, str, Chunk]]] = {}
    for item in chunks:
        groups.setdefault(item[2].blob, []).append(item)
    return sorted(groups.items(), key=lambda group: -1 if group[0] is None else group[0])


def _check_chunks(bundle: Bundle, meter: Meter, group: _Group) -> None:
    number, items = group
    if number is None:
        for region, state, chunk in items:
            _check_chunk(_place(bundle, region, state, chunk), chunk, fill_sha256(chunk.value, chunk.length))
            meter.add(chunk.length)
        return
    reference = bundle.index.blobs[number]
    location = bundle.locate(Descriptor(CHUNKS, reference.digest, reference.size))
    with open_regular(location.path, what=bundle.name) as file:
        checked: set[tuple[object, ...]] = set()
        for region, state, chunk in items:
            place = _place(bundle, region, state, chunk)
            meter.add(chunk.length)
            shared = (chunk.offset, chunk.stored, chunk.length, chunk.width, chunk.raw_sha256)
            if shared in checked:
                continue
            checked.add(shared)
            _check_chunk(place, chunk, frame_sha256(file, location, chunk, place))


def _place(bundle: Bundle, region: int, state: str, chunk: Chunk) -> str:
    return f"{bundle.name}: region {region}, {state} chunk at {chunk.at}"


def _check_chunk(place: str, chunk: Chunk, found: str) -> None:
    if found != chunk.raw_sha256:
        raise BundleError(
            f"{place}: raw content has sha256 {found}, the index says {chunk.raw_sha256}", code="bundle.digest-mismatch"
        )


def frame_sha256(file: IO[bytes], location: BlobLocation, chunk: Chunk, place: str) -> str:
    """Of the chunk's raw bytes.

    Raises: BundleError `bundle.corrupt-chunk`, `bundle.truncated`.
    """
    file.seek(location.offset + chunk.offset)
    content = decompress_frame(read_exactly(file, chunk.stored, what=place), chunk.length, what=place)
    return hashlib.sha256(unshuffle(content, chunk.width)).hexdigest()


@functools.lru_cache(maxsize=256)
def fill_sha256(value: int, length: int) -> str:
    """Of `length` bytes of the little-endian u64 `value` repeated."""
    block = value.to_bytes(8, "little") * (COPY_BYTES // 8)
    digest = hashlib.sha256()
    while length:
        piece = block[: min(length, len(block))]
        digest.update(piece)
        length -= len(piece)
    return digest.hexdigest()
