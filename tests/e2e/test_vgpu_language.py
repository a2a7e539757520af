"""HIP's language and device library on the virtual GPU: grid barriers, function pointers, virtual functions, recursion,
printf, assert, managed memory, atomics. The program checks its own results; both suites, all targets."""

from __future__ import annotations

from pathlib import Path

import pytest
from vgpu_programs import SIGABRT, TARGETS, Programs, passed
from workbench import Workbench

LINES = {f"lane {lane} of group {group}: -7 words 2.500 1099511627776" for lane in (5, 69) for group in (0, 1)}


@pytest.fixture(scope="session")
def language(programs: Programs) -> Path:
    container = programs.container
    out = container.work / "vgpu_language"
    archs = [f"--offload-arch={t}" for t in TARGETS]
    source = container.root / "tests" / "programs" / "vgpu_language.hip"
    container.run(["hipcc", *archs, "-O2", source, "-o", out], check=True)
    return out


@pytest.mark.soak
@pytest.mark.parametrize("target", TARGETS)
def test_what_the_language_has(programs: Programs, language: Path, target: str) -> None:
    done = programs.run(target, language)
    passed(done)
    assert set(done.stdout.splitlines()) > LINES
    assert done.stdout.count(": right") == 11


@pytest.mark.soak
@pytest.mark.parametrize("target", TARGETS)
def test_a_failed_assertion_ends_the_program(programs: Programs, language: Path, target: str) -> None:
    done = programs.run(target, language, "asserts")
    assert done.returncode == SIGABRT, done.stdout + done.stderr
    assert 'Device-side assertion `n == 3 && "it is three"\' failed.' in done.stderr
    assert f"kerncap-vgpu: vgpu.trap: {target}: s_trap 2" in done.stderr


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_a_cooperative_launch_is_captured_and_replayed(workbench: Workbench, language: Path, target: str) -> None:
    """What its grid barrier counts in lies beside the kernel's arguments, which otherwise have no post-state."""
    capture = workbench.work / f"ring-{target}.kcap"
    argv = ["extract", "ring", "-o", capture, "--device", f"vgpu:{target}", "--", language, "cooperative"]
    done = workbench.kerncap(*argv)
    assert done.returncode == 0, done.stderr
    verdict = workbench.verdict("replay", capture, "--iterations", "5")
    assert verdict["verdict"] == "faithful"
    assert verdict["changed_bytes"] > 7


def test_a_barrier_that_needs_the_runtimes_queue_is_named(workbench: Workbench, language: Path) -> None:
    """On gfx90a HIP uses global wave sync, which a replay's queue does not have."""
    capture = workbench.work / "ring-gfx90a.kcap"
    done = workbench.kerncap("extract", "ring", "-o", capture, "--device", "vgpu:gfx90a", "--", language, "cooperative")
    assert done.returncode == 0, done.stderr
    said = workbench.error(6, "replay", capture)
    assert "ds_gws_barrier" in said["stderr"]
    assert "the queue has no global wave sync" in said["stderr"]
