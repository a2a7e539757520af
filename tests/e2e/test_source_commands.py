"""Compile commands as projects have them: what stands around the compiler and the main file is taken apart right."""

from __future__ import annotations

import json
from pathlib import Path

from workbench import Workbench

TARGET = "gfx942"
SOURCE = """
#include <hip/hip_runtime.h>
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
__global__ void k(float* x) noexcept(true) { x[threadIdx.x] = sizeof(TEXT(WORDS)) + sizeof(STRING) + CHARACTER; }
#include "main.cpp"
"""
MAIN = """
int main() {
  float* x;
  if (hipMalloc(&x, 256) || hipMemset(x, 0, 256)) return 1;
  k<<<1, 64>>>(x);
  return hipDeviceSynchronize();
}
"""
RESPONSE = """--offload-arch=gfx942 "-DSTRING=\\"a\\ \\$b\\"" @more/nested.rsp\r\n"""
NESTED = """'-DCHARACTER=\\'q\\'' -D'WORDS=a b'\n"""


def project(folder: Path) -> None:
    (folder / "more").mkdir(parents=True)
    text = {"k.cpp": SOURCE, "main.cpp": MAIN, "unity.cxx": '#include "k.cpp"\n', "o.rsp": RESPONSE}
    for name, content in {**text, "more/nested.rsp": NESTED, "z.c": "int z;\n"}.items():
        (folder / name).write_text(content)


def test_the_compile_within_the_command(workbench: Workbench) -> None:
    """Launchers with settings, response files, other inputs, options of the host alone under -Werror, a unity build."""
    folder = workbench.work / "commands"
    project(folder)
    words = ["hipcc", "@o.rsp", "--std=c++17", "-O2", "-Werror", "-Wno-unused-value", "-mtune=generic", "-mavx2"]
    workbench.container.run([*words, "-x", "hip", "unity.cxx", "-c", "-o", "unity.o"], cwd=folder, check=True)
    workbench.container.run(["sh", "-c", "$(ls /usr/bin/clang-[0-9]* | head -n 1) -c z.c"], cwd=folder, check=True)
    workbench.container.run(["hipcc", "unity.o", "z.o", "-o", "app"], cwd=folder, check=True)
    (folder / "unity.o").unlink()
    command = ["cmake", "-E", "env", "CCACHE_SLOPPINESS=time_macros", "ccache", "debug=false", *words]
    command += ["-x", "hip", "unity.cxx", "z.o", "-o", "whole"]
    entry = {"directory": str(folder), "file": "unity.cxx", "arguments": command}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    out, hsaco = workbench.work / "commands.kcap", workbench.work / "commands.hsaco"
    argv = ["extract", "k", "-o", out, "--device", f"vgpu:{TARGET}", "--source-dir", folder]
    done = workbench.kerncap(*argv, "--", folder / "app")
    assert done.returncode == 0, done.stderr
    assert json.loads((out / "compile.json").read_text())["same_code"] is True
    done = workbench.kerncap("recompile", out, "-o", hsaco, "--trust")
    assert done.returncode == 0, done.stderr
    assert workbench.verdict("validate", out, "--hsaco", hsaco)["verdict"] == "equivalent"
