"""Finds the image of a list in which a verdict changes, by binary search, as `git bisect` does for commits.

In: cells of one bundle on one device, in the order of their images, good end first; a function that gives a cell's
result. Out: a Bisection. Called by the command bisect. An image in which nothing comes out is skipped: then the answer
may be a range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kerncap.errors import KerncapError, UsageError
from kerncap.matrix import Cell, CellResult

GOOD, BAD, SKIP = "good", "bad", "skip"


@dataclass(frozen=True)
class Step:
    """One image that was looked at. `mark`: good, bad or skip; `left`: how many are still to look at."""

    result: CellResult
    mark: str
    left: int

    def to_json(self) -> dict[str, Any]:
        return {"mark": self.mark, "left": self.left, **self.result.to_json()}


@dataclass(frozen=True)
class Bisection:
    """`last_good` and `first_bad` stand beside each other, but for `skipped` ones between them, any of which may be
    the first."""

    steps: tuple[Step, ...]
    last_good: CellResult
    first_bad: CellResult
    skipped: tuple[CellResult, ...]

    @property
    def conclusive(self) -> bool:
        return not self.skipped

    @property
    def exit_code(self) -> int:
        """0: it is known; 1: it is one of several."""
        return 0 if self.conclusive else 1

    def to_json(self) -> dict[str, Any]:
        cell = self.first_bad.cell
        return {
            "schema": "kerncap.bisection/1",
            "bundle": cell.bundle,
            "digest": cell.digest,
            "device": cell.device,
            "conclusive": self.conclusive,
            "last_good": self.last_good.to_json(),
            "first_bad": self.first_bad.to_json(),
            "remaining": [result.cell.image for result in (*self.skipped, self.first_bad)],
            "steps": [step.to_json() for step in self.steps],
        }


def image_range(images: Sequence[str], good: str, bad: str) -> list[str]:
    """From `good` to `bad` as they stand in the list, in whichever direction. Where they are not in it, `good` stands
    before all and `bad` behind all.

    Raises: UsageError `usage.bisect`.
    """
    if good == bad:
        raise UsageError(f"--good and --bad are both {good}", code="usage.bisect", hint="--good OLD --bad NEW")
    ordered = list(dict.fromkeys(images))
    ordered = ordered if good in ordered else [good, *ordered]
    ordered = ordered if bad in ordered else [*ordered, bad]
    start, end = ordered.index(good), ordered.index(bad)
    return ordered[start : end + 1] if start < end else ordered[end : start + 1][::-1]


def bisect(
    cells: Sequence[Cell], judge: Callable[[Cell], CellResult], say: Callable[[Step], None] = lambda step: None
) -> Bisection:
    """The ends first, then always the middle of what is left.

    Raises: the error of an end that has no verdict; UsageError `usage.bisect` when both ends have the same verdict.
    """
    search = _Search(cells, judge, say)
    return search.run()


class _Search:
    def __init__(self, cells: Sequence[Cell], judge: Callable[[Cell], CellResult], say: Callable[[Step], None]) -> None:
        self._cells = cells
        self._judge = judge
        self._say = say
        self._found: dict[int, CellResult] = {}
        self._skipped: set[int] = set()
        self._steps: list[Step] = []
        self._low, self._high = 0, len(cells) - 1

    def run(self) -> Bisection:
        self._ends()
        while candidates := self._candidates():
            middle = (self._low + self._high) / 2
            self._look(min(candidates, key=lambda place: (abs(place - middle), place)))
        between = sorted(place for place in self._skipped if self._low < place < self._high)
        return Bisection(
            tuple(self._steps),
            self._found[self._low],
            self._found[self._high],
            tuple(self._found[place] for place in between),
        )

    def _candidates(self) -> list[int]:
        return [place for place in range(self._low + 1, self._high) if place not in self._skipped]

    def _ends(self) -> None:
        for place, mark in ((self._low, GOOD), (self._high, BAD)):
            result = self._judge(self._cells[place])
            if result.verdict is None:
                raise _no_verdict(result, mark)
            self._found[place] = result
            if mark == BAD and result.outcome == self._found[self._low].outcome:
                raise _same_ends(self._found[self._low], result)
            self._step(result, mark)

    def _look(self, place: int) -> None:
        result = self._judge(self._cells[place])
        self._found[place] = result
        if result.verdict is None:
            self._skipped.add(place)
            self._step(result, SKIP)
        elif result.outcome == self._found[self._low].outcome:
            self._low = place
            self._step(result, GOOD)
        else:
            self._high = place
            self._step(result, BAD)

    def _step(self, result: CellResult, mark: str) -> None:
        step = Step(result, mark, len(self._candidates()))
        self._steps.append(step)
        self._say(step)


def _no_verdict(result: CellResult, mark: str) -> KerncapError:
    error = result.error
    assert error is not None
    error.message = f"--{mark} {result.cell.image}: {error.message}"
    return error


def _same_ends(good: CellResult, bad: CellResult) -> UsageError:
    return UsageError(
        f"{good.cell.image} and {bad.cell.image} come to the same verdict, {bad.outcome}: nothing changes between them",
        code="usage.bisect",
        hint="kerncap matrix BUNDLE --image A,B,C  # shows what each comes to",
    )
