"""The verdict and its JSON, `kerncap.verdict/1` (docs/interfaces.md): what `--json` prints, and read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kerncap.errors import ReplayError
from kerncap.results.findings import CheckResult, parse_checked
from kerncap.results.mismatch_map import MismatchMap, parse_map
from kerncap.results.outputs import OutputDifference, parse_output
from kerncap.results.ran import Ran, parse_ran
from kerncap.results.replay import Mismatch

FAITHFUL = "faithful"
NONDETERMINISTIC = "nondeterministic"
DIFFERS = "differs"
EQUIVALENT = "equivalent"
WITHIN_TOLERANCE = "within-tolerance"
VERDICTS = (FAITHFUL, EQUIVALENT, WITHIN_TOLERANCE, DIFFERS, NONDETERMINISTIC)


@dataclass(frozen=True)
class Judgement:
    """One of the ways a code object was judged: from which state, and what came out."""

    name: str
    agrees: bool
    within_tolerance: bool
    mismatch_bytes: int
    tolerated_bytes: int = 0
    nan_count: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "agrees": self.agrees,
            "within_tolerance": self.within_tolerance,
            "mismatch_bytes": self.mismatch_bytes,
            "tolerated_bytes": self.tolerated_bytes,
            "nan_count": self.nan_count,
        }


@dataclass(frozen=True)
class Verdict:
    """What came out of judging a code object against a bundle."""

    verdict: str
    passed: bool
    bundle: str | None
    kernel: str
    device: str
    hsaco: str | None
    changed_bytes: int
    written_bytes: int | None
    bytes_compared: int
    judgements: tuple[Judgement, ...]
    not_judged: Mapping[str, str]
    mismatches: tuple[Mismatch, ...]
    mismatch_bytes: int
    iterations: int
    noise_bytes: int
    timing_ns: tuple[int, ...]
    duration_s: float
    reasons: tuple[str, ...] = ()
    tolerance: Mapping[str, float] | None = None
    captured_on: str = ""
    product: str = ""
    checks: CheckResult | None = None
    outputs: tuple[OutputDifference, ...] = ()
    """Of the first run that differs by more than is allowed, else of the first that differs at all."""
    mismatch_map: MismatchMap | None = None
    """Of the same run; None: nothing differs."""
    ran: Ran | None = None
    schema: str = field(default="kerncap.verdict/1", init=False)

    @property
    def exit_code(self) -> int:
        """Of the commands that print a verdict: a check that finds something is a failure of its own."""
        return 0 if self.passed and (self.checks is None or self.checks.clean) else 1

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": self.schema,
            "verdict": self.verdict,
            "passed": self.passed,
            "bundle": self.bundle,
            "kernel": self.kernel,
            "device": self.device,
            "product": self.product,
            "captured_on": self.captured_on,
            "hsaco": self.hsaco,
            "changed_bytes": self.changed_bytes,
            "written_bytes": self.written_bytes,
            "bytes_compared": self.bytes_compared,
            "judged": [j.name for j in self.judgements],
            "judgements": [j.to_json() for j in self.judgements],
            "not_judged": dict(self.not_judged),
            "mismatches": [m.to_json() for m in self.mismatches],
            "outputs": [output.to_json() for output in self.outputs],
            "mismatch_bytes": self.mismatch_bytes,
            "iterations": self.iterations,
            "noise_bytes": self.noise_bytes,
            "tolerance": dict(self.tolerance) if self.tolerance else None,
            "reasons": list(self.reasons),
            "timing_ns": list(self.timing_ns),
            "duration_s": self.duration_s,
            "checks": self.checks.to_json() if self.checks else None,
            "mismatch_map": self.mismatch_map.to_json() if self.mismatch_map else None,
            "ran": self.ran.to_json() if self.ran else None,
        }


def _check_word(word: Any, passed: Any) -> None:
    """Only what is not deterministic may pass or not. Raises: ValueError."""
    if word not in VERDICTS or type(passed) is not bool:
        raise ValueError(f"the verdict {str(word)[:40]!r} is unknown, or it says nothing of passing")
    if word != NONDETERMINISTIC and passed is (word == DIFFERS):
        raise ValueError(f"it contradicts itself: {word}, and passed is {str(passed).lower()}")


def parse_verdict(document: Mapping[str, Any]) -> Verdict:
    """What `Verdict.to_json()` wrote, as it comes back from a container.

    Raises: ReplayError `replay.bad-result` when the document is not one of ours.
    """
    try:
        if document["schema"] != "kerncap.verdict/1":
            raise KeyError(f"schema {document['schema']!r}")
        _check_word(document["verdict"], document["passed"])
        return Verdict(
            verdict=str(document["verdict"]),
            passed=document["passed"] is True,
            bundle=document["bundle"],
            kernel=str(document["kernel"]),
            device=str(document["device"]),
            hsaco=document["hsaco"],
            changed_bytes=int(document["changed_bytes"]),
            written_bytes=None if document["written_bytes"] is None else int(document["written_bytes"]),
            bytes_compared=int(document["bytes_compared"]),
            judgements=tuple(Judgement(**judgement) for judgement in document["judgements"]),
            not_judged=dict(document["not_judged"]),
            mismatches=tuple(Mismatch(**mismatch) for mismatch in document["mismatches"]),
            mismatch_bytes=int(document["mismatch_bytes"]),
            iterations=int(document["iterations"]),
            noise_bytes=int(document["noise_bytes"]),
            timing_ns=tuple(int(t) for t in document["timing_ns"]),
            duration_s=float(document["duration_s"]),
            reasons=tuple(map(str, document["reasons"])),
            tolerance=document["tolerance"],
            captured_on=str(document["captured_on"]),
            product=str(document["product"]),
            checks=parse_checked(document.get("checks")),
            outputs=tuple(parse_output(output) for output in document.get("outputs", ())),
            mismatch_map=parse_map(document.get("mismatch_map")),
            ran=parse_ran(document.get("ran")),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ReplayError(
            f"the container reported a verdict that cannot be read: {error}",
            code="replay.bad-result",
            hint="kerncap image build  # are kerncap and the image of one version?",
        ) from error
