"""Result types and their JSON: what a native replay reported, and the verdict drawn from it.

In: `kerncap.replay-result/1` documents. Out: frozen dataclasses; `Verdict.to_json()` is what `--json` prints.
Called by verdict and the workflows; the schemas are described in docs/interfaces.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kerncap.errors import KerncapError, ReplayError, error_from_code

FAITHFUL = "faithful"
NONDETERMINISTIC = "nondeterministic"
DIFFERS = "differs"
EQUIVALENT = "equivalent"
WITHIN_TOLERANCE = "within-tolerance"

Range = tuple[int, int, int]
"""(region, offset, length)"""


@dataclass(frozen=True)
class Mismatch:
    """A run of bytes that came out otherwise than expected; both values as hex, little-endian as they lie in memory.

    `argument` is the kernel argument that leads there; `type` what it is known to point to (f32, i32, ...).
    """

    region: int
    region_va: int
    offset: int
    length: int
    expected: str
    actual: str
    argument: str | None = None
    type: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "region": self.region,
            "region_va": self.region_va,
            "offset": self.offset,
            "length": self.length,
            "expected": self.expected,
            "actual": self.actual,
            "argument": self.argument,
            "type": self.type,
        }


@dataclass(frozen=True)
class RunResult:
    """What one run of a replay request did."""

    iterations: int
    kernel_object_va: int
    bytes_compared: int
    changed_bytes: int
    mismatch_bytes: int
    mismatches: tuple[Mismatch, ...]
    iterations_agree: bool
    noise: tuple[Range, ...]
    variables: tuple[tuple[int, int], ...]
    timing_ns: tuple[int, ...]
    fault_va: int | None
    kernel_objects: tuple[int, ...] = ()
    """Of every dispatch of a sequence."""


@dataclass(frozen=True)
class ReplayResult:
    """A whole `kerncap.replay-result/1`."""

    status: str
    error: KerncapError | None
    agent: str
    isa: str
    product: str
    runs: tuple[RunResult, ...]
    duration_s: float


def _run(document: Mapping[str, Any]) -> RunResult:
    fault = document.get("fault")
    return RunResult(
        iterations=int(document["iterations"]),
        kernel_object_va=int(document.get("kernel_object_va", 0)),
        bytes_compared=int(document["bytes_compared"]),
        changed_bytes=int(document["changed_bytes"]),
        mismatch_bytes=int(document["mismatch_bytes"]),
        mismatches=tuple(
            Mismatch(m["region"], m["region_va"], m["offset"], m["length"], m["expected"], m["actual"])
            for m in document["mismatches"]
        ),
        iterations_agree=bool(document["iterations_agree"]),
        noise=tuple((r[0], r[1], r[2]) for r in document.get("noise", ())),
        variables=tuple((r[0], r[1]) for r in document.get("variables", ())),
        timing_ns=tuple(int(t) for t in document.get("timing_ns", ())),
        fault_va=int(fault["va"]) if fault and fault.get("va") is not None else None,
        kernel_objects=tuple(int(step["kernel_object_va"]) for step in document.get("steps", ())),
    )


def parse_replay_result(document: Mapping[str, Any]) -> ReplayResult:
    """Raises: ReplayError `replay.bad-result` when the document is not one of ours."""
    try:
        if document["schema"] != "kerncap.replay-result/1":
            raise KeyError(f"schema {document['schema']!r}")
        failure = document.get("error")
        device = document.get("device") or {}
        return ReplayResult(
            status=str(document["status"]),
            error=error_from_code(failure["code"], failure["message"], failure.get("hint")) if failure else None,
            agent=str(device.get("agent", "")),
            isa=str(device.get("isa", "")),
            product=str(device.get("product", "")),
            runs=tuple(_run(r) for r in document.get("runs", ())),
            duration_s=float(document.get("duration_s", 0.0)),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ReplayError(
            f"kerncap-replay wrote a result that cannot be read: {error}",
            code="replay.bad-result",
            hint="kerncap doctor  # are kerncap and its native files of one version?",
        ) from error


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
class Site:
    """An instruction at work, one side of a finding; `source` is file:line when the code object has line tables."""

    pc: int
    text: str
    workgroup: tuple[int, int, int]
    wave: int
    lane: int | None
    source: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "pc": self.pc,
            "text": self.text,
            "source": self.source,
            "workgroup": list(self.workgroup),
            "wave": self.wave,
            "lane": self.lane,
        }


@dataclass(frozen=True)
class Finding:
    """What a check found at one pair of instructions, `count` times; `region` is (index, offset) of the capture."""

    check: str
    kind: str
    benign: bool
    count: int
    message: str
    site: Site
    other: Site | None
    space: str
    address: int | None
    size_bytes: int
    region: tuple[int, int] | None = None
    argument: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "kind": self.kind,
            "benign": self.benign,
            "count": self.count,
            "message": self.message,
            "site": self.site.to_json(),
            "other": self.other.to_json() if self.other else None,
            "space": self.space,
            "address": self.address,
            "size_bytes": self.size_bytes,
            "region": list(self.region) if self.region else None,
            "argument": self.argument,
        }


@dataclass(frozen=True)
class CheckResult:
    """What `--check` found in one dispatch from the captured state; `limits` says what was not looked at."""

    checks: tuple[str, ...]
    findings: tuple[Finding, ...]
    limits: tuple[str, ...]
    instructions: int

    @property
    def clean(self) -> bool:
        return all(finding.benign for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {
            "checks": list(self.checks),
            "clean": self.clean,
            "findings": [finding.to_json() for finding in self.findings],
            "limits": list(self.limits),
            "instructions": self.instructions,
        }


def _site(document: Mapping[str, Any]) -> Site:
    x, y, z = document["workgroup"]
    lane = document["lane"]
    return Site(
        pc=int(document["pc"]),
        text=str(document["text"]),
        workgroup=(int(x), int(y), int(z)),
        wave=int(document["wave"]),
        lane=None if lane is None else int(lane),
        source=document.get("source"),
    )


def parse_finding(document: Mapping[str, Any]) -> Finding:
    """A finding of a check report or of a verdict. Raises: KeyError, TypeError, ValueError."""
    region = document.get("region")
    return Finding(
        check=str(document["check"]),
        kind=str(document["kind"]),
        benign=document["benign"] is True,
        count=int(document["count"]),
        message=str(document["message"]),
        site=_site(document["site"]),
        other=_site(document["other"]) if document["other"] else None,
        space=str(document["space"]),
        address=None if document["address"] is None else int(document["address"]),
        size_bytes=int(document["size_bytes"]),
        region=(int(region[0]), int(region[1])) if region else None,
        argument=document.get("argument"),
    )


def _checks(document: Mapping[str, Any] | None) -> CheckResult | None:
    if document is None:
        return None
    return CheckResult(
        checks=tuple(map(str, document["checks"])),
        findings=tuple(parse_finding(finding) for finding in document["findings"]),
        limits=tuple(map(str, document["limits"])),
        instructions=int(document["instructions"]),
    )


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
            "mismatch_bytes": self.mismatch_bytes,
            "iterations": self.iterations,
            "noise_bytes": self.noise_bytes,
            "tolerance": dict(self.tolerance) if self.tolerance else None,
            "reasons": list(self.reasons),
            "timing_ns": list(self.timing_ns),
            "duration_s": self.duration_s,
            "checks": self.checks.to_json() if self.checks else None,
        }


def parse_verdict(document: Mapping[str, Any]) -> Verdict:
    """What `Verdict.to_json()` wrote, as it comes back from a container.

    Raises: ReplayError `replay.bad-result` when the document is not one of ours.
    """
    try:
        if document["schema"] != "kerncap.verdict/1":
            raise KeyError(f"schema {document['schema']!r}")
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
            checks=_checks(document.get("checks")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ReplayError(
            f"the container reported a verdict that cannot be read: {error}",
            code="replay.bad-result",
            hint="kerncap image build  # are kerncap and the image of one version?",
        ) from error
