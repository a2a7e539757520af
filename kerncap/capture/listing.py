"""What an application dispatched: kernels, and the launch geometries of those that a pattern matches.

In: the `seen-<pid>.json` of every process of the application. Out: a Listing. Called by application (the reasons of a
capture that did not happen) and by the extract workflow (`--list`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.capture.selection import Dims
from kerncap.capture.tool import read_reports


@dataclass(frozen=True)
class SeenKernel:
    """A kernel that was loaded, in one process; `name` is demangled."""

    name: str
    mangled: str
    dispatches: int
    matched: bool
    trials: int = 0
    """Of the dispatches: those that did not count, as an autotuner's."""


@dataclass(frozen=True)
class Geometry:
    """Dispatches of a matching kernel in one process with one grid and workgroup, in workitems.

    `first` is the number of the first of them among all dispatches of that process that match by name.
    """

    name: str
    mangled: str
    grid: Dims
    workgroup: Dims
    dispatches: int
    first: int
    pid: int
    process: int = 0
    """Number of what counted it: one process id may have been several programs, or have loaded the runtime anew."""

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": self.name,
            "mangled": self.mangled,
            "grid": list(self.grid),
            "workgroup": list(self.workgroup),
            "dispatches": self.dispatches,
            "first": self.first,
            "pid": self.pid,
        }


@dataclass(frozen=True)
class Looked:
    """What came of `--when` in one process: dispatches that were looked at, met it or were missed; what was closest."""

    candidates: int
    met: int
    missed: int
    closest: tuple[str, ...]
    """`arg[3]>1000: at most 900`; nothing for a condition that has no measure."""


@dataclass(frozen=True)
class Listing:
    """Of all processes together. `whole` is false when there were more geometries than are written down."""

    processes: int
    queues: int
    dispatches: int
    kernels: tuple[SeenKernel, ...]
    geometries: tuple[Geometry, ...]
    whole: bool
    looked: tuple[Looked, ...] = ()
    """Of each process with conditions."""
    ranks: frozenset[int] = frozenset()
    """Of all processes that said one."""

    @property
    def matched(self) -> int:
        """Dispatches that match by name."""
        return sum(k.dispatches for k in self.kernels if k.matched)

    @property
    def trials(self) -> int:
        """Of those: dispatches while an autotuner timed the kernel, which did not count."""
        return sum(k.trials for k in self.kernels if k.matched)

    def most_in_one_process(self, accepts: Callable[[Dims, Dims], bool]) -> int:
        """Dispatches of the process that has most with an accepted grid and workgroup: numbers count in each."""
        counts = Counter[int]()
        for geometry in self.geometries:
            if accepts(geometry.grid, geometry.workgroup):
                counts[geometry.process] += geometry.dispatches
        return max(counts.values(), default=0)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "kerncap.listing/1",
            "processes": self.processes,
            "queues": self.queues,
            "dispatches": self.dispatches,
            "matched": self.matched,
            "whole": self.whole,
            "launches": [geometry.to_json() for geometry in self.geometries],
        }


def read_listing(work_dir: Path, rank: int | None = None) -> Listing:
    """Of every process that used the HSA runtime and came to its end, or of those with this rank."""
    everyone = read_reports(work_dir, "seen")
    seen = [document for document in everyone if rank is None or document.get("rank") == rank]
    kernels = [
        SeenKernel(
            str(k.get("demangled") or k.get("name")),
            str(k.get("name")),
            int(k.get("dispatches", 0)),
            bool(k.get("matched")),
            int(k.get("trials", 0)),
        )
        for document in seen
        for k in document.get("kernels", ())
    ]
    geometries = [
        Geometry(
            str(g.get("demangled") or g.get("name")),
            str(g.get("name")),
            tuple(g["grid"]),
            tuple(g["workgroup"]),
            int(g["dispatches"]),
            int(g["first"]),
            int(document.get("pid", 0)),
            number,
        )
        for number, document in enumerate(seen)
        for g in document.get("launches", ())
    ]
    return Listing(
        processes=len(seen),
        queues=sum(int(s.get("queues", 0)) for s in seen),
        dispatches=sum(int(s.get("dispatches", 0)) for s in seen),
        kernels=tuple(kernels),
        geometries=tuple(geometries),
        whole=all(s.get("launches_whole", True) for s in seen),
        looked=tuple(_looked(s["when"]) for s in seen if s.get("when")),
        ranks=frozenset(int(s["rank"]) for s in everyone if s.get("rank") is not None),
    )


def _looked(when: dict[str, Any]) -> Looked:
    closest = tuple(_closest(c) for c in when["closest"] if c["value"] is not None)
    return Looked(int(when["candidates"]), int(when["met"]), int(when.get("missed", 0)), closest)


def _closest(closest: dict[str, Any]) -> str:
    value = closest["value"]
    shown = f"{value:.3g}" if isinstance(value, float) else value
    return f"{closest['predicate']}: {shown}{closest.get('unit', '')}"
