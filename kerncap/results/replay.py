"""What a native replay reported: `kerncap.replay-result/1` (docs/interfaces.md) as types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerncap.errors import KerncapError, ReplayError, error_from_code

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
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ReplayError(
            f"kerncap-replay wrote a result that cannot be read: {error}",
            code="replay.bad-result",
            hint="kerncap doctor  # are kerncap and its native files of one version?",
        ) from error
