"""Kernels whose source stands in less common ways: captured with it, compiled again to the same; `make test-triton`.

In: the image with a pinned Triton, programs/sources.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from captures import PROGRAMS, image_of, kerncap, triton_container, verdict
from containers import DevContainer

pytestmark = pytest.mark.full


@pytest.fixture(scope="session")
def box(suite: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevContainer]:
    """A container of the suite's image with Triton."""
    with triton_container(image_of(suite), suite, tmp_path_factory) as container:
        yield container


@pytest.mark.parametrize(
    ("kernel", "dispatch", "carried"),
    [
        ("bound_often", 0, "STEP += 1"),
        ("jitted_later", 0, "jitted_later = triton.jit(jitted_later)"),
        ("of_a_class", 0, "class Operations"),
        ("registered", 0, "# Left out, the application's: @register"),
        ("made", 0, "act = doubled"),
        ("made", 1, "act = squared"),
        ("asks_for_the_target", 0, "@triton.autotune(configs=configurations()"),
        ("held", 0, "@Holder"),
        ("given_a_function", 0, "for warps in (2, 4)], key="),
        ("plain_global", 0, "PLAIN = 5"),
        ("named_tuple", 0, "x.data"),
        ("edited", 0, "BY = tl.constexpr(3)"),
    ],
)
def test_source_is_carried_and_compiled_again_to_the_same(
    box: DevContainer, kernel: str, dispatch: int, carried: str
) -> None:
    bundle = box.work / f"{kernel}-{dispatch}.kcap"
    program = ["python3", PROGRAMS / "sources.py", kernel]
    options = ["--dispatch", str(dispatch), "--device", "vgpu:gfx942"]
    kerncap(box, "extract", kernel, "-o", bundle, *options, "--", *program)
    assert json.loads((bundle / "triton.json").read_text())["problems"] == []
    assert carried in (bundle / "src" / "kernel_variant.py").read_text()
    candidate = bundle.with_suffix(".hsaco")
    kerncap(box, "recompile", bundle, "-o", candidate, "--trust")
    assert verdict(box, "validate", bundle, "--hsaco", candidate) == "equivalent"
