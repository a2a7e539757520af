"""torch's Inductor: its tuner and its launchers, real ones of torch, on the virtual GPU; `make test-triton-torch`.

In: an image with Triton and torch (a build for the CPU does), named by KERNCAP_TORCH_IMAGE. The winner is captured, the
call and what was tried are pinned, and the source needs Triton alone. Skipped where there is no torch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from captures import PROGRAMS, image_of, kerncap, triton_container, verdict
from containers import DevContainer

KERNEL = "triton_poi_fused_add_relu_0"
SUITE = "sid"

pytestmark = pytest.mark.full


@pytest.fixture(scope="session")
def box(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevContainer]:
    if SUITE not in (request.config.getoption("--suite") or [SUITE]):
        pytest.skip(f"--suite leaves out {SUITE}")
    image = os.environ.get("KERNCAP_TORCH_IMAGE") or image_of(SUITE)
    with triton_container(image, SUITE, tmp_path_factory, made_by="make test-triton-torch") as container:
        if container.run(["python3", "-c", "import torch"], timeout_s=120).returncode != 0:
            pytest.skip(f"no torch in {image}: make test-triton-torch")
        yield container


HOWS = [(), ("static",), ("static", "descent"), ("worker",), ("worker", "static")]


@pytest.mark.parametrize("how", HOWS, ids=lambda how: "-".join(how) or "triton")
def test_the_winner_of_inductors_tuner(box: DevContainer, how: tuple[str, ...]) -> None:
    name = "-".join(("inductor", *how))
    folder, out = box.work / name, box.work / f"{name}.kcap"
    folder.mkdir()
    program = ["env", f"TRITON_CACHE_DIR={folder}/triton", f"TORCHINDUCTOR_CACHE_DIR={folder}/inductor"]
    program += ["python3", str(PROGRAMS / "inductor.py"), str(folder), *how]
    argv = ["extract", KERNEL, "-o", out, "--device", "vgpu:gfx942", "--", *program]
    done = box.run(["python3", "-m", "kerncap", *argv])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    assert ("not static" in done.stdout) == ("static" not in how)
    assert "kerncap: triton:" not in done.stderr
    document: dict[str, Any] = json.loads((out / "triton.json").read_text())
    launch = document["launch"]
    assert (document["problems"], launch["seen"], launch["trial"]) == ([], True, False)
    assert [one["name"] for one in launch["arguments"]] == ["in_ptr0", "in_ptr1", "out_ptr0", "xnumel"]
    assert all(one["tensor"]["shape"] == [4000] for one in launch["arguments"][:3])
    timed = {json.dumps(one["configuration"]): float.fromhex(one["ms"]["float"]) for one in launch["tried"]}
    assert len(timed) > 2 if "descent" in how else len(timed) == 2
    assert json.dumps(launch["configuration"]) == min(timed, key=lambda one: timed[one])
    carried = (out / "src/kernel_variant.py").read_text()
    assert "import from_torch._inductor.runtime.triton_helpers as triton_helpers" in carried
    assert "import torch" not in carried
    candidate = box.work / f"{name}.hsaco"
    kerncap(box, "recompile", out, "-o", candidate, "--trust")
    assert verdict(box, "validate", out, "--hsaco", candidate) == "equivalent"
