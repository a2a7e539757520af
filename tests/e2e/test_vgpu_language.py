"""HIP's language and device library on the virtual GPU: grid barriers, function pointers, virtual functions, recursion,
printf, assert, managed memory, atomics. The program checks its own results; both suites, all targets."""

from __future__ import annotations

from pathlib import Path

import pytest
from vgpu_programs import SIGABRT, TARGETS, Programs, passed

LINES = {f"lane {lane} of group {group}: -7 words 2.500 1099511627776" for lane in (5, 69) for group in (0, 1)}


@pytest.fixture(scope="session")
def language(programs: Programs) -> Path:
    container = programs.container
    out = container.work / "vgpu_language"
    archs = [f"--offload-arch={t}" for t in TARGETS]
    source = container.root / "tests" / "programs" / "vgpu_language.hip"
    container.run(["hipcc", *archs, "-O2", source, "-o", out], check=True)
    return out


@pytest.mark.parametrize("target", TARGETS)
def test_what_the_language_has(programs: Programs, language: Path, target: str) -> None:
    done = programs.run(target, language)
    passed(done)
    assert set(done.stdout.splitlines()) > LINES
    assert done.stdout.count(": right") == 11


@pytest.mark.parametrize("target", TARGETS)
def test_a_failed_assertion_ends_the_program(programs: Programs, language: Path, target: str) -> None:
    done = programs.run(target, language, "asserts")
    assert done.returncode == SIGABRT, done.stdout + done.stderr
    assert 'Device-side assertion `n == 3 && "it is three"\' failed.' in done.stderr
    assert f"kerncap-vgpu: vgpu.trap: {target}: s_trap 2" in done.stderr
