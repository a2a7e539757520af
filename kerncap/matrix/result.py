"""What came out of one cell: the document that its container printed, a verdict or an error, read and bounded.

In: the stdout of a container, of here or of elsewhere. Out: CellResult. Called by the state file, the reports and the
matrix workflow.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerncap.bundle.documents import parse_json, validate
from kerncap.errors import KerncapError, ReplayError, UsageError, error_from_code
from kerncap.matrix.cell import Cell
from kerncap.results import Verdict, parse_verdict

MAX_DOCUMENT_BYTES = 64 << 20
# About the machine, the registry, or us: what is mended there changes the answer, so that --resume asks again.
_AGAIN = frozenset({3, 7, 70})


@dataclass(frozen=True)
class CellResult:
    """One of `verdict` and `error` is there. `duration_s`: of the container; None where another machine measured it.

    `finished`: when, ISO 8601 in UTC. `kept`: it is what an earlier run found.
    """

    cell: Cell
    verdict: Verdict | None
    error: KerncapError | None
    duration_s: float | None = None
    finished: str | None = None
    kept: bool = False

    @property
    def outcome(self) -> str:
        """One word: the verdict, or the error's code. A check that found something is none of a matrix."""
        if self.verdict is not None:
            return self.verdict.verdict
        return "" if self.error is None else self.error.code

    @property
    def exit_code(self) -> int:
        """Of the container's command."""
        if self.verdict is not None:
            return self.verdict.exit_code
        return 70 if self.error is None else self.error.exit_code

    @property
    def is_lasting(self) -> bool:
        """It would come out again: a verdict, or an error of the bundle, the source or the replay."""
        return self.verdict is not None or (self.error is not None and self.exit_code not in _AGAIN)

    @property
    def median_ns(self) -> float | None:
        """Of the dispatches."""
        timing = self.verdict.timing_ns if self.verdict is not None else ()
        return statistics.median(timing) if timing else None

    def is_good(self, expected: frozenset[str]) -> bool:
        """`expected`: verdicts or error codes; empty: what `kerncap run` exits 0 for."""
        return self.outcome in expected if expected else self.exit_code == 0

    def to_json(self) -> dict[str, Any]:
        return {
            **{key: value for key, value in self.cell.to_json().items() if key not in ("schema", "result", "error")},
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "median_ns": self.median_ns,
            "duration_s": self.duration_s,
            "finished": self.finished,
            "kept": self.kept,
            "verdict": None if self.verdict is None else self.verdict.to_json(),
            "error": None if self.error is None else self.error.to_json(),
        }


def judged(cell: Cell, printed: bytes, *, duration_s: float | None, finished: str | None) -> CellResult:
    """From what the command printed, wherever it ran; never raises: what cannot be read is that cell's error."""
    try:
        document = parse_json(printed, what="the result", limit=MAX_DOCUMENT_BYTES)
        return _of_document(cell, document, duration_s, finished, kept=False)
    except KerncapError as error:
        unread = ReplayError(f"no verdict came back: {error.message}", code="replay.bad-result", hint=error.hint)
        return not_run(cell, unread, duration_s=duration_s, finished=finished)


def not_run(
    cell: Cell, error: KerncapError, *, duration_s: float | None = None, finished: str | None = None
) -> CellResult:
    return CellResult(cell, None, error, duration_s, finished)


def result_from_json(cell: Cell, entry: Mapping[str, Any]) -> CellResult:
    """Of the state file. Raises: KerncapError when it is not what CellResult.to_json() wrote."""
    duration_s, finished = entry.get("duration_s"), entry.get("finished")
    if not (duration_s is None or isinstance(duration_s, (int, float))) or not isinstance(finished, (str, type(None))):
        raise UsageError("a cell's times cannot be read", code="usage.state")
    document = entry.get("verdict") or entry.get("error")
    if not isinstance(document, dict):
        raise UsageError("a cell has neither verdict nor error", code="usage.state")
    return _of_document(cell, document, duration_s, finished, kept=True)


def _of_document(
    cell: Cell, document: dict[str, Any], duration_s: float | None, finished: str | None, *, kept: bool
) -> CellResult:
    if document.get("schema") == "kerncap.error/1":
        validate(document, "error", what="the error")
        error = error_from_code(document["code"], document["message"], document.get("hint"))
        return CellResult(cell, None, error, duration_s, finished, kept)
    validate(document, "verdict", what="the verdict")
    verdict = parse_verdict(document)
    if verdict.bundle is not None and verdict.bundle != cell.digest:
        raise ReplayError(
            f"the verdict is about {verdict.bundle}, the cell is about {cell.digest}", code="replay.bad-result"
        )
    return CellResult(cell, verdict, None, duration_s, finished, kept)
