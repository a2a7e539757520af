"""kerncap-replay on sequences made by hand: order, code objects, variants of one kernel in the middle."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from containers import DevContainer
from handmade import HandmadeCapture, HandmadeRegion, HandmadeStep, run
from test_replay import A, B, Bench, C, N, floats

KERNARG = 0x7E0000000000


@pytest.fixture(scope="module")
def bench(dev_container: DevContainer) -> Bench:
    return Bench(dev_container)


def chain(bench: Bench, *, swapped: bool = False, other_code: bool = False) -> HandmadeCapture:
    """c = a + b, c = 2 * c, b = a + c; `swapped`: the last two the other way round, and still the right result."""
    a, b, c = floats(N, 1), floats(N, 2), floats(N, 3)
    summed = a + b
    regions = [
        HandmadeRegion(A, a.tobytes(), a.tobytes()),
        HandmadeRegion(B, b.tobytes(), (a + 2 * summed).tobytes()),
        HandmadeRegion(C, c.tobytes(), (2 * summed).tobytes(), segment="host"),
    ]
    code = bench.hsaco("-O1") if other_code else bench.hsaco()
    barriers = [{"type": "and", "barrier": True, "waits_for": [0]}]
    scale = HandmadeStep("scale", code.read_bytes(), struct.pack("<Qi", C, N), KERNARG + 0x10000, barriers)
    last = HandmadeStep("add", bench.hsaco().read_bytes(), struct.pack("<QQQi", A, C, B, N), KERNARG + 0x20000)
    later = [last, scale] if swapped else [scale, last]
    return bench.capture("add", struct.pack("<QQQi", A, B, C, N), regions, later=later)


@pytest.mark.parametrize("other_code", [False, True])
def test_a_sequence_runs_in_order(bench: Bench, other_code: bool) -> None:
    replayed = bench.replay(chain(bench, other_code=other_code).request([run(iterations=2)]))
    assert replayed.exit_code == 0, replayed.stderr
    assert (replayed["mismatch_bytes"], replayed["iterations_agree"]) == (0, True)
    steps = replayed["steps"]
    assert [len(step["timing_ns"]) for step in steps] == [2, 2, 2]
    assert steps[0]["kernel_object_va"] == steps[2]["kernel_object_va"] == replayed["kernel_object_va"]
    assert steps[1]["kernel_object_va"] != replayed["kernel_object_va"]
    assert all(whole >= sum(step["timing_ns"][i] for step in steps) for i, whole in enumerate(replayed["timing_ns"]))


def test_another_order_differs(bench: Bench) -> None:
    replayed = bench.replay(chain(bench, swapped=True).request([run()]))
    assert replayed.exit_code == 0, replayed.stderr
    a, b = floats(N, 1), floats(N, 2)
    wrong, right = a + (a + b), a + 2 * (a + b)
    first = int(np.argmax(wrong != right))
    assert replayed["mismatches"][0]["region_va"] == B
    assert replayed["mismatches"][0]["offset"] == 4 * first
    assert replayed["mismatches"][0]["actual"] == wrong[first].tobytes().hex()


@pytest.mark.parametrize("other_code", [False, True])
def test_a_variant_takes_the_place_of_one_code_object(bench: Bench, other_code: bool) -> None:
    """The variant has every kernel with a wrong constant; only `scale` changes where its code is its own."""
    capture = chain(bench, other_code=other_code)
    replayed = bench.replay(capture.request([run(hsaco=str(bench.hsaco("-DVARIANT=2")), kernel="scale")]))
    assert replayed.exit_code == 0, replayed.stderr
    a, b = floats(N, 1), floats(N, 2)
    factor = np.float32(1.0 if other_code else 1.5)
    wrong = a + factor * (3 * (a + factor * b))
    right = a + 2 * (a + b)
    first = int(np.argmax(wrong != right))
    assert (replayed["mismatches"][0]["region_va"], replayed["mismatches"][0]["offset"]) == (B, 4 * first)
    assert replayed["mismatches"][0]["actual"] == wrong[first].tobytes().hex()


def test_a_variant_of_a_kernel_that_the_sequence_has_not(bench: Bench) -> None:
    replayed = bench.replay(chain(bench).request([run(hsaco=str(bench.hsaco("-O1")), kernel="weigh")]))
    assert (replayed.exit_code, replayed.result["error"]["code"]) == (2, "usage.bad-request")


def test_a_fault_names_its_dispatch(bench: Bench) -> None:
    capture = chain(bench)
    stray = HandmadeStep("stray", bench.hsaco().read_bytes(), struct.pack("<Q", 0x7C1000000000), KERNARG + 0x30000)
    capture.later.insert(1, stray)
    capture.write()
    replayed = bench.replay(capture.request([run()]))
    assert (replayed.exit_code, replayed.result["error"]["code"]) == (6, "replay.memory-fault")
    assert "dispatch 2 of the sequence, stray," in replayed.result["error"]["message"]
    assert replayed["fault"] == {"va": 0x7C1000000000, "kind": "memory", "step": 2}
