"""`make hw-conformance` on the virtual GPU: the machinery works, and the results are what the ISA manuals say.

The kernels come from the suite's own assembler and go through its HSA runtime; each vector is compared with the model.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import expectation
import pytest
from containers import DevContainer

TARGETS = ("gfx90a", "gfx942", "gfx1100")
_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def rows_file(dev_container: DevContainer) -> Path:
    path = dev_container.work / "rows.json"
    path.write_text(dev_container.run([dev_container.native_dir / "kerncap-isa", "rows"], check=True).stdout)
    return path


def conformance(container: DevContainer, rows: Path, target: str) -> Path:
    out = container.work / f"conformance-{target}.json"
    if not out.exists():
        tool, device = container.root / "tests" / "isa" / "conformance.py", f"KERNCAP_VGPU={target},bar=large"
        argv = ["python3", tool, "--rows", rows, "--target", target, "--work", container.work / "hw", "--out", out]
        argv += ["--env", f"LD_PRELOAD={container.native_dir / 'libkerncap-vgpu.so'}", "--env", device]
        container.run(argv, check=True)
    return out


@pytest.mark.parametrize("target", TARGETS)
def test_results_are_what_the_manuals_say(dev_container: DevContainer, rows_file: Path, target: str) -> None:
    document: dict[str, Any] = json.loads(conformance(dev_container, rows_file, target).read_text())
    assert document["agent"] == target
    assert len(document["rows"]) > 540
    assert len(document["not_assembled"]) <= 5, document["not_assembled"]
    compared = expectation.check(document)
    assert not compared.different, "\n".join(compared.differences[:40])
    assert len(compared.vectors) > 480
    assert sum(compared.vectors.values()) > 70_000


def compare(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, _ROOT / "scripts" / "compare-conformance", *files], capture_output=True, text=True
    )


def test_comparison_finds_what_differs(dev_container: DevContainer, rows_file: Path, tmp_path: Path) -> None:
    here = conformance(dev_container, rows_file, "gfx942")
    alike = compare(here, here)
    assert alike.returncode == 0, alike.stdout
    assert "0 instructions differ" in alike.stdout

    document = json.loads(here.read_text())

    def change(name: str, lane: int, flipped: int) -> None:
        results = document["rows"][name]["runs"][0]["dst"]
        results[lane] = f"{int(results[lane], 16) ^ flipped:x}"

    change("v_add_f32", 2, 1)  # exact: one bit is a difference
    change("v_exp_f32", 2, 1)  # within twice the bound of 1 ulp
    change("v_rcp_f32", 2, 1 << 8)  # beyond it
    nan = next(i for i, v in enumerate(document["rows"]["v_mul_f32"]["runs"][0]["dst"]) if int(v, 16) == 0x7FC00000)
    change("v_mul_f32", nan, 2)  # another payload
    document["rows"]["v_cmp_lt_i32"]["runs"][0]["mask"] = "0"
    there = tmp_path / "there.json"
    there.write_text(json.dumps(document))
    found = compare(here, there)
    assert found.returncode == 1
    assert "3 instructions differ: v_add_f32 v_cmp_lt_i32 v_rcp_f32\n" in found.stdout, found.stdout
    assert "1 results are NaNs that differ in their payload only" in found.stdout


def test_files_that_cannot_be_compared(tmp_path: Path) -> None:
    assert compare().returncode == 2
    broken = tmp_path / "x.json"
    broken.write_text("{")
    assert compare(broken, broken).returncode == 2
