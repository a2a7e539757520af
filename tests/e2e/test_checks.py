"""--check on captures of real programs: what compilers make is clean, each fault is found where the source has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from workbench import CASES, TARGETS, Case, Workbench

pytestmark = pytest.mark.parametrize("target", TARGETS)


def checked(workbench: Workbench, capture: Path, *argv: str | Path) -> tuple[int, dict[str, Any]]:
    done = workbench.kerncap("validate", capture, *argv, "--json")
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_compilers_make_is_clean(workbench: Workbench, target: str, case: Case) -> None:
    code, document = checked(workbench, workbench.capture(case, target), "--check", "all")
    checks = document["checks"]
    assert [f for f in checks["findings"] if not f["benign"]] == []
    assert checks["clean"] is True
    assert checks["checks"] == ["memory", "race", "hazards"]
    assert checks["limits"] == []
    assert checks["instructions"] > 0
    assert (document["verdict"], code) == ("faithful", 0)


def test_a_missing_barrier_is_a_race(workbench: Workbench, target: str) -> None:
    capture = workbench.capture(Case("lds_reduce", "lds_reduce"), target)
    hsaco, line = workbench.edited(target, "lds_reduce", "  __syncthreads();\n  for", "  for")
    code, document = checked(workbench, capture, "--hsaco", hsaco, "--check", "race")
    assert code == 1
    errors = [f for f in document["checks"]["findings"] if not f["benign"]]
    assert {f["kind"] for f in errors} == {"race-in-workgroup"}
    race = errors[0]
    assert race["space"] == "lds"
    assert race["site"]["wave"] != race["other"]["wave"]
    sources = {str(side["source"]) for f in errors for side in (f["site"], f["other"])}
    assert any(s.endswith(f"lds_reduce-edited.hip:{line - 1}") for s in sources), sources
    text = workbench.kerncap("validate", capture, "--hsaco", hsaco, "--check", "race")
    assert text.returncode == 1
    assert "check race: " in text.stdout
    assert "lds_reduce-edited.hip:" in text.stdout


def test_a_load_past_the_end_of_an_argument(workbench: Workbench, target: str) -> None:
    capture = workbench.capture(Case("vector_add", "vector_add"), target)
    hsaco, line = workbench.edited(target, "vector_add", "if (i < n) c[i] =", "if (i < n + 1) c[i % n] =")
    code, document = checked(workbench, capture, "--hsaco", hsaco, "--check", "memory")
    assert code == 1
    findings = document["checks"]["findings"]
    assert {f["kind"] for f in findings} == {"out-of-bounds"}
    assert {f["argument"] for f in findings} <= {"a", "b", "argument at 0", "argument at 8"}
    assert len(findings) == 2
    for finding in findings:
        assert finding["region"][1] == 4000
        assert finding["site"]["workgroup"] == [3, 0, 0]
        assert finding["site"]["source"].endswith(f"vector_add-edited.hip:{line}")


def test_a_fault_is_named_with_its_lane(workbench: Workbench, target: str) -> None:
    capture = workbench.capture(Case("vector_add", "vector_add"), target)
    new = "if (i < n) c[i == 777 ? 1l << 40 : i] ="
    hsaco, line = workbench.edited(target, "vector_add", "if (i < n) c[i] =", new)
    said = workbench.error(6, "replay", capture, "--hsaco", hsaco, "--check", "memory")["stderr"]
    assert "check memory: unmapped: store" in said
    assert f"vector_add-edited.hip:{line}: " in said
    assert "(workgroup 3,0,0 wave 0 lane 9)" in said  # workitem 777


def test_an_unknown_check_is_refused(workbench: Workbench, target: str) -> None:
    capture = workbench.capture(Case("vector_add", "vector_add"), target)
    error = workbench.error(2, "replay", capture, "--check", "warp", "--device", f"vgpu:{target}")
    assert "[usage.check]" in error["stderr"]
