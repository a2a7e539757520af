"""kerncap-isa and what is made from it: documents are current, a code object's instructions are counted by fidelity."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from containers import DevContainer

from kerncap.workflows.code import facts_from

_ROOT = Path(__file__).resolve().parents[2]

_KERNEL = """#include <hip/hip_runtime.h>
extern "C" __global__ void smooth(float* x) { x[threadIdx.x] = __builtin_amdgcn_rcpf(x[threadIdx.x]) + 1.0f; }
"""


def isa(container: DevContainer, *argv: str | Path) -> subprocess.CompletedProcess[str]:
    return container.run([container.native_dir / "kerncap-isa", *argv])


def test_the_fidelity_document_is_current(dev_container: DevContainer, tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text(isa(dev_container, "rows").stdout)
    for table in json.loads(rows.read_text())["targets"].values():
        for row in table:
            assert (row["fidelity"] == "approximate") == ("bound" in row), row
            assert row.get("bound", {"value": 1})["value"] > 0, f"{row['name']} is approximate and has no bound"
    command = [sys.executable, _ROOT / "scripts" / "isa-docs", "--check", "--rows", rows]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_row_is_tested_and_the_document_says_so() -> None:
    # One suite's native tests are always built; the rows are the same ones on the other.
    done = subprocess.run([_ROOT / "scripts" / "isa-coverage", "trixie", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def compiled(container: DevContainer, folder: Path, target: str) -> Path:
    source, out = folder / "smooth.hip", folder / "smooth.hsaco"
    source.write_text(_KERNEL)
    flags = [f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output", "-O2"]
    container.run(["hipcc", *flags, source, "-o", out], check=True)
    return out


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_a_code_object_by_fidelity(dev_container: DevContainer, tmp_path: Path, target: str) -> None:
    document = json.loads(isa(dev_container, "code", compiled(dev_container, tmp_path, target)).stdout)
    assert document["target"] == target
    [function] = document["functions"]
    assert function["name"] == "smooth"
    assert function["kernel"]
    assert function["exact"] > 5
    assert function["unsupported"] == []
    [rcp] = function["approximate"]
    assert (rcp["name"], rcp["count"], rcp["bound"]["kind"]) == ("v_rcp_f32", 1, "ulp")


def test_hostile_code_objects(dev_container: DevContainer, tmp_path: Path) -> None:
    whole = compiled(dev_container, tmp_path, "gfx942").read_bytes()
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name, data in {
        "empty": b"",
        "cut": whole[:1000],
        "text": b"#!/bin/sh\n",
        "tables": whole[:64] + bytes(4096),
    }.items():
        (folder / name).write_bytes(data)
        assert isa(dev_container, "code", folder / name).returncode in (0, 4), name
    assert isa(dev_container, "code", folder / "cut").returncode == 4
    assert isa(dev_container, "frobnicate").returncode == 2


_REGISTERS = """#include <hip/hip_runtime.h>
extern "C" __global__ void takes(const float* in, float* out) {
  float all[COUNT];
  for (int i = 0; i < COUNT; ++i) all[i] = in[i * 64 + threadIdx.x];
  __builtin_amdgcn_s_barrier();
  for (int i = 0; i < COUNT; ++i) out[(COUNT - 1 - i) * 64 + threadIdx.x] = all[i] * all[COUNT - 1 - i];
}
"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_resources_are_the_compilers(dev_container: DevContainer, target: str) -> None:
    """Registers and waves on a SIMD as the compiler's own remarks in the assembly give them."""
    source = dev_container.work / "takes.hip"
    source.write_text(_REGISTERS)
    seen = set()
    for count in (4, 40, 90, 130, 200):
        stem = dev_container.work / f"takes-{target}-{count}"
        flags = [f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output", "-O3", f"-DCOUNT={count}"]
        dev_container.run(["hipcc", *flags, source, "-o", f"{stem}.hsaco"], check=True)
        dev_container.run(["hipcc", *flags, "-S", source, "-o", f"{stem}.s"], check=True)
        text = Path(f"{stem}.s").read_text()
        said = {name: int(number) for name, number in re.findall(r"^; (\w+): (\d+)", text, re.MULTILINE)}
        document = json.loads(isa(dev_container, "listing", f"{stem}.hsaco", "takes").stdout)
        facts = facts_from(document)
        assert facts.waves_per_simd == said["Occupancy"], (count, document["resources"], said)
        assert facts.resources["scratch_bytes"] == said["ScratchSize"]
        assert facts.mix["vmem"] >= 2 * count
        assert facts.mix["wait"] >= 1
        seen.add(said["Occupancy"])
    assert len(seen) > 1
    assert isa(dev_container, "listing", f"{stem}.hsaco", "missing").returncode == 4
