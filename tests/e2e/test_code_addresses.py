"""Addresses of code that memory holds: function pointers, virtual functions, pointers to module variables.

A replay has the code object elsewhere than the application had it, and a variant has everything in other places again.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from workbench import Case, Workbench

TARGET = "gfx942"


def variant(workbench: Workbench, name: str, *flags: str) -> Path:
    out = workbench.work / f"code_addresses-{name}.hsaco"
    argv = ["hipcc", f"--offload-arch={TARGET}", "--cuda-device-only", "--no-gpu-bundle-output", "-O2", *flags]
    workbench.container.run([*argv, workbench.sources / "code_addresses.hip", "-o", out], check=True)
    return out


@pytest.mark.parametrize("dispatch", [0, 1])
def test_stored_addresses_of_code_are_followed_and_stored(workbench: Workbench, dispatch: int) -> None:
    capture = workbench.capture(Case("code_addresses", "follow", dispatch), TARGET)
    document = workbench.verdict("replay", capture, "--iterations", "3")
    assert document["verdict"] == "faithful", document
    assert document["changed_bytes"] > 64


def test_virtual_functions_of_an_object_made_by_an_earlier_dispatch(workbench: Workbench) -> None:
    document = workbench.verdict("replay", workbench.capture(Case("private_state", "area"), TARGET))
    assert document["verdict"] == "faithful", document


def test_variants_with_their_code_elsewhere(workbench: Workbench) -> None:
    capture = workbench.capture(Case("code_addresses", "follow", 0), TARGET)
    same = workbench.verdict("validate", capture, "--hsaco", variant(workbench, "layout", "-DVARIANT_LAYOUT"))
    assert same["verdict"] == "equivalent", same
    assert "perturbed" in same["judged"] or same["not_judged"]
    for name, number in (("nothing", 1), ("wrong", 2)):
        hsaco = variant(workbench, name, "-DVARIANT_LAYOUT", f"-DVARIANT={number}")
        assert workbench.verdict("validate", capture, "--hsaco", hsaco)["verdict"] == "differs"


def test_a_variant_without_the_function_is_refused_by_name(workbench: Workbench) -> None:
    capture = workbench.capture(Case("code_addresses", "follow", 0), TARGET)
    hsaco = variant(workbench, "renamed", "-DVARIANT_LAYOUT", "-Dtwice=double_of")
    said = workbench.error(6, "validate", capture, "--hsaco", hsaco)
    assert "[replay.code-address]" in said["stderr"]
    assert "under their names" in said["stderr"]
