"""Sets of bytes as sorted, disjoint (region, offset, length) triples.

In and out: tuples of triples. Called by the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Range = tuple[int, int, int]
Ranges = tuple[Range, ...]


def normalise(ranges: Iterable[Iterable[int]]) -> Ranges:
    """Sorted, merged, without empty ones."""
    merged: list[list[int]] = []
    for region, offset, length in sorted(tuple(r) for r in ranges):
        if length <= 0:
            continue
        if merged and merged[-1][0] == region and merged[-1][1] + merged[-1][2] >= offset:
            merged[-1][2] = max(merged[-1][2], offset + length - merged[-1][1])
        else:
            merged.append([region, offset, length])
    return tuple((r, o, n) for r, o, n in merged)


def total(ranges: Ranges) -> int:
    return sum(length for _, _, length in ranges)


def intersect(a: Ranges, b: Ranges) -> Ranges:
    """Bytes in both; both normalised."""
    return tuple(_walk(a, b))


def _walk(a: Ranges, b: Ranges) -> Iterator[Range]:
    i = j = 0
    while i < len(a) and j < len(b):
        (ra, oa, na), (rb, ob, nb) = a[i], b[j]
        if ra == rb:
            low, high = max(oa, ob), min(oa + na, ob + nb)
            if low < high:
                yield (ra, low, high - low)
        if (ra, oa + na) <= (rb, ob + nb):
            i += 1
        else:
            j += 1


def subtract(a: Ranges, b: Ranges) -> Ranges:
    """Bytes of `a` that are not in `b`; both normalised."""
    out: list[Range] = []
    j = 0
    for region, offset, length in a:
        at, end = offset, offset + length
        while j < len(b) and (b[j][0], b[j][1] + b[j][2]) <= (region, at):
            j += 1
        k = j
        while k < len(b) and b[k][0] == region and b[k][1] < end:
            if b[k][1] > at:
                out.append((region, at, b[k][1] - at))
            at = max(at, b[k][1] + b[k][2])
            k += 1
        if at < end:
            out.append((region, at, end - at))
    return tuple(out)
