"""Which runs judge a code object: from the captured state, with poisoned outputs, with perturbed inputs.

In: a capture and its index, the variant if there is one. Out: a Plan, whose runs go into one replay request.
Called by the replay workflow; `classify` reads the plan again together with the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kerncap.bundle.capture import Capture
from kerncap.bundle.index import Index
from kerncap.native import ReplayRun
from kerncap.verdict.ranges import Ranges, intersect, normalise, subtract, total
from kerncap.verdict.types import ELEMENT_BYTES, TypedRange, float_ranges

CAPTURED = "captured"
POISONED = "poisoned"
PERTURBED = "perturbed"
REFERENCE = "reference"
SEED = 20240229


@dataclass(frozen=True)
class Tolerance:
    """A float element agrees when |actual - expected| <= atol + rtol * |expected|; two NaN agree."""

    atol: float = 0.0
    rtol: float = 0.0

    @property
    def exact(self) -> bool:
        return self.atol == 0.0 and self.rtol == 0.0


EXACT = Tolerance()


@dataclass(frozen=True)
class Plan:
    """The runs in their order, the name of each (captured, poisoned, reference, perturbed), why others are missing."""

    names: tuple[str, ...]
    runs: tuple[ReplayRun, ...]
    not_judged: Mapping[str, str]
    typed: tuple[TypedRange, ...]
    tolerance: Tolerance
    hsaco: Path | None


FAULT = "fault"
"""Status of a capture whose dispatch faulted: it has no post-state, and a replay is judged by its own fault."""


def make_plan(
    capture: Capture,
    index: Index,
    scratch: Path,
    *,
    hsaco: Path | None = None,
    iterations: int = 1,
    tolerance: Tolerance = EXACT,
    seed: int = SEED,
) -> Plan:
    """`scratch` is an existing directory for what the runs leave behind (changed and mismatched bytes)."""
    typed = float_ranges(capture, [region.size for region in index.regions])
    if capture.status == FAULT:
        why = "the captured dispatch faulted"
        run = ReplayRun(hsaco=hsaco, expect_post=False)
        return Plan((CAPTURED,), (run,), {POISONED: why, PERTURBED: why}, typed, tolerance, hsaco)
    need_bytes = not tolerance.exact or bool(capture.noise)

    def mismatch_dir(name: str) -> Path | None:
        return scratch / f"mismatch-{name}" if need_bytes else None

    steps: list[tuple[str, ReplayRun]] = [
        (CAPTURED, ReplayRun(hsaco=hsaco, iterations=iterations, mismatch_dump=mismatch_dir(CAPTURED)))
    ]
    missing: dict[str, str] = {}
    poison = _poison(capture, missing)
    if poison:
        run = ReplayRun(hsaco=hsaco, poisoned=poison, mismatch_dump=mismatch_dir(POISONED))
        steps.append((POISONED, run))
    if hsaco is not None:
        ranges = _perturb(capture, typed, missing)
        if ranges:
            reference = scratch / "reference"
            steps.append((REFERENCE, ReplayRun(perturbed=ranges, seed=seed, expect_post=False, dump=reference)))
            run = ReplayRun(
                hsaco=hsaco,
                perturbed=ranges,
                seed=seed,
                expect_post=False,
                expect_dump=reference,
                mismatch_dump=mismatch_dir(PERTURBED),
            )
            steps.append((PERTURBED, run))
    return Plan(
        names=tuple(name for name, _ in steps),
        runs=tuple(run for _, run in steps),
        not_judged=missing,
        typed=typed,
        tolerance=tolerance,
        hsaco=hsaco,
    )


def _poison(capture: Capture, missing: dict[str, str]) -> Ranges:
    """Bytes that the kernel writes and did not read before."""
    if capture.write_set is None:
        missing[POISONED] = "the write set is not known"
        return ()
    only_written = subtract(normalise(capture.write_set.written), normalise(capture.write_set.read_first))
    if not only_written:
        missing[POISONED] = "the kernel reads every byte that it writes"
    return only_written


def _perturb(capture: Capture, typed: tuple[TypedRange, ...], missing: dict[str, str]) -> tuple[TypedRange, ...]:
    """Float data that the kernel's arguments lead to; of it only what was read, where that is known."""
    if not typed:
        missing[PERTURBED] = "no argument is known to point to float data"
        return ()
    if capture.write_set is None:
        return typed
    read = normalise(capture.write_set.read_first)
    out: list[TypedRange] = []
    for region, offset, length, kind in typed:
        size = ELEMENT_BYTES[kind]
        for _, at, n in intersect(((region, offset, length),), read):
            start = -(-(at - offset) // size) * size + offset
            end = (at + n - offset) // size * size + offset
            if start < end:
                out.append((region, start, end - start, kind))
    if not out:
        missing[PERTURBED] = "the kernel reads no float data through its arguments"
    return tuple(out)


def written_bytes(capture: Capture) -> int | None:
    """Bytes that the captured dispatch stored, when known."""
    return None if capture.write_set is None else total(normalise(capture.write_set.written))
