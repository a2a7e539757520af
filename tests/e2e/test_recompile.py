"""Source closure and recompile of real HIP translation units: untouched, edited, broken, without the project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from workbench import TARGETS, Workbench

from kerncap.bundle.documents import validate

ROOT = Path(__file__).resolve().parents[2]
SUBSET = {("trixie", "gfx942"), ("sid", "gfx90a")}


def project(workbench: Workbench) -> Path:
    """A project of its own with a compile database, in a folder that can be moved away."""
    folder = workbench.work / "project"
    if not folder.exists():
        folder.mkdir()
        for name in ("pipeline.hip", "vector_add.hip"):
            shutil.copy(workbench.sources / name, folder / name)
        (folder / "include").mkdir()
        for name in ("program.hpp", "pipeline_kernels.hpp"):
            shutil.copy(workbench.sources / name, folder / "include" / name)
        options = [f"--offload-arch={t}" for t in TARGETS] + ["-O2", "-Iinclude", "-DNDEBUG=1"]
        entries = [
            {
                "directory": str(folder),
                "file": "vector_add.hip",
                "arguments": ["hipcc", *options, "-c", "vector_add.hip"],
            },
            {
                "directory": str(folder),
                "file": "pipeline.hip",
                "command": f"hipcc {' '.join(options)} -MD -MF pipeline.d -o pipeline.o -c pipeline.hip",
            },
        ]
        (folder / "compile_commands.json").write_text(json.dumps(entries))
        workbench.container.run(["hipcc", *options, "pipeline.hip", "-o", "app"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("target", TARGETS)
def test_recompile(workbench: Workbench, target: str) -> None:
    if (workbench.container.suite, target) not in SUBSET and target != "gfx1100":
        pytest.skip("covered by another combination")
    folder = project(workbench)
    out = workbench.work / f"recompile-{target}.kcap"
    argv = ["extract", "bias_relu", "-o", str(out), "--device", f"vgpu:{target}", "--source-dir", str(folder)]
    done = workbench.kerncap(*argv, "--dispatch", "3", "--json", "--", folder / "app")
    assert done.returncode == 0, done.stderr
    assert "EXIT-SUCCESS" in done.stderr
    document = json.loads(done.stdout)
    validate(document, "printed", what="extract")
    assert document["source_files"] > 10
    assert document["source_error"] is None

    # The project is gone: only what the reproducer carries is left.
    hidden = folder.with_name("hidden")
    folder.rename(hidden)
    try:
        same = workbench.work / f"same-{target}.hsaco"
        done = workbench.kerncap("recompile", out, "-o", same, "--trust")
        assert done.returncode == 0, done.stderr
        verdict = workbench.verdict("validate", out, "--hsaco", same)
        assert verdict["verdict"] == "equivalent"
        assert verdict["judged"] == ["captured", "perturbed"]

        header = out / "src" / "root" / str(folder / "include" / "pipeline_kernels.hpp").lstrip("/")
        text = header.read_text()
        header.write_text(text.replace("constant(1.0f, 2.0f) * bias", "3.0f * bias"))
        assert header.read_text() != text
        edited = workbench.work / f"edited-{target}.hsaco"
        done = workbench.kerncap("recompile", out, "-o", edited, "--trust")
        assert done.returncode == 0, done.stderr
        assert workbench.verdict("validate", out, "--hsaco", edited)["verdict"] == "differs"

        header.write_text(text + "\nthis is no C++\n")
        broken = workbench.work / f"broken-{target}.hsaco"
        said = workbench.error(8, "recompile", out, "-o", broken, "--trust")
        assert str(header) in said["stderr"]
        assert not broken.exists()
        header.write_text(text)
    finally:
        hidden.rename(folder)


def test_source_that_cannot_be_carried_does_not_lose_the_capture(workbench: Workbench) -> None:
    out = workbench.work / "no-source.kcap"
    empty = workbench.work / "empty"
    empty.mkdir(exist_ok=True)
    argv = ["extract", "vector_add", "-o", str(out), "--device", "vgpu:gfx942", "--source-dir", str(empty)]
    said = workbench.error(8, *argv, "--", workbench.program("vector_add"))
    assert "without source" in said["stderr"]
    assert workbench.verdict("replay", out)["verdict"] == "faithful"
    assert not (out / "src").exists()
    said = workbench.error(8, "recompile", out, "-o", workbench.work / "x.hsaco", "--trust")
    assert "carries no source" in said["stderr"]


def test_a_kernel_whose_source_lies_elsewhere(workbench: Workbench) -> None:
    """Line tables tell where."""
    folder, other = workbench.work / "elsewhere", workbench.work / "other"
    folder.mkdir()
    other.mkdir()
    (other / "compile_commands.json").write_text("[]")
    source = shutil.copy(workbench.sources / "vector_add.hip", folder)
    argv = ["hipcc", "--offload-arch=gfx942", "-O2", "-g", f"-I{workbench.sources}", source, "-o", folder / "app"]
    workbench.container.run(argv, cwd=folder, check=True)
    out = workbench.work / "elsewhere.kcap"
    options = ["-o", out, "--device", "vgpu:gfx942", "--source-dir", other]
    said = workbench.error(8, "extract", "vector_add", *options, "--", folder / "app")
    assert f"its line tables name {source}" in said["stderr"]
    assert f"--source-dir {folder}" in said["stderr"]


def test_a_kernel_that_was_compiled_while_the_application_ran(workbench: Workbench) -> None:
    """By hiprtc: with debug information the error says so, without it that nothing is known."""
    library = [] if workbench.container.suite == "trixie" else ["-lhiprtc"]  # HIP 5.7 has it in its own library
    program = workbench.work / "runtime_compiled"
    argv = [
        "hipcc",
        "--offload-arch=gfx942",
        "-O2",
        workbench.sources / "runtime_compiled.hip",
        "-o",
        program,
        *library,
    ]
    workbench.container.run(argv, check=True)
    folder = workbench.work / "no-database"
    folder.mkdir()
    for options, words in ((["-g"], "(hiprtc), from text that is no file"), ([], "no line tables")):
        out = workbench.work / f"runtime-compiled{''.join(options)}.kcap"
        argv = ["extract", "triple", "-o", out, "--device", "vgpu:gfx942", "--source-dir", folder]
        said = workbench.error(8, *argv, "--", program, *options)
        assert words in said["stderr"]
        assert workbench.verdict("replay", out)["verdict"] == "faithful"


_STEPS = {
    "instruction": "x[threadIdx.x] *= FACTOR;",
    "constants": "const float t[4] = {FACTOR, 1.5f, 2.5f, 3.5f}; x[threadIdx.x] *= t[int(x[threadIdx.x]) & 3];",
}


@pytest.mark.parametrize("where", _STEPS)
def test_of_two_kernels_of_one_name_the_one_that_ran(workbench: Workbench, where: str) -> None:
    """Both files have the mangled symbol; without debug information only the machine code tells which is meant, or the
    constants that it reads."""
    folder = workbench.work / f"anonymous-{where} \U0001f600"
    folder.mkdir()
    kernel = "namespace { __global__ void step(float* x) { " + _STEPS[where] + " } }"
    memory = "float* x; if (hipMalloc(&x, 256) || hipMemset(x, 0, 256)) return 1;"
    launch = f"{{ {memory} step<<<1, 64>>>(x); return hipDeviceSynchronize(); }}"
    entries = []
    options = ["--offload-arch=gfx942", "-O2"]
    for name, factor in (("one", "3.0f"), ("two", "7.0f")):
        text = f"#include <hip/hip_runtime.h>\n{kernel.replace('FACTOR', factor)}\nint {name}() {launch}\n"
        (folder / f"{name}.hip").write_text(text)
        command = ["hipcc", *options, "-c", f"{name}.hip", "-o", f"{name}.o"]
        entries.append({"directory": str(folder), "file": f"{name}.hip", "arguments": command})
        workbench.container.run(command, cwd=folder, check=True)
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    (folder / "main.cpp").write_text("int one(); int two();\nint main() { return one() || two(); }\n")
    workbench.container.run(["hipcc", *options, "-c", "main.cpp", "-o", "main.o"], cwd=folder, check=True)
    workbench.container.run(["hipcc", "main.o", "one.o", "two.o", "-o", "app"], cwd=folder, check=True)
    for dispatch, name in ((0, "one"), (1, "two")):
        out = workbench.work / f"anonymous-{where}-{dispatch}.kcap"
        argv = ["extract", "step", "--dispatch", str(dispatch), "-o", out, "--device", "vgpu:gfx942"]
        done = workbench.kerncap(*argv, "--source-dir", folder, "--", folder / "app")
        assert done.returncode == 0, done.stderr
        compiled = json.loads((out / "compile.json").read_text())
        assert (compiled["main"], compiled["same_code"]) == (str(folder / f"{name}.hip"), True)
        hsaco = out.with_suffix(".hsaco")
        assert workbench.kerncap("recompile", out, "-o", hsaco, "--trust").returncode == 0
        assert workbench.verdict("validate", out, "--hsaco", hsaco)["verdict"] == "equivalent"


def test_source_that_no_overlay_can_show_does_not_lose_the_capture(workbench: Workbench) -> None:
    """A header behind `..` behind a symbolic link, and another that lies where links are not known: refused by name."""
    folder = workbench.work / "linked"
    for name in ("real/deep", "real/other", "other"):
        (folder / name).mkdir(parents=True)
    (folder / "link").symlink_to("real/deep")
    (folder / "real" / "deep" / "h.h").write_text('#include "../other/o.h"\n')
    (folder / "real" / "other" / "o.h").write_text("#define FACTOR 2.0f\n")
    (folder / "other" / "o.h").write_text("#define OTHER 2.0f\n")
    source = folder / "vector_add.hip"
    text = (workbench.sources / "vector_add.hip").read_text()
    source.write_text('#include <h.h>\n#include "other/o.h"\n' + text)
    command = ["hipcc", "--offload-arch=gfx942", "-O2", "-Ilink", f"-I{workbench.sources}", "vector_add.hip"]
    workbench.container.run([*command, "-o", "app"], cwd=folder, check=True)
    entry = {"directory": str(folder), "file": "vector_add.hip", "arguments": [*command, "-c"]}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    out = workbench.work / "linked.kcap"
    argv = ["extract", "vector_add", "-o", out, "--device", "vgpu:gfx942", "--source-dir", folder]
    said = workbench.error(8, *argv, "--", folder / "app")
    assert "without source" in said["stderr"]
    assert f"{folder / 'real' / 'other' / 'o.h'} by `..` behind a symbolic link" in said["stderr"]
    assert workbench.verdict("replay", out)["verdict"] == "faithful"
    assert not (out / "src").exists()


def test_headers_of_the_tool_chain_by_reference(workbench: Workbench) -> None:
    """A small bundle, which compiles where the headers are; where they are others, or missing, it is said."""
    folder, out = project(workbench), workbench.work / "referenced.kcap"
    argv = ["extract", "bias_relu", "-o", out, "--device", "vgpu:gfx942", "--source-dir", folder]
    done = workbench.kerncap(*argv, "--toolchain-headers", "reference", "--", folder / "app")
    assert done.returncode == 0, done.stderr
    carried = [path for path in (out / "src").rglob("*") if path.is_file()]
    assert {path.name for path in carried} == {"pipeline.hip", "program.hpp", "pipeline_kernels.hpp"}
    compiled = json.loads((out / "compile.json").read_text())
    assert compiled["compiler"]["device_libs_digest"].startswith("sha256:")
    assert sum(file["path"] is None for file in compiled["files"]) > 100
    sealed = workbench.work / "referenced.kcap.tar"
    assert workbench.kerncap("pack", out, "-o", sealed).returncode == 0
    hsaco = workbench.work / "referenced.hsaco"
    done = workbench.kerncap("recompile", sealed, "-o", hsaco, "--trust", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["difference"] is None
    assert workbench.verdict("validate", sealed, "--hsaco", hsaco)["verdict"] == "equivalent"

    def changed(what: str, **to: str) -> None:
        document = json.loads(json.dumps(compiled))
        file = next(file for file in document["files"] if file["original"].endswith(what))
        file.update(to)
        document["compiler"]["device_libs_digest"] = "sha256:" + "0" * 64
        (out / "compile.json").write_text(json.dumps(document))

    changed("/hip_runtime.h", digest="sha256:" + "0" * 64)
    done = workbench.kerncap("recompile", out, "-o", workbench.work / "other.hsaco", "--trust", "--json")
    assert done.returncode == 0, done.stderr
    difference = json.loads(done.stdout)["difference"]
    assert "the device libraries are not the original's; 1 of " in difference
    assert "hip_runtime.h for one" in difference
    changed("/hip_runtime.h", original="/usr/include/hip/no_such_header.h")
    said = workbench.error(8, "recompile", out, "-o", workbench.work / "missing.hsaco", "--trust")
    assert "/usr/include/hip/no_such_header.h" in said["stderr"]
    changed("/hip_runtime.h", original="/etc/passwd")
    workbench.error(4, "recompile", out, "-o", workbench.work / "hostile.hsaco", "--trust")


def environment() -> dict[str, str]:
    """For this checkout's kerncap in another working directory."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_recompile_in_the_sandbox(workbench: Workbench) -> None:
    """From the host: a container of the suite's runtime image compiles, without network and without this machine."""
    suite = workbench.container.suite
    folder, out = project(workbench), workbench.work / "sandbox.kcap"
    argv = ["extract", "bias_relu", "-o", str(out), "--device", "vgpu:gfx942", "--source-dir", str(folder)]
    done = workbench.kerncap(*argv, "--", folder / "app")
    assert done.returncode == 0, done.stderr

    def recompile(output: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kerncap", "recompile", str(out), "-o", str(output), "--json"]
        return subprocess.run(command, capture_output=True, text=True, cwd=workbench.container.root, timeout=300)

    hsaco = workbench.work / "sandbox.hsaco"
    done = recompile(hsaco)
    assert done.returncode == 0, done.stderr
    validate(json.loads(done.stdout), "printed", what="recompile")
    assert ("21." if suite == "sid" else "17.") in json.loads(done.stdout)["compiler"]
    assert workbench.verdict("validate", out, "--hsaco", hsaco)["verdict"] == "equivalent"

    # The printed lines can be typed afterwards, one after the other: the first leaves what the second reads.
    argv = [sys.executable, "-m", "kerncap", "run", str(out), "--recompile", "--device", "vgpu:gfx942", "--json"]
    argv += ["--image", f"{os.environ.get('KERNCAP_IMAGE_NAMESPACE', 'kerncap')}/runtime:{suite}"]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=workbench.work, timeout=300, env=environment())
    assert json.loads(done.stdout)["verdict"] == "equivalent", done.stderr
    lines = [line[2:] for line in done.stderr.splitlines() if line.startswith("$ docker run ")]
    assert len(lines) == 2
    script = "\n".join(lines)
    typed = subprocess.run(script, shell=True, capture_output=True, text=True, cwd=workbench.work, timeout=300)
    assert json.loads(typed.stdout)["verdict"] == "equivalent", typed.stderr

    header = out / "src" / "root" / str(folder / "include" / "pipeline_kernels.hpp").lstrip("/")
    header.write_text(header.read_text() + "\nthis is no C++\n")
    done = recompile(workbench.work / "broken.hsaco")
    assert done.returncode == 8, done.stderr
    assert str(header) in done.stderr
    assert "error: " in done.stderr
    assert not (workbench.work / "broken.hsaco").exists()
