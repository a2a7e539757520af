"""`kerncap run` of a real capture from this host: verdicts and checks come out of the container as they went in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from workbench import Case, Workbench

from kerncap.bundle.documents import validate

NAMESPACE = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
TARGET = "gfx942"
LDS_REDUCE = Case("lds_reduce", "lds_reduce")


@pytest.fixture(scope="module")
def bundles() -> dict[str, Path]:
    return {}


@pytest.fixture
def bundle(workbench: Workbench, bundles: dict[str, Path]) -> Path:
    """The sealed capture of this suite."""
    suite = workbench.container.suite
    if suite not in bundles:
        tar = workbench.work / "lds_reduce.kcap.tar"
        done = workbench.kerncap("pack", workbench.capture(LDS_REDUCE, TARGET), "-o", tar)
        assert done.returncode == 0, done.stderr
        bundles[suite] = tar
    return bundles[suite]


def run(workbench: Workbench, bundle: Path, *argv: str | Path) -> tuple[int, dict[str, Any], str]:
    image = f"{NAMESPACE}/runtime:{workbench.container.suite}"
    command = [sys.executable, "-m", "kerncap", "run", bundle, "--image", image, *argv, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    validate(document, "printed", what="run")
    return done.returncode, document, done.stderr


def test_the_captured_code_object_is_faithful(workbench: Workbench, bundle: Path) -> None:
    code, document, said = run(workbench, bundle, "--device", "vgpu:gfx942", "--iterations", "20")
    assert (code, document["verdict"], document["iterations"]) == (0, "faithful", 20)
    assert document["device"].startswith("vgpu:gfx942")
    assert len(document["timing_ns"]) == 20
    assert "$ docker run --rm" in said
    assert " --network none " in said


@pytest.mark.parametrize("variant", ["nothing", "wrong-constant"])
def test_a_variant_that_is_wrong_differs(workbench: Workbench, bundle: Path, variant: str) -> None:
    hsaco = workbench.variant("lds_reduce", TARGET, variant)
    code, document, _ = run(workbench, bundle, "--hsaco", hsaco)
    assert (code, document["verdict"]) == (1, "differs")
    assert document["mismatches"][0]["type"] == "i32"


def test_checks_inside_the_container(workbench: Workbench, bundle: Path) -> None:
    code, document, _ = run(workbench, bundle, "--check", "all")
    assert (code, document["verdict"]) == (0, "faithful")
    assert document["checks"]["clean"] is True
    assert document["checks"]["instructions"] > 0
    hsaco, line = workbench.edited(TARGET, "lds_reduce", "  __syncthreads();\n  for", "  for")
    code, document, _ = run(workbench, bundle, "--hsaco", hsaco, "--check", "race")
    assert code == 1
    races = [f for f in document["checks"]["findings"] if not f["benign"]]
    assert {f["kind"] for f in races} == {"race-in-workgroup"}
    sources = {str(side["source"]) for f in races for side in (f["site"], f["other"])}
    assert any(source.endswith(f"lds_reduce-edited.hip:{line - 1}") for source in sources), sources
