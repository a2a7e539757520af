"""Times the search for one unit among many, in the dev image. Called by benchmarks/source.py.

Usage: find_unit.py FOLDER UNITS objects|text
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kerncap.source import closure, compiler
from kerncap.source.database import load_database

_TEXT = """#include <hip/hip_runtime.h>
#include "common.hpp"
__global__ void kernel_%04d(float* x) { x[threadIdx.x] += scale(%d); }
// %s
"""
_COMMENT = "words of a comment as long as real files have it " * 400
_OPTIONS = ["-O2", "--offload-arch=gfx942", "-I."]


def write_project(folder: Path, units: int, objects: bool) -> None:
    """Objects are copies of a real one with the kernel's name in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "common.hpp").write_text("__device__ inline float scale(int i) { return 0.5f * i; }\n")
    entries = []
    for i in range(units):
        name = f"unit_{i:04d}"
        (folder / f"{name}.hip").write_text(_TEXT % (i, i, _COMMENT))
        command = f"hipcc {' '.join(_OPTIONS)} -c {name}.hip -o {name}.o"
        entries.append({"directory": str(folder), "file": f"{name}.hip", "command": command})
    if objects:
        subprocess.run(["hipcc", *_OPTIONS, "-c", "unit_0000.hip", "-o", "unit_0000.o"], cwd=folder, check=True)
        one = (folder / "unit_0000.o").read_bytes()
        for i in range(1, units):
            (folder / f"unit_{i:04d}.o").write_bytes(one.replace(b"kernel_0000", f"kernel_{i:04d}".encode()))
    (folder / "compile_commands.json").write_text(json.dumps(entries))


def main() -> None:
    folder, units, objects = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "objects"
    write_project(folder, units, objects)
    compiling: list[float] = []
    compile_device = compiler.compile_device

    def timed(*args: Any, **options: Any) -> None:
        started = time.monotonic()
        try:
            compile_device(*args, **options)
        finally:
            compiling.append(time.monotonic() - started)

    compiler.compile_device = timed
    number = units * 2 // 3
    name = f"kernel_{number:04d}"
    wanted = closure.Wanted(f"_Z{len(name)}{name}Pf", f"{name}(float*)", "gfx942")
    started = time.monotonic()
    unit = closure.find_unit(load_database(folder / "compile_commands.json"), wanted, folder)
    whole = time.monotonic() - started
    assert unit.main.name == f"unit_{number:04d}.hip", unit.main
    assert len(compiling) == 1
    print(json.dumps({"finding_s": whole - sum(compiling), "compile_s": sum(compiling)}))


main()
