"""gfx950, which no suite's HIP knows: a plain HSA program captured, replayed, and judged against a matrix instruction.

Suite sid alone: trixie's runtime leaves the target out (test_bad_captures says how that is told).
"""

from __future__ import annotations

import pytest
from vgpu_programs import Programs, passed
from workbench import Workbench

from kerncap.results import EQUIVALENT, FAITHFUL

TARGET = "gfx950"


@pytest.fixture
def matrix_kernels(programs: Programs) -> Programs:
    """The programs, with kernels whose value comes from a scaled matrix instruction."""
    if programs.container.suite == "trixie":
        pytest.skip("HSA runtime 6.1 and LLVM 17 do not know gfx950")
    out = programs.container.work / "vgpu_hsa_matrix.hsaco"
    argv = ["hipcc", f"--offload-arch={TARGET}", "--cuda-device-only", "--no-gpu-bundle-output", "-O2"]
    source = programs.container.root / "tests" / "programs" / "vgpu_hsa_matrix.hip"
    programs.container.run([*argv, source, "-o", out], check=True)
    return Programs(programs.container, programs.hip, programs.hsa, {TARGET: out})


def test_a_scaled_matrix_instruction(matrix_kernels: Programs) -> None:
    passed(matrix_kernels.run_hsa(TARGET, "dispatch"))


def test_captured_replayed_and_judged(matrix_kernels: Programs, programs: Programs, workbench: Workbench) -> None:
    out = workbench.work / "fill-gfx950.kcap"
    argv = ("extract", "fill", "-o", out, "--device", f"vgpu:{TARGET}", "--", programs.hsa, programs.kernels[TARGET])
    done = workbench.kerncap(*argv, "dispatch")
    assert done.returncode == 0, done.stderr
    assert workbench.verdict("replay", out)["verdict"] == FAITHFUL
    variant = workbench.verdict("validate", out, "--hsaco", matrix_kernels.kernels[TARGET])
    assert variant["verdict"] == EQUIVALENT, variant


def test_a_kernel_of_a_generic_target(workbench: Workbench) -> None:
    """Runs, replays and compiles again on each processor of its family, and on no other."""
    if workbench.container.suite == "trixie":
        pytest.skip("LLVM 17 does not know generic targets")
    program, out = workbench.work / "vector_add-generic", workbench.work / "generic.kcap"
    argv = ["hipcc", "--offload-arch=gfx9-4-generic", "-O2", workbench.sources / "vector_add.hip", "-o", program]
    workbench.container.run(argv, check=True)
    done = workbench.kerncap("extract", "vector_add", "-o", out, "--device", "vgpu:gfx942", "--", program)
    assert done.returncode == 0, done.stderr
    assert "self-check  faithful" in done.stdout
    for device in ("auto", "vgpu:gfx942", "vgpu:gfx950"):
        assert workbench.verdict("replay", out, "--device", device)["verdict"] == "faithful"
    said = workbench.error(3, "replay", out, "--device", "vgpu:gfx90a")
    assert "--device vgpu:gfx942" in said["stderr"]
