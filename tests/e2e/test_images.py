"""The images hold what they promise: tool chain, runtime, Kerncap, and the runtime image is not root."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from containers import DevContainer

NAMESPACE = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")

KERNEL = """
#include <hip/hip_runtime.h>
__global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }
int main() { return 0; }
"""


def in_runtime(suite: str, *command: str) -> subprocess.CompletedProcess[str]:
    argv = ["docker", "run", "--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", "--entrypoint", command[0]]
    return subprocess.run([*argv, f"{NAMESPACE}/runtime:{suite}", *command[1:]], capture_output=True, text=True)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_dev_image_compiles_device_code(dev_container: DevContainer, target: str) -> None:
    source, out = dev_container.work / "twice.hip", dev_container.work / f"twice-{target}.hsaco"
    source.write_text(KERNEL)
    argv = ["hipcc", f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output", source, "-o", out]
    dev_container.run(argv, check=True)
    assert out.read_bytes()[:4] == b"\x7fELF"


def test_dev_image_links_an_application(dev_container: DevContainer) -> None:
    source, out = dev_container.work / "app.hip", dev_container.work / "app"
    source.write_text(KERNEL)
    dev_container.run(["hipcc", "--offload-arch=gfx942", source, "-o", out], check=True)
    assert dev_container.run([out]).returncode == 0


def test_dev_container_uses_the_checkout(dev_container: DevContainer) -> None:
    found = dev_container.run(["python3", "-c", "import kerncap; print(kerncap.__file__)"], check=True).stdout
    assert Path(found.strip()) == dev_container.root / "kerncap" / "__init__.py"


def test_installed_command(suite: str) -> None:
    done = in_runtime(suite, "kerncap", "--version")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("kerncap ")


def test_runtime_image_is_not_root(suite: str) -> None:
    assert in_runtime(suite, "id", "-u").stdout.strip() == "10001"


def test_runtime_image_compiles_device_code(suite: str) -> None:
    line = f"echo '{KERNEL}' > /tmp/k.hip && hipcc --offload-arch=gfx942 --cuda-device-only /tmp/k.hip -o /tmp/k.o"
    done = in_runtime(suite, "bash", "-c", line)
    assert done.returncode == 0, done.stderr
