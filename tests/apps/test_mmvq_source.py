"""llama.cpp's mul_mat_vec_q from its own source, built by the real commands of llama.cpp's own CMake files.

The kernel's driver is tests/projects/mmvq; of llama.cpp only what it links is built. The kernel's source is carried
from the project's compile database, compiled again in the runtime image, which has nothing of it, and edited there.
The sources come out of the source archive of llama-cpp-python, which `make test-apps` fetches into build/llama.cpp.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Programs
from test_header_kernels import sandboxed

APP = "llama"
TARGETS = ("gfx942", "gfx1100")
SOURCES = ROOT / "build" / "llama.cpp"
DRIVER = ROOT / "tests" / "projects" / "mmvq" / "driver.cpp"
_OFF = ("LLAMA_BUILD_TESTS", "LLAMA_BUILD_TOOLS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_SERVER", "LLAMA_CURL")
_OBJECTS = "ggml/src/ggml-hip/CMakeFiles/ggml-hip.dir/__/ggml-cuda"


@pytest.fixture(scope="module")
def build(programs: Programs) -> Path:
    """Configured and built in the image; mmvq.cu alone takes minutes."""
    if not (SOURCES / "ggml/src/ggml-cuda/mmvq.cu").is_file():
        pytest.skip("llama.cpp's sources are not in build/llama.cpp: make test-apps fetches them")
    work = programs.container.work
    source, folder = work / "llama.cpp", work / "llama-build"
    shutil.copytree(SOURCES, source)
    configure = ["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DGGML_HIP=ON"]
    configure += [f"-DGPU_TARGETS={';'.join(TARGETS)}", "-DCMAKE_HIP_COMPILER=clang++-21"]
    configure += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *(f"-D{name}=OFF" for name in _OFF)]
    programs.container.run(configure, check=True)
    objects = [f"{_OBJECTS}/{name}.cu.o" for name in ("mmvq", "quantize")]
    programs.container.run(["ninja", "-C", folder, "ggml-base", *objects], check=True, timeout_s=3600)
    link = ["clang++-21", *(f"--offload-arch={target}" for target in TARGETS), "-O2", "-w", "-std=gnu++17"]
    link += ["-DGGML_USE_HIP", "-D__HIP_PLATFORM_AMD__=1", "-DGGML_HIP_NO_VMM"]
    link += [f"-I{source}/ggml/{name}" for name in ("include", "src", "src/ggml-cuda")]
    driver = work / "driver.o"
    programs.container.run([*link, "-x", "hip", "-c", DRIVER, "-o", driver], check=True, timeout_s=900)
    libraries = [f"-L{folder}/bin", f"-Wl,-rpath,{folder}/bin", "-lggml-base", "-lamdhip64"]
    programs.container.run(
        ["clang++-21", "--hip-link", driver, *(folder / name for name in objects), *libraries, "-o", work / "driver"],
        check=True,
    )
    return folder


def timed(action: Any) -> float:
    started = time.monotonic()
    action()
    return time.monotonic() - started


@pytest.mark.parametrize("target", TARGETS)
def test_mul_mat_vec_q_from_its_source(programs: Programs, build: Path, target: str) -> None:
    work, device = programs.container.work, ("--device", f"vgpu:{target}")
    run = timed(lambda: programs.run(target, [work / "driver"]))
    made = work / f"mmvq-{target}.kcap"
    source = ("--source-dir", work / "llama.cpp", "--compile-db", build / "compile_commands.json")
    programs.kerncap("extract", "mul_mat_vec_q", "-o", made, *device, *source, "--", work / "driver")
    compiled = json.loads((made / "compile.json").read_text())
    main = work / "llama.cpp/ggml/src/ggml-cuda/mmvq.cu"
    assert (compiled["main"], compiled["same_code"]) == (str(main), True)
    assert "-DGGML_USE_HIP" in compiled["arguments"]

    same, edited = made.with_suffix(".same.hsaco"), made.with_suffix(".edited.hsaco")
    recompile = timed(lambda: sandboxed(made, same))
    verdict = {}

    def validate() -> None:
        verdict.update(json.loads(programs.kerncap("validate", made, "--hsaco", same, *device, "--json")))

    replay = timed(validate)
    assert verdict["verdict"] == "equivalent", verdict
    print(f"{target}: run of the program {run:.1f} s; recompile {recompile:.1f} s, validate {replay:.1f} s")

    file = made / "src" / "root" / str(main.with_name("vecdotq.cuh")).lstrip("/")
    text = file.read_text()
    old = "vec_dot_q4_K_q8_1_impl_vmmq("
    at = text.index("return dm4f.x*sumf_d - dm4f.y*sumf_m;", text.index(old))
    file.write_text(text[:at] + text[at:].replace("dm4f.x*sumf_d", "2*dm4f.x*sumf_d", 1))
    sandboxed(made, edited)
    refused = json.loads(programs.kerncap("validate", made, "--hsaco", edited, *device, "--json", exit_codes=(1,)))
    assert refused["verdict"] == "differs", refused
