"""Edit, compile, judge: at each save of a reproducer's source (or of a code object that something else makes).

In: a reproducer directory, a Session on it. Out: a Round for each change. Called by `kerncap loop`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kerncap.errors import CompileError, KerncapError, UsageError, typed
from kerncap.results import Verdict
from kerncap.scratch import Scratch
from kerncap.workflows.code import CodeFacts, changes
from kerncap.workflows.session import Session

POLL_S = 0.2
_MOST_NAMED = 8

State = Mapping[Path, tuple[int, int, int]]
Compile = Callable[[Path], str | None]
"""Writes the code object; gives how its compiler differs from the original's."""


@dataclass(frozen=True)
class Round:
    """What one save came to. `changed`: which files, empty in the first round."""

    number: int
    changed: tuple[Path, ...]
    compile_s: float | None
    """None when nothing was compiled."""
    judge_s: float | None
    """None when nothing was judged."""
    verdict: Verdict | None
    error: KerncapError | None
    difference: str | None
    speed_ratio: float | None
    """Time of the captured code object to that of this one, by the device's clock: above 1 is faster."""
    code: CodeFacts | None = None
    code_changes: tuple[str, ...] = ()
    """How the machine code differs from the captured, in words."""

    @property
    def exit_code(self) -> int:
        if self.error is not None:
            return self.error.exit_code
        assert self.verdict is not None
        return self.verdict.exit_code

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "kerncap.round/1",
            "number": self.number,
            "changed": [str(path) for path in self.changed[:_MOST_NAMED]],
            "compile_s": self.compile_s,
            "judge_s": self.judge_s,
            "verdict": self.verdict.to_json() if self.verdict else None,
            "error": self.error.to_json() if self.error else None,
            "difference": self.difference,
            "speed_ratio": self.speed_ratio,
            "code": self.code.to_json() if self.code else None,
            "code_changes": list(self.code_changes),
        }


@dataclass(frozen=True)
class Judging:
    """How each variant is judged."""

    iterations: int = 2
    atol: float = 0.0
    rtol: float = 0.0
    ulp: int = 0


def watched_source(reproducer: Path) -> Path:
    """The folder to watch.

    Raises: UsageError `usage.not-a-reproducer`; CompileError `compile.no-source`.
    """
    if not reproducer.is_dir():
        raise UsageError(
            f"{reproducer} is no reproducer directory, whose files can be edited",
            code="usage.not-a-reproducer",
            hint=typed("kerncap", "unpack", reproducer, "DIR"),
        )
    if not any((reproducer / name).is_file() for name in ("compile.json", "triton.json")):
        raise CompileError(
            "the reproducer carries no source",
            code="compile.no-source",
            hint=f"{typed('kerncap', 'loop', reproducer)} --hsaco FILE  # judges a code object whenever it changes",
        )
    return reproducer / "src"


@dataclass(frozen=True)
class Baseline:
    """The captured code object."""

    verdict: Verdict
    code: CodeFacts


def rounds(session: Session, watched: Path, compile_to: Compile | None, judging: Judging) -> Iterator[Round]:
    """One at once, then one at each change of a file at or below `watched`. Without `compile_to` it is the variant.

    Raises: ReplayError and the like when the captured code object itself cannot be replayed.
    """
    baseline = Baseline(session.evaluate(iterations=judging.iterations), session.code())
    before: State = {}
    number = 0
    while True:
        state = _settled(watched, before)
        changed = tuple(sorted(p for p in {*state, *before} if state.get(p) != before.get(p))) if number else ()
        before = state
        yield _round(session, number, changed, watched, compile_to, judging, baseline)
        number += 1


def _round(
    session: Session,
    number: int,
    changed: tuple[Path, ...],
    watched: Path,
    compile_to: Compile | None,
    judging: Judging,
    baseline: Baseline,
) -> Round:
    compile_s = judge_s = difference = code = None
    differs: tuple[str, ...] = ()
    started = time.monotonic()
    try:
        with Scratch("kerncap-loop-") as scratch:
            variant = watched
            if compile_to is not None:
                variant = Path(scratch, "variant.hsaco")
                try:
                    difference = compile_to(variant)
                finally:
                    compile_s = time.monotonic() - started
            started = time.monotonic()
            verdict = session.evaluate(variant, **asdict(judging))
            judge_s = time.monotonic() - started
            code = session.code(variant)
            differs = tuple(changes(baseline.code, code))
    except KerncapError as error:
        return Round(number, changed, compile_s, judge_s, None, error, difference, None)
    ratio = _ratio(baseline.verdict, verdict)
    return Round(number, changed, compile_s, judge_s, verdict, None, difference, ratio, code, differs)


def _ratio(baseline: Verdict, variant: Verdict) -> float | None:
    if not baseline.timing_ns or not variant.timing_ns:
        return None
    took = statistics.median(variant.timing_ns)
    return statistics.median(baseline.timing_ns) / took if took else None


def _settled(watched: Path, before: State) -> State:
    """The state of the files once it differs from `before` and holds still: an editor may write in several steps."""
    state = _state(watched)
    while state == before or not state:
        time.sleep(POLL_S)
        state = _state(watched)
    while True:
        time.sleep(POLL_S / 2)
        again = _state(watched)
        if again == state and again:
            return again
        state = again


def _state(watched: Path) -> State:
    files = [watched] if not watched.is_dir() else (path for path in watched.rglob("*") if not path.is_dir())
    found: dict[Path, tuple[int, int, int]] = {}
    for path in files:
        try:
            stat = path.stat()
        except OSError:  # an editor replaces it just now
            continue
        found[path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    return found
