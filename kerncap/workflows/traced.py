"""Makes a Selection of a launch in a trace of tritonparse, and holds what was captured against that launch.

In: `TRACE[:LINE]`, or a kernel's name and a number. Out: the Selection and what a person should know of it. Called by
`kerncap extract --tritonparse` and `kerncap launches`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.capture.conditions import parse_conditions
from kerncap.capture.selection import MAX_DISPATCH, Selection, dims_text
from kerncap.errors import CaptureError, UsageError, typed
from kerncap.triton.pinned import load_pinned
from kerncap.triton.trace import Meant, Trace
from kerncap.triton.trace_check import differences
from kerncap.triton.trace_launch import Launch, short

# As Triton passes an integer that has no type: in 32 bits when it fits. Source: Triton's JITFunction, mangle_type.
_INT32 = range(-(1 << 31), 1 << 31)
_MOST_LAUNCHES = 1000
_MOST_KERNELS = 10_000
_SHOWN = 12


@dataclass(frozen=True)
class Traced:
    """A launch of a trace, and the Selection that it is captured with."""

    launch: Launch
    selection: Selection
    uncertain: tuple[str, ...]

    @property
    def text(self) -> str:
        """One line: what is looked for."""
        launch, selection = self.launch, self.selection
        arguments = ", ".join(f"{name}={short(one)}" for name, one in launch.arguments.items())
        when = "".join(f", {condition.text}" for condition in selection.when)
        return (
            f"line {launch.line}: {launch.kernel}[{launch.grid}]({arguments}): "
            f"dispatch {selection.dispatch}{selection.geometry}{when}"
        )


def trace_and_line(text: str) -> tuple[Path, int | None]:
    """Of `TRACE[:LINE]`; a file whose name ends so is meant as it stands."""
    path, colon, line = text.rpartition(":")
    if colon and path and line.isascii() and line.isdigit() and len(line) <= 18 and not Path(text).exists():
        return Path(path), int(line)
    return Path(text), None


def select_traced(text: str, kernel: str | None, launch_id: int | None) -> Traced:
    """Raises: UsageError `usage.two-choices`, `usage.trace-launch`, `usage.trace-format`, `usage.trace-limit`;
    OSError.
    """
    path, line = trace_and_line(text)
    if launch_id is not None and (line is not None or kernel is None):
        what = "the line names one launch already" if line is not None else "of which kernel?"
        hint = f"{typed('KERNEL', '--tritonparse', path)} --launch-id {launch_id}"
        raise UsageError(f"--launch-id counts the launches of a kernel: {what}", code="usage.two-choices", hint=hint)
    meant = Trace(path).meant(line=line, kernel=kernel, launch_id=launch_id)
    launch, equal = meant.launch, meant.equal
    if meant.before > MAX_DISPATCH:  # of a trace that nobody wrote
        raise UsageError(f"{path}: more launches than can be counted", code="usage.trace-limit")
    conditions = []
    if equal is not None:
        kind = "i32" if equal.value in _INT32 else "i64" if equal.value < 1 << 63 else "u64"
        conditions.append(f"arg[{equal.place}]:{kind}=={equal.value}")
    selection = Selection(
        launch.kernel,
        match="mangled",
        dispatch=meant.before,
        grid=launch.workitems,
        workgroup=launch.workgroup,
        when=parse_conditions(conditions),
        trials=launch.trial,
    )
    return Traced(launch, selection, _reasons(meant))


def _reasons(meant: Meant) -> tuple[str, ...]:
    if meant.launch.grid is None:
        return (*meant.uncertain, "the trace does not tell its grid: launches of this kernel are counted")
    return meant.uncertain


def check_captured(folder: Path, launch: Launch) -> None:
    """What was captured is what the trace says, as far as both know. Without triton.json it was counted alone.

    Raises: CaptureError `capture.other-launch`.
    """
    pinned = load_pinned(folder)
    differs = differences(launch, pinned) if pinned is not None else []
    if differs:
        text = f"the dispatch that was reached is not line {launch.line} of the trace: " + "; ".join(differs[:_SHOWN])
        grid = f" --grid {dims_text(launch.workitems)}" if launch.workitems else ""
        hint = f"kerncap extract {typed(launch.kernel)}{grid} --list -- CMD  # does it launch as when it was traced?"
        raise CaptureError(text, code="capture.other-launch", hint=hint)


@dataclass(frozen=True)
class Launches:
    """What a trace has: launches by kernel (all, trials), and the first of them one by one."""

    path: Path
    kernels: Mapping[str, tuple[int, int]]
    launches: tuple[Launch, ...]
    whole: bool
    """All launches that were asked for are listed."""
    cut_short: str | None

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "kerncap.launches/1",
            "trace": str(self.path),
            "kernels": [
                {"kernel": name, "launches": count, "trials": trials} for name, (count, trials) in self.kernels.items()
            ],
            "launches": [launch.to_json() for launch in self.launches],
            "whole": self.whole,
            "cut_short": self.cut_short,
        }


def list_launches(path: Path, kernel: str | None) -> Launches:
    """Raises: UsageError `usage.trace-format`, `usage.trace-limit`, `usage.trace-launch`; OSError."""
    trace = Trace(path)
    counts: Counter[str] = Counter()
    trials: Counter[str] = Counter()
    listed: list[Launch] = []
    for launch in trace.launches():
        counts[launch.kernel] += 1
        trials[launch.kernel] += launch.trial
        if len(counts) > _MOST_KERNELS:
            text = f"{path} has launches of more than {_MOST_KERNELS} kernels"
            raise UsageError(text, code="usage.trace-limit", hint=typed("kerncap", "launches", path))
        if kernel in (None, launch.kernel) and len(listed) < _MOST_LAUNCHES:
            listed.append(launch)
    if kernel is not None and kernel not in counts:
        known = ", ".join(itertools.islice(counts, _SHOWN)) or "none"
        text = f"{path} has no launch of {kernel}; it has launches of {known}"
        raise UsageError(text, code="usage.trace-launch", hint=typed("kerncap", "launches", path))
    whole = len(listed) == (counts[kernel] if kernel is not None else counts.total())
    kernels = {name: (count, trials[name]) for name, count in counts.items()}
    return Launches(path, kernels, tuple(listed), whole, trace.cut_short)
