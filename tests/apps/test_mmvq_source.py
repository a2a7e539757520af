"""llama.cpp's mul_mat_vec_q from its own source: carried, compiled again where nothing of it is, edited there."""

from __future__ import annotations

import json

import mmvq_project
import pytest
from conftest import Programs
from mmvq_project import TARGETS, Project
from test_header_kernels import sandboxed

APP = "llama"


@pytest.fixture(scope="module")
def project(programs: Programs) -> Project:
    if not mmvq_project.fetched():
        pytest.skip("llama.cpp's sources are not in build/llama.cpp: make test-apps fetches them")
    return mmvq_project.make(programs.container)


@pytest.mark.parametrize("target", TARGETS)
def test_mul_mat_vec_q_from_its_source(programs: Programs, project: Project, target: str) -> None:
    made = programs.container.work / f"mmvq-{target}.kcap"
    device = ("--device", f"vgpu:{target}")
    source = ("--source-dir", project.source, "--compile-db", project.database)
    programs.kerncap("extract", "mul_mat_vec_q", "-o", made, *device, *source, "--", project.program)
    compiled = json.loads((made / "compile.json").read_text())
    assert (compiled["main"], compiled["same_code"]) == (str(project.kernel_file), True)
    assert "-DGGML_USE_HIP" in compiled["arguments"]

    same, edited = made.with_suffix(".same.hsaco"), made.with_suffix(".edited.hsaco")
    sandboxed(made, same)
    verdict = json.loads(programs.kerncap("validate", made, "--hsaco", same, *device, "--json"))
    assert verdict["verdict"] == "equivalent", verdict

    file = made / "src" / "root" / str(project.kernel_file.with_name("vecdotq.cuh")).lstrip("/")
    text = file.read_text()
    at = text.index("dm4f.x*sumf_d", text.index("vec_dot_q4_K_q8_1_impl_vmmq("))
    file.write_text(text[:at] + "2*" + text[at:])
    sandboxed(made, edited)
    refused = json.loads(programs.kerncap("validate", made, "--hsaco", edited, *device, "--json", exit_codes=(1,)))
    assert refused["verdict"] == "differs", refused
