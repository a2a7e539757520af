"""Bounds of what a person may ask for, whichever way it is asked: command line, Python, socket."""

from __future__ import annotations

import math

from kerncap.errors import UsageError

MAX_ITERATIONS = 1_000_000


def check_count(name: str, value: int, least: int, most: int) -> None:
    """Raises: UsageError `usage.number` when a count is out of range."""
    if not least <= value <= most:
        text = f"{name} is {value}, expected {least} to {most}"
        raise UsageError(text, code="usage.number", hint=f"{name} {least}")


def not_negative(name: str, value: float, example: str) -> None:
    """Raises: UsageError `usage.number` when a number is less than 0 or no number."""
    try:
        right = math.isfinite(value) and value >= 0
    except OverflowError:  # an integer with hundreds of digits
        right = False
    if not right:
        text = f"{name} is {str(value)[:40]}, expected 0 or more"
        raise UsageError(text, code="usage.number", hint=f"{name} {example}")


MAX_ULP = 1 << 62


def check_judging(atol: float, rtol: float, ulp: int, iterations: int, *, prefix: str = "") -> None:
    """`prefix`: how the caller spells an option. Raises: UsageError `usage.number`."""
    for name, value in (("atol", atol), ("rtol", rtol)):
        not_negative(prefix + name, value, "1e-5")
    check_count(f"{prefix}ulp", ulp, 0, MAX_ULP)
    check_count(f"{prefix}iterations", iterations, 1, MAX_ITERATIONS)
