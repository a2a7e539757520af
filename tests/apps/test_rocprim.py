"""rocPRIM's tests on the virtual GPU, with filters that reduce them; a program built from its headers."""

from __future__ import annotations

import re

import pytest
from conftest import HERE, Programs
from paper_workloads import Workload, of_app

APP = "rocprim"
TARGETS = ("gfx90a", "gfx1100")
TESTS = "/usr/libexec/rocm/librocprim-tests"

# Program, googletest filter, and how many tests that is: none may vanish.
PROGRAMS = (
    ("test_warp_reduce", "*Integral/0.*", 7),
    ("test_warp_scan", "*Integral/0.*", 9),
    ("test_warp_sort", "*Integral/0.*", 2),
    ("test_block_reduce", "*Integral/0.*", 5),
    ("test_block_scan", "*Integral/0.*", 12),
    ("test_block_radix_sort", "*Integral/0.*", 2),
    ("test_block_histogram", "*/0.*", 4),
    ("test_block_discontinuity", "*/0.*", 9),
    ("test_block_sort_merge", "*Integral/0.*", 7),
    ("test_block_exchange", "*/0.*", 12),
    ("test_block_load_store", "*/0.*", 11),
    ("test_block_adjacent_difference", "*/0.*", 21),
    ("test_block_shuffle", "*/0.*", 8),
    ("test_block_radix_rank", "*/0.*", 6),
    ("test_block_run_length_decode", "*/0.*", 1),
    ("test_intrinsics", "RocprimIntrinsicsTests.*:*/0.WarpPermute:*/0.ShuffleIndex", 9),
    ("test_thread", "*", 36),
    ("test_hip_api", "*", 1),
    ("test_ordered_block_id", "*", 1),
    ("test_zip_iterator", "*", 4),
    ("test_device_reduce", "*/0.ReduceEmptyInput", 1),
    ("test_device_adjacent_difference", "RocprimDeviceAdjacentDifferenceTests/0.*", 1),
    ("test_device_histogram", "*IncorrectInput:*HistogramEven/0.*:*HistogramRange/0.*", 4),
)


@pytest.mark.parametrize(("name", "only", "count"), PROGRAMS, ids=[name for name, _, _ in PROGRAMS])
@pytest.mark.parametrize("target", TARGETS)
def test_own_tests(programs: Programs, target: str, name: str, only: str, count: int) -> None:
    done = programs.run(target, [f"{TESTS}/{name}", f"--gtest_filter={only}"], timeout_s=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert "kerncap-vgpu:" not in done.stderr, done.stderr
    assert re.findall(r"\[  PASSED  \] (\d+) tests?\.", done.stdout) == [str(count)], done.stdout[-4000:]


# Without true16: with it, LLVM 21 miscompiles the partition by flags (see test_rocthrust.py).
NO_TRUE16 = ("-Xclang", "-target-feature", "-Xclang", "-real-true16")


@pytest.mark.parametrize(("target", "options"), [("gfx942", ()), ("gfx1100", NO_TRUE16)], ids=["gfx942", "gfx1100"])
def test_program_from_headers(programs: Programs, target: str, options: tuple[str, ...]) -> None:
    out = programs.container.work / f"rocprim_program-{target}"
    source = HERE / "rocprim_program.hip"
    argv = ["hipcc", f"--offload-arch={target}", "-std=c++17", "-O2", "-w", *options, source, "-o", out]
    programs.container.run(argv, timeout_s=900, check=True)
    done = programs.run(target, [out])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kerncap-vgpu:" not in done.stderr, done.stderr
    calls = ("inclusive_scan", "reduce", "radix_sort_keys", "select", "partition")
    assert done.stdout.splitlines() == [*(f"{call} equal" for call in calls), "EXIT-SUCCESS"]


@pytest.mark.parametrize("workload", of_app(APP), ids=lambda workload: workload.app)
@pytest.mark.parametrize("target", TARGETS)
def test_paper_workload(programs: Programs, target: str, workload: Workload) -> None:
    """A step of a merge sort of integers."""
    programs.judge(workload, target)
