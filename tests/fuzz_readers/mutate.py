"""Hostile changes of sound things: JSON documents with another value somewhere, bytes with a few of them changed.

In: a document or bytes, Choices. Out: a changed copy. Called by readers.py.
"""

from __future__ import annotations

import copy
from typing import Any

from choices import Choices

NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    255,
    4095,
    4096,
    65535,
    65536,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 53) + 1,
    (1 << 57) - 4096,
    1 << 57,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
    1 << 64,
    10**40,
    1.5,
    1e308,
    -0.0,
]
TEXTS = [
    "",
    "a",
    "\0",
    "../x",
    "/etc/passwd",
    "sha256:" + "0" * 64,
    "sha256:../../x",
    "sha512:" + "0" * 128,
    "\ud800",
    "x" * 5000,
    "zstd",
    "fill",
    "pool",
    "variable",
    "vmem",
    "device",
    "kernarg",
    "é" * 300,
    "1.0",
    "2.0",
    "1.99999",
    "00" * 64,
    "\u202e\x1b[31m",
]
_MOST_COPIES = 40


def value(choices: Choices) -> Any:
    """Anything that JSON can say."""
    kind = choices.below(8)
    if kind <= 2:
        return choices.one_of(NUMBERS)
    if kind <= 4:
        return choices.one_of(TEXTS)
    if kind == 5:
        return choices.one_of([None, True, False])
    return choices.one_of([[], {}, [[]], [{}], [0] * 100, {"k": "fill"}, [[0, 0, 1]], {str(i): i for i in range(50)}])


def mutated(document: Any, choices: Choices) -> Any:
    """One to four changes: a value replaced, a member removed, added or repeated, two values exchanged."""
    made = copy.deepcopy(document)
    for _ in range(1 + choices.below(4)):
        places = list(_places(made))
        if not places:
            return value(choices)
        parent, key = choices.one_of(places)
        _change(parent, key, places, choices)
    return made


def _change(parent: Any, key: Any, places: list[tuple[Any, Any]], choices: Choices) -> None:
    kind = choices.below(8)
    try:
        if kind <= 3:
            parent[key] = value(choices)
        elif kind == 4:
            del parent[key]
        elif kind == 5:
            other, at = choices.one_of(places)
            parent[key], other[at] = copy.deepcopy(other[at]), copy.deepcopy(parent[key])
        elif kind == 6 and isinstance(parent, list):
            parent.extend(copy.deepcopy(parent[key]) for _ in range(choices.below(_MOST_COPIES)))
        elif isinstance(parent, dict):
            parent[choices.one_of(TEXTS)] = value(choices)
        elif isinstance(parent[key], int):
            parent[key] += choices.one_of([-1, 1, 8, -8, 1 << 32])
    except (KeyError, IndexError):  # an earlier change took it away
        pass


def _places(node: Any) -> Any:
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from _places(node[key])


def damaged(data: bytes, choices: Choices) -> bytes:
    """Bytes changed, left out, repeated or put in; or cut short."""
    out = bytearray(data)
    for _ in range(1 + choices.below(6)):
        if not out:
            break
        at, kind = choices.below(len(out)), choices.below(6)
        if kind <= 1:
            out[at] ^= 1 << choices.below(8)
        elif kind == 2:
            out[at] = choices.below(256)
        elif kind == 3:
            del out[at : at + 1 + choices.below(64)]
        elif kind == 4:
            out[at:at] = choices.take(choices.below(16)) or out[at : at + 64]
        else:
            del out[at:]
    return bytes(out)
