"""Delta packing: what a base bundle holds already is referenced in its blobs; only what is new makes blobs of its own.

In: a reproducer, and a sealed base. Out: a bundle whose blobs are the base's, the capture's, and new ones of the frames
that are left. Frames are copied as they are, nothing is compressed again. Called by cli.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from kerncap.bundle.documents import canonical_json
from kerncap.bundle.files import host_errors, open_regular, read_pieces
from kerncap.bundle.index import BlobRef, Chunk, Index, parse_index
from kerncap.bundle.location import LayoutLocation, ReproducerLocation, TarLocation
from kerncap.bundle.manifest import CHUNKS, Descriptor, Manifest
from kerncap.bundle.progress import ProgressCall, no_progress
from kerncap.bundle.reader import Bundle
from kerncap.bundle.seal import open_unsealed, write_sealed
from kerncap.bundle.sink import COPY_THREADS, Sink, copy_blobs
from kerncap.bundle.verify import frame_sha256
from kerncap.errors import BundleError, typed

LEAST_USED = 0.5
"""A blob of the base of which less is used is not referenced: its chunks are taken from the capture instead."""
NEW_BLOB_RAW_BYTES = 60 << 20  # with the last chunk at most 64 MiB (bundle_spec/SPEC.md, 4)

PutBlob = Callable[[Sink, Descriptor], None]


@dataclass(frozen=True)
class Base:
    """A sealed bundle to refer to. `put` brings one of its blobs into a sink, digest checked."""

    bundle: Bundle
    put: PutBlob


def local_base(bundle: Bundle) -> Base:
    """A base that lies on this machine."""
    return Base(bundle, lambda sink, blob: sink.put_location(blob, bundle.locate(blob), what=bundle.name))


@dataclass(frozen=True)
class Frame:
    """A stored chunk: `stored` bytes at `offset` of the blob, which hold `length` raw bytes."""

    blob: BlobRef
    offset: int
    stored: int
    width: int
    length: int


@dataclass(frozen=True)
class NewBlob:
    """Frames of the capture's blobs, one after the other."""

    descriptor: Descriptor
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Delta:
    """The bundle with an index over its blobs; every chunk blob is in exactly one of `own`, `new` and `fetched`."""

    bundle: Bundle
    own: tuple[Descriptor, ...]
    """Blobs of the capture, linked or copied unchanged."""
    new: tuple[NewBlob, ...]
    fetched: tuple[Descriptor, ...]
    """Blobs that come from the base."""
    referenced: tuple[Descriptor, ...]
    """Blobs that the base has, whether they came from there or the capture wrote the same: none is sent again."""
    checks: tuple[tuple[Chunk, Frame], ...]
    """What the base's index promises about frames that are referenced."""

    @property
    def new_bytes(self) -> int:
        return self.bundle.index.stored_bytes - self.referenced_bytes

    @property
    def referenced_bytes(self) -> int:
        return sum(blob.size for blob in self.referenced)


def seal_delta(
    reproducer: ReproducerLocation,
    output: LayoutLocation | TarLocation,
    base: Base,
    *,
    progress: ProgressCall = no_progress,
) -> tuple[Manifest, Delta]:
    """Write the bundle of a reproducer to `output`, which must not exist, with the base's blobs for what is there.

    Raises: as seal; BundleError `bundle.digest-mismatch` when the base holds something else than its index says.
    """
    bundle = open_unsealed(reproducer)
    locations = bundle.blob_locations()
    delta = plan(bundle, base.bundle)

    def put(sink: Sink, manifest: Manifest) -> None:
        own = [(blob, locations[blob.digest]) for blob in (*manifest.hsacos, *delta.own)]
        copy_blobs(sink, own, what=bundle.name, progress=progress)
        with host_errors(sink.place), ThreadPoolExecutor(COPY_THREADS) as pool:
            for _ in pool.map(lambda blob: base.put(sink, blob), delta.fetched):
                pass
            for _ in pool.map(lambda blob: _write(bundle, blob, sink), delta.new):
                pass
            for _ in pool.map(lambda check: _check(base.bundle, sink, *check), delta.checks):
                pass

    return write_sealed(delta.bundle, reproducer, output, put), delta


def plan(bundle: Bundle, base: Bundle) -> Delta:
    """Raises: BundleError `bundle.missing-blob`, `bundle.truncated`, `bundle.limit`."""
    places = _taken_from(bundle, base)
    new = tuple(_compose(bundle, _left_behind(bundle.index, places)))
    for blob in new:
        offset = 0
        for frame in blob.frames:
            ref = BlobRef(blob.descriptor.digest, blob.descriptor.size)
            places[frame] = replace(frame, blob=ref, offset=offset)
            offset += frame.stored
    document = canonical_json(_rewrite(bundle, places))
    index, index_json = parse_index(document, what=f"{bundle.name}: index")
    here = {blob.digest for blob in bundle.index.blobs}
    there = {blob.digest for blob in base.index.blobs}
    made = {blob.descriptor.digest for blob in new}
    chunks = {_frame(bundle.index, chunk): chunk for chunk in _stored_chunks(bundle.index)}
    return Delta(
        replace(bundle, index=index, index_json=index_json),
        tuple(_descriptor(ref) for ref in index.blobs if ref.digest in here - made),
        new,
        tuple(_descriptor(ref) for ref in index.blobs if ref.digest not in here | made),
        tuple(_descriptor(ref) for ref in index.blobs if ref.digest in there),
        tuple((chunks[f], place) for f, place in places.items() if place != f and place.blob.digest not in made),
    )


def _taken_from(bundle: Bundle, base: Bundle) -> dict[Frame, Frame]:
    """For frames of the capture: the base's frame with the same raw bytes; or the same, in a blob that both have."""
    both = {blob.digest for blob in bundle.index.blobs} & {blob.digest for blob in base.index.blobs}
    known: dict[tuple[str, int], Frame] = {}
    for chunk in _stored_chunks(base.index):
        known.setdefault((chunk.raw_sha256, chunk.length), _frame(base.index, chunk))
    taken: dict[Frame, Frame] = {}
    for chunk in _stored_chunks(bundle.index):
        frame = _frame(bundle.index, chunk)
        there = frame if frame.blob.digest in both else known.get((chunk.raw_sha256, chunk.length))
        if there is not None:
            taken[frame] = there
    used: dict[BlobRef, set[tuple[int, int]]] = {}
    for there in taken.values():
        used.setdefault(there.blob, set()).add((there.offset, there.stored))
    worth = {blob for blob, frames in used.items() if sum(n for _, n in frames) >= LEAST_USED * blob.size}
    return {frame: there for frame, there in taken.items() if there.blob in worth or there == frame}


def _left_behind(index: Index, taken: dict[Frame, Frame]) -> list[Frame]:
    """Frames of blobs of which others were taken: a blob of which none was stays as it is."""
    mixed = {frame.blob for frame in taken}
    frames = dict.fromkeys(_frame(index, chunk) for chunk in _stored_chunks(index))
    return [frame for frame in frames if frame not in taken and frame.blob in mixed]


def _compose(bundle: Bundle, frames: Sequence[Frame]) -> Iterator[NewBlob]:
    """New blobs of frames, in their order."""
    group: list[Frame] = []
    raw_bytes = 0
    for frame in frames:
        if raw_bytes >= NEW_BLOB_RAW_BYTES:
            yield _new_blob(bundle, group)
            group, raw_bytes = [], 0
        group.append(frame)
        raw_bytes += frame.length
    if group:
        yield _new_blob(bundle, group)


def _new_blob(bundle: Bundle, frames: Sequence[Frame]) -> NewBlob:
    digest = hashlib.sha256()
    for piece in _bytes_of(bundle, frames):
        digest.update(piece)
    size = sum(frame.stored for frame in frames)
    return NewBlob(Descriptor(CHUNKS, "sha256:" + digest.hexdigest(), size), tuple(frames))


def _bytes_of(bundle: Bundle, frames: Iterable[Frame]) -> Iterator[memoryview]:
    for frame in frames:
        location = bundle.locate(_descriptor(frame.blob))
        with open_regular(location.path, what=bundle.name) as file:
            file.seek(location.offset + frame.offset)
            yield from read_pieces(file, frame.stored, what=f"{bundle.name}: blob {frame.blob.digest}")


def _write(bundle: Bundle, blob: NewBlob, sink: Sink) -> None:
    digest = hashlib.sha256()
    position = 0
    with sink.slot(blob.descriptor) as slot:
        for piece in _bytes_of(bundle, blob.frames):
            digest.update(piece)
            slot.write_at(position, piece)
            position += len(piece)
        if "sha256:" + digest.hexdigest() != blob.descriptor.digest:
            raise BundleError(f"{bundle.name} changed while it was read", code="bundle.digest-mismatch")


def _check(base: Bundle, sink: Sink, chunk: Chunk, frame: Frame) -> None:
    """The base may come from a stranger: what its index says is believed when its bytes say so too."""
    location = sink.location(_descriptor(frame.blob))
    place = f"{base.name}: blob {frame.blob.digest}, frame at {frame.offset}"
    there = replace(chunk, offset=frame.offset, stored=frame.stored, width=frame.width)
    try:
        with open_regular(location.path, what=base.name) as file:
            found = frame_sha256(file, location, there, place)
        if found != chunk.raw_sha256:
            text = f"{place}: raw content has sha256 {found}, the index says {chunk.raw_sha256}"
            raise BundleError(text, code="bundle.digest-mismatch")
    except BundleError as error:
        error.hint = typed("kerncap", "verify", base.name, "--deep")
        raise


def _rewrite(bundle: Bundle, places: dict[Frame, Frame]) -> dict[str, Any]:
    """index.json with every stored chunk at its place, and the blobs in the order of their first use."""
    numbers: dict[BlobRef, int] = {}

    def moved(node: dict[str, Any]) -> dict[str, Any]:
        if node["k"] != "zstd":
            return node
        own = Frame(bundle.index.blobs[node["b"]], node["o"], node["n"], node.get("w", 1), node["l"])
        place = places.get(own, own)
        number = numbers.setdefault(place.blob, len(numbers))
        node = {**node, "b": number, "o": place.offset, "n": place.stored, "w": place.width}
        if place.width == 1:
            del node["w"]
        return node

    regions = []
    for node in bundle.index_json["regions"]:
        lists: dict[str, Any] = {name: [moved(chunk) for chunk in node[name]] for name in ("pre", "post")}
        if "between" in node:
            lists["between"] = [[moved(chunk) for chunk in step] for step in node["between"]]
        regions.append({**node, **lists})
    blobs = [{"digest": blob.digest, "size": blob.size} for blob in numbers]
    return {**bundle.index_json, "blobs": blobs, "regions": regions}


def _stored_chunks(index: Index) -> Iterator[Chunk]:
    return (chunk for _, _, chunk in index.chunks() if chunk.blob is not None)


def _frame(index: Index, chunk: Chunk) -> Frame:
    assert chunk.blob is not None
    return Frame(index.blobs[chunk.blob], chunk.offset, chunk.stored, chunk.width, chunk.length)


def _descriptor(ref: BlobRef) -> Descriptor:
    return Descriptor(CHUNKS, ref.digest, ref.size)
