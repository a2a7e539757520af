"""Whole kernels with many compiler options on the virtual GPU (tests/matrix): both suites, all targets."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from containers import DevContainer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "matrix"))
from matrix import OPTIONS, TARGETS

# One combination a suite and target, chosen for what differs most from -O2.
SUBSET = {
    ("trixie", "gfx942"): "fast",
    ("trixie", "gfx90a"): "v5",
    ("trixie", "gfx1100"): "O2",
    ("sid", "gfx942"): "preload-16",
    ("sid", "gfx90a"): "v4",
    ("sid", "gfx1100"): "generic",
    ("sid", "gfx1201"): "wave64",
}
# Half a minute each: `make test` leaves these out.
_LONG = ("gfx90a", "gfx1201")


def matrix(container: DevContainer, target: str, options: str, timeout_s: float) -> str:
    script = container.root / "tests" / "matrix" / "matrix.py"
    command: list[str | os.PathLike[str]] = ["python3", "-B", script, "--native", container.native_dir]
    command += ["--work", container.work / "matrix", "--targets", target, "--options", options]
    done = container.run(command, timeout_s=timeout_s)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("target", [pytest.param(t, marks=pytest.mark.full if t in _LONG else ()) for t in TARGETS])
def test_one_set_of_options(dev_container: DevContainer, target: str) -> None:
    said = matrix(dev_container, target, SUBSET[dev_container.suite, target], 600)
    assert "matrix: 1 combinations, 0 failed" in said


@pytest.mark.full
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("target", TARGETS)
def test_every_set_of_options(dev_container: DevContainer, target: str) -> None:
    said = matrix(dev_container, target, ",".join(OPTIONS), 7000)
    assert ", 0 failed" in said


def test_a_wrong_result_is_noticed(dev_container: DevContainer) -> None:
    """The matrix can fail: code built for another order of additions than the reference's."""
    script = dev_container.root / "tests" / "matrix" / "matrix.py"
    command: list[str | os.PathLike[str]] = ["python3", "-B", script, "--native", dev_container.native_dir]
    command += ["--work", dev_container.work / "matrix", "--targets", "gfx942", "--options", "wrong"]
    command += ["--only", "add_f32,scale_in_strides"]
    done = dev_container.run(command, timeout_s=600)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "add_f32: WRONG: sum[0] is " in done.stdout
    assert "wrong: ['add_f32']" in done.stdout
