"""Conditions that a dispatch must meet to be captured: what `--when` says.

In: what a person typed. Out: Conditions, and their part of the tool library's control file. Called by the commands that
capture. The tool library decides (native/intercept/predicate.hpp).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kerncap.errors import UsageError

_COMPARISONS = (">", ">=", "<", "<=", "==", "!=")
_NUMBER_TYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64")
_MOST = 64
_MOST_CHARACTERS = 1000
_EXAMPLES = "--when 'arg[3]>1000'  # or nan, inf, fault, slower-than=2x"
_ARGUMENT = re.compile(
    r"arg\[\s*(?P<which>[^\[\]]+?)\s*\](?::(?P<type>\w+))?\s*(?P<compare>>=|<=|==|!=|>|<)\s*(?P<value>\S+)", re.ASCII
)
_FLOATS = re.compile(r"(?P<kind>nan|inf)(?::(?P<type>f16|bf16|f32|f64))?", re.ASCII)
_SLOWER = re.compile(r"slower-than=(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>x|ns|us|ms|s)", re.ASCII)
_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)", re.ASCII)
_LEAST_INTEGER, _MOST_INTEGER = -(1 << 63), (1 << 64) - 1


@dataclass(frozen=True)
class Condition:
    """One of them. `facts` are its members in the control file (docs/interfaces.md, Tool library)."""

    text: str
    facts: Mapping[str, Any]

    @property
    def holds_memory(self) -> bool:
        """It is decided after the dispatch, so that the memory before it is held."""
        return bool(self.facts["kind"] != "argument")

    def control(self) -> dict[str, Any]:
        return {"text": self.text, **self.facts}


def parse_conditions(texts: Iterable[str]) -> tuple[Condition, ...]:
    """Raises: UsageError `usage.when`."""
    conditions = tuple(_parse(text.strip()) for text in texts)
    if len(conditions) > _MOST:
        raise UsageError(f"--when is given {len(conditions)} times, at most {_MOST}", code="usage.when", hint=_EXAMPLES)
    return conditions


def _parse(text: str) -> Condition:
    if len(text) > _MOST_CHARACTERS:
        raise _refused(text[:40] + "...", f"it has {len(text)} characters, at most {_MOST_CHARACTERS} are read")
    floats = _FLOATS.fullmatch(text)
    if floats is not None:
        return Condition(text, {"kind": floats["kind"], "type": floats["type"]})
    if text == "fault":
        return Condition(text, {"kind": "fault"})
    if text.startswith("slower-than"):
        return Condition(text, _slower(text))
    match = _ARGUMENT.fullmatch(text)
    if match is None:
        arguments = "arg[N] or arg[NAME], one of " + " ".join(_COMPARISONS) + ", and a number"
        raise _refused(
            text, f"expected nan, inf (nan:f16, ...), fault, slower-than=2x, slower-than=3ms, or {arguments}"
        )
    return Condition(text, _argument(text, match))


def _slower(text: str) -> dict[str, Any]:
    match = _SLOWER.fullmatch(text)
    if match is None:
        raise _refused(text, "expected a number of times (2x) or a time in ns, us, ms or s")
    number, unit = match["number"], match["unit"]
    if unit != "x":
        nanoseconds = int(Fraction(number) * _NANOSECONDS[unit])
        if nanoseconds > _MOST_INTEGER:
            raise _refused(text, f"{number} {unit} does not fit into 64 bits of nanoseconds")
        return {"kind": "slower", "ratio": None, "ns": nanoseconds}
    if not 0 < float(number) < math.inf:
        raise _refused(text, f"{number} times is no limit")
    return {"kind": "slower", "ratio": float(number), "ns": None}


def _argument(text: str, match: re.Match[str]) -> dict[str, Any]:
    which, kind = match["which"], match["type"]
    if kind is not None and kind not in _NUMBER_TYPES:
        raise _refused(text, f"{kind!r} is no type: {', '.join(_NUMBER_TYPES)}")
    number = int(which) if which.isascii() and which.isdigit() else None
    if (number is not None and number > _MOST_INTEGER) or re.fullmatch(r"[-+]\d+", which):
        raise _refused(text, f"no kernel has an argument {which}: they are counted from 0")
    return {
        "kind": "argument",
        "argument": which if number is None else number,
        "type": kind,
        "compare": match["compare"],
        "value": _number(text, match["value"]),
    }


def _number(text: str, word: str) -> int | float:
    if _INTEGER.fullmatch(word):
        value = int(word, 16 if "x" in word.lower() else 10)
        if not _LEAST_INTEGER <= value <= _MOST_INTEGER:
            raise _refused(text, f"{word} does not fit into 64 bits")
        return value
    try:
        number = float(word)
    except ValueError:
        raise _refused(text, f"{word!r} is no number") from None
    if not math.isfinite(number):
        raise _refused(text, f"{word!r} is no finite number")
    return number


def _refused(text: str, why: str) -> UsageError:
    return UsageError(f"--when is {text!r}: {why}", code="usage.when", hint=_EXAMPLES)
