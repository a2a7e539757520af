"""Which dispatch is meant: by kernel name, launch geometry, conditions, count and time.

In: what a person typed. Out: a Selection, and its part of the tool library's control file.
Called by the extract command.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from kerncap.capture.conditions import Condition
from kerncap.errors import UsageError

MATCHES = ("auto", "exact", "base", "glob", "regex", "mangled")
MAX_DISPATCH = (1 << 63) - 1
_MAX_DIM = (1 << 32) - 1

Dims = tuple[int, int, int]


@dataclass(frozen=True)
class Selection:
    """The n-th (`dispatch`, from 0) dispatch of a kernel that `kernel` names, with these dimensions and so late.

    `grid` and `workgroup` count workitems, as a dispatch packet does; None is any. `after_ms` counts from the loading
    of the HSA runtime; dispatches before it do not count. With `when` only those count that meet one of its conditions.

    Raises: UsageError `usage.match`, `usage.number`, `usage.pattern`.
    """

    kernel: str
    match: str = "auto"
    dispatch: int = 0
    grid: Dims | None = None
    workgroup: Dims | None = None
    after_ms: float = 0.0
    when: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        if self.match not in MATCHES:
            raise UsageError(
                f"--match is {self.match!r}",
                code="usage.match",
                hint=f"--match {MATCHES[0]}  # or {', '.join(MATCHES[1:])}",
            )
        if not 0 <= self.dispatch <= MAX_DISPATCH:
            raise UsageError(
                f"--dispatch is {self.dispatch}, expected 0 or more", code="usage.number", hint="--dispatch 0"
            )
        if not (math.isfinite(self.after_ms) and 0 <= self.after_ms <= 1e12):
            text = f"--after-ms is {self.after_ms:g}, expected milliseconds: 0 or more"
            raise UsageError(text, code="usage.number", hint="--after-ms 5000")

    def control(self) -> dict[str, Any]:
        """The fields of the control file that say which dispatch is meant."""
        return {
            "kernel": self.kernel,
            "match": self.match,
            "dispatch": self.dispatch,
            "grid": list(self.grid) if self.grid else None,
            "workgroup": list(self.workgroup) if self.workgroup else None,
            "after_ms": self.after_ms,
            "when": [condition.control() for condition in self.when],
        }

    @property
    def geometry(self) -> str:
        """` with grid 64x1x1 and workgroup 8x1x1`; empty when any will do."""
        words = [
            f"{name} {dims_text(dims)}" for name, dims in (("grid", self.grid), ("workgroup", self.workgroup)) if dims
        ]
        return " with " + " and ".join(words) if words else ""

    def accepts(self, grid: Dims, workgroup: Dims) -> bool:
        return self.grid in (None, grid) and self.workgroup in (None, workgroup)


def dims_text(dims: Dims) -> str:
    return "x".join(str(d) for d in dims)


def parse_dims(name: str, text: str | None) -> Dims | None:
    """`(1024, 1, 1)` of `1024`, `1024x1x1`, `1024,1`.

    Raises: UsageError `usage.number`.
    """
    if text is None:
        return None
    words = re.split(r"[x,]", text.strip())
    if 1 <= len(words) <= 3 and all(word.isascii() and word.isdigit() and 1 <= int(word) <= _MAX_DIM for word in words):
        x, y, z = [int(word) for word in words] + [1] * (3 - len(words))
        return x, y, z
    raise UsageError(
        f"{name} is {text!r}, expected workitems: X, XxY or XxYxZ", code="usage.number", hint=f"{name} 1024x1x1"
    )
