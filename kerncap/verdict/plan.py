"""Which runs judge a code object: from the captured state, with poisoned outputs, with perturbed inputs.

In: a capture and its index, the variant if there is one. Out: a Plan, whose runs go into one replay request.
Called by the replay workflow; `classify` reads the plan again together with the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kerncap.bundle.capture import Capture
from kerncap.bundle.index import Index
from kerncap.native import ReplayRun
from kerncap.verdict.infer import ReadBefore, inferred_ranges
from kerncap.verdict.ranges import Ranges, intersect, normalise, subtract, total
from kerncap.verdict.types import ELEMENT_BYTES, TypedRange, float_ranges, typed_ranges

CAPTURED = "captured"
POISONED = "poisoned"
PERTURBED = "perturbed"
REFERENCE = "reference"
NOTHING = "nothing "
"""Before the name of a run: what a code object that does nothing leaves there, judged as the variant is."""
_LEFT_ALONE = "nothing that the kernel reads can be perturbed: addresses, sorted and all-zero data are left alone"
SEED = 20240229
PERTURBATION = 1 / 16
"""Relative change of perturbed floats, at most. Source: native/replay/initial_state.cpp."""

DESCRIBED_BYTES = 64 << 20
"""Of the bytes that mismatch, so many are described by their elements where each of them is a mismatch anyway."""


@dataclass(frozen=True)
class Tolerance:
    """A float element agrees when |actual - expected| <= atol + rtol * |expected|, or when it is no more than `ulp`
    values of its type away; two NaN agree."""

    atol: float = 0.0
    rtol: float = 0.0
    ulp: int = 0

    @property
    def exact(self) -> bool:
        return self.atol == 0.0 and self.rtol == 0.0 and self.ulp == 0

    def to_json(self) -> dict[str, float] | None:
        """None: byte for byte."""
        return None if self.exact else {"atol": self.atol, "rtol": self.rtol, "ulp": self.ulp}


EXACT = Tolerance()


@dataclass(frozen=True)
class Plan:
    """The runs in their order, the name of each (captured, poisoned, reference, perturbed; `NOTHING` and one of these),
    why others are missing."""

    names: tuple[str, ...]
    runs: tuple[ReplayRun, ...]
    not_judged: Mapping[str, str]
    typed: tuple[TypedRange, ...]
    """Float data: what is perturbed, and compared under the tolerance."""
    tolerance: Tolerance
    hsaco: Path | None
    guessed: tuple[TypedRange, ...] = ()
    """Inputs of unknown type, with the float data, that may be perturbed in a replay of their own: `with_guess`."""
    known: tuple[TypedRange, ...] = ()
    """Of those the float data: what is left to perturb when the guess comes to nothing."""
    shown: tuple[TypedRange, ...] = ()
    """Float and integer data: mismatches in it are shown as numbers."""
    remarks: tuple[str, ...] = ()
    """What the runs do not tell, for the verdict's reasons."""
    spans: tuple[tuple[int, int], ...] = ()
    """(va, size) of every region."""

    def lenient(self, capture: Capture) -> bool:
        return is_lenient(capture, self.tolerance)


def is_lenient(capture: Capture, tolerance: Tolerance) -> bool:
    """Some mismatches may be allowed: which ones, only their bytes tell."""
    return not tolerance.exact or bool(capture.noise)


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
    read_before: ReadBefore | None = None,
) -> Plan:
    """`scratch` is an existing directory for what the runs leave behind (changed and mismatched bytes).

    With `read_before` inputs that no argument is known to lead to as float data are looked at, too.
    """
    spans = tuple((region.va, region.size) for region in index.regions)
    shown = typed_ranges(capture, [size for _, size in spans])
    typed = float_ranges(shown)
    if capture.status == FAULT:
        why = "the captured dispatch faulted"
        run = ReplayRun(hsaco=hsaco, expect_post=False)
        missing = {POISONED: why, PERTURBED: why}
        return Plan((CAPTURED,), (run,), missing, typed, tolerance, hsaco, shown=shown, spans=spans)
    guessed: tuple[TypedRange, ...] = ()
    known: tuple[TypedRange, ...] = ()

    dumps = _Dumps(scratch, lenient=is_lenient(capture, tolerance))
    steps: list[tuple[str, ReplayRun]] = [(CAPTURED, dumps.of(CAPTURED, ReplayRun(hsaco=hsaco, iterations=iterations)))]
    missing = {}
    poison = _poison(capture, missing)
    if poison:
        steps.append((POISONED, dumps.of(POISONED, ReplayRun(hsaco=hsaco, poisoned=poison))))
    if hsaco is not None:
        ranges = _perturb(capture, typed, missing)
        others = () if read_before is None else inferred_ranges(capture, index, read_before, typed)
        if others:
            guessed, known = tuple(sorted((*ranges, *others))), ranges
        elif ranges:
            steps += _perturbed_steps(hsaco, ranges, dumps, seed)
        elif read_before is not None and capture.write_set is not None:
            missing[PERTURBED] = _LEFT_ALONE
        steps += _nothing_steps(steps, dumps)
    return Plan(
        names=tuple(name for name, _ in steps),
        runs=tuple(run for _, run in steps),
        not_judged=missing,
        typed=typed,
        tolerance=tolerance,
        hsaco=hsaco,
        guessed=guessed,
        known=known,
        shown=shown,
        spans=spans,
    )


def guess_runs(plan: Plan, capture: Capture, scratch: Path, seed: int = SEED) -> list[tuple[str, ReplayRun]]:
    """The captured code object and the variant from the guessed state, for a replay of their own: both may fault."""
    assert plan.hsaco is not None
    dumps = _Dumps(scratch, lenient=plan.lenient(capture))
    steps = _perturbed_steps(plan.hsaco, plan.guessed, dumps, seed)
    return steps + _nothing_steps(steps, dumps)


def with_guess(plan: Plan, steps: list[tuple[str, ReplayRun]]) -> Plan:
    """The plan whose result has these runs behind its own."""
    missing = {name: why for name, why in plan.not_judged.items() if name != PERTURBED}
    names, runs = zip(*steps, strict=True)
    return replace(plan, names=(*plan.names, *names), runs=(*plan.runs, *runs), not_judged=missing)


def perturbed_again(plan: Plan, swapped: tuple[TypedRange, ...]) -> Plan:
    """The plan without its perturbed runs, which made no difference, and with another guess."""
    kept = [(name, run) for name, run in zip(plan.names, plan.runs, strict=True) if not of_perturbed(name)]
    names, runs = zip(*kept, strict=True)
    return replace(plan, names=names, runs=runs, guessed=swapped, known=())


def of_perturbed(name: str) -> bool:
    """Whether a run starts from the perturbed state."""
    return name.removeprefix(NOTHING) in (REFERENCE, PERTURBED)


def without_guess(plan: Plan, why: str) -> Plan:
    """The plan as it is when the guess came to nothing: what is known to be float data is still to be tried."""
    return replace(plan, guessed=plan.known, known=(), not_judged={**plan.not_judged, PERTURBED: why})


@dataclass(frozen=True)
class _Dumps:
    """Where runs leave their mismatched bytes: all of them where each is judged, else the first, to be described."""

    scratch: Path
    lenient: bool

    def of(self, name: str, run: ReplayRun) -> ReplayRun:
        limit = 0 if self.lenient else DESCRIBED_BYTES
        place = self.scratch / f"mismatch-{name.replace(' ', '-')}"
        return replace(run, mismatch_dump=place, mismatch_limit=limit)


def _perturbed_steps(
    hsaco: Path, ranges: tuple[TypedRange, ...], dumps: _Dumps, seed: int
) -> list[tuple[str, ReplayRun]]:
    reference = dumps.scratch / "reference"
    variant = ReplayRun(hsaco=hsaco, perturbed=ranges, seed=seed, expect_post=False, expect_dump=reference)
    return [
        (REFERENCE, ReplayRun(perturbed=ranges, seed=seed, expect_post=False, dump=reference)),
        (PERTURBED, dumps.of(PERTURBED, variant)),
    ]


def _nothing_steps(steps: list[tuple[str, ReplayRun]], dumps: _Dumps) -> list[tuple[str, ReplayRun]]:
    """Where mismatches may be allowed, what is left when nothing is done: allowed as well, the run tells nothing."""
    return [
        (NOTHING + name, dumps.of(NOTHING + name, replace(run, dispatch=False, iterations=1)))
        for name, run in steps
        if dumps.lenient and run.mismatch_dump is not None
    ]


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
