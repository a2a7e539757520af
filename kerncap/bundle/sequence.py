"""The dispatches of a sequence behind the first: `sequence` of capture.json.

In: a node that the capture schema accepts. Out: a frozen Sequence, whose barriers wait only for what comes before them.
Called by capture; the first dispatch of a sequence stands in the capture itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kerncap.bundle.dispatch import (
    CodeObject,
    Dispatch,
    Kernarg,
    Kernel,
    check_dispatch,
    code_object_from_json,
    dispatch_from_json,
    kernarg_from_json,
    kernel_from_json,
)
from kerncap.errors import BundleError

EACH = "each"
END = "end"


@dataclass(frozen=True, slots=True)
class Barrier:
    """A barrier packet. `waits_for`: dispatches of the sequence, by number; what else it waited for was done before."""

    type: str
    """`and`, `or` or `value`."""
    barrier: bool
    """The packet's barrier bit: it waits for everything before it in its queue."""
    waits_for: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One dispatch of the sequence, and the barrier packets between the dispatch before it and this one."""

    kernel: Kernel
    dispatch: Dispatch
    kernarg: Kernarg
    code_object: CodeObject
    barriers_before: tuple[Barrier, ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    states: str
    """`each`: the index says what every dispatch changed; `end`: only what all of them together did."""
    later: tuple[Step, ...]


def sequence_from_json(node: dict[str, Any] | None, isa: str, what: str) -> Sequence | None:
    """Raises: BundleError `bundle.malformed`, `bundle.limit`, `bundle.inconsistent`."""
    if node is None:
        return None
    numbered = enumerate(node["later"], start=1)
    later = tuple(_step(one, number, isa, f"{what}: sequence/later/{number - 1}") for number, one in numbered)
    return Sequence(node["states"], later)


def _step(node: dict[str, Any], number: int, isa: str, what: str) -> Step:
    barriers = tuple(Barrier(b["type"], b["barrier"], tuple(b["waits_for"])) for b in node["barriers_before"])
    kernarg, code_object = kernarg_from_json(node["kernarg"]), code_object_from_json(node["code_object"])
    check_dispatch(kernarg, code_object, what)
    if any(other >= number for barrier in barriers for other in barrier.waits_for):
        raise BundleError(f"{what}: a barrier waits for a dispatch that comes behind it", code="bundle.malformed")
    # With other features, as the runtime's own kernels have: whether code runs is checked when it is loaded.
    if code_object.isa.partition(":")[0] != isa.partition(":")[0]:
        raise BundleError(
            f"{what}: the code object is for {code_object.isa}, the first one for {isa}", code="bundle.inconsistent"
        )
    return Step(kernel_from_json(node["kernel"]), dispatch_from_json(node["dispatch"]), kernarg, code_object, barriers)
