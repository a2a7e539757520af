"""Captures over every kind of memory that a dispatch can reach.

Stream-ordered pools, mapped parts of a wide reservation, memory mapped twice, of another GPU, of another process. The
program checks its own results, and so is the memory that was captured.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from captured_memory import CapturedMemory
from workbench import Workbench

TARGET = "gfx942"
COUNT = 5000
KINDS = {"pool": "pool", "expandable": "vmem", "aliased": "vmem", "peer": "pool", "ipc": "pool"}


def captured(workbench: Workbench, kind: str, device: str) -> Path:
    out = workbench.work / f"closure-{kind}.kcap"
    argv = ["extract", "add_up", "-o", out, "--device", device, "--", workbench.program("closure_kinds"), kind]
    done = workbench.kerncap(*argv)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    assert "faithful" in done.stdout, done.stdout
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_dispatch_reaches_is_captured(workbench: Workbench, kind: str) -> None:
    device = f"vgpu:{TARGET},gpus=2" if kind == "peer" else f"vgpu:{TARGET}"
    reproducer = captured(workbench, kind, device)
    memory = CapturedMemory(reproducer / "capture")
    assert memory.capture["consistency"] == {"state": "consistent", "reasons": []}
    assert memory.capture["unreadable"] == []
    assert memory.kind(0) == memory.kind(1) == KINDS[kind]
    assert memory.integers(1, COUNT) == (
        [1000 + i for i in range(COUNT)],
        [1000 + i + 3 * (10 + i) for i in range(COUNT)],
    )
    if kind != "expandable":  # where the array goes on in the next region
        assert memory.integers(0, COUNT) == ([10 + i for i in range(COUNT)], [11 + i for i in range(COUNT)])
    one = ("--device", f"vgpu:{TARGET}")  # another GPU's memory as well
    assert workbench.verdict("replay", reproducer, *one)["verdict"] == "faithful"
    for variant in ("nothing", "wrong-constant"):
        hsaco = workbench.variant("closure_kinds", TARGET, variant)
        assert workbench.verdict("validate", reproducer, "--hsaco", hsaco, *one)["verdict"] == "differs"


def test_memory_that_is_mapped_twice_is_kept_once(workbench: Workbench, tmp_path: Path) -> None:
    reproducer = workbench.work / "closure-aliased.kcap"
    if not reproducer.exists():
        captured(workbench, "aliased", f"vgpu:{TARGET}")
    regions = CapturedMemory(reproducer / "capture").regions
    aliases = [number for number, region in enumerate(regions) if "alias_of" in region]
    assert len(aliases) == 1
    original = regions[regions[aliases[0]]["alias_of"]]
    assert original["size"] == 2 * regions[aliases[0]]["size"]
    assert regions[aliases[0]]["pre"] == regions[aliases[0]]["post"] == []
    bundle = workbench.work / "closure-aliased.kcap.tar"
    assert workbench.kerncap("pack", reproducer, "-o", bundle).returncode == 0
    shown = workbench.kerncap("inspect", "-v", bundle)
    assert f"as {regions[aliases[0]]['alias_of']}" in shown.stdout, shown.stdout + shown.stderr
    document = workbench.verdict("replay", bundle, "--device", f"vgpu:{TARGET}", "--iterations", "3")
    assert document["verdict"] == "faithful", document
