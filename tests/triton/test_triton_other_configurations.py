"""Other configurations of tuned Triton kernels, and verdicts by tensor element; `make test-triton`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from containers import DevContainer
from test_triton_capture import ROOT, TARGETS, box, captured, kerncap

__all__ = ["box"]  # a fixture

pytestmark = pytest.mark.full


def judged(box: DevContainer, bundle: Path, *argv: str | Path) -> dict[str, Any]:
    done = box.run(["python3", "-m", "kerncap", "validate", bundle, *argv, "--json"], timeout_s=900)
    document: dict[str, Any] = json.loads(done.stdout)
    assert "verdict" in document, document
    return document


def numbers(bundle: Path) -> dict[int, int]:
    """BM of each configuration that was tried -> its number in inspect's list."""
    tried = json.loads((bundle / "triton.json").read_text())["launch"]["tried"]
    fastest = sorted(tried, key=lambda one: float.fromhex(one["ms"]["float"]))
    return {one["configuration"]["BM"]: number for number, one in enumerate(fastest, 1)}


def others(bundle: Path) -> int:
    """The number of the configuration that was not chosen."""
    chosen = json.loads((bundle / "triton.json").read_text())["launch"]["configuration"]["BM"]
    (number,) = (number for block, number in numbers(bundle).items() if block != chosen)
    return number


@pytest.mark.parametrize("target", TARGETS)
def test_another_configuration_of_flash_attention_differs_in_some_elements(box: DevContainer, target: str) -> None:
    """As the founding paper says; by few steps of fp16, none of them NaN; within a tolerance it is right."""
    bundle = captured(box, "attention", target)
    found = judged(box, bundle, "--config", str(others(bundle)), "--trust")
    (output,) = found["outputs"]
    assert (found["verdict"], output["argument"], output["type"], output["shape"]) == (
        "differs",
        "out",
        "f16",
        [2, 100, 64],
    )
    assert 0 < output["differing"] < output["elements"] == 2 * 100 * 64
    assert 0 < output["max_abs"] < 0.01
    assert output["nan"] == output["inf"] == [0, 0]
    heads, rows, depth = output["first"][0]["index"]
    assert output["first"][0]["offset"] - output["offset"] == 2 * ((heads * 100 + rows) * 64 + depth)
    assert any("workgroups of" in reason for reason in found["reasons"])
    close = judged(box, bundle, "--config", str(others(bundle)), "--trust", "--atol", "0.01")
    assert (close["verdict"], close["outputs"][0]["beyond"]) == ("within-tolerance", 0)


@pytest.mark.parametrize("kernel", ["attention", "matmul"])
def test_the_captured_configuration_is_equivalent(box: DevContainer, kernel: str) -> None:
    bundle = captured(box, kernel, "gfx942")
    chosen = len(numbers(bundle)) + 1 - others(bundle)
    assert judged(box, bundle, "--config", str(chosen), "--trust")["verdict"] == "equivalent"


def test_another_configuration_of_whole_numbers_is_equivalent(box: DevContainer) -> None:
    """Sums of products of small whole numbers are exact in any order: only the launch is another."""
    bundle = captured(box, "matmul", "gfx942")
    found = judged(box, bundle, "--config", str(others(bundle)), "--trust")
    assert (found["verdict"], found["outputs"]) == ("equivalent", [])


def test_a_configuration_that_was_never_tried_needs_its_grid(box: DevContainer) -> None:
    bundle = captured(box, "attention", "gfx942")
    said = box.run(["python3", "-m", "kerncap", "validate", bundle, "--config", "BM=16,BN=16,num_warps=1", "--trust"])
    assert (said.returncode, "usage.config-grid" in said.stderr) == (2, True)
    config = ("--config", "BM=16,BN=16,num_warps=1", "--trust", "--atol", "0.01")
    assert judged(box, bundle, *config, "--programs", "7x2")["verdict"] == "within-tolerance"
    # With too few programs the last rows are never written.
    short = judged(box, bundle, *config, "--programs", "6x2")
    (output,) = short["outputs"]
    assert (short["verdict"], output["run"]) == ("differs", "poisoned")
    assert output["first"][0]["index"] == [0, 96, 0]
    assert output["beyond"] == 2 * 4 * 64


def test_a_host_without_triton_compiles_and_runs_it_in_containers(box: DevContainer) -> None:
    bundle = captured(box, "attention", "gfx942")
    sealed = box.work / "attention-config.kcap.tar"
    kerncap(box, "pack", bundle, "-o", sealed)
    argv = [ROOT / ".venv/bin/python", "-m", "kerncap", "run", sealed, "--config", str(others(bundle)), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=900, cwd=box.work)
    document = json.loads(done.stdout)
    assert (done.returncode, document["verdict"], document["outputs"][0]["argument"]) == (1, "differs", "out")


def test_a_wrong_kernel_is_shown_by_rows_and_columns(box: DevContainer) -> None:
    """One row of a softmax over 700 columns is scaled by another sum: its elements differ, and only they."""
    bundle = captured(box, "softmax", "gfx942")
    variant = bundle / "src" / "kernel_variant.py"
    before = variant.read_text()
    old = "e / tl.sum(e, axis=0)"
    try:
        variant.write_text(before.replace(old, f"{old} * tl.where(tl.program_id(0) == 3, 2.0, 1.0)"))
        box.run(["python3", bundle / "reproducer.py", "-o", bundle / "candidate.hsaco"], check=True)
        found = judged(box, bundle, "--hsaco", bundle / "candidate.hsaco")
    finally:
        variant.write_text(before)
    (output,) = found["outputs"]
    assert (output["differing"], output["beyond"], output["max_rel"]) == (700, 700, pytest.approx(1.0))
    assert [one["index"] for one in output["first"]] == [[3, 0], [3, 1], [3, 2], [3, 3]]
