"""Names in the code: `__FILE__` comes out as it did, however the build wrote its paths, when nothing of it is left.

The kernels copy the names into their output, so that a verdict compares them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from workbench import Workbench

TARGET = "gfx942"
HARNESS = """
#include <hip/hip_runtime.h>
#include <cstdio>
template <unsigned N> __device__ void put(char* out, const char (&text)[N]) {
  for (unsigned i = 0; i < N; ++i) out[i] = text[i];
}
"""
MAIN = """
int main() {
  char* out;
  if (hipMalloc(&out, 4096) || hipMemset(out, 0, 4096)) return 1;
  KERNEL<<<1, 1>>>(out);
  char host[4096];
  if (hipDeviceSynchronize() || hipMemcpy(host, out, 4096, hipMemcpyDeviceToHost)) return 1;
  for (int i = 0; i < 4096; i += 256) if (host[i]) std::printf("%d %s\\n", i / 256, host + i);
  std::puts("EXIT-SUCCESS");
}
"""


def header(number: int, more: str = "", guard: str = "#pragma once") -> str:
    body = f"{{ put(out + 256 * {number}, __FILE__); }}"
    return f"{guard}\n{more}\n__device__ inline void name_{number}(char* out) {body}\n"


def project(folder: Path) -> None:
    """Two headers of one file, one behind `..` behind a link, one by -include through -I, one by CPATH, one nested."""
    text = {
        "src/harness.hpp": HARNESS,
        "src/beside.hpp": header(1),
        "include/angle.hpp": header(2, '#include "nested/../nested.hpp"'),
        "include/nested.hpp": header(3),
        "include/nested/empty.hpp": "",
        "include/pre.hpp": '#pragma once\n#include "../src/harness.hpp"\n' + header(4, guard=""),
        "real/deep/unused.hpp": "",
        "real/up.hpp": header(5),
        "up.hpp": "#error this is another one\n",
        "cpath/by_cpath.hpp": header(6),
        "common/both.hpp": header(7),
        "assert/asserts.hpp": header(8) + '#line 7 "made.up"\n' + header(9, guard=""),
        "src/names.hip": """
#include "beside.hpp"
#include <angle.hpp>
#include <up.hpp>
#include <by_cpath.hpp>
#include "both.hpp"
#include <both.hpp>
#include "../assert/asserts.hpp"
__global__ void names(char* out) {
  put(out, __FILE__);
  name_1(out); name_2(out); name_3(out); name_4(out); name_5(out); name_6(out); name_7(out); name_8(out); name_9(out);
  put(out + 256 * 10, __BASE_FILE__);
  const char* builtin = __builtin_FILE();
  for (int i = 0; builtin[i]; ++i) out[256 * 11 + i] = builtin[i];
}
"""
        + MAIN.replace("KERNEL", "names"),
        "tools/hipcc": '#!/bin/sh\nexec hipcc "$@"\n',
    }
    for name, content in text.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "tools" / "hipcc").chmod(0o755)
    (folder / "link").symlink_to("real/deep")
    (folder / "src" / "both.hpp").symlink_to("../common/both.hpp")
    (folder / "build" / "sub").mkdir(parents=True)


WAYS = {
    "relative": ("../../src/names.hip", "../.."),
    "absolute": ("{folder}/src/names.hip", "{folder}"),
    "mixed": ("{folder}/build/../src/names.hip", "../.."),
}


def captured(workbench: Workbench, folder: Path, way: str) -> Path:
    """A reproducer of a build in `build/sub` with paths of this form, by a compiler of the project."""
    main, top = (text.format(folder=folder) for text in WAYS[way])
    build = folder / "build" / "sub"
    words = ["../../tools/hipcc", f"--offload-arch={TARGET}", "-O2", "-g", f"-I{top}/include", "-I", f"{top}/link/.."]
    words += ["-isystem", f"{top}/common", "-include", "pre.hpp", f"-ffile-prefix-map={folder}/include=/mapped"]
    environment = {"CPATH": f"{folder}/cpath:"}
    workbench.container.run([*words, main, "-o", f"app-{way}"], cwd=build, env=environment, check=True)
    entry = {"directory": str(build), "file": main, "arguments": [*words, "-c", main, "-o", f"{way}.o"]}
    (build / "compile_commands.json").write_text(json.dumps([entry]))
    out = workbench.work / f"names-{way}.kcap"
    argv = ["extract", "names", "-o", out, "--device", f"vgpu:{TARGET}", "--source-dir", folder]
    argv += ["--compile-db", build / "compile_commands.json"]
    done = workbench.kerncap(*argv, "--", build / f"app-{way}", env=environment)
    assert done.returncode == 0, done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    return out


def test_file_names_in_the_code_are_the_originals(workbench: Workbench) -> None:
    folder = workbench.work / "names"
    project(folder)
    outs = {way: captured(workbench, folder, way) for way in WAYS}
    hidden = folder.with_name("names-hidden")
    folder.rename(hidden)
    try:
        for way, out in outs.items():
            compiled = json.loads((out / "compile.json").read_text())
            assert compiled["same_code"] is True, way
            hsaco = out.with_suffix(".hsaco")
            roundabout = hidden / "link" / ".." / ".." / ".."  # which is the folder of the reproducer
            done = workbench.kerncap("recompile", roundabout / out.name, "-o", hsaco, "--trust")
            assert done.returncode == 0, done.stderr
            document = workbench.verdict("validate", roundabout / out.name, "--hsaco", roundabout / hsaco.name)
            assert document["verdict"] == "equivalent", (way, document)
            lines_name_the_files_to_edit(workbench, out, hsaco)
        edit(workbench, outs["relative"], folder)
    finally:
        hidden.rename(folder)


_LINES = """
import sys
from pathlib import Path
from kerncap.source.debug_info import lines_at, symbol_value
elf = Path(sys.argv[1])
start = symbol_value(elf, "_Z5namesPc")
code = range(start, start + 2000, 4)
# Of long paths the first 2000 bytes may be nothing but what is inlined from headers: the function itself is named, too.
for path, _ in {*lines_at(elf, code).values(), *lines_at(elf, code, outermost=True).values()}:
    print(path)
"""


def lines_name_the_files_to_edit(workbench: Workbench, out: Path, hsaco: Path) -> None:
    """All but the one of `#line`, and the one that is carried under its other name."""
    done = workbench.container.run(["python3", "-c", _LINES, hsaco], check=True)
    found = {Path(os.path.normpath(line)) for line in done.stdout.splitlines()}
    assert "names.hip" in {path.name for path in found}
    assert len(found) > 1, found  # how many are left is up to the optimizer
    named = {path for path in found if path.name not in ("made.up", "both.hpp")}
    assert {path for path in named if not path.is_file() or not path.is_relative_to(out)} == set()


def edit(workbench: Workbench, out: Path, folder: Path) -> None:
    """A new header in a carried folder is seen, and messages name the files to edit."""
    root = out / "src" / "root" / str(folder).lstrip("/")
    angle, added = root / "include" / "angle.hpp", root / "include" / "brand" / "new.hpp"
    text = angle.read_text()
    angle.write_text(text + '#include <brand/new.hpp>\n#include "brand/new.hpp"\n')
    added.parent.mkdir()
    added.write_text("#pragma once\n#define put(out, text) (out)[0] = 'x'\n")
    hsaco = workbench.work / "names-edited.hsaco"
    done = workbench.kerncap("recompile", out, "-o", hsaco, "--trust")
    assert done.returncode == 0, done.stderr
    assert workbench.verdict("validate", out, "--hsaco", hsaco)["verdict"] == "differs"
    sealed = workbench.work / "names-edited.kcap.tar"
    assert workbench.kerncap("pack", out, "-o", sealed).returncode == 0
    done = workbench.kerncap("recompile", sealed, "-o", workbench.work / "names-sealed.hsaco", "--trust")
    assert done.returncode == 0, done.stderr
    added.write_text("this is no C++\n")
    said = workbench.error(8, "recompile", out, "-o", workbench.work / "names-broken.hsaco", "--trust")
    assert f"{added}:1:" in said["stderr"]
    assert f"from {angle}:" in said["stderr"]


CONSTRAINED = """
template <class T> concept word = sizeof(T) == 4;
namespace ns {
template <word T> __global__ void abbreviated(T* x) { *x = T(1); }
template <class T> requires word<T> __global__ void clause(T* x) { *x = T(2); }
template <class T> __global__ void trailing(T* x) requires (word<T>) { *x = T(3); }
template <class U> struct S { template <word T> static __global__ void member(T* x) { *x = T(4); } };
}
int main() {
  float* x;
  if (hipMalloc(&x, 256) || hipMemset(x, 0, 256)) return 1;
  ns::abbreviated<<<1, 1>>>(x);
  ns::clause<<<1, 1>>>(x);
  ns::trailing<<<1, 1>>>(x);
  ns::S<int>::member<<<1, 1>>>(x);
  return hipDeviceSynchronize();
}
"""


def test_constrained_templates_by_their_base_name(workbench: Workbench) -> None:
    """clang 18 and later mangle the constraints, which not every C++ runtime demangles."""
    folder = workbench.work / "constrained"
    folder.mkdir()
    (folder / "k.hip").write_text("#include <hip/hip_runtime.h>\n" + CONSTRAINED)
    words = ["hipcc", "-std=c++20", f"--offload-arch={TARGET}", "-O2", "k.hip"]
    workbench.container.run([*words, "-o", "app"], cwd=folder, check=True)
    entry = {"directory": str(folder), "file": "k.hip", "arguments": [*words, "-c"]}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    for name in ("abbreviated", "clause", "trailing", "member"):
        out = workbench.work / f"constrained-{name}.kcap"
        argv = ["extract", name, "-o", out, "--device", f"vgpu:{TARGET}", "--source-dir", folder]
        done = workbench.kerncap(*argv, "--", folder / "app")
        assert done.returncode == 0, done.stderr
        assert json.loads((out / "compile.json").read_text())["same_code"] is True
        hsaco = out.with_suffix(".hsaco")
        done = workbench.kerncap("recompile", out, "-o", hsaco, "--trust")
        assert done.returncode == 0, done.stderr
        assert workbench.verdict("validate", out, "--hsaco", hsaco)["verdict"] == "equivalent"
