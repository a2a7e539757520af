"""Triton programs on the virtual GPU, captured, sealed, replayed, recompiled with Triton alone; `make test-triton`.

In: the image with a pinned Triton (`kerncap image build --only triton`). Each kernel of tests/triton/programs: what
was captured is faithful, the call and the configuration are pinned, the untouched source gives an equivalent code
object and an edited one is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from captures import PROGRAMS, ROOT, captured, image_of, kerncap, recompiled, triton_container, verdict
from containers import DevContainer

from kerncap.runtime import catalog

TARGETS = ("gfx942", "gfx90a", "gfx1100")
# Kernel: what to change in kernel_variant.py so that it computes something else.
EDITS = {
    "vector_add": ("tl.load(y + at, mask=mask)", "tl.load(y + at, mask=mask) * 2"),
    "triton_poi_fused_relu_0": ("tl.maximum(tmp2, tmp0 + tmp1)", "tl.minimum(tmp2, tmp0 + tmp1)"),
    "softmax": ("e / tl.sum(e, axis=0)", "e / tl.max(e, axis=0)"),
    "layernorm": ("centred * scale", "centred * scale * 1.5"),
    "matmul": ("total.to(", "(total + 1).to("),
    "attention": ("total / weight[:, None]", "total / (weight[:, None] + 1)"),
    "experts": ("tl.maximum(total, 0.0)", "total"),
    "dropout": (") < keep", ") >= keep"),
    "quantise": ("rounded(v / scale)", "tl.floor(v / scale)"),
    "histogram": ("1, mask=at < n)", "2, mask=at < n)"),
}
TUNED = ("matmul", "attention")

pytestmark = pytest.mark.full


@pytest.fixture(scope="session")
def box(suite: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevContainer]:
    """A container of the suite's image with Triton."""
    with triton_container(image_of(suite), suite, tmp_path_factory) as container:
        yield container


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", EDITS)
def test_a_kernel(box: DevContainer, kernel: str, target: str) -> None:
    bundle = captured(box, kernel, target)
    pinned = json.loads((bundle / "triton.json").read_text())
    assert (pinned["problems"], pinned["launch"]["seen"], pinned["launch"]["trial"]) == ([], True, False)
    assert pinned["target"]["arch"] == target
    assert all(one["tensor"] for one in pinned["launch"]["arguments"] if one["type"].startswith("*"))
    assert verdict(box, "replay", bundle) == "faithful"
    candidate = box.work / f"{kernel}-{target}.hsaco"
    candidate.unlink(missing_ok=True)
    kerncap(box, "recompile", bundle, "-o", candidate, "--trust")
    assert verdict(box, "validate", bundle, "--hsaco", candidate) == "equivalent"
    assert_the_edit_is_refused(box, kernel, bundle)


def assert_the_edit_is_refused(box: DevContainer, kernel: str, bundle: Path) -> None:
    variant = bundle / "src" / "kernel_variant.py"
    before = variant.read_text()
    old, new = EDITS[kernel]
    assert before.count(old) == 1
    try:
        variant.write_text(before.replace(old, new))
        done = box.run(["python3", bundle / "reproducer.py", "-o", bundle / "candidate.hsaco"], check=True)
        assert "compiled by Triton" in done.stdout
        assert verdict(box, "validate", bundle, "--hsaco", bundle / "candidate.hsaco") == "differs"
    finally:
        variant.write_text(before)


@pytest.mark.parametrize("kernel", TUNED)
def test_the_winner_is_pinned_and_not_a_trial(box: DevContainer, kernel: str) -> None:
    bundle = captured(box, kernel, "gfx942")
    launch = json.loads((bundle / "triton.json").read_text())["launch"]
    assert len(launch["tried"]) == 2
    fastest = min(launch["tried"], key=lambda one: float.fromhex(one["ms"]["float"]))
    assert launch["configuration"] == fastest["configuration"]
    said = kerncap(box, "inspect", bundle)
    assert "configurations that were tried, fastest first\n  *" in said
    if kernel == "attention":
        assert launch["heuristics"] == ["EVEN"]
        assert "DEPTH=64" in said
    trial = captured(box, kernel, "gfx942", "--trials")
    assert json.loads((trial / "triton.json").read_text())["launch"]["trial"] is True
    assert "a trial of the autotuner" in kerncap(box, "inspect", trial)


def test_the_call_as_a_person_would_write_it(box: DevContainer) -> None:
    said = kerncap(box, "inspect", captured(box, "layernorm", "gfx942"))
    lines = [line.strip() for line in said.partition("layernorm[(6,)](")[2].splitlines()]
    assert lines[1].startswith("x=tensor(torch.float16, shape=(6, 430), strides=(430, 1), at 0x")
    assert lines[5] == "columns=430,"
    assert lines[6].startswith("eps=9.99999")
    assert lines[7] == "BLOCK=512,"
    assert "num_warps=4" in lines[8]


def test_a_sealed_bundle_is_recompiled_in_the_sandbox(box: DevContainer) -> None:
    """Without network, by the image with Triton; the package structure and computed constants are carried."""
    bundle = captured(box, "attention", "gfx942")
    assert "LOG2E = tl.constexpr(1.4426950408889634)" in (bundle / "src/kernelkit/numbers.py").read_text()
    assert "@triton.autotune(configs=configs()" in (bundle / "src/kernel_variant.py").read_text()
    candidate = box.work / "sandbox.hsaco"
    made = recompiled(box, bundle, candidate)
    version = catalog.load().triton_of(box.suite).version
    assert made["compiler"] == f"Triton {version}"
    assert made["difference"] is None
    assert verdict(box, "validate", bundle, "--hsaco", candidate) == "equivalent"


_CHAIN = """
import os, sys
sys.path.insert(0, {programs!r})
import multiprocessing
assert os.environ["SITE"] == "the user's own"
if __name__ == "__main__":
    multiprocessing.set_start_method({method!r})
    import run
    child = multiprocessing.Process(target=run.child, args=("vector_add",))
    child.start()
    child.join()
    print("EXIT-SUCCESS" if child.exitcode == 0 else "WRONG")
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_children_and_the_users_own_sitecustomize(box: DevContainer, method: str) -> None:
    folder = box.work / f"site-{method}"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import os\nos.environ['SITE'] = \"the user's own\"\n")
    (folder / "main.py").write_text(_CHAIN.format(programs=str(PROGRAMS), method=method))
    out = box.work / f"child-{method}.kcap"
    argv = ["extract", "vector_add", "-o", out, "--device", "vgpu:gfx942", "--", "python3", folder / "main.py"]
    environment = {"PYTHONPATH": f"{ROOT}:{folder}"}
    done = box.run(["python3", "-m", "kerncap", *argv], env=environment, timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    pinned = json.loads((out / "triton.json").read_text())
    assert (pinned["kernel"], pinned["launch"]["seen"]) == ("vector_add", True)


def test_inductors_way_of_compiling(box: DevContainer) -> None:
    """`triton.compile` of a source, launched through the compiled kernel."""
    program = box.work / "compiled.py"
    program.write_text(
        f"import sys\nsys.path.insert(0, {str(PROGRAMS)!r})\nimport run\nsys.exit(0 if run.compiled() else 1)\n"
    )
    out = box.work / "compiled.kcap"
    argv = ["extract", "triton_poi_fused_relu_0", "-o", out, "--device", "vgpu:gfx942", "--propagate-exit"]
    kerncap(box, *argv, "--", "python3", program)
    pinned = json.loads((out / "triton.json").read_text())
    assert pinned["launch"]["seen"]
    assert pinned["entry"] == "triton_poi_fused_relu_0"
    assert verdict(box, "replay", out) == "faithful"
