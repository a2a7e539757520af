"""The HIP and HSA test programs on a virtual GPU, without kerncap around them. The fixture is in conftest.py."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from containers import DevContainer, known_targets

TARGETS = ("gfx90a", "gfx942", "gfx1100")
# Of suites whose runtimes know them; no suite has a HIP runtime that knows gfx950.
HIP_TARGETS = (*TARGETS, "gfx1201")
HSA_TARGETS = (*HIP_TARGETS, "gfx950")
SIGABRT, SIGSEGV = 134, 139

Run = subprocess.CompletedProcess[str]


@dataclass
class Programs:
    """The test programs of one suite, compiled once, and a way to run them on a virtual GPU."""

    container: DevContainer
    hip: Path
    hsa: Path
    kernels: dict[str, Path]

    def run(self, config: str, *argv: str | os.PathLike[str], timeout_s: float = 600) -> Run:
        environment = {"KERNCAP_VGPU": config, "LD_PRELOAD": str(self.container.native_dir / "libkerncap-vgpu.so")}
        # Through a shell: it turns a signal's end into an exit code, and is no user of the device itself.
        done = self.container.run(["bash", "-c", '"$@"', "-", *argv], env=environment, timeout_s=timeout_s)
        # For pytest, which shows it when the test fails.
        print(f"{config}: {' '.join(map(str, argv))}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def run_hip(self, config: str, *sections: str) -> Run:
        return self.run(config, self.hip, *sections)

    def run_hsa(self, config: str, *sections: str) -> Run:
        return self.run(config, self.hsa, self.kernels[config.split(",")[0]], *sections)


def build_programs(dev_container: DevContainer) -> Programs:
    """Compiled for all targets that the suite knows, in the container's work folder."""
    sources, work = dev_container.root / "tests" / "programs", dev_container.work
    hip, hsa = work / "vgpu_hip", work / "vgpu_hsa"
    archs = [f"--offload-arch={t}" for t in known_targets(dev_container.suite, HIP_TARGETS)]
    dev_container.run(["hipcc", *archs, "-O2", sources / "vgpu_hip.hip", "-o", hip], check=True)
    dev_container.run(["g++", "-std=c++20", sources / "vgpu_hsa.cpp", "-o", hsa, "-lhsa-runtime64"], check=True)
    kernels = {}
    for target in known_targets(dev_container.suite, HSA_TARGETS):
        kernels[target] = work / f"vgpu_hsa_{target}.hsaco"
        flags = [f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output", "-O2"]
        argv = ["hipcc", *flags, sources / "vgpu_hsa_kernels.hip", "-o", kernels[target]]
        dev_container.run(argv, check=True)
    return Programs(dev_container, hip, hsa, kernels)


def passed(done: Run) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    assert "kerncap-vgpu:" not in done.stderr, done.stderr
