"""Projects whose kernels are hard to find or hard to carry, built by CMake, recompiled when nothing of them is left.

tests/projects/cases has them, one folder each. The first suite builds with Ninja and without debug information, so that
text and symbols must tell; the second with make and with debug information.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from workbench import TARGETS, Workbench

PARAMETERS = [target if target != "gfx1100" else pytest.param(target, marks=pytest.mark.full) for target in TARGETS]
SUBSET = {("trixie", "gfx942"), ("sid", "gfx90a"), ("trixie", "gfx1100"), ("sid", "gfx1100")}
CONFIGURED = {"trixie": ("Ninja", "Release"), "sid": ("Unix Makefiles", "RelWithDebInfo")}


@dataclass(frozen=True)
class SourceCase:
    """A program, the kernel as a user types it, and which file of the project is compiled for it."""

    program: str
    kernel: str
    main: str
    edit: tuple[str, str, str]
    """A carried file, a text in it, what takes its place: a variant that computes something else."""


CASES = (
    SourceCase("template", "row_sum", "template/instance_7.cpp", ("template/row_sum.hpp", "sum = 0.0f", "sum = 1.0f")),
    SourceCase(
        "header", "clamp_kernel", "header/launcher.cpp", ("header/include/project/clamp_kernel.hpp", "fmaxf(", "fminf(")
    ),
    SourceCase("functor", "launch_constant_memory", "functor/main.cpp", ("functor/main.cpp", "+= factor", "-= factor")),
    SourceCase("anonymous", "scale", "anonymous/second.cpp", ("anonymous/second.cpp", "7.0f", "7.5f")),
    SourceCase(
        "same_name",
        "scale_and_shift",
        "same_name/main.cpp",
        ("same_name/right/detail/constants.hpp", "5.0f", "6.0f"),
    ),
    SourceCase("generated", "transform", "generated/main.cpp", ("generated/include/offset.hpp", "6.0f", "7.0f")),
)


def projects(workbench: Workbench) -> tuple[Path, Path]:
    """A copy of the projects and its build directory beside it."""
    source, build = workbench.work / "cases" / "source", workbench.work / "cases" / "build"
    if not build.exists():
        shutil.copytree(workbench.container.root / "tests" / "projects" / "cases", source)
        generator, kind = CONFIGURED[workbench.container.suite]
        configure = ["cmake", "-S", source, "-B", build, "-G", generator, f"-DCMAKE_BUILD_TYPE={kind}"]
        configure += ["-DCMAKE_CXX_COMPILER=hipcc", f"-DTARGETS={';'.join(TARGETS)}"]
        workbench.container.run([*configure, f"-DPROGRAM_HEADERS={workbench.sources}"], check=True)
        workbench.container.run(["cmake", "--build", build, "--parallel", "2"], check=True, timeout_s=600)
    return source, build


def carried(out: Path, source: Path, build: Path, name: str) -> Path:
    """Where a file of the project, or one that its build made, lies in the reproducer."""
    places = [out / "src" / "root" / str(folder / name).lstrip("/") for folder in (source, build)]
    found = [place for place in places if place.is_file()]
    assert len(found) == 1, places
    return found[0]


def captured(workbench: Workbench, case: SourceCase, target: str) -> Path:
    source, build = projects(workbench)
    out = workbench.work / f"case-{case.program}-{target}.kcap"
    argv = ["extract", case.kernel, "-o", out, "--device", f"vgpu:{target}", "--source-dir", source]
    argv += ["--compile-db", build / "compile_commands.json"]
    done = workbench.kerncap(*argv, "--", build / case.program / case.program)
    assert done.returncode == 0, done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    return out


@pytest.mark.parametrize("target", PARAMETERS)
@pytest.mark.parametrize("source_case", CASES, ids=[case.program for case in CASES])
def test_found_carried_and_recompiled(workbench: Workbench, source_case: SourceCase, target: str) -> None:
    if (workbench.container.suite, target) not in SUBSET:
        pytest.skip("covered by another combination")
    case, (source, build) = source_case, projects(workbench)
    out = captured(workbench, case, target)
    compiled = json.loads((out / "compile.json").read_text())
    assert compiled["main"] in (str(source / case.main), str(build / case.main))
    assert compiled["same_code"] is True
    assert compiled["target"].split(":")[0] == target

    # Neither the project nor its build is there any more.
    hidden = source.parent.with_name("cases-hidden")
    source.parent.rename(hidden)
    try:
        same, edited = (workbench.work / f"{out.stem}-{what}.hsaco" for what in ("same", "edited"))
        done = workbench.kerncap("recompile", out, "-o", same, "--trust")
        assert done.returncode == 0, done.stderr
        assert workbench.verdict("validate", out, "--hsaco", same)["verdict"] == "equivalent"

        name, old, new = case.edit
        file = carried(out, source, build, name)
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        done = workbench.kerncap("recompile", out, "-o", edited, "--trust")
        assert done.returncode == 0, done.stderr
        assert workbench.verdict("validate", out, "--hsaco", edited)["verdict"] == "differs"
    finally:
        hidden.rename(source.parent)


def test_relocatable_device_code_is_refused_by_name(workbench: Workbench) -> None:
    """The kernel is more than its translation unit; the capture is kept and replays."""
    source, build = projects(workbench)
    out = workbench.work / "case-relocatable.kcap"
    argv = ["extract", "halve", "-o", out, "--device", "vgpu:gfx942", "--source-dir", source]
    argv += ["--compile-db", build / "compile_commands.json"]
    said = workbench.error(8, *argv, "--", build / "relocatable" / "relocatable")
    assert "EXIT-SUCCESS" in said["stdout"]
    assert "'-fgpu-rdc': relocatable device code" in said["stderr"]
    assert workbench.verdict("replay", out)["verdict"] == "faithful"
