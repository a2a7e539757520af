"""Verdicts of real replays say where their mismatches lie, where and when they were found, and are written as HTML."""

from __future__ import annotations

from typing import Any

from workbench import Case, Workbench

TARGET = "gfx942"
CASE = Case("vector_add", "vector_add")


def counted(document: dict[str, Any]) -> list[tuple[str | None, int]]:
    return [(one["argument"], sum(one["counts"])) for one in document["mismatch_map"]["outputs"]]


def test_a_verdict_that_differs(workbench: Workbench) -> None:
    capture = workbench.capture(CASE, TARGET)
    variant = workbench.variant("vector_add", TARGET, "wrong-constant")
    page = workbench.work / "differs.html"
    more = ("--hsaco", variant, "--device", f"vgpu:{TARGET}")
    document = workbench.verdict("validate", capture, *more, "--report", page)
    assert document["verdict"] == "differs"
    outputs = {one["argument"]: one["differing"] for one in document["outputs"]}
    assert dict(counted(document)) == outputs
    (region,) = document["mismatch_map"]["regions"]
    mismatches = next(j for j in document["judgements"] if j["name"] == document["mismatch_map"]["run"])
    assert sum(region["counts"]) == sum(region["beyond"]) == mismatches["mismatch_bytes"]
    assert document["mismatches"][0]["region_va"] == region["va"]
    first = document["mismatches"][0]["offset"]
    assert region["start"] <= first < region["start"] + region["bin_bytes"]
    assert set(document["ran"]["versions"]) == {"kerncap", "hsa_runtime", "os", "linux"}
    assert document["ran"]["image"] is None
    text = page.read_text("utf-8")
    assert "✗ differs" in text
    assert "By address" in text
    assert 'class="differs"' in text
    again = workbench.kerncap("validate", capture, *more, "--report", page)
    assert again.returncode == 2
    assert "usage.output-exists" in again.stderr


def test_a_good_verdict(workbench: Workbench) -> None:
    capture = workbench.capture(CASE, TARGET)
    page = workbench.work / "good.html"
    argv = ("--device", f"vgpu:{TARGET}", "--iterations", "5")
    document = workbench.verdict("replay", capture, *argv, "--report", page)
    assert document["verdict"] == "faithful"
    assert document["mismatch_map"] is None
    text = page.read_text("utf-8")
    assert "✓ faithful" in text
    assert "By address" not in text
