"""check=memory on unmodified HIP programs, without a capture: memory of the device that nobody has written.

On gfx1201 also check=hazards, on the kernels of the runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from containers import DevContainer
from vgpu_programs import TARGETS, Programs, passed

ONE_TARGET = ["gfx942", *(pytest.param(t, marks=pytest.mark.full) for t in TARGETS if t != "gfx942")]


@pytest.fixture(scope="module")
def uninitialised(dev_container: DevContainer) -> Path:
    out = dev_container.work / "uninitialised"
    archs = [f"--offload-arch={t}" for t in TARGETS]
    source = dev_container.root / "tests" / "programs" / "uninitialised.hip"
    dev_container.run(["hipcc", *archs, "-O2", source, "-o", out], check=True)
    return out


def found(programs: Programs, target: str, *argv: str | Path, check: str = "memory") -> list[dict[str, Any]]:
    report = programs.container.work / "checked.jsonl"
    report.unlink(missing_ok=True)
    passed(programs.run(f"{target},check={check},check-report={report}", *argv, timeout_s=300))
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert lines
    assert [line["limits"] for line in lines] == [[]] * len(lines)
    return [finding for line in lines for finding in line["findings"]]


@pytest.mark.parametrize("target", ONE_TARGET)
@pytest.mark.parametrize("how", ["used", "copied"])
def test_use_of_memory_that_nobody_wrote(programs: Programs, uninitialised: Path, target: str, how: str) -> None:
    findings = found(programs, target, uninitialised, how)
    assert [f["kind"] for f in findings] == ["uninitialised"]
    finding = findings[0]
    assert (finding["check"], finding["space"], finding["benign"]) == ("memory", "global", False)
    assert finding["site"]["text"].startswith("global_load_")
    assert finding["other"]["text"].startswith("v_add_")
    assert finding["count"] == 64
    assert finding["site"]["workgroup"] == [0, 0, 0]
    assert finding["site"]["lane"] == 0


@pytest.mark.parametrize("target", ONE_TARGET)
@pytest.mark.parametrize("how", ["cleared", "uploaded", "kernel"])
def test_what_was_written_is_clean(programs: Programs, uninitialised: Path, target: str, how: str) -> None:
    assert found(programs, target, uninitialised, how) == []


def test_memory_that_the_cpu_reaches_counts_as_written(programs: Programs, uninitialised: Path) -> None:
    assert found(programs, "gfx942,bar=large", uninitialised, "used") == []


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_programs_are_clean(programs: Programs, target: str) -> None:
    assert found(programs, target, programs.hip, "copies", "kernels", "streams", "graphs", "host_memory") == []


@pytest.mark.parametrize("target", ["gfx1201"])
def test_kernels_of_the_runtime_wait(programs: Programs, target: str) -> None:
    """Its copy kernel is written in assembly, with the `s_waitcnt` that compilers no longer use there."""
    assert found(programs, target, programs.hip, "copies", check="hazards") == []
