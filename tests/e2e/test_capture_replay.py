"""Capture, replay and verdict of real HIP programs on the virtual GPU: every program, target and HSA runtime."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from workbench import CASES, CHANGES_NOTHING, TARGETS, VARIANTS, Case, Workbench

pytestmark = pytest.mark.parametrize("target", TARGETS)
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@cases
def test_the_captured_code_object_is_faithful(workbench: Workbench, target: str, case: Case) -> None:
    capture = workbench.capture(case, target)
    document = workbench.verdict("replay", capture, "--device", f"vgpu:{target}")
    assert document["verdict"] == "faithful"
    assert document["bytes_compared"] > 0
    assert document["written_bytes"] > 0
    assert (document["changed_bytes"] == 0) == (case in CHANGES_NOTHING)
    sealed = json.loads((capture / "capture" / "capture.json").read_text())
    assert sealed["self_check"]["verdict"] == "faithful"
    assert sealed["device"]["class"] == "vgpu"
    assert sealed["dispatch"]["match_index"] == case.dispatch


@cases
def test_a_hundred_iterations_are_the_same(workbench: Workbench, target: str, case: Case) -> None:
    document = workbench.verdict("replay", workbench.capture(case, target), "--iterations", "100")
    assert document["verdict"] == "faithful"
    assert document["iterations"] == 100
    assert len(document["timing_ns"]) == 100


@cases
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_wrong_variant_differs(workbench: Workbench, target: str, case: Case, variant: str) -> None:
    hsaco = workbench.variant(case.program, target, variant)
    document = workbench.verdict("validate", workbench.capture(case, target), "--hsaco", hsaco)
    assert document["verdict"] == "differs"
    assert document["mismatch_bytes"] > 0
    assert document["mismatches"]
    assert "captured" in document["judged"]


@cases
def test_the_same_source_compiled_again_is_equivalent(workbench: Workbench, target: str, case: Case) -> None:
    hsaco = workbench.work / f"{case.program}-{target}-same.hsaco"
    if not hsaco.exists():
        argv = ["hipcc", f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output", "-O3"]
        workbench.container.run([*argv, workbench.sources / f"{case.program}.hip", "-o", hsaco], check=True)
    document = workbench.verdict("validate", workbench.capture(case, target), "--hsaco", hsaco)
    assert document["verdict"] == "equivalent"
    assert len(document["judged"]) >= 2 or document["not_judged"]


@pytest.mark.parametrize("case", [c for c in CASES if c.program == "constant_weights"], ids=lambda case: case.name)
def test_withheld_variables_are_noticed(workbench: Workbench, target: str, case: Case) -> None:
    document = workbench.verdict("replay", workbench.capture(case, target), "--withhold-variables")
    assert document["verdict"] != "faithful"
    assert not document["passed"]


@pytest.mark.parametrize("case", [CASES[0]], ids=lambda case: case.name)
def test_a_device_of_another_target_is_refused(workbench: Workbench, target: str, case: Case) -> None:
    other = TARGETS[(TARGETS.index(target) + 1) % len(TARGETS)]
    capture = workbench.capture(case, target)
    said = workbench.error(3, "replay", capture, "--device", f"vgpu:{other}")
    assert target in said["stderr"]
    said = workbench.error(3, "replay", capture, "--device", "gpu")
    assert "vgpu" in said["stderr"]


@pytest.mark.parametrize("case", [CASES[0]], ids=lambda case: case.name)
def test_a_code_object_of_another_target_is_refused(workbench: Workbench, target: str, case: Case) -> None:
    other = TARGETS[(TARGETS.index(target) + 1) % len(TARGETS)]
    hsaco = workbench.variant(case.program, other, "wrong-constant")
    done = workbench.kerncap("validate", workbench.capture(case, target), "--hsaco", hsaco)
    assert done.returncode in (3, 4, 6), done.stderr
    assert "hint: " in done.stderr


@pytest.mark.parametrize("case", [CASES[0]], ids=lambda case: case.name)
def test_the_makefile_works(workbench: Workbench, target: str, case: Case, tmp_path: Path) -> None:
    capture = workbench.capture(case, target)
    hsaco = workbench.variant(case.program, target, "nothing")
    kerncap = "KERNCAP=python3 -m kerncap"
    done = workbench.container.run(["make", "-C", capture, "run", kerncap])
    assert done.returncode == 0, done.stderr
    assert "verdict: faithful" in done.stdout
    for goal in ("run-variant", "validate-variant"):
        done = workbench.container.run(["make", "-C", capture, goal, kerncap, f"VARIANT={hsaco}"])
        assert done.returncode != 0
        assert "verdict: differs" in done.stdout


def test_a_fault_is_captured_and_replays_as_a_fault(workbench: Workbench, target: str) -> None:
    if target != TARGETS[0]:
        pytest.skip("the fault's way is the same on every target")
    out = workbench.work / "fault.kcap"
    argv = ["extract", "wild_store", "-o", out, "--device", f"vgpu:{target}", "--", workbench.program("wild_store")]
    done = workbench.kerncap(*argv)
    assert done.returncode == 0, done.stderr
    assert "SIGABRT" in done.stderr
    assert "Memory access fault" in done.stderr
    assert workbench.verdict("replay", out)["verdict"] == "faithful"
    hsaco = workbench.variant("wild_store", target, "nothing")
    document = workbench.verdict("validate", out, "--hsaco", hsaco)
    assert document["verdict"] == "differs"
    assert "did not fault" in document["reasons"][0]


def test_an_unimplemented_instruction_is_named(workbench: Workbench, target: str) -> None:
    """The queue stops, and the error says target, mnemonic, pc and words: exit code 6, no verdict."""
    bundle = workbench.capture(CASES[0], target)
    hsaco = workbench.variant("unimplemented", target, "nothing")
    said = workbench.error(6, "replay", bundle, "--hsaco", hsaco)["stderr"]
    assert "[vgpu.unimplemented-instruction]" in said
    found = re.search(rf"{target}: (\S+) .*?at pc 0x([0-9a-f]+) words((?: [0-9a-f]{{8}})+): ", said)
    assert found, said
    assert found[1] == "ds_gws_sema_p"
    assert int(found[2], 16) % 4 == 0
    first = int(found[3].split()[0], 16)
    assert first >> 26 == 0b110110, "the DS encoding"
    assert first & 0xFFFF == 4, "its offset"
