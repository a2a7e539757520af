"""Recorded values as Python text, and the error for what no text gives. Called by source and decorators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kerncap.errors import CompileError


def written(value: Any, name: str) -> str:
    """A recorded value as Python. Raises: CompileError."""
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, Mapping):
        if "float" in value:
            number = float.fromhex(value["float"])
            return repr(number) if number == number and abs(number) != float("inf") else f'float("{number}")'
        if "constexpr" in value:
            return f"tl.constexpr({written(value['constexpr'], name)})"
        if "dtype" in value:
            return f"tl.dtype({value['dtype']!r})"
        if "tuple" in value:
            return "(" + "".join(written(one, name) + ", " for one in value["tuple"]) + ")"
        if "list" in value:
            return "[" + ", ".join(written(one, name) for one in value["list"]) + "]"
    shown = value.get("other", value) if isinstance(value, Mapping) else value
    raise not_carried(f"{name} has a value that no text gives: {shown}")


def is_written(value: Any) -> bool:
    """There is a text that gives it."""
    try:
        written(value, "")
    except CompileError:
        return False
    return True


def not_carried(what: str) -> CompileError:
    return CompileError(
        f"the source of this Triton kernel is not carried: {what}",
        code="compile.triton-source",
        hint="kerncap source DIR output_code.py  # of a kernel of torch's Inductor; it replays without",
    )
