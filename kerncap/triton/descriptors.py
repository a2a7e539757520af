"""Tensor descriptors as arguments: one for Triton, many in the kernarg segment.

In: a signature's kind such as `tensordesc<fp16[16, 64]>`, the sizes of the kernarg segment's arguments, a descriptor
as the shim wrote it down. Out: names, types and values of the parts. Called by call and argument_text.

Triton's AMD backend takes a descriptor of n dimensions apart into the address, n sizes and n strides (i64), then flags
(none before 3.5; padding with NaN; from 3.8 on rounding to tf32 as well); the compiled function has n sizes (i32) and
n strides (i64) once more. With tensor data movement in hardware (gfx1250) a block of bytes is the first group.
Source: triton/backends/amd/driver.py of 3.4 to 3.9, what it packs for a descriptor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_KIND = re.compile(r"tensordesc<([^\[>]*)\[([0-9, ]*)\]")
_FLAGS = ("padding", "round_f32_to_tf32")
BASE, SHAPE, STRIDES = "base", "shape", "strides"
# The second time.
_SHAPE_AGAIN, _STRIDES_AGAIN = "shape_again", "strides_again"

Part = tuple[str, str]


def is_descriptor(kind: object) -> bool:
    return isinstance(kind, str) and kind.startswith("tensordesc<")


def block_shape(kind: str) -> list[int]:
    """`[16, 64]` of `tensordesc<fp16[16, 64]>`."""
    found = _KIND.match(kind)
    return [int(size) for size in found[2].split(",") if size.strip()] if found else []


def parts(name: str, kind: str, sizes: Sequence[int]) -> list[Part] | None:
    """(name, type) of what a descriptor is in the kernarg segment; `sizes`: bytes of the arguments there from it on.

    None: it is laid out in a way that is not known here.
    """
    found = _KIND.match(kind)
    rank = len(block_shape(kind))
    if found is None or rank == 0:
        return None
    if sizes[:1] == [8]:
        first = [
            (f"{name}.{BASE}", f"*{found[1]}"),
            *_each(name, SHAPE, rank, "i64"),
            *_each(name, STRIDES, rank, "i64"),
        ]
        flags = 0
        while sizes[len(first) + flags : len(first) + flags + 1] == [1]:
            flags += 1
        if flags > len(_FLAGS):
            return None
        first += [(f"{name}.{flag}", "i1") for flag in _FLAGS[:flags]]
    else:
        first = [(f"{name}.{BASE}", "tensordesc")]
    whole = [*first, *_each(name, _SHAPE_AGAIN, rank, "i32"), *_each(name, _STRIDES_AGAIN, rank, "i64")]
    wanted = [_SIZES.get(type_[:1] if type_.startswith("*") else type_) for _, type_ in whole]
    given = list(sizes[: len(whole)])
    same = len(given) == len(wanted) and all(want in (None, size) for want, size in zip(wanted, given, strict=True))
    return whole if same else None


_SIZES = {"*": 8, "i64": 8, "i32": 4, "i1": 1}


def _each(name: str, word: str, rank: int, kind: str) -> list[Part]:
    return [(f"{name}.{word}.{number}", kind) for number in range(rank)]


def values(name: str, recorded: Any) -> Iterator[tuple[str, Any]]:
    """(name, value) of the parts of a descriptor that the shim saw; the base is a tensor."""
    described = recorded.get("descriptor") if isinstance(recorded, Mapping) else None
    if described is None:
        return
    yield f"{name}.{BASE}", described["base"]
    for word, again in ((SHAPE, _SHAPE_AGAIN), (STRIDES, _STRIDES_AGAIN)):
        for number, value in enumerate(described[word]):
            yield f"{name}.{word}.{number}", value
            yield f"{name}.{again}.{number}", value
    yield f"{name}.{_FLAGS[0]}", described["padding"] == "nan"
    yield f"{name}.{_FLAGS[1]}", described["round_f32_to_tf32"]
