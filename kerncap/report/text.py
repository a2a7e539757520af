"""Foreign text made visible, numbers made readable. Called by page, as filters of the template."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from kerncap.errors import visible

_MOST = 4000
_UNITS = ("KiB", "MiB", "GiB", "TiB")


def shown(text: object) -> str:
    """As a terminal is told (kerncap.errors.visible); what is very long is cut. Not yet escaped."""
    whole = str(text)
    return visible(whole[:_MOST]) + ("…" if len(whole) > _MOST else "")


def finalize(value: Any) -> Any:
    """Of every expression of the template, before it is escaped."""
    return value if isinstance(value, Markup) else shown("" if value is None else value)


def size(size_bytes: int) -> str:
    """12.3 MiB; exact below 10 KiB."""
    if size_bytes < 10240:
        return f"{size_bytes:,} B"
    power = min((size_bytes.bit_length() - 1) // 10, len(_UNITS))
    return f"{size_bytes / (1 << 10 * power):.1f} {_UNITS[power - 1]}"


def duration(ns: float) -> str:
    """`1.2 ms`."""
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= limit:
            return f"{ns / limit:.4g} {unit}"
    return f"{ns:.4g} ns"


def dims(values: tuple[int, ...]) -> str:
    return " x ".join(map(str, values))


def address(value: int) -> str:
    return f"{value:#x}"


def code_line(line: str) -> str:
    """A line of source: tabs are kept as spaces, the rest as `shown`."""
    return shown(line.expandtabs(4))
