"""rocBLAS's own benchmark on the virtual GPU, which compares with a BLAS on the CPU when it is asked to (`-v 1`).

Real numbers may differ by rounding: a bound in unit roundoffs. Small integers may not differ at all.

rocblas-bench keeps `alpha * B` in a float where it multiplies small matrices of doubles itself (`small_gemm` in its
cblas_interface.cpp, all leading dimensions up to 600): 2.6e-8 off on 16x16x16. Beyond 600 it calls the CPU BLAS.
"""

from __future__ import annotations

import pytest
from conftest import Programs
from paper_workloads import Workload, of_app

APP = "rocblas"
TARGETS = ("gfx90a", "gfx1100")
BENCH = "/usr/libexec/rocm/librocblas4-bench/rocblas-bench"

UNIT_ROUNDOFF = {"s": 2.0**-24, "d": 2.0**-53, "h": 2.0**-11}
UNITS = 16
INTEGERS = "--init rand_int"

# By name: precisions and arguments. Each run loads the whole library of kernels first, which takes most of its time.
CASES = {
    "gemm": ("sdh", "gemm -m 100 -n 60 -k 37 --lda 640 --ldb 64 --ldc 128 --alpha 1.5 --beta 0.5"),
    "gemm-integers": (
        "sdh",
        f"gemm -m 128 -n 96 -k 64 --lda 640 --ldb 96 --ldc 128 --transposeA T --transposeB T {INTEGERS}",
    ),
    "gemv": ("s", "gemv -m 100 -n 60 --lda 128 --alpha 1.5 --beta 0.5"),
    "gemv-integers": ("d", f"gemv -m 100 -n 60 --lda 128 --transposeA T {INTEGERS}"),
    "trsm": ("s", "trsm -m 100 -n 60 --lda 128 --ldb 128 --alpha 1.5"),
    "trsm-right": ("d", "trsm -m 100 -n 60 --lda 128 --ldb 128 --side R --uplo L --transposeA T --diag U"),
    "axpy": ("d", "axpy -n 1000 --alpha 1.5"),
    "dot-integers": ("s", f"dot -n 1000 {INTEGERS}"),
}
RUNS = [(name, precision) for name, (precisions, _) in CASES.items() for precision in precisions]


@pytest.mark.parametrize(("case", "precision"), RUNS, ids=[f"{case}-{precision}" for case, precision in RUNS])
@pytest.mark.parametrize("target", TARGETS)
def test_norm_check(programs: Programs, target: str, case: str, precision: str) -> None:
    errors = norm_errors(programs, target, precision, CASES[case][1])
    bound = 0.0 if case.endswith("-integers") else UNITS * UNIT_ROUNDOFF[precision]
    assert all(0 <= error <= bound for error in errors), errors


def norm_errors(programs: Programs, target: str, precision: str, case: str) -> list[float]:
    """The relative errors that rocblas-bench prints, for some functions two: scalars on the host and on the device."""
    done = programs.run(target, [BENCH, "-r", precision, "-v", "1", "-i", "1", "-j", "0", "-f", *case.split()])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kerncap-vgpu:" not in done.stderr, done.stderr
    names, values = (line.split(",") for line in done.stdout.splitlines()[-2:])
    errors = [float(value) for name, value in zip(names, values, strict=True) if name.startswith("norm_error_")]
    assert errors, done.stdout
    return errors


@pytest.mark.parametrize("workload", of_app(APP), ids=lambda workload: workload.app)
@pytest.mark.parametrize("target", TARGETS)
def test_paper_workload(programs: Programs, target: str, workload: Workload) -> None:
    """The Tensile GEMM of Kerncap's paper: no source, thousands of kernels in the library."""
    programs.judge(workload, target, no_source="a kernel of Tensile")
