"""A launch of a tritonparse trace is captured from a real Triton program, the right one of several; `make test-triton`.

The program is the one that the traces in tests/triton/data were made of; here it runs without torch and tritonparse.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from containers import DevContainer
from test_triton_capture import PROGRAMS, ROOT, box

__all__ = ["box"]  # a fixture

pytestmark = pytest.mark.full

DATA = ROOT / "tests" / "triton" / "data"


def extracted(box: DevContainer, trace: str, *options: str, code: int = 0) -> tuple[Path, dict[str, Any]]:
    out = box.work / f"traced-{len(list(box.work.glob('traced-*')))}.kcap"
    argv = ["python3", "-m", "kerncap", "extract", *options, "--tritonparse", f"{DATA}/{trace}", "-o", out, "--json"]
    done = box.run([*argv, "--device", "vgpu:gfx942", "--", "python3", PROGRAMS / "traced.py"], timeout_s=900)
    assert done.returncode == code, done.stdout + done.stderr
    return out, json.loads(done.stdout)


def call_of(bundle: Path) -> tuple[str, list[int], dict[str, Any]]:
    """Kernel, grid in programs, numbers by name, with the shape of `x`."""
    document = json.loads((bundle / "triton.json").read_text())
    arguments = {one["name"]: one for one in document["launch"]["arguments"]}
    names = {name: one["value"] for name, one in arguments.items() if one["tensor"] is None}
    first = next(iter(arguments.values()))
    return document["kernel"], document["launch"]["grid"], names | {"shape": first["tensor"]["shape"]}


# The raw trace's line, the parsed one's, kernel, grid, arguments, n-th dispatch of the kernel with that geometry.
LAUNCHES = [
    (3, 11, "vector_add", [3, 1, 1], {"n": 1500, "shape": [1500]}, 0),
    (4, 2, "vector_add", [12, 1, 1], {"n": 3000, "shape": [3000]}, 0),
    (7, 17, "dropout", [4, 1, 1], {"n": 2000, "keep": 0.75, "seed": 12, "shape": [2000]}, 1),
    (8, 18, "dropout", [4, 1, 1], {"n": 2000, "keep": 0.5, "seed": 12, "shape": [2000]}, 2),
    (9, 3, "vector_add", [6, 1, 1], {"n": 1500, "shape": [1500]}, 1),
    (10, 4, "vector_add", [6, 1, 1], {"n": 1400, "shape": [1400]}, 2),
    (11, 5, "vector_add", [6, 1, 1], {"n": 1500, "shape": [30, 50]}, 3),
    (22, 6, "vector_add", [6, 1, 1], {"n": 1500, "shape": [1500]}, 4),
]


@pytest.mark.parametrize(("raw", "parsed", "kernel", "grid", "arguments", "number"), LAUNCHES)
def test_the_launch_that_was_meant(
    box: DevContainer, raw: int, parsed: int, kernel: str, grid: list[int], arguments: dict[str, Any], number: int
) -> None:
    for trace in (f"traced.ndjson:{raw}", f"traced_mapped.ndjson.gz:{parsed}"):
        bundle, document = extracted(box, trace)
        assert call_of(bundle) == (kernel, grid, arguments)
        assert document["match_index"] == number
        assert document["self_check"]["verdict"] == "faithful"


def test_another_launch_than_was_traced_is_not_kept(box: DevContainer) -> None:
    """The trace says another shape than the program has."""
    text = (DATA / "traced.ndjson").read_text()
    trace = box.work / "other.ndjson"
    trace.write_text(text.replace("[30,50]", "[50,30]"))
    out = box.work / "other.kcap"
    argv = ["extract", "--tritonparse", f"{trace}:11", "-o", out, "--device", "vgpu:gfx942", "--json"]
    done = box.run(["python3", "-m", "kerncap", *argv, "--", "python3", PROGRAMS / "traced.py"], timeout_s=900)
    document = json.loads(done.stdout)
    assert (done.returncode, document["code"]) == (5, "capture.other-launch")
    assert "x has shape [30, 50], [50, 30] in the trace" in document["message"]
    assert not out.exists()
