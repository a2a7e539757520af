"""llama.cpp's mul_mat_vec_q built from its source, with a driver that runs it: what test and evaluation share.

In: a container of the image `llama`, llama.cpp's sources (scripts/fetch-llama-source). Out: a Project below the
container's working folder, built by the real commands of llama.cpp's own CMake files.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from containers import DevContainer

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("gfx942", "gfx1100")
SOURCES = ROOT / "build" / "llama.cpp"
_DRIVER = ROOT / "tests" / "projects" / "mmvq" / "driver.cpp"
_OFF = ("LLAMA_BUILD_TESTS", "LLAMA_BUILD_TOOLS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_SERVER", "LLAMA_CURL")
_OBJECTS = "ggml/src/ggml-hip/CMakeFiles/ggml-hip.dir/__/ggml-cuda"


def fetched() -> bool:
    return (SOURCES / "ggml/src/ggml-cuda/mmvq.cu").is_file()


@dataclass(frozen=True)
class Project:
    """`program` runs the kernel once and compares its result."""

    source: Path
    build: Path
    program: Path

    @property
    def kernel_file(self) -> Path:
        return self.source / "ggml/src/ggml-cuda/mmvq.cu"

    @property
    def database(self) -> Path:
        return self.build / "compile_commands.json"


def make(container: DevContainer) -> Project:
    """Configured and built; mmvq.cu alone takes a minute."""
    project = Project(container.work / "llama.cpp", container.work / "llama-build", container.work / "driver")
    shutil.copytree(SOURCES, project.source)
    configure = ["cmake", "-S", project.source, "-B", project.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    configure += ["-DGGML_HIP=ON", f"-DGPU_TARGETS={';'.join(TARGETS)}", "-DCMAKE_HIP_COMPILER=clang++-21"]
    configure += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *(f"-D{name}=OFF" for name in _OFF)]
    container.run(configure, check=True)
    flags = [*(f"--offload-arch={target}" for target in TARGETS), "-O2", "-w", "-std=gnu++17"]
    flags += ["-DGGML_USE_HIP", "-D__HIP_PLATFORM_AMD__=1", "-DGGML_HIP_NO_VMM"]
    flags += [f"-I{project.source}/ggml/{name}" for name in ("include", "src", "src/ggml-cuda")]
    driver = [*flags, "-x", "hip", "-c", _DRIVER, "-o", container.work / "driver.o"]
    container.run(["clang++-21", *driver], check=True, timeout_s=900)
    rebuild(container, project)
    return project


def rebuild(container: DevContainer, project: Project) -> None:
    """What an edit of the kernel's file costs the project: that file for all targets, and the link."""
    objects = [f"{_OBJECTS}/{name}.cu.o" for name in ("mmvq", "quantize")]
    container.run(["ninja", "-C", project.build, "ggml-base", *objects], check=True, timeout_s=3600)
    libraries = [f"-L{project.build}/bin", f"-Wl,-rpath,{project.build}/bin", "-lggml-base", "-lamdhip64"]
    inputs = [container.work / "driver.o", *(project.build / name for name in objects)]
    container.run(["clang++-21", "--hip-link", *inputs, *libraries, "-o", project.program], check=True)
