"""What differs in one output of a kernel, by its elements, as types and JSON (docs/verdict.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ElementDifference:
    """One element that differs; values as text, since NaN and infinities are no JSON numbers.

    `offset`: bytes in the region. `index`: subscripts of the tensor; without a known shape, the element's number behind
    the pointer; None for what lies behind the pointer and outside of the tensor.
    """

    offset: int
    index: tuple[int, ...] | None
    expected: str
    actual: str

    def to_json(self) -> dict[str, Any]:
        index = None if self.index is None else list(self.index)
        return {"offset": self.offset, "index": index, "expected": self.expected, "actual": self.actual}


@dataclass(frozen=True)
class OutputDifference:
    """What differs, in one run, in the memory that one argument leads to; noise that the bundle recorded is left out.

    `type` None: nobody knows the type, and elements are bytes. Counts are of elements; `nan` and `inf` are (expected,
    actual) counts among those that differ, the maxima are over pairs of finite values, None where there is none.
    """

    run: str
    argument: str | None
    region: int
    offset: int
    """Of the first element in the region, bytes."""
    type: str | None
    shape: tuple[int, ...] | None
    elements: int
    differing: int
    beyond: int
    """Of those that differ: more than the tolerance allows."""
    max_abs: float | None
    max_rel: float | None
    max_ulp: int | None
    nan: tuple[int, int]
    inf: tuple[int, int]
    first: tuple[ElementDifference, ...]
    """Of those beyond the tolerance, where there are any."""

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "argument": self.argument,
            "region": self.region,
            "offset": self.offset,
            "type": self.type,
            "shape": None if self.shape is None else list(self.shape),
            "elements": self.elements,
            "differing": self.differing,
            "beyond": self.beyond,
            "max_abs": self.max_abs,
            "max_rel": self.max_rel,
            "max_ulp": self.max_ulp,
            "nan": list(self.nan),
            "inf": list(self.inf),
            "first": [one.to_json() for one in self.first],
        }


def parse_output(document: Mapping[str, Any]) -> OutputDifference:
    """What `to_json()` wrote. Raises: KeyError, TypeError, ValueError."""

    def pair(name: str) -> tuple[int, int]:
        expected, actual = document[name]
        return int(expected), int(actual)

    def number(name: str) -> float | None:
        return None if document[name] is None else float(document[name])

    shape = document["shape"]
    return OutputDifference(
        run=str(document["run"]),
        argument=document["argument"],
        region=int(document["region"]),
        offset=int(document["offset"]),
        type=document["type"],
        shape=None if shape is None else tuple(int(n) for n in shape),
        elements=int(document["elements"]),
        differing=int(document["differing"]),
        beyond=int(document["beyond"]),
        max_abs=number("max_abs"),
        max_rel=number("max_rel"),
        max_ulp=None if document["max_ulp"] is None else int(document["max_ulp"]),
        nan=pair("nan"),
        inf=pair("inf"),
        first=tuple(_element(one) for one in document["first"]),
    )


def _element(document: Mapping[str, Any]) -> ElementDifference:
    index = document["index"]
    return ElementDifference(
        offset=int(document["offset"]),
        index=None if index is None else tuple(int(n) for n in index),
        expected=str(document["expected"]),
        actual=str(document["actual"]),
    )
