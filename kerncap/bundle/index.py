"""index.json as types: regions, chunks and the blobs that hold them, with every limit checked before use.

In: JSON bytes from a stranger. Out: a frozen Index whose chunk lists are whole and offsets inside their blobs.
Called by the bundle reader and by verify. Chunks are checked here and not by JSON Schema: a big capture has 100,000.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kerncap.bundle import limits
from kerncap.bundle.documents import check_schema_version, parse_json
from kerncap.bundle.manifest import is_digest
from kerncap.errors import A_NEWER_KERNCAP, BundleError

KINDS = frozenset({"pool", "vmem", "lock", "svm", "variable"})
SEGMENTS = frozenset({"device", "host", "kernarg"})
WIDTHS = frozenset({1, 2, 4, 8})
"""Of the words whose bytes a frame holds shuffled; 1: as they are."""

_HEX64 = re.compile(r"[0-9a-f]{64}").fullmatch


@dataclass(frozen=True, slots=True)
class BlobRef:
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """`length` raw bytes at `at` of the region: a frame in blob number `blob`, or (None) the u64 `value` repeated.

    The frame holds the bytes of words of `width` bytes shuffled (kerncap.bundle.shuffle).
    """

    at: int
    length: int
    raw_sha256: str
    blob: int | None
    offset: int
    stored: int
    value: int
    width: int = 1


@dataclass(frozen=True, slots=True)
class Region:
    va: int
    size: int
    kind: str
    segment: str
    flags: tuple[str, ...]
    symbol: str | None
    agent: int
    pre: tuple[Chunk, ...]
    post: tuple[Chunk, ...]
    alias_of: int | None = None
    """The region whose first `size` bytes these are, mapped a second time; an alias has no chunks."""
    step: int = 0
    """Of a variable in a sequence: the first dispatch whose code object holds it."""
    between: tuple[tuple[Chunk, ...], ...] = ()
    """Of a sequence with all its states: what each dispatch but the last one changed, as `post`."""

    @property
    def is_padding(self) -> bool:
        """What lies between the end of an allocation and the end of its last page."""
        return "padding" in self.flags


@dataclass(frozen=True, slots=True)
class Index:
    blobs: tuple[BlobRef, ...]
    regions: tuple[Region, ...]

    @property
    def raw_bytes(self) -> int:
        return sum(region.size for region in self.regions if region.alias_of is None)

    @property
    def requires(self) -> tuple[str, ...]:
        """Features that a reader must know to understand this index (bundle_spec/SPEC.md)."""
        used = {"alias": any(region.alias_of is not None for region in self.regions)}
        used["sequence"] = any(region.step or region.between for region in self.regions)
        used["shuffle"] = any(chunk.width != 1 for _, _, chunk in self.chunks())
        return tuple(feature for feature, is_used in used.items() if is_used)

    @property
    def stored_bytes(self) -> int:
        return sum({blob.digest: blob.size for blob in self.blobs}.values())

    def chunks(self) -> Iterator[tuple[int, str, Chunk]]:
        """(region number, "pre", "between" or "post", chunk)."""
        for number, region in enumerate(self.regions):
            for chunk in region.pre:
                yield number, "pre", chunk
            for changed in region.between:
                for chunk in changed:
                    yield number, "between", chunk
            for chunk in region.post:
                yield number, "post", chunk


def parse_index(data: bytes, *, what: str = "index.json") -> tuple[Index, dict[str, Any]]:
    """The typed index and the document as read.

    Raises: BundleError `bundle.malformed`, `bundle.limit`, `bundle.unsupported-version`, `bundle.unknown-...`.
    """
    document = parse_json(data, what=what, limit=limits.MAX_INDEX_JSON_BYTES)
    check_schema_version(document, "kerncap.index", 1, what=what)
    return _Reader(what).index(document), document


class _Reader:
    def __init__(self, what: str) -> None:
        self._what = what
        self._chunks = 0
        self._blob_sizes: list[int] = []

    def index(self, document: dict[str, Any]) -> Index:
        blobs = tuple(self._blob(i, node) for i, node in enumerate(self._list(document, "blobs", limits.MAX_BLOBS, "")))
        self._blob_sizes = [blob.size for blob in blobs]
        nodes = self._list(document, "regions", limits.MAX_REGIONS, "")
        regions = tuple(self._region(i, node) for i, node in enumerate(nodes))
        end = 0
        for i, region in enumerate(regions):
            if region.va < end:
                raise self._bad(f"regions/{i}", "overlaps the region before it, or is not sorted by va")
            end = region.va + region.size
            if region.alias_of is not None:
                self._check_alias(regions, region, region.alias_of, f"regions/{i}")
        return Index(blobs, regions)

    def _check_alias(self, regions: tuple[Region, ...], region: Region, number: int, place: str) -> None:
        if number >= len(regions) or regions[number].alias_of is not None:
            raise self._bad(place, f"is an alias of region {number}, which does not exist or is one itself")
        original = regions[number]
        if (region.kind, original.kind) != ("vmem", "vmem") or region.size > original.size:
            raise self._bad(place, f"is not a second mapping of region {number}")

    def _blob(self, number: int, node: Any) -> BlobRef:
        place = f"blobs/{number}"
        self._object(node, place)
        digest = node.get("digest")
        if not isinstance(digest, str) or not is_digest(digest):
            raise self._bad(place, "digest is not sha256: and 64 hex digits")
        return BlobRef(digest, self._int(node, "size", 1, limits.MAX_BLOB_BYTES, place))

    def _region(self, number: int, node: Any) -> Region:
        place = f"regions/{number}"
        self._object(node, place)
        va = self._int(node, "va", 1, limits.ADDRESS_SPACE_BYTES - 1, place)
        size = self._int(node, "size", 1, limits.MAX_REGION_BYTES, place)
        if va + size > limits.ADDRESS_SPACE_BYTES:
            raise self._bad(place, "ends behind the address space")
        kind = self._word(node, "kind", KINDS, "bundle.unknown-kind", place)
        segment = self._word(node, "segment", SEGMENTS, "bundle.unknown-kind", place)
        flags = self._list(node, "flags", limits.MAX_FLAGS, place)
        symbol, agent = node.get("symbol"), self._int(node, "agent", 0, (1 << 32) - 1, place)
        if not all(isinstance(flag, str) for flag in flags):
            raise self._bad(place, "flags are not all strings")
        if (kind == "variable") != (symbol is not None):
            raise self._bad(place, "a variable has a symbol, nothing else does")
        if symbol is not None and not _is_symbol(symbol):
            raise self._bad(place, "symbol is not the name of one")
        if "alias_of" in node:
            alias_of = self._int(node, "alias_of", 0, limits.MAX_REGIONS - 1, place)
            if node.get("pre") != [] or node.get("post") != [] or "between" in node:
                raise self._bad(place, "an alias has no chunks")
            return Region(va, size, kind, segment, tuple(flags), symbol, agent, (), (), alias_of)
        pre = self._pre(node, size, place)
        grid = {chunk.at: chunk.length for chunk in pre}
        post = self._changed(node, "post", grid, place)
        between = self._between(node, grid, place)
        step = self._int(node, "step", 1, limits.MAX_STEPS - 1, place) if "step" in node else 0
        if step and kind != "variable":
            raise self._bad(place, "only a variable belongs to a dispatch")
        return Region(va, size, kind, segment, tuple(flags), symbol, agent, pre, post, None, step, between)

    def _pre(self, node: Any, size: int, place: str) -> tuple[Chunk, ...]:
        chunks = []
        at = 0
        for i, item in enumerate(self._list(node, "pre", limits.MAX_CHUNKS, place)):
            chunk = self._chunk(item, at, f"{place}/pre/{i}")
            at += chunk.length
            if at > size:
                raise self._bad(place, f"pre holds more than the {size} bytes of the region")
            chunks.append(chunk)
        if at != size:
            raise self._bad(place, f"pre holds {at} bytes, the region has {size}")
        return tuple(chunks)

    def _between(self, node: Any, grid: dict[int, int], place: str) -> tuple[tuple[Chunk, ...], ...]:
        if "between" not in node:
            return ()
        steps = self._list(node, "between", limits.MAX_STEPS - 1, place)
        if not steps:
            raise self._bad(place, "between is empty")
        return tuple(
            self._changed({"between": step}, "between", grid, f"{place}/between/{i}") for i, step in enumerate(steps)
        )

    def _changed(self, node: Any, key: str, grid: dict[int, int], place: str) -> tuple[Chunk, ...]:
        chunks = []
        last = -1
        for i, item in enumerate(self._list(node, key, limits.MAX_CHUNKS, place)):
            here = f"{place}/{key}/{i}"
            self._object(item, here)
            at = self._int(item, "at", 0, limits.MAX_REGION_BYTES, here)
            chunk = self._chunk(item, at, here)
            if at <= last:
                raise self._bad(here, "is not sorted by at, or comes twice")
            if grid.get(at) != chunk.length:
                raise self._bad(here, "is not the same range as a pre chunk")
            last = at
            chunks.append(chunk)
        return tuple(chunks)

    def _chunk(self, node: Any, at: int, place: str) -> Chunk:
        self._chunks += 1
        if self._chunks > limits.MAX_CHUNKS:
            raise BundleError(f"{self._what} has more than {limits.MAX_CHUNKS} chunks", code="bundle.limit")
        self._object(node, place)
        length = self._int(node, "l", 1, limits.MAX_CHUNK_BYTES, place)
        kind = self._word(node, "k", ("zstd", "fill"), "bundle.unknown-kind", place)
        raw = node.get("h")
        if not isinstance(raw, str) or not _HEX64(raw):
            raise self._bad(place, "h is not 64 hex digits")
        if kind == "fill":
            value = self._int(node, "v", 0, (1 << 64) - 1, place)
            if "w" in node:
                raise self._bad(place, "a fill is not shuffled")
            return Chunk(at, length, raw, None, 0, 0, value)
        blob = self._int(node, "b", 0, len(self._blob_sizes) - 1, place)
        offset = self._int(node, "o", 0, limits.MAX_BLOB_BYTES, place)
        stored = self._int(node, "n", 1, length + length // 256 + 128, place)
        if offset + stored > self._blob_sizes[blob]:
            raise self._bad(place, f"ends behind its blob of {self._blob_sizes[blob]} bytes")
        return Chunk(at, length, raw, blob, offset, stored, 0, self._width(node, place) if "w" in node else 1)

    def _width(self, node: Any, place: str) -> int:
        width = self._int(node, "w", 0, (1 << 64) - 1, place)
        if width not in WIDTHS:
            raise BundleError(
                f"{self._what}: {place}: a width of {width} bytes of shuffled words is unknown here",
                code="bundle.unknown-kind",
                hint=A_NEWER_KERNCAP,
            )
        return width

    def _object(self, node: Any, place: str) -> None:
        if not isinstance(node, dict):
            raise self._bad(place, "is not an object")

    def _list(self, node: Any, key: str, most: int, place: str) -> list[Any]:
        value = node.get(key)
        if not isinstance(value, list):
            raise self._bad(place or "top", f"{key} is missing or not a list")
        if len(value) > most:
            raise BundleError(
                f"{self._what}: {place or 'top'}: {key} has {len(value)} entries, at most {most}", code="bundle.limit"
            )
        return value

    def _int(self, node: Any, key: str, least: int, most: int, place: str) -> int:
        value = node.get(key)
        if type(value) is not int:
            raise self._bad(place, f"{key} is missing or not an integer")
        if not least <= value <= most:
            raise self._bad(
                place, f"{key} is {value if value.bit_length() < 128 else 'huge'}, allowed is {least} to {most}"
            )
        return value

    def _word(self, node: Any, key: str, known: Any, code: str, place: str) -> str:
        value = node.get(key)
        if not isinstance(value, str):
            raise self._bad(place, f"{key} is missing or not a string")
        if value not in known:
            raise BundleError(
                f'{self._what}: {place}: {key} "{value[:64]}" is unknown here',
                code=code,
                hint=A_NEWER_KERNCAP,
            )
        return value

    def _bad(self, place: str, text: str) -> BundleError:
        return BundleError(f"{self._what}: {place}: {text}", code="bundle.malformed")


def _is_symbol(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name.encode()) <= limits.MAX_SYMBOL_BYTES and "\0" not in name
