"""Launches of a tritonparse trace: which there are, which one is meant, which occurrence it is among equal ones.

In: a trace as tritonparse writes it, or as `tritonparse parse` rearranges it (sorted by compilation); a launch by its
line, or by kernel name and number. Out: the Launch, and how many of the dispatches that kerncap counts come before it.
The file is read twice rather than held. Called by the traced workflow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.errors import UsageError, counted, typed
from kerncap.triton.trace_file import TraceFile
from kerncap.triton.trace_launch import Launch, constants_of, launch_of

_Wanted = tuple[int | None, str | None, int | None]
"""Line, kernel, number."""

_LISTED = 8
_SHOWN = 80
# Events that `tritonparse parse` adds.
_OF_PARSED = ("ir_analysis", "launch_diff")


@dataclass(frozen=True)
class Meant:
    """A launch, and how it is had again.

    Of the dispatches that kerncap counts with this kernel, grid and workgroup (and, with `equal`, with this value of
    that argument) `before` come before it. `uncertain`: why that number may be another one.
    """

    launch: Launch
    before: int
    equal: Equal | None
    uncertain: tuple[str, ...]


@dataclass(frozen=True)
class Equal:
    """An integer argument: its place in the kernarg segment (without constants), its value."""

    place: int
    name: str
    value: int


class Trace:
    """A trace that is read as often as something is asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = TraceFile(path)

    @property
    def cut_short(self) -> str | None:
        """After a reading: how the file ends too early."""
        return self._file.cut_short

    def launches(self) -> Iterator[Launch]:
        """In the order of the file. Raises: UsageError `usage.trace-format`, `usage.trace-limit`."""
        for event in self._launches_and_others():
            if isinstance(event, Launch):
                yield event

    def _launches_and_others(self) -> Iterator[Launch | tuple[int, Mapping[str, Any]]]:
        seen: Counter[str] = Counter()
        for line, event in self._file.events():
            if event["event_type"] != "launch":
                yield line, event
                continue
            launch = launch_of(line, event, seen, self.path)
            seen[launch.kernel] += 1
            yield launch

    def meant(self, *, line: int | None, kernel: str | None, launch_id: int | None) -> Meant:
        """The launch of that line, or that kernel's launch of that number, or the only one that it can be.

        Trials of an autotuner are not taken unless they are named by line or number.

        Raises: UsageError `usage.trace-launch` with a list of what is there, `usage.trace-format`, `usage.trace-limit`.
        """
        target = self._target(line, kernel, launch_id)
        if not target.is_dispatched:
            raise _no_launch(f"{_at(target)} has an empty grid {target.grid}: it dispatches nothing", self._listing())
        if target.in_graph:
            text = f"{_at(target)} was recorded into a graph: its dispatches come whenever that is launched"
            raise _no_launch(text, typed("kerncap", "extract", target.kernel, "--list", "--", "CMD"))
        if target.backend not in (None, "hip"):
            text = f"{_at(target)} was compiled for {target.backend}: on a GPU of AMD its workgroup is another one"
            raise _no_launch(text, typed("kerncap", "extract", target.kernel, "--list", "--", "CMD"))
        return self._count(target)

    def _target(self, line: int | None, kernel: str | None, launch_id: int | None) -> Launch:
        found: list[Launch] = []
        names: Counter[str] = Counter()
        others = 0
        for event in self._launches_and_others():
            if not isinstance(event, Launch):
                if event[0] == line:
                    raise self._other_line(*event)
                continue
            names[event.kernel] += 1
            if line is not None:
                if event.line == line:
                    return self._of_kernel(event, kernel)
            elif kernel in (None, event.kernel):
                if launch_id is not None and event.launch_id == launch_id and kernel is not None:
                    return event
                if launch_id is None and not event.trial:
                    others += 1
                    found = [*found, event][:_LISTED]
        if len(found) == 1 and others == 1:
            return found[0]
        raise self._none_or_several((line, kernel, launch_id), names, found, others)

    def _of_kernel(self, launch: Launch, kernel: str | None) -> Launch:
        if kernel not in (None, launch.kernel):
            raise _no_launch(f"line {launch.line} launches {launch.kernel}, not {kernel}", self._listing(kernel))
        return launch

    def _other_line(self, line: int, event: Mapping[str, Any]) -> UsageError:
        what = str(event["event_type"])[:_SHOWN]
        return _no_launch(f"line {line} of {self.path} is no launch: {what}", self._listing())

    def _none_or_several(self, wanted: _Wanted, names: Counter[str], found: list[Launch], several: int) -> UsageError:
        line, kernel, launch_id = wanted
        if line is not None:
            text = f"has no line {line}"
        elif not names:
            text = "has no launches: they are traced with enable_trace_launch=True"
        elif kernel is not None and kernel not in names:
            text = f"has no launch of {kernel}; it has {_named(names)}"
        elif launch_id is not None and kernel is not None:
            text = f"has no launch {launch_id} of {kernel}: {counted(names[kernel], 'launch')}"
        elif not several:
            text = f"has nothing but trials of {kernel or _named(names)}"
        else:
            listed = [f"line {one.line}: {one.kernel}, grid {one.grid}" for one in found]
            text = f"has {several} launches that are no trials: " + "; ".join(listed)
            text += "; ..." if several > len(found) else ""
        end = f"; the trace is incomplete: {self.cut_short}" if self.cut_short else ""
        return _no_launch(f"{self.path} {text}{end}", self._listing(kernel if kernel in names else None))

    def _listing(self, kernel: str | None = None) -> str:
        return typed("kerncap", "launches", self.path, *([kernel] if kernel else []))

    def _count(self, target: Launch) -> Meant:
        counts = _Counts(target)
        constants: list[int] | None = None
        for event in self._launches_and_others():
            if isinstance(event, Launch):
                counts.see(event)
                continue
            counts.see_other(event[1])
            if constants is None and event[1]["event_type"] == "compilation":
                constants = constants_of(event[1], target.compiled)
        if self.cut_short:
            counts.uncertain["the trace is incomplete: " + self.cut_short] = None
        equal, before = counts.best(constants)
        return Meant(target, before, equal, tuple(counts.reasons()))


class _Counts:
    """What comes before a launch, of its process, with its kernel and geometry."""

    def __init__(self, target: Launch) -> None:
        self._target = target
        self._before = 0
        self._with: Counter[str] = Counter(dict.fromkeys(target.integers, 0))
        self._hashes = {target.compiled}
        self._places = 0
        self._grouped = False
        self._pids: set[int | None] = set()
        self.uncertain: dict[str, None] = {}

    def see(self, launch: Launch) -> None:
        target = self._target
        self._note_place(launch.place)
        if launch.kernel != target.kernel or not launch.is_dispatched:
            return
        # Where trials count, all count (`--trials`).
        if launch.trial and not target.trial:
            return
        if launch.workitems is None and target.workitems is not None and self._is_before(launch):
            self.uncertain["of some launches of this kernel the grid was not traced"] = None
            return
        if (launch.workitems, launch.workgroup) != (target.workitems, target.workgroup):
            return
        self._pids.add(launch.pid)
        if launch.pid != target.pid:
            return
        self._hashes.add(launch.compiled)
        if not self._is_before(launch):
            return
        if launch.in_graph:
            self.uncertain["some launches before it were recorded into a graph"] = None
        self._before += 1
        integers = launch.integers
        self._with.update(name for name, value in target.integers.items() if integers.get(name) == value)

    def see_other(self, event: Mapping[str, Any]) -> None:
        """What is no launch."""
        self._grouped = self._grouped or event["event_type"] in _OF_PARSED
        place = event.get("occurrence_id")
        self._note_place(place if type(place) is int else None)

    def _note_place(self, place: int | None) -> None:
        if place is not None and self._target.place is not None and place < self._target.place:
            self._places += 1

    def _is_before(self, launch: Launch) -> bool:
        target = self._target
        if launch.place is not None and target.place is not None:
            return launch.place < target.place
        return launch.line < target.line

    def best(self, constants: list[int] | None) -> tuple[Equal | None, int]:
        """The argument that most of those before it do not share; None where none helps, or its place is not known."""
        target = self._target
        names = list(target.arguments)
        # A tuple is several arguments of the kernel, a descriptor of a tensor likewise.
        plain = all(
            one.get("type") in ("tensor", "int", "float", "bool", "NoneType") for one in target.arguments.values()
        )
        if constants is None or not plain:
            return None, self._before
        left = [name for place, name in enumerate(names) if place not in constants]
        known = [(self._with[name], place, name) for place, name in enumerate(left) if name in self._with]
        if not known or min(known)[0] == self._before:
            return None, self._before
        before, place, name = min(known)
        return Equal(place, name, target.integers[name]), before

    def reasons(self) -> Iterator[str]:
        yield from self.uncertain
        target = self._target
        if target.trial:
            yield "how often an autotuner tries a configuration differs from run to run"
        if len(self._pids) > 1:
            yield "several processes launch it, and the first that comes so far is captured"
        if target.place is not None and self._places < target.place:
            yield "the trace is a part of one, and what was launched before may lie in another"
        if target.place is None and self._grouped and len(self._hashes) > 1:
            yield "the trace is sorted by compilation, and says nothing of the order among them"


def _no_launch(text: str, hint: str) -> UsageError:
    return UsageError(text, code="usage.trace-launch", hint=hint)


def _at(launch: Launch) -> str:
    return f"line {launch.line}, launch {launch.launch_id} of {launch.kernel},"


def _named(names: Mapping[str, int]) -> str:
    listed = ", ".join(f"{name} ({count})" for name, count in list(names.items())[:_LISTED])
    return listed + (", ..." if len(names) > _LISTED else "")
