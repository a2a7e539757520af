"""Which dispatch is meant: by kernel name, launch geometry, conditions, count and time.

In: what a person typed. Out: a Selection, and its part of the tool library's control file.
Called by the extract command.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from kerncap.bundle.limits import MAX_STEPS
from kerncap.bundle.sequence import EACH, END
from kerncap.capture.conditions import Condition
from kerncap.errors import UsageError

MATCHES = ("auto", "exact", "base", "glob", "regex", "mangled")
MAX_DISPATCH = (1 << 63) - 1
_MAX_DIM = (1 << 32) - 1

Dims = tuple[int, int, int]


@dataclass(frozen=True)
class SequenceWanted:
    """Consecutive dispatches of one queue: up to so many that match, or up to the next one of `last_kernel`.

    `per_queue`: the first one is the n-th dispatch of its queue, whatever its kernel. `states`: `end`, or `each`: what
    every dispatch leaves.

    Raises: UsageError `usage.post`.
    """

    count: int | None = None
    last_kernel: str | None = None
    per_queue: bool = False
    states: str = END

    def __post_init__(self) -> None:
        if self.states not in (END, EACH):
            raise UsageError(f"--post is {self.states!r}", code="usage.post", hint="--post end  # or each")

    def control(self, match: str) -> dict[str, Any]:
        return {
            "count": self.count,
            "last_kernel": self.last_kernel,
            "last_match": match,
            "per_queue": self.per_queue,
            "states": self.states,
        }


@dataclass(frozen=True)
class Selection:
    """The n-th (`dispatch`, from 0) dispatch of a kernel that `kernel` names, with these dimensions and so late.

    `grid` and `workgroup` count workitems, as a dispatch packet does; None is any. `after_ms` counts from the loading
    of the HSA runtime; dispatches before it do not count. With `when` only those count that meet one of its conditions;
    `budget_bytes` bounds the memory that is held for each that may.

    Raises: UsageError `usage.match`, `usage.number`, `usage.option-alone`.
    """

    kernel: str
    match: str = "auto"
    dispatch: int = 0
    grid: Dims | None = None
    workgroup: Dims | None = None
    after_ms: float = 0.0
    when: tuple[Condition, ...] = ()
    budget_bytes: int | None = None
    sequence: SequenceWanted | None = None
    trials: bool = False
    """Dispatches of an autotuner's trials count as well."""

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
        if self.budget_bytes is not None and not 0 < self.budget_bytes <= MAX_DISPATCH:
            text = f"--budget is {self.budget_bytes}, expected bytes: more than 0"
            raise UsageError(text, code="usage.number", hint="--budget 17179869184  # 16 GiB")
        if self.budget_bytes is not None and not any(condition.holds_memory for condition in self.when):
            text = "--budget bounds what --when nan, inf, slower-than or fault hold, and none of these is given"
            raise UsageError(text, code="usage.option-alone", hint=f"--when nan --budget {self.budget_bytes}")

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
            **({"sequence": self.sequence.control(self.match)} if self.sequence else {}),
            "budget_bytes": self.budget_bytes,
            "trials": self.trials,
        }

    @property
    def patterns(self) -> tuple[str, ...]:
        """What the tool library reads as regular expressions."""
        last = self.sequence.last_kernel if self.sequence else None
        return tuple(text for text in (self.kernel, last) if text is not None and self.match == "regex")

    def words(self, kernel: str | None = None) -> tuple[str, ...]:
        """How a command line names these kernels, or `kernel` in place of the first."""
        first = kernel or self.kernel
        if self.sequence is None or self.sequence.per_queue:
            return (first,)
        if self.sequence.count is None:
            return ("--range", f"{first}..{self.sequence.last_kernel}")
        return (first, "--dispatches", f"{self.dispatch}..{self.dispatch + self.sequence.count - 1}")

    @property
    def geometry(self) -> str:
        """` with grid 64x1x1 and workgroup 8x1x1`; empty when any will do."""
        words = [
            f"{name} {dims_text(dims)}" for name, dims in (("grid", self.grid), ("workgroup", self.workgroup)) if dims
        ]
        return " with " + " and ".join(words) if words else ""

    def accepts(self, grid: Dims, workgroup: Dims) -> bool:
        return self.grid in (None, grid) and self.workgroup in (None, workgroup)


ANY_KERNEL = "*"


def select_dispatches(text: str, kernel: str, states: str, **more: Any) -> Selection:
    """Of `--dispatches A..B`: among what `kernel` names, or (`ANY_KERNEL`) among all dispatches of a queue.

    Raises: UsageError `usage.dispatches`.
    """
    found = re.fullmatch(r"([0-9]{1,18})\.\.([0-9]{1,18})", text)
    first, last = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 0 < last - first < MAX_STEPS:
        raise UsageError(
            f"--dispatches is {text!r}, expected A..B: the numbers of the first and the last dispatch, "
            f"at most {MAX_STEPS} of them",
            code="usage.dispatches",
            hint=f"--dispatches {first}..{first + 1}  # or KERNEL --dispatch {first}, one dispatch",
        )
    per_queue = kernel == ANY_KERNEL
    filtered = [name for name in ("grid", "workgroup", "after_ms") if more.get(name)]
    filtered += ["match"] if more.get("match", "auto") != "auto" else []
    if per_queue and filtered:
        raise UsageError(
            f"--{filtered[0].replace('_', '-')} chooses among the dispatches of a kernel, and none is named",
            code="usage.dispatches",
            hint=f"kerncap extract KERNEL --dispatches {text}",
        )
    wanted = SequenceWanted(last - first + 1, None, per_queue, states)
    return Selection(kernel, dispatch=first, sequence=wanted, **more)


def select_range(text: str, states: str, **more: Any) -> Selection:
    """Of `--range FIRST..LAST`: from a dispatch of one kernel to the next one of another.

    Raises: UsageError `usage.range`.
    """
    first, dots, last = text.partition("..")
    if not (first and dots and last):
        raise UsageError(
            f"--range is {text!r}, expected FIRST..LAST: the names of two kernels",
            code="usage.range",
            hint="--range vector_add..reduce",
        )
    return Selection(first, sequence=SequenceWanted(None, last, False, states), **more)


def dims_text(dims: Dims) -> str:
    return "x".join(str(d) for d in dims)


def parse_dims(name: str, text: str | None, what: str = "workitems") -> Dims | None:
    """`(1024, 1, 1)` of `1024`, `1024x1x1`, `1024,1`.

    Raises: UsageError `usage.number`.
    """
    if text is None:
        return None
    words = re.split(r"[x,]", text.strip())
    if 1 <= len(words) <= 3 and all(re.fullmatch("[0-9]{1,10}", word) and 1 <= int(word) <= _MAX_DIM for word in words):
        x, y, z = [int(word) for word in words] + [1] * (3 - len(words))
        return x, y, z
    raise UsageError(
        f"{name} is {text!r}, expected {what}: X, XxY or XxYxZ", code="usage.number", hint=f"{name} 1024x1x1"
    )
