"""Kernels that take their arguments in less common forms, or whose text is in less common places; `make test-triton`.

In: the image with a pinned Triton. Tensor descriptors, tuples, None, keyword arguments, helpers of a library, functions
of the device library, cells of a notebook, hooks of the user's: captured, named, faithful, compiled again to the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from captures import PROGRAMS, captured, image_of, kerncap, triton_container, verdict
from containers import DevContainer

pytestmark = pytest.mark.full


@pytest.fixture(scope="session")
def box(suite: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevContainer]:
    """A container of the suite's image with Triton."""
    with triton_container(image_of(suite), suite, tmp_path_factory) as container:
        yield container


def pinned(bundle: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((bundle / "triton.json").read_text())
    return document


def assert_compiled_again_to_the_same(box: DevContainer, bundle: Path) -> None:
    assert verdict(box, "replay", bundle) == "faithful"
    candidate = bundle.with_suffix(".hsaco")
    candidate.unlink(missing_ok=True)
    kerncap(box, "recompile", bundle, "-o", candidate, "--trust")
    assert verdict(box, "validate", bundle, "--hsaco", candidate) == "equivalent"


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("kernel", ["described", "described_matmul", "formed", "helped"])
def test_a_form_is_seen_and_compiled_again_to_the_same(box: DevContainer, kernel: str, target: str) -> None:
    bundle = captured(box, kernel, target)
    document = pinned(bundle)
    assert (document["problems"], document["launch"]["seen"]) == ([], True)
    assert all(one["tensor"] for one in document["launch"]["arguments"] if one["type"].startswith("*"))
    assert "dist-packages" not in json.dumps(document)  # of the machine that compiled it
    assert_compiled_again_to_the_same(box, bundle)


def test_a_host_side_descriptor_is_named_and_typed_in_parts(box: DevContainer) -> None:
    bundle = captured(box, "described", "gfx942")
    arguments = json.loads((bundle / "capture" / "capture.json").read_text())["kernarg"]["args"]
    types = {one["name"]: one["type"] for one in arguments if one.get("name")}
    assert (types["source.base"], types["source.shape.1"], types["target.strides.0"]) == ("half*", "long", "long")
    assert types["scale"] == "float"
    values = {one["name"]: one["value"] for one in pinned(bundle)["launch"]["arguments"]}
    assert [values[f"target.{part}"] for part in ("shape.0", "shape.1", "strides.0", "strides.1")] == [50, 96, 96, 1]
    assert values["scale"] == 2.0
    said = kerncap(box, "inspect", bundle)
    assert "source=TensorDescriptor(tensor(torch.float16, shape=(50, 96), strides=(96, 1), at 0x" in said
    assert "), shape=[50, 96], strides=[96, 1], block_shape=[16, 64])," in said


def test_a_descriptors_mismatch_is_shown_in_its_tensor(box: DevContainer) -> None:
    bundle = captured(box, "described", "gfx942")
    variant = bundle / "src" / "kernel_variant.py"
    before = variant.read_text()
    assert before.count("* scale") == 1
    try:
        variant.write_text(before.replace("* scale", "* -scale"))
        box.run(["python3", bundle / "reproducer.py", "-o", bundle / "candidate.hsaco"], check=True)
        said = kerncap(box, "validate", bundle, "--hsaco", bundle / "candidate.hsaco", code=1)
    finally:
        variant.write_text(before)
    assert "target.base" in said


def test_the_call_with_tuples_none_and_keywords(box: DevContainer) -> None:
    said = kerncap(box, "inspect", captured(box, "formed", "gfx942"))
    lines = [line.strip() for line in said.partition("formed[(4,)](")[2].splitlines()]
    assert lines[1].startswith("pair=(tensor(torch.float32, shape=(1000,), strides=(1,), at 0x")
    assert lines[1].endswith("), 3.0, 2, None),")
    assert lines[2] == "bias=None,"
    assert lines[4:7] == ["n=1000,", "by=1,", "SHAPE=(4, 64),"]


def test_helpers_of_a_library_lie_beside_the_kernel(box: DevContainer) -> None:
    bundle = captured(box, "helped", "gfx942")
    assert "@triton.jit(noinline=True)\ndef shifted" in (bundle / "src/kernellib/steps.py").read_text()
    assert "from triton.language.extra import libdevice" in (bundle / "src/kernel_variant.py").read_text()
    libraries = dict(pair["list"] for pair in pinned(bundle)["options"]["extern_libs"]["list"])
    assert libraries["ocml"] == "backends/amd/lib/ocml.bc"


def extracted(box: DevContainer, out: Path, *program: str | Path) -> Path:
    argv = ["extract", "scaled", "-o", out, "--device", "vgpu:gfx942", "--propagate-exit", "--", "python3", *program]
    assert "EXIT-SUCCESS" in kerncap(box, *argv)
    return out


def test_a_kernel_of_the_script_itself_and_the_users_hooks(box: DevContainer) -> None:
    bundle = extracted(box, box.work / "hooked.kcap", PROGRAMS / "hooked.py")
    assert pinned(bundle)["function"] == ["__main__", "scaled"]
    assert "FACTOR = tl.constexpr(3)" in (bundle / "src/kernel_variant.py").read_text()
    assert_compiled_again_to_the_same(box, bundle)


@pytest.mark.parametrize("module", ["__main__", "cells"])
def test_a_kernel_of_a_cell(box: DevContainer, module: str) -> None:
    """The first one is captured, and carried as it was then."""
    bundle = extracted(box, box.work / f"cell-{module}.kcap", PROGRAMS / "cell.py", module)
    text = (bundle / "src/kernel_variant.py").read_text()
    assert "FACTOR = tl.constexpr(3)" in text
    assert "FACTOR + 0" not in text
    assert_compiled_again_to_the_same(box, bundle)


def test_without_a_python_source_the_code_is_captured_and_the_reason_said(box: DevContainer) -> None:
    """Compiled from Triton's intermediate representation."""
    program = box.work / "from_ir.py"
    call = f"sys.exit(0 if run.from_ir({str(box.work)!r}) else 1)"
    program.write_text(f"import sys\nsys.path.insert(0, {str(PROGRAMS)!r})\nimport run\n{call}\n")
    out = box.work / "from_ir.kcap"
    argv = ["extract", "from_ir", "-o", out, "--device", "vgpu:gfx942", "--propagate-exit"]
    done = box.run(["python3", "-m", "kerncap", *argv, "--", "python3", program], timeout_s=600)
    assert done.returncode == 8, done.stdout + done.stderr
    assert "it was compiled from Triton's intermediate representation, not from Python" in done.stderr
    assert verdict(box, "replay", out) == "faithful"
