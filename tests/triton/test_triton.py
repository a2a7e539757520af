"""Triton's kernels, compiled ahead of time, on the virtual GPU against numpy. `make test-triton` fetches Triton."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from containers import DevContainer

ROOT = Path(__file__).resolve().parents[2]
TRITON = ROOT / "build" / "triton"
TARGETS = ("gfx942", "gfx90a", "gfx1100", "gfx1201")

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not TRITON.is_dir(), reason="Triton is not installed in build/triton: make test-triton"),
]


@pytest.fixture(scope="session")
def code_objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("triton")
    environment = dict(os.environ, PYTHONPATH=str(TRITON), TRITON_CACHE_DIR=str(out / "cache"))
    for target in TARGETS:
        argv = [sys.executable, "-B", str(ROOT / "tests/triton/triton_kernels.py"), str(out), target]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
    return out


@pytest.mark.parametrize("start", ["as-built", "without-preload"])
@pytest.mark.parametrize("target", TARGETS)
def test_against_numpy(dev_container: DevContainer, code_objects: Path, target: str, start: str) -> None:
    environment = {"KERNCAP_VGPU": target, "LD_PRELOAD": str(dev_container.native_dir / "libkerncap-vgpu.so")}
    argv = ["python3", "-B", ROOT / "tests/triton/triton_run.py", code_objects / target, dev_container.work]
    done = dev_container.run([*argv, start], env=environment, timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kerncap-vgpu:" not in done.stderr, done.stderr
    ended = re.search(r"triton: 29 code objects, 0 wrong, (\d+) kernels that preload", done.stdout)
    assert ended, done.stdout
    assert int(ended[1]) == (29 if target.startswith("gfx9") else 0)
