"""Captures in the middle of other work: streams, copies, full rings, kinds of memory, faults.

The expected values are the program's own.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from captured_memory import CapturedMemory
from workbench import Case, Workbench

TARGET = "gfx942"
DEVICE = ("--device", f"vgpu:{TARGET}")


def faithful(workbench: Workbench, case: Case) -> CapturedMemory:
    """Captures (the program checks its own results), replays, and hands out the memory."""
    capture = workbench.capture(case, TARGET)
    document = workbench.verdict("replay", capture, *DEVICE)
    assert document["verdict"] == "faithful", document
    return CapturedMemory(capture / "capture")


def test_streams_that_run_and_one_that_waits_for_the_target(workbench: Workbench) -> None:
    memory = faithful(workbench, Case("streams", "add_hundred"))
    assert memory.capture["consistency"] == {"state": "consistent", "reasons": []}
    before, after = memory.integers(0, 1 << 13)
    assert set(before) == {11}
    assert set(after) == {111}
    assert set(memory.integers(1, 1 << 13)[1]) == {111}


def test_signals_are_given_back(workbench: Workbench) -> None:
    """The newer runtime counts those that are left when it shuts down: HIP leaves some for streams that stay."""
    library = workbench.container.native_dir / "libkerncap-vgpu.so"
    for program, kernel in (("streams", "add_hundred"), ("vector_add", "vector_add")):
        path = workbench.program(program)
        alone = workbench.container.run([path], env={"KERNCAP_VGPU": TARGET, "LD_PRELOAD": str(library)})
        out = workbench.work / f"signals-{program}.kcap"
        argv = ["extract", kernel, "-o", out, *DEVICE, "--self-check", "0", "--", path]
        captured = workbench.kerncap(*argv)
        assert captured.returncode == 0, captured.stderr
        assert left_signals(captured) <= left_signals(alone)


def left_signals(done: subprocess.CompletedProcess[str]) -> int:
    found = re.search(r"SharedSignalPool, (\d+) Signals leaked", done.stdout + done.stderr)
    return int(found[1]) if found else 0


@pytest.mark.parametrize(("dispatch", "before", "after"), [(0, 7, 14), (1, 14, 28)])
def test_copies_queued_behind_the_target(workbench: Workbench, dispatch: int, before: int, after: int) -> None:
    memory = faithful(workbench, Case("queued_copy", "times_two", dispatch))
    assert memory.capture["consistency"] == {"state": "consistent", "reasons": []}
    assert memory.integers(0, 1 << 14) == ([before] * (1 << 14), [after] * (1 << 14))


def test_a_ring_that_is_full(workbench: Workbench) -> None:
    memory = faithful(workbench, Case("full_ring", "times_two"))
    assert memory.integers(0, 64) == ([5001] * 64, [10002] * 64)


def test_kinds_of_memory_in_a_process_that_forks(workbench: Workbench) -> None:
    memory = faithful(workbench, Case("memory_kinds", "all_kinds"))
    assert memory.kind(0) == "lock"
    for argument, factor, added in ((0, 1, 1), (1, 2, 2), (2, 3, 3)):
        expected = [factor * i for i in range(3000)]
        assert memory.integers(argument, 3000) == (expected, [value + added for value in expected])
    assert memory.integers(3, 3000)[1] == [6 * i + 6 for i in range(3000)]


def test_a_dispatch_that_faults_is_captured(workbench: Workbench, tmp_path: Path) -> None:
    work = workbench.work / "fault"
    done = workbench.kerncap("extract", "stray", "-o", work, *DEVICE, "--", workbench.program("memory_fault"))
    assert "Memory access fault" in done.stderr
    memory = CapturedMemory(work / "capture")
    assert memory.capture["outcome"] == {"status": "fault", "fault_va": 0x123456789000}
    assert [entry["va"] for entry in memory.capture["unreadable"]] == [0x123456789000]
