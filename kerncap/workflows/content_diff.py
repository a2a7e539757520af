"""Compares the memory of two bundles: which regions belong together, which of their bytes differ.

In: two open bundles, local or in a registry. Out: pairs of regions, and for each the ranges that differ. What has the
same digest is not read, let alone fetched. Called by `bundle_diff`.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kerncap.bundle import Bundle
from kerncap.bundle.content import read_chunks
from kerncap.bundle.index import Chunk, Region
from kerncap.verdict.arguments import argument_name

_JOINED_BYTES = 8
"""Ranges less than this apart are one: a word whose bytes differ in part."""
_PIECE_BYTES = 64 << 20


@dataclass(frozen=True)
class Pair:
    """Region numbers on both sides, and what they are: `argument x`, `variable y`, or their address."""

    before: int
    after: int
    what: str


@dataclass(frozen=True)
class ContentDiff:
    """One state, `before` or `after` the dispatch, of a pair of regions. Bytes and offsets of the region."""

    pair: Pair
    state: str
    chunk_bytes: int
    """In chunks whose digests differ."""
    differing_bytes: int
    """Of those that were looked at."""
    ranges: tuple[tuple[int, int], ...]
    """(offset, length), the first ones."""
    more_ranges: int
    unread_bytes: int
    """In chunks that differ, but were more than was to be read."""

    def to_json(self) -> dict[str, Any]:
        return {
            "region_before": self.pair.before,
            "region_after": self.pair.after,
            "what": self.pair.what,
            "state": self.state,
            "chunk_bytes": self.chunk_bytes,
            "differing_bytes": self.differing_bytes,
            "ranges": [list(one) for one in self.ranges],
            "more_ranges": self.more_ranges,
            "unread_bytes": self.unread_bytes,
        }


def match_regions(before: Bundle, after: Bundle) -> list[Pair]:
    """By symbol, then by the argument that points there, then by address and size, then by order among those alike.

    An application that was started again has everything at other addresses.
    """
    old, new = before.index.regions, after.index.regions
    keys = [_names(bundle) for bundle in (before, after)]
    pairs: list[Pair] = []
    left: tuple[set[int], set[int]] = (set(range(len(old))), set(range(len(new))))

    def pair(one: int, other: int, what: str) -> None:
        if one in left[0] and other in left[1]:
            pairs.append(Pair(one, other, what))
            left[0].discard(one)
            left[1].discard(other)

    for name, one in keys[0].items():
        if name in keys[1]:
            pair(one, keys[1][name], name)
    places = {(new[i].va, new[i].size): i for i in sorted(left[1])}
    for i in sorted(left[0]):
        other = places.get((old[i].va, old[i].size))
        if other is not None and _kind(old[i]) == _kind(new[other]):
            pair(i, other, f"at {old[i].va:#x}")
    alike: dict[tuple[object, ...], deque[int]] = {}
    for i in sorted(left[1]):
        alike.setdefault((*_kind(new[i]), new[i].size), deque()).append(i)
    for i in sorted(left[0]):
        others = alike.get((*_kind(old[i]), old[i].size))
        if others:
            other = others.popleft()
            pair(i, other, f"at {old[i].va:#x}, {new[other].va:#x}")
    return sorted(pairs, key=lambda one: one.before)


def _kind(region: Region) -> tuple[object, ...]:
    return region.kind, region.segment, region.symbol, region.is_padding, region.alias_of is None


def _names(bundle: Bundle) -> dict[str, int]:
    names = {f"variable {region.symbol}": i for i, region in enumerate(bundle.index.regions) if region.symbol}
    named = set(names.values())
    for number, argument in enumerate(bundle.capture.kernarg.args):
        if argument.region is not None and argument.region not in named:
            named.add(argument.region)
            names[f"argument {argument_name(argument, number)}"] = argument.region
    return names


class Budget:
    """How many raw bytes of each bundle may be read, in all."""

    def __init__(self, size_bytes: int) -> None:
        self.left = size_bytes

    def take(self, size: int) -> bool:
        if size > self.left:
            return False
        self.left -= size
        return True


def diff_contents(
    before: Bundle, after: Bundle, pairs: Iterable[Pair], budget: Budget, most_ranges: int
) -> Iterator[ContentDiff]:
    """What differs, pair by pair; of regions of two sizes the part that both have.

    Raises: BundleError `bundle.corrupt-chunk`, `bundle.digest-mismatch`; TransportError.
    """
    for pair in pairs:
        old, new = before.index.regions[pair.before], after.index.regions[pair.after]
        if old.alias_of is not None or new.alias_of is not None:
            continue
        size = min(old.size, new.size)
        changed = sorted({chunk.at for region in (old, new) for chunk in region.post})
        for state in ("before", "after"):
            sides = _Side(before, pair.before, _chunks(old, state)), _Side(after, pair.after, _chunks(new, state))
            spans = _differing(sides[0].chunks, sides[1].chunks, size)
            if state == "after":
                # What neither dispatch changed differs as it did before.
                spans = [(at, end) for at, end in spans if bisect_left(changed, at) < bisect_left(changed, end)]
            found = _look(*sides, pair, state, spans, budget, most_ranges)
            if found.chunk_bytes:
                yield found


@dataclass(frozen=True)
class _Side:
    """A region in one of its states."""

    bundle: Bundle
    number: int
    chunks: Sequence[Chunk]

    def read(self, offset: int, length: int) -> bytes:
        return read_chunks(self.bundle, self.number, self.chunks, offset, length)


def _chunks(region: Region, state: str) -> list[Chunk]:
    changed = {chunk.at: chunk for chunk in region.post} if state == "after" else {}
    return [changed.get(chunk.at, chunk) for chunk in region.pre]


def _differing(old: Sequence[Chunk], new: Sequence[Chunk], size: int) -> list[tuple[int, int]]:
    """(start, end) between bounds that both have, where the chunks are not the same ones."""
    bounds = sorted({0, size} | ({c.at for c in old} & {c.at for c in new}))
    spans = []
    i = j = 0
    for start, end in itertools.pairwise(bounds):
        if start >= size:
            break
        mine, yours = [], []
        while i < len(old) and old[i].at < end:
            mine.append((old[i].at, old[i].length, old[i].raw_sha256))
            i += 1
        while j < len(new) and new[j].at < end:
            yours.append((new[j].at, new[j].length, new[j].raw_sha256))
            j += 1
        if mine != yours:
            spans.append((start, min(end, size)))
    return spans


def _look(
    before: _Side,
    after: _Side,
    pair: Pair,
    state: str,
    spans: Sequence[tuple[int, int]],
    budget: Budget,
    most_ranges: int,
) -> ContentDiff:
    ranges: list[tuple[int, int]] = []
    count = differing = unread = chunk_bytes = 0
    for start, end in spans:
        looked_at = budget.take(end - start)
        unread += 0 if looked_at else end - start
        equal = looked_at
        for at in range(start, end if looked_at else start, _PIECE_BYTES):
            length = min(_PIECE_BYTES, end - at)
            one, other = before.read(at, length), after.read(at, length)
            for offset, size, differ in _ranges(one, other):
                equal = False
                differing += differ
                count += 1
                if len(ranges) < most_ranges:
                    ranges.append((at + offset, size))
        # Cut into other chunks, or of two sizes, and yet the same bytes.
        chunk_bytes += 0 if equal else end - start
    return ContentDiff(pair, state, chunk_bytes, differing, tuple(ranges), count - len(ranges), unread)


def _ranges(one: bytes, other: bytes) -> Iterator[tuple[int, int, int]]:
    """(offset, length, how many bytes of it differ)."""
    import numpy

    places = numpy.flatnonzero(numpy.frombuffer(one, numpy.uint8) != numpy.frombuffer(other, numpy.uint8))
    if not places.size:
        return
    cuts = numpy.flatnonzero(numpy.diff(places) > _JOINED_BYTES) + 1
    firsts, lasts = numpy.concatenate(([0], cuts)), numpy.concatenate((cuts, [places.size]))
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        start, end = int(places[first]), int(places[last - 1]) + 1
        yield start, end - start, last - first
