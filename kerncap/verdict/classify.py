"""From a plan and its replay result to a verdict.

In: Plan, ReplayResult, Capture. Out: Verdict. Called by the replay workflow. A replay that could not be compared is an
error here and never a verdict; see docs/architecture.md for the exit codes of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kerncap.bundle.capture import Capture, Unreadable
from kerncap.errors import ReplayError
from kerncap.results import (
    DIFFERS,
    EQUIVALENT,
    FAITHFUL,
    NONDETERMINISTIC,
    WITHIN_TOLERANCE,
    Judgement,
    Mismatch,
    MismatchMap,
    OutputDifference,
    ReplayResult,
    RunResult,
    Verdict,
)
from kerncap.verdict.compare import compare_dump
from kerncap.verdict.heat import Heat
from kerncap.verdict.mismatches import open_dump
from kerncap.verdict.outputs import output_differences
from kerncap.verdict.plan import (
    CAPTURED,
    FAULT,
    NOTHING,
    PERTURBATION,
    PERTURBED,
    POISONED,
    REFERENCE,
    Plan,
    written_bytes,
)
from kerncap.verdict.ranges import normalise, subtract, total
from kerncap.verdict.types import argument_at, type_at

MAX_MISMATCHES = 16
_PAGE_BYTES = 4096


@dataclass(frozen=True)
class Subject:
    """What is said about the bundle and the device beside the outcome."""

    bundle: str | None
    device: str
    hsaco_digest: str | None


def classify(plan: Plan, result: ReplayResult, capture: Capture, subject: Subject) -> Verdict:
    """Raises: the replay's own error, ReplayError `replay.nothing-compared`, `replay.not-judged`."""
    if capture.status == FAULT:
        return _classify_fault(plan, result, capture, subject)
    _refuse_failed(plan, result)
    runs = dict(zip(plan.names, result.runs, strict=True))
    judged = {name: run for name, run in runs.items() if name != REFERENCE and not name.startswith(NOTHING)}
    judgements = tuple(_judge(name, run, plan, capture) for name, run in judged.items())
    first = runs[CAPTURED]
    if plan.hsaco is not None and all(j.within_tolerance for j in judgements):
        _require_told_from_nothing(runs, plan, capture, exact=all(j.agrees for j in judgements))
    new_noise = subtract(normalise(first.noise), normalise(capture.noise))
    verdict, passed, reasons = _conclude(plan, judgements, first, total(new_noise), capture)
    outputs, mismatch_map, partly = _outputs(plan, judgements, capture)
    shown: list[Mismatch] = [m for run in judged.values() for m in run.mismatches]
    return Verdict(
        verdict=verdict,
        passed=passed,
        bundle=subject.bundle,
        kernel=capture.kernel.demangled or capture.kernel.name,
        device=subject.device,
        hsaco=subject.hsaco_digest,
        changed_bytes=first.changed_bytes,
        written_bytes=written_bytes(capture),
        bytes_compared=sum(run.bytes_compared for run in judged.values()),
        judgements=judgements,
        not_judged=plan.not_judged,
        mismatches=tuple(_named(m, plan, capture) for m in shown[:MAX_MISMATCHES]),
        mismatch_bytes=sum(j.mismatch_bytes for j in judgements),
        iterations=first.iterations,
        noise_bytes=total(normalise(first.noise)),
        timing_ns=first.timing_ns,
        duration_s=result.duration_s,
        reasons=reasons + partly,
        outputs=outputs,
        mismatch_map=mismatch_map,
        tolerance=plan.tolerance.to_json(),
        captured_on=capture.device.device_class or "",
        product=result.product,
    )


def _outputs(
    plan: Plan, judgements: tuple[Judgement, ...], capture: Capture
) -> tuple[tuple[OutputDifference, ...], MismatchMap | None, tuple[str, ...]]:
    """Of the first run that differs by more than is allowed, else of the first that differs at all; by element, and by
    place. And what is not said of it."""
    differing = [j for j in judgements if not j.agrees]
    name = next((j.name for j in sorted(differing, key=lambda j: j.within_tolerance)), None)
    folder = plan.runs[plan.names.index(name)].mismatch_dump if name is not None else None
    if name is None or folder is None:
        return (), None, ()
    dump, heat = open_dump(folder), Heat(plan.spans)
    found = output_differences(name, dump, capture, plan.shown, plan.tolerance, heat)
    places = heat.result(name, capture, complete=dump.complete)
    return found, places, () if dump.complete else ("outputs are described by the first of the bytes that differ",)


def _named(mismatch: Mismatch, plan: Plan, capture: Capture) -> Mismatch:
    """With the argument that leads there and what it points to."""
    return replace(
        mismatch,
        argument=argument_at(capture, mismatch.region, mismatch.offset),
        type=type_at(plan.shown, mismatch.region, mismatch.offset, mismatch.length),
    )


def _require_told_from_nothing(runs: Mapping[str, RunResult], plan: Plan, capture: Capture, *, exact: bool) -> None:
    """A code object that does nothing would have been noticed in one of the runs.

    Raises: ReplayError `replay.not-judged`.
    """
    nothing = {name: run for name, run in runs.items() if name.startswith(NOTHING)}
    if (
        not exact
        and nothing
        and all(_judge(name, run, plan, capture).within_tolerance for name, run in nothing.items())
    ):
        raise ReplayError(
            "what the dispatch changes is within the tolerance, or noise that the bundle recorded: "
            "a variant that does nothing could not be told from a right one",
            code="replay.not-judged",
            hint="kerncap validate BUNDLE --hsaco FILE  # --atol and --rtol below what the kernel changes",
        )
    reference = runs.get(REFERENCE)
    if POISONED in runs or runs[CAPTURED].changed_bytes > 0 or (reference is not None and reference.changed_bytes > 0):
        return
    raise ReplayError(
        "the dispatch changes no byte, outputs could not be poisoned, and perturbed inputs make no difference: "
        "a variant that does nothing could not be told from a right one",
        code="replay.not-judged",
        hint="kerncap extract KERNEL --dispatch 0 -- CMD  # another dispatch of this kernel",
    )


def _classify_fault(plan: Plan, result: ReplayResult, capture: Capture, subject: Subject) -> Verdict:
    """The captured dispatch faulted: a replay does the same when it faults in the same page."""
    if result.error is not None and result.status != FAULT:
        raise result.error
    found = result.runs[0].fault_va if result.runs else None
    wanted = capture.fault_va
    same = found is not None and (wanted is None or found // _PAGE_BYTES == wanted // _PAGE_BYTES)
    word = DIFFERS if not same else (FAITHFUL if plan.hsaco is None else EQUIVALENT)
    saw = "this code object did not fault" if found is None else f"this code object faulted at {found:#x}"
    where = "" if wanted is None else f" at {wanted:#x}"
    return Verdict(
        verdict=word,
        passed=same,
        bundle=subject.bundle,
        kernel=capture.kernel.demangled or capture.kernel.name,
        device=subject.device,
        hsaco=subject.hsaco_digest,
        changed_bytes=0,
        written_bytes=None,
        bytes_compared=0,
        judgements=(Judgement(CAPTURED, agrees=same, within_tolerance=same, mismatch_bytes=0),),
        not_judged=plan.not_judged,
        mismatches=(),
        mismatch_bytes=0,
        iterations=result.runs[0].iterations if result.runs else 0,
        noise_bytes=0,
        timing_ns=(),
        duration_s=result.duration_s,
        reasons=(f"the captured dispatch faulted{where}; {saw}",),
        captured_on=capture.device.device_class or "",
        product=result.product,
    )


def _refuse_failed(plan: Plan, result: ReplayResult) -> None:
    if result.error is not None:
        raise result.error
    if result.status != "ok":
        raise ReplayError(f"the replay ended with status {result.status!r}", code="replay.failed")
    if len(result.runs) != len(plan.runs):
        raise ReplayError(
            f"{len(plan.runs)} runs were asked for and {len(result.runs)} reported", code="replay.bad-result"
        )
    for name, run in zip(plan.names, result.runs, strict=True):
        if run.fault_va is not None:
            raise ReplayError(
                f"the {name} run faulted at {run.fault_va:#x}, the captured dispatch did not",
                code="replay.fault",
                hint="--check memory  # does the variant read or write out of bounds?",
            )
        if name != REFERENCE and run.bytes_compared == 0:
            raise ReplayError(f"the {name} run compared no bytes: that proves nothing", code="replay.nothing-compared")


def _judge(name: str, run: RunResult, plan: Plan, capture: Capture) -> Judgement:
    if run.mismatch_bytes == 0:
        return Judgement(name, agrees=True, within_tolerance=True, mismatch_bytes=0)
    dump = plan.runs[plan.names.index(name)].mismatch_dump
    if dump is None or not plan.lenient(capture):
        return Judgement(name, agrees=False, within_tolerance=False, mismatch_bytes=run.mismatch_bytes)
    compared = compare_dump(open_dump(dump), plan.typed, normalise(capture.noise), plan.tolerance)
    allowed = compared.tolerated_bytes + compared.noise_bytes
    if compared.left_bytes + allowed != run.mismatch_bytes:
        raise ReplayError(
            f"the mismatch dump holds {compared.left_bytes + allowed} mismatched bytes, the result says "
            f"{run.mismatch_bytes}",
            code="replay.bad-result",
        )
    return Judgement(
        name,
        agrees=False,
        within_tolerance=compared.left_bytes == 0,
        mismatch_bytes=run.mismatch_bytes,
        tolerated_bytes=allowed,
        nan_count=compared.nan_count,
    )


def _conclude(
    plan: Plan, judgements: tuple[Judgement, ...], first: RunResult, new_noise_bytes: int, capture: Capture
) -> tuple[str, bool, tuple[str, ...]]:
    """The word, whether it passes, and why."""
    reasons = [f"{j.name}: {j.mismatch_bytes} bytes differ" for j in judgements if not j.agrees]
    missing = [u for u in capture.unreadable if u.touched is not False]
    reasons += [_missing_text(u) for u in missing]
    reasons += [f"best-effort capture: {why}" for why in capture.inconsistency]
    if new_noise_bytes:
        reasons.append(f"{new_noise_bytes} bytes differ between iterations, beyond what the bundle recorded")
    if PERTURBED in plan.names and plan.tolerance.rtol >= PERTURBATION:
        reasons.append(
            f"rtol {plan.tolerance.rtol:g} is no less than the change of perturbed inputs ({PERTURBATION:g}): "
            "a variant that only knows the captured case may pass"
        )
    reasons += plan.remarks
    exact = all(j.agrees for j in judgements)
    tolerable = all(j.within_tolerance for j in judgements)
    agreeing = first.iterations_agree
    if plan.hsaco is not None:
        if not tolerable or new_noise_bytes:
            return DIFFERS, False, tuple(reasons)
        return (EQUIVALENT if exact and agreeing else WITHIN_TOLERANCE), True, tuple(reasons)
    if not agreeing:
        return NONDETERMINISTIC, new_noise_bytes == 0 and tolerable, tuple(reasons)
    if exact and not missing:
        return FAITHFUL, True, tuple(reasons)
    if tolerable and not missing:
        only_noise = plan.tolerance.exact
        return (NONDETERMINISTIC if only_noise else WITHIN_TOLERANCE), True, tuple(reasons)
    return DIFFERS, False, tuple(reasons)


def _missing_text(memory: Unreadable) -> str:
    where = f"{memory.size} bytes at {memory.va:#x}: " if memory.va else ""
    known = "and the kernel uses it" if memory.touched else "and whether the kernel uses it is not known"
    return f"not captured, {known}: {where}{memory.reason}"
