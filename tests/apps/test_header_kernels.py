"""Kernels out of the headers of rocPRIM and hipCUB: found in the unit that instantiates them, recompiled elsewhere.

tests/projects/header_libraries is built with CMake in the image; each kernel's source is carried from there and
compiled again in the runtime image, which has neither the libraries nor the project.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT, Programs

from kerncap.runtime import catalog

APP = "rocprim"
TARGETS = ("gfx942", "gfx1100")
PROJECT = ROOT / "tests" / "projects" / "header_libraries"


@dataclass(frozen=True)
class Kernel:
    """Which of the program's reductions, in which file it is instantiated, what an edit of its header changes."""

    name: str
    dispatch: int
    main: str
    edit: tuple[str, str, str]


KERNELS = (
    Kernel("rocprim", 0, "sum_float.cpp", ("rocprim/functional.hpp", "return a + b;", "return a + b + b;")),
    Kernel(
        "hipcub", 1, "cub_max.cpp", ("backend/rocprim/thread/thread_operators.hpp", "t < u ? u : t", "t < u ? t : u")
    ),
)


@pytest.fixture(scope="module")
def build(programs: Programs) -> Path:
    folder = programs.container.work / "sums"
    configure = ["cmake", "-S", PROJECT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    configure += ["-DCMAKE_CXX_COMPILER=hipcc", f"-DTARGETS={';'.join(TARGETS)}"]
    programs.container.run(configure, check=True)
    programs.container.run(["cmake", "--build", folder], check=True, timeout_s=1200)
    return folder


def sandboxed(bundle: Path, output: Path) -> None:
    """`kerncap recompile` on this machine: a container of the runtime image of the suite whose compiler it was."""
    command = [sys.executable, "-m", "kerncap", "recompile", str(bundle), "-o", str(output)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    assert catalog.image_name("runtime", "sid") in done.stderr


@pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.name for kernel in KERNELS])
@pytest.mark.parametrize("target", TARGETS)
def test_a_kernel_of_a_header_library(programs: Programs, build: Path, target: str, kernel: Kernel) -> None:
    device = ("--device", f"vgpu:{target}")
    made = programs.container.work / f"{kernel.name}-{target}.kcap"
    which = ("--dispatch", str(kernel.dispatch), *device)
    source = ("--source-dir", PROJECT, "--compile-db", build / "compile_commands.json")
    programs.kerncap("extract", "block_reduce_kernel", "-o", made, *which, *source, "--", build / "sums")
    compiled = json.loads((made / "compile.json").read_text())
    assert (compiled["main"], compiled["same_code"]) == (str(PROJECT / kernel.main), True)

    same, edited = made.with_suffix(".same.hsaco"), made.with_suffix(".edited.hsaco")
    sandboxed(made, same)
    verdict = json.loads(programs.kerncap("validate", made, "--hsaco", same, *device, "--json"))
    assert verdict["verdict"] == "equivalent", verdict

    name, old, new = kernel.edit
    (file,) = (path for path in (made / "src").rglob(Path(name).name) if str(path).endswith(name))
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    sandboxed(made, edited)
    verdict = json.loads(programs.kerncap("validate", made, "--hsaco", edited, *device, "--json", exit_codes=(1,)))
    assert verdict["verdict"] == "differs", verdict
