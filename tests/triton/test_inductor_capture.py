"""Kernels of torch's Inductor, captured without their source and given it from output_code.py; `make test-triton`.

The file was written by torch 2.14.1; programs/inductor_run.py compiles and launches its kernels as torch does. What is
imported gives the captured machine code with Triton alone, is judged equivalent, and an edited source is refused.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from containers import DevContainer
from test_triton_capture import PROGRAMS, ROOT, box, kerncap, verdict

__all__ = ["box"]  # a fixture

pytestmark = pytest.mark.full

CODE = ROOT / "tests" / "triton" / "data" / "output_code-2.14.txt"
# Kernel: what torch chose, as far as nothing else tells; what to change.
KERNELS = {
    "triton_poi_fused_gelu_0": ("XBLOCK=512,num_stages=1", ("tmp5 + tmp6", "tmp5 - tmp6")),
    "triton_per_fused__softmax_1": ("XBLOCK=1,num_stages=1", ("(tmp6 / tmp10)", "(tmp6 / (tmp10 + 1))")),
    "triton_red_fused_native_layer_norm_3": ("XBLOCK=1,R0_BLOCK=2048,num_stages=1", ("tmp17 + tmp18", "tmp17 - tmp18")),
    "triton_for_fused_2": (None, ("tmp3 + tmp4", "tmp3 - tmp4")),
    "user_scale": (None, ("v * F", "v + F")),
}
SOFTMAX = "triton_per_fused__softmax_1"


def extract(
    box: DevContainer, kernel: str, out: Path, *options: str | Path, python: str, last: str = ""
) -> tuple[int, str]:
    """`python3 -E` reads no PYTHONPATH, so that nothing records what Triton does."""
    program = [*python.split(), PROGRAMS / "inductor_run.py", CODE, kernel, *([last] if last else [])]
    argv = ["python3", "-m", "kerncap", "extract", kernel, *options, "-o", out, "--device", "vgpu:gfx942"]
    done = box.run([*argv, "--", *program], timeout_s=900)
    assert "EXIT-SUCCESS" in done.stdout, done.stdout + done.stderr
    return done.returncode, done.stderr


def imported(box: DevContainer, bundle: Path, config: str | None) -> dict[str, Any]:
    words = [] if config is None else ["--config", config]
    document: dict[str, Any] = json.loads(kerncap(box, "source", bundle, CODE, "--trust", "--json", *words))
    return document


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_gets_its_source(box: DevContainer, kernel: str) -> None:
    config, edit = KERNELS[kernel]
    bundle = box.work / f"{kernel}-{os.getpid()}.kcap"
    assert extract(box, kernel, bundle, python="python3 -E")[0] == 0
    assert not (bundle / "triton.json").exists()
    made = imported(box, bundle, config)
    assert (made["same_code"], made["kernel"], made["difference"]) == (True, kernel, None)
    pinned = json.loads((bundle / "triton.json").read_text())
    assert pinned["triton"] == made["triton"] != "unknown"
    assert pinned["target"]["arch"] == "gfx942"
    assert_judged(box, bundle, "equivalent")
    variant = bundle / "src" / "kernel_variant.py"
    text = variant.read_text()
    assert text.count(edit[0]) == 1
    assert "torch" not in text
    variant.write_text(text.replace(*edit))
    assert_judged(box, bundle, "differs")


def assert_judged(box: DevContainer, bundle: Path, expected: str) -> None:
    candidate = bundle / "candidate.hsaco"
    candidate.unlink(missing_ok=True)
    kerncap(box, "recompile", bundle, "-o", candidate, "--trust")
    assert verdict(box, "validate", bundle, "--hsaco", candidate) == expected


def test_the_hint_is_the_configuration_that_was_launched(box: DevContainer) -> None:
    bundle = box.work / f"hint-{os.getpid()}.kcap"
    extract(box, SOFTMAX, bundle, python="python3 -E")
    done = box.run(["python3", "-m", "kerncap", "source", bundle, CODE, "--no-compile", "--json"])
    document = json.loads(done.stdout)
    assert (done.returncode, document["code"]) == (8, "compile.configuration")
    config = document["hint"].removeprefix("--config ")
    assert config.startswith("XBLOCK=1,num_warps=4,num_stages=1")
    assert imported(box, bundle, config)["same_code"] is True


def test_other_stages_are_found_out(box: DevContainer) -> None:
    """What the launch does not tell: the machine code does."""
    bundle = box.work / f"stages-{os.getpid()}.kcap"
    extract(box, "triton_red_fused_native_layer_norm_3", bundle, python="python3 -E")
    made = imported(box, bundle, "XBLOCK=1,R0_BLOCK=1024,num_stages=1")
    assert (made["same_code"], made["triton"]) == (False, "unknown")
    assert "other code" in made["difference"]


def test_at_the_capture(box: DevContainer) -> None:
    bundle = box.work / f"at-once-{os.getpid()}.kcap"
    options = ["--triton-source", CODE, "--config", "XBLOCK=1,num_stages=1"]
    assert extract(box, SOFTMAX, bundle, *options, python="python3 -E")[0] == 0
    assert_judged(box, bundle, "equivalent")


def test_a_module_that_is_gone_is_carried_as_it_was(box: DevContainer) -> None:
    bundle = box.work / f"gone-{os.getpid()}.kcap"
    assert extract(box, SOFTMAX, bundle, python="python3", last="gone")[0] == 0
    assert_judged(box, bundle, "equivalent")


def test_a_launch_that_was_recorded_without_its_source(box: DevContainer) -> None:
    """The shim saw all but the text: nothing has to be said of the configuration, and shapes are known."""
    bundle = box.work / f"without-{os.getpid()}.kcap"
    assert extract(box, SOFTMAX, bundle, python="python3")[0] == 0
    shutil.rmtree(bundle / "src")
    document = json.loads((bundle / "triton.json").read_text())
    (bundle / "triton.json").write_text(json.dumps({**document, "main": None, "entry": None}))
    made = imported(box, bundle, None)
    assert (made["same_code"], made["configuration"]["XBLOCK"]) == (True, 1)
    launch = json.loads((bundle / "triton.json").read_text())["launch"]
    assert launch["seen"]
    assert launch["arguments"][0]["tensor"]["shape"] == [5, 700]
    assert_judged(box, bundle, "equivalent")


def test_a_kernel_that_the_shim_recorded_needs_no_torch_either(box: DevContainer) -> None:
    """Its module imports torch's helpers, and those are carried."""
    bundle = box.work / f"recorded-{os.getpid()}.kcap"
    assert extract(box, SOFTMAX, bundle, python="python3")[0] == 0
    assert (bundle / "src" / "from_torch" / "_inductor" / "runtime" / "triton_helpers.py").is_file()
    assert_judged(box, bundle, "equivalent")
