"""A capture is a consistent cut: what kernels, copies and host threads keep true at every moment is true in each state.

tests/programs/transfers.hip moves amounts between halves of ledgers that lie far apart, in several streams at once.
Where the manifest says `consistent`, no ledger may have gained or lost; where host memory did not hold still, it must
say so.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from captured_memory import CapturedMemory
from workbench import Workbench

TARGET = "gfx942"
DEVICE = ("--device", f"vgpu:{TARGET}")
COUNT, WHOLE = 1 << 15, 1000
# Somewhere among the 60 dispatches: what the other threads do at that moment differs from run to run.
DISPATCHES = (2, 9, 17, 26, 38, 51)
OWN, FIRST, SECOND, COPIED, LOG = 0, 2, 4, 6, 7


def captured(workbench: Workbench, host_thread: str, dispatch: int, self_check: int = 0) -> CapturedMemory:
    out = Path(tempfile.mkdtemp(dir=workbench.work), f"transfers-{host_thread}-{dispatch}.kcap")
    argv = ["extract", "bank", "-o", out, *DEVICE, "--dispatch", str(dispatch), "--self-check", str(self_check)]
    done = workbench.kerncap(*argv, "--", workbench.program("transfers"), host_thread)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    return CapturedMemory(out / "capture")


def assert_no_ledger_is_torn(memory: CapturedMemory) -> None:
    for ledger in (OWN, FIRST, SECOND):
        for left, right in zip(memory.integers(ledger, COUNT), memory.integers(ledger + 1, COUNT), strict=True):
            assert {a + b for a, b in zip(left, reversed(right), strict=True)} == {WHOLE}, f"ledger {ledger}"
    for copied in memory.integers(COPIED, 2 * COUNT):
        assert {copied[i] + copied[-1 - i] for i in range(COUNT)} == {WHOLE}
    # In all states the dispatch before this one is done, and this one wholly or not at all.
    before, after = (set(left) for left in memory.integers(OWN, COUNT))
    done = memory.capture["dispatch"]["match_index"]
    assert (before, after) == ({-3 * done}, {-3 * (done + 1)})


def log_is_of_one_moment(log: list[int]) -> bool:
    """The first words have one number, the others the one before."""
    return log == sorted(log, reverse=True) and log[0] - log[-1] <= 1


@pytest.mark.soak
def test_kernels_and_copies_of_other_streams(workbench: Workbench) -> None:
    for dispatch in DISPATCHES:
        memory = captured(workbench, "quiet", dispatch)
        assert memory.capture["consistency"] == {"state": "consistent", "reasons": []}
        assert_no_ledger_is_torn(memory)


def test_host_memory_that_is_written_now_and_then(workbench: Workbench) -> None:
    consistent = 0
    for dispatch in DISPATCHES:
        memory = captured(workbench, "paced", dispatch)
        assert_no_ledger_is_torn(memory)
        if memory.capture["consistency"]["state"] == "consistent":
            assert all(log_is_of_one_moment(log) for log in memory.integers(LOG, 2 * COUNT))
            consistent += 1
    assert consistent > 0


def test_host_memory_that_never_holds_still(workbench: Workbench) -> None:
    named = 0
    for dispatch in DISPATCHES:
        memory = captured(workbench, "busy", dispatch)
        assert_no_ledger_is_torn(memory)
        reasons = memory.capture["consistency"]["reasons"]
        assert memory.capture["consistency"]["state"] == ("best-effort" if reasons else "consistent")
        log = memory.regions[memory.capture["kernarg"]["args"][LOG]["region"]]
        if any(f"kept writing to the host memory at {log['va']:#x}" in reason for reason in reasons):
            named += 1
        else:
            assert all(log_is_of_one_moment(log) for log in memory.integers(LOG, 2 * COUNT)), reasons
    assert named > 0


def test_a_cut_replays(workbench: Workbench) -> None:
    memory = captured(workbench, "quiet", 30, self_check=2)
    assert memory.capture["self_check"]["verdict"] == "faithful"
