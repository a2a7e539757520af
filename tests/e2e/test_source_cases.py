"""Source closure of projects built with CMake whose kernels are hard to find (tests/projects/cases).

Each kernel is captured from the running program, its source found and carried; then the project and its build are gone,
and the source compiles again to code that is equivalent.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from workbench import TARGETS, Workbench

from kerncap.bundle.documents import validate


@dataclass(frozen=True)
class Hard:
    """A kernel, and files that its closure must have (names below the project or its build)."""

    program: str
    kernel: str
    main: str
    carried: tuple[str, ...] = ()
    dispatch: int = 0


CASES = (
    Hard("templates", "scale<7>", "build/instantiate_7.hip", ("templates/scale.hpp",)),
    Hard("header_kernel", "shift", "header_kernel/launch.hip", ("header_kernel/shift.hpp",)),
    Hard("functor", "launch_from_constant", "functor/fill.hip", ("functor/launcher.hpp",)),
    Hard("functor", "launch_from_constant", "functor/scale.hip", ("functor/launcher.hpp",), 1),
    Hard("anonymous", "step", "anonymous/one.hip"),
    Hard("anonymous", "step", "anonymous/two.hip", (), 1),
    Hard("same_name", "step_b", "same_name/b/step.hip", ("same_name/a/detail.hpp", "same_name/b/detail.hpp")),
    Hard("generated", "from_generated", "generated/main.hip", ("build/generated/config.hpp",)),
)
_PROJECTS: dict[str, Path] = {}


def project(workbench: Workbench) -> Path:
    """The project, configured and built once a session, in `build` below it."""
    key = workbench.container.name
    if key not in _PROJECTS:
        folder = workbench.work / "cases"
        shutil.copytree(workbench.container.root / "tests/projects/cases", folder)
        argv = ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_CXX_COMPILER=hipcc"]
        argv += [f"-DTARGETS={';'.join(TARGETS)}", f"-DPROGRAM_DIR={workbench.sources}"]
        workbench.container.run(argv, check=True)
        workbench.container.run(["ninja", "-C", folder / "build"], check=True, timeout_s=900)
        _PROJECTS[key] = folder
    return _PROJECTS[key]


def extracted(workbench: Workbench, case: Hard, target: str, *options: str | Path) -> Path:
    folder = project(workbench)
    out = workbench.work / f"{case.program}-{case.kernel}-{case.dispatch}-{target}.kcap"
    argv = ["extract", case.kernel, "--dispatch", str(case.dispatch), "-o", out, "--device", f"vgpu:{target}"]
    done = workbench.kerncap(*argv, *options, "--json", "--", folder / "build" / case.program)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    validate(document, "printed", what="extract")
    assert document["source_error"] is None
    return out


@pytest.mark.parametrize("hard", CASES, ids=lambda case: f"{case.program}-{case.dispatch}")
@pytest.mark.parametrize("target", TARGETS)
def test_the_right_unit_is_found_and_compiles_again(workbench: Workbench, target: str, hard: Hard) -> None:
    folder = project(workbench)
    out = extracted(workbench, hard, target, "--source-dir", folder)
    compiled = json.loads((out / "compile.json").read_text())
    assert compiled["main"] == str(folder / hard.main)
    assert compiled["same_code"] is True
    carried = {file["original"] for file in compiled["files"]}
    assert {str(folder / name) for name in (hard.main, *hard.carried)} <= carried
    gone = folder.with_name("gone")
    folder.rename(gone)
    try:
        same = workbench.work / f"{out.stem}.hsaco"
        done = workbench.kerncap("recompile", out, "-o", same, "--trust")
        assert done.returncode == 0, done.stderr
        assert workbench.verdict("validate", out, "--hsaco", same)["verdict"] == "equivalent"
    finally:
        gone.rename(folder)


@pytest.mark.parametrize("target", TARGETS)
def test_relocatable_device_code_is_refused_by_name(workbench: Workbench, target: str) -> None:
    folder, out = project(workbench), workbench.work / f"relocatable-{target}.kcap"
    argv = ["extract", "calls_another_file", "-o", out, "--device", f"vgpu:{target}", "--source-dir", folder]
    said = workbench.error(8, *argv, "--", folder / "build/relocatable")
    assert "-fgpu-rdc" in said["stderr"]
    assert workbench.verdict("replay", out)["verdict"] == "faithful"


def test_a_kernel_whose_source_lies_elsewhere(workbench: Workbench) -> None:
    """Line tables tell where, also where the project given is another one."""
    folder = workbench.work / "elsewhere"
    folder.mkdir()
    shutil.copy(workbench.sources / "vector_add.hip", folder)
    argv = ["hipcc", "--offload-arch=gfx942", "-O2", "-g", f"-I{workbench.sources}", "vector_add.hip", "-o", "app"]
    workbench.container.run(argv, cwd=folder, check=True)
    out = workbench.work / "elsewhere.kcap"
    argv = ["extract", "vector_add", "-o", str(out), "--device", "vgpu:gfx942", "--source-dir", str(project(workbench))]
    said = workbench.error(8, *argv, "--", folder / "app")
    assert f"its line tables name {folder / 'vector_add.hip'}" in said["stderr"]
    assert f"--source-dir {folder}" in said["stderr"]
