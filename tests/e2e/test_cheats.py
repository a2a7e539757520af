"""Variants that leave the captured bytes without computing them, or more than the right bytes: none may pass.

And state that a code object does not export: it is captured and restored like any other variable.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from workbench import Case, Workbench

TARGET = "gfx942"
CHEATS = {
    "hard-coded": 3,
    "all-but-last": 4,
    "beyond-the-end": 5,
    "into-the-input": 6,
    "captured-input-only": 8,
    "into-the-padding": 10,
}
KERNELS = ("cpp_float", "cpp_int", "c_float", "c_double", "c_half", "c_int", "c_long", "c_byte", "through_pointers")


def code_object(workbench: Workbench, variant: int) -> Path:
    out = workbench.work / f"cheats-{variant}.hsaco"
    if not out.exists():
        argv = ["hipcc", f"--offload-arch={TARGET}", "--cuda-device-only", "--no-gpu-bundle-output", "-O2"]
        argv += [f"-DVARIANT={variant}", str(workbench.sources / "cheats.hip"), "-o", str(out)]
        workbench.container.run(argv, check=True)
    return out


@pytest.mark.parametrize("kernel", KERNELS)
def test_inputs_of_every_type_are_perturbed(workbench: Workbench, kernel: str) -> None:
    capture = workbench.capture(Case("cheats", kernel), TARGET)
    document = workbench.verdict("validate", capture, "--hsaco", code_object(workbench, 0))
    assert document["verdict"] == "equivalent", document
    assert document["judged"] == ["captured", "poisoned", "perturbed"]
    for cheat in ("hard-coded", "captured-input-only"):
        document = workbench.verdict("validate", capture, "--hsaco", code_object(workbench, CHEATS[cheat]))
        assert document["verdict"] == "differs", (cheat, document)
        assert document["reasons"][0].startswith("perturbed: ")


def test_indices_beside_floats_are_perturbed(workbench: Workbench) -> None:
    capture = workbench.capture(Case("cheats", "gather"), TARGET)
    document = workbench.verdict("validate", capture, "--hsaco", code_object(workbench, 0))
    assert document["verdict"] == "equivalent", document
    assert document["judged"] == ["captured", "poisoned", "perturbed"]
    document = workbench.verdict("validate", capture, "--hsaco", code_object(workbench, 9))
    assert document["verdict"] == "differs", document
    assert document["reasons"] == [f"perturbed: {document['mismatch_bytes']} bytes differ"]


@pytest.mark.parametrize("kernel", ["is_large", "counting"])
def test_results_that_a_small_change_does_not_touch(workbench: Workbench, kernel: str) -> None:
    capture = workbench.capture(Case("cheats", kernel), TARGET)
    document = workbench.verdict("validate", capture, "--hsaco", code_object(workbench, 0))
    assert (document["verdict"], document["reasons"]) == ("equivalent", []), document
    document = workbench.verdict("validate", capture, "--hsaco", code_object(workbench, CHEATS["hard-coded"]))
    assert document["verdict"] == "differs", document
    assert document["reasons"] == [f"perturbed: {document['mismatch_bytes']} bytes differ"]


def test_a_tolerance_above_what_the_kernel_changes(workbench: Workbench) -> None:
    capture = workbench.capture(Case("cheats", "small_step"), TARGET)
    nothing = ("--hsaco", code_object(workbench, 1))
    assert "[replay.not-judged]" in workbench.error(6, "validate", capture, *nothing, "--atol", "0.01")["stderr"]
    assert workbench.verdict("validate", capture, *nothing, "--atol", "1e-8")["verdict"] == "differs"
    right = workbench.verdict("validate", capture, "--hsaco", code_object(workbench, 0), "--atol", "0.01")
    assert right["verdict"] == "equivalent", right


@pytest.mark.parametrize("cheat", ["all-but-last", "beyond-the-end", "into-the-input", "into-the-padding"])
def test_a_byte_too_few_or_too_many_is_noticed(workbench: Workbench, cheat: str) -> None:
    capture = workbench.capture(Case("cheats", "c_int"), TARGET)
    document = workbench.verdict("validate", capture, "--hsaco", code_object(workbench, CHEATS[cheat]))
    assert document["verdict"] == "differs", document


def test_a_variant_that_keeps_its_own_output(workbench: Workbench) -> None:
    capture = workbench.capture(Case("cheats", "c_int", 1), TARGET)
    document = workbench.verdict("validate", capture, "--hsaco", code_object(workbench, 7))
    assert document["changed_bytes"] == 0
    assert document["verdict"] == "differs", document


def test_variables_that_are_not_exported(workbench: Workbench) -> None:
    capture = workbench.capture(Case("private_state", "use"), TARGET)
    document = workbench.verdict("replay", capture)
    assert document["verdict"] == "faithful", document
    regions = json.loads((capture / "capture" / "index.json").read_text())["regions"]
    # Newer compilers add the identity of the compilation unit.
    symbols = {r["symbol"] for r in regions if r["kind"] == "variable" and not r["symbol"].startswith("__hip_cuid_")}
    assert symbols == {"_ZL7counter", "_ZL5table"}
    assert json.loads((capture / "capture" / "capture.json").read_text())["unreadable"] == []
    assert workbench.verdict("replay", capture, "--withhold-variables")["verdict"] == "differs"
    for variant, name in ((1, "nothing"), (2, "wrong-constant")):
        hsaco = workbench.variant("private_state", TARGET, name)
        assert workbench.verdict("validate", capture, "--hsaco", hsaco)["verdict"] == "differs", variant


def test_a_kernel_that_could_call_the_host_and_does_not(workbench: Workbench) -> None:
    document = workbench.verdict("replay", workbench.capture(Case("host_calls", "checked"), TARGET))
    assert document["verdict"] == "faithful", document


def test_a_kernel_that_calls_the_host_is_refused_by_name(workbench: Workbench) -> None:
    capture = workbench.capture(Case("host_calls", "prints"), TARGET)
    said = workbench.error(6, "replay", capture)
    assert "[replay.hostcall]" in said["stderr"]
    assert "printf" in said["stderr"]


def test_what_is_no_variant_is_refused_as_a_variant(workbench: Workbench) -> None:
    capture = workbench.capture(Case("cheats", "c_int"), TARGET)
    whole = code_object(workbench, 0).read_bytes()
    cut = workbench.work / "cut.hsaco"
    cut.write_bytes(whole[:3000])
    said = workbench.error(2, "validate", capture, "--hsaco", cut)
    assert f"variant {cut}: " in said["stderr"]
    assert "[usage.bad-variant]" in said["stderr"]
    text = workbench.work / "text.hsaco"
    text.write_text("no code\n")
    assert "not an ELF file" in workbench.error(2, "validate", capture, "--hsaco", text)["stderr"]
    host_program = workbench.program("cheats")
    assert "not for AMD GPUs" in workbench.error(2, "validate", capture, "--hsaco", host_program)["stderr"]
    other = workbench.variant("pipeline", TARGET, "nothing")
    said = workbench.error(6, "validate", capture, "--hsaco", other)
    assert "has no kernel c_int" in said["stderr"]


def test_a_variant_with_other_arguments_is_refused(workbench: Workbench) -> None:
    source = workbench.work / "other_arguments.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n"
        'extern "C" __global__ void c_int(int* y, long n, const int* x) { y[n] = x[0]; }\n'
    )
    hsaco = source.with_suffix(".hsaco")
    argv = ["hipcc", f"--offload-arch={TARGET}", "--cuda-device-only", "--no-gpu-bundle-output", "-O2", source]
    workbench.container.run([*argv, "-o", hsaco], check=True)
    said = workbench.error(6, "validate", workbench.capture(Case("cheats", "c_int"), TARGET), "--hsaco", hsaco)
    assert "[replay.variant-arguments]" in said["stderr"]
