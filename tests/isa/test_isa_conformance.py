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
import forms
import pytest
import targets
from containers import DevContainer

TARGETS = ["gfx942", "gfx1100", *(pytest.param(t, marks=pytest.mark.full) for t in ("gfx90a", "gfx950", "gfx1201"))]
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
    rdna = targets.rdna(target)
    assert len(document["rows"]) > 1600
    # LLVM 17, and LLVM 21 for gfx12, cannot select halves in instructions that are no VOP3 by themselves.
    # Some rows lack a form.
    rejected = [name for name in document["not_assembled"] if not (rdna and "op_sel" in name)]
    assert len(rejected) <= 16, rejected
    compared = expectation.check(document)
    assert not compared.different, "\n".join(compared.differences[:40])
    assert len(compared.vectors) > 1400
    assert sum(compared.vectors.values()) > (180_000 if rdna else 400_000)
    # Whole families, each setting of them.
    met = {row.get("form", "") for key, row in document["rows"].items() if key in compared.vectors}
    families = [forms.NEGATIVE, forms.OUTPUT, forms.SCALED, forms.PACKED, forms.PACKED_NEGATIVE]
    families += [forms.HALVES, forms.DPP11] if rdna else [forms.SDWA, forms.DPP9]
    wanted = {name for family in families for name in family} | {"lds", "returns", "no return"}
    assert wanted - met == set()


def test_a_wrong_form_is_found(dev_container: DevContainer, rows_file: Path) -> None:
    document = json.loads(conformance(dev_container, rows_file, "gfx942").read_text())
    rows = document["rows"]

    def as_if(name: str, form: str) -> dict[str, Any]:
        entry = next(row for key, row in rows.items() if key.startswith(f"{name} ") and row["form"] != form)
        return {f"{name} {form}": {**entry, "form": form}}

    wrong = {
        **as_if("v_add_f32", "neg abs"),
        **as_if("v_mul_f32", "mul4"),
        **as_if("v_add_u32", "sdwa words"),
        **as_if("v_mov_b32", "wave_rol:1"),
        **as_if("v_pk_add_f16", "op_sel swap"),
        "global_atomic_add returns": rows["global_atomic_sub returns"],
        "ds_min_rtn_i32 lds": rows["ds_min_rtn_u32 lds"],
    }
    compared = expectation.check({**document, "rows": wrong})
    assert set(compared.different) == set(wrong)


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
