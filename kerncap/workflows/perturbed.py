"""The runs from perturbed states that are a process of their own: guesses which the captured code may not bear.

In: a plan and what its replay left. Out: both, with the runs of the guess behind the others.
Called by the replay workflow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kerncap.bundle import Bundle
from kerncap.bundle.content import read_after, read_before
from kerncap.native import ReplayRun
from kerncap.results import ReplayResult
from kerncap.verdict.effect import makes_a_difference
from kerncap.verdict.infer import swapped_ranges
from kerncap.verdict.plan import (
    PERTURBED,
    REFERENCE,
    Plan,
    guess_runs,
    of_perturbed,
    perturbed_again,
    with_guess,
    without_guess,
)

Run = Callable[[Sequence[ReplayRun]], ReplayResult]

_NO_DIFFERENCE = (
    "perturbed inputs make no difference to what the kernel writes: "
    "a variant that only knows the captured results may pass"
)


def perturb(plan: Plan, result: ReplayResult, bundle: Bundle, scratch: Path, run: Run) -> tuple[Plan, ReplayResult]:
    """Try the plan's guesses; where small changes make no difference to what is written, swap neighbours instead."""
    while plan.guessed and PERTURBED not in plan.names and result.error is None:
        plan, result = _try_guess(plan, result, bundle, scratch, run)
    if not _agrees_in_vain(plan, result, bundle):
        return plan, result
    floats = tuple(one for one in _perturbed(plan) if one in plan.typed or _inside(one, plan))
    read = functools.partial(read_before, bundle)
    swapped = swapped_ranges(bundle.capture, bundle.index, read, floats)
    again = scratch / "swapped"
    again.mkdir()
    if swapped:
        other = perturbed_again(plan, swapped)
        kept = [one for name, one in zip(plan.names, result.runs, strict=True) if not of_perturbed(name)]
        other, more = _try_guess(other, replace(result, runs=tuple(kept)), bundle, again, run)
        if PERTURBED in other.names and not _agrees_in_vain(other, more, bundle):
            return other, more
    return replace(plan, remarks=(*plan.remarks, _NO_DIFFERENCE)), result


def _perturbed(plan: Plan) -> tuple[tuple[int, int, int, str], ...]:
    return plan.runs[plan.names.index(PERTURBED)].perturbed or ()


def _inside(one: tuple[int, int, int, str], plan: Plan) -> bool:
    region, offset, length, kind = one
    return any(
        (region, kind) == (r, k) and at <= offset and offset + length <= at + size for r, at, size, k in plan.typed
    )


def _agrees_in_vain(plan: Plan, result: ReplayResult, bundle: Bundle) -> bool:
    """Whether the variant agrees in the perturbed run, and so would one that stores the captured results."""
    if PERTURBED not in plan.names or result.error is not None or len(result.runs) != len(plan.runs):
        return False
    if result.runs[plan.names.index(PERTURBED)].mismatch_bytes:
        return False
    dump = plan.runs[plan.names.index(REFERENCE)].dump
    assert dump is not None
    return not makes_a_difference(
        bundle.capture,
        dump,
        _perturbed(plan),
        functools.partial(read_before, bundle),
        functools.partial(read_after, bundle),
    )


def _try_guess(plan: Plan, result: ReplayResult, bundle: Bundle, scratch: Path, run: Run) -> tuple[Plan, ReplayResult]:
    """Perturb what may be perturbed, in a process of its own: the captured code object itself may not bear it."""
    steps = guess_runs(plan, bundle.capture, scratch)
    more = run([one for _, one in steps])
    # The first run is the captured code object's.
    if more.error is not None and len(more.runs) < 2:
        return without_guess(plan, f"perturbed inputs: {more.error.message}"), result
    merged = replace(
        result,
        status=more.status,
        error=more.error,
        runs=(*result.runs, *more.runs),
        duration_s=result.duration_s + more.duration_s,
    )
    return with_guess(plan, steps), merged
