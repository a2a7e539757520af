"""Builds the test programs, captures their kernels and runs kerncap, all inside a suite's dev container.

What is made once (programs, variants, captures) is kept for the whole test session. The fixture is in conftest.py.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from containers import DevContainer

from kerncap.bundle.documents import validate

TARGETS = ("gfx942", "gfx90a", "gfx1100")
VARIANTS = {"nothing": 1, "wrong-constant": 2}


@dataclass(frozen=True)
class Case:
    """One dispatch of one program."""

    program: str
    kernel: str
    dispatch: int = 0

    @property
    def name(self) -> str:
        return f"{self.program}-{self.kernel}-{self.dispatch}"


CASES = (
    Case("vector_add", "vector_add"),
    Case("pipeline", "vector_scale", 0),
    Case("pipeline", "vector_scale", 19),
    Case("pipeline", "bias_relu", 7),
    Case("pipeline", "vector_add", 0),
    Case("pipeline", "vector_add", 15),
    Case("pipeline", "relu", 19),
    Case("pipeline", "histogram", 0),
    Case("pipeline", "histogram", 13),
    Case("batched_scale", "batched_scale"),
    Case("constant_weights", "stencil"),
    Case("lds_reduce", "lds_reduce"),
    Case("private_array", "private_array"),
    Case("no_arguments", "advance", 1),
)
# Late iterations of these store what is already there.
CHANGES_NOTHING = {Case("pipeline", "vector_add", 15), Case("pipeline", "relu", 19)}


@dataclass
class Workbench:
    """The session's products in one suite."""

    container: DevContainer
    _programs: dict[str, Path] = field(default_factory=dict)
    _variants: dict[tuple[str, str, str], Path] = field(default_factory=dict)
    _captures: dict[tuple[Case, str], Path] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        return self.container.work

    @property
    def sources(self) -> Path:
        return self.container.root / "tests" / "programs"

    def program(self, name: str) -> Path:
        """The application, for all targets."""
        if name not in self._programs:
            out = self.work / name
            argv = ["hipcc", *(f"--offload-arch={t}" for t in sorted(TARGETS)), "-O2", self.sources / f"{name}.hip"]
            # Some use the runtime below HIP as well.
            self.container.run([*argv, "-o", out, "-lhsa-runtime64"], check=True)
            self._programs[name] = out
        return self._programs[name]

    def variant(self, program: str, target: str, variant: str) -> Path:
        """A code object whose kernels do nothing, or have a wrong constant."""
        key = (program, target, variant)
        if key not in self._variants:
            out = self.work / f"{program}-{target}-{variant}.hsaco"
            argv = ["hipcc", f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output", "-O2"]
            argv += [f"-DVARIANT={VARIANTS[variant]}", str(self.sources / f"{program}.hip"), "-o", str(out)]
            self.container.run(argv, check=True)
            self._variants[key] = out
        return self._variants[key]

    def edited(self, target: str, program: str, old: str, new: str) -> tuple[Path, int]:
        """A code object with line tables of the program's source after an edit, and the line that was edited."""
        text = (self.sources / f"{program}.hip").read_text()
        assert old in text
        source = self.work / f"{program}-edited.hip"
        source.write_text(text.replace(old, new, 1))
        hsaco = self.work / f"{program}-edited-{target}.hsaco"
        argv = ["hipcc", f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output", "-O2", "-g"]
        argv += [f"-I{self.sources}", str(source), "-o", str(hsaco)]
        self.container.run(argv, check=True)
        return hsaco, text[: text.index(old)].count("\n") + 1

    def capture(self, case: Case, target: str) -> Path:
        """A reproducer of that dispatch."""
        if (case, target) not in self._captures:
            out = self.work / f"{case.name}-{target}.kcap"
            argv = ["extract", case.kernel, "-o", str(out), "--device", f"vgpu:{target}"]
            argv += ["--dispatch", str(case.dispatch), "--", str(self.program(case.program))]
            done = self.kerncap(*argv)
            if done.returncode != 0 or "EXIT-SUCCESS" not in done.stdout:
                pytest.fail(f"extract: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
            self._captures[case, target] = out
        return self._captures[case, target]

    def kerncap(
        self, *argv: str | Path, timeout_s: float = 300, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.container.run(["python3", "-m", "kerncap", *argv], timeout_s=timeout_s, cwd=cwd, env=env)

    def verdict(self, command: str, bundle: Path, *argv: str | Path) -> dict[str, Any]:
        """The verdict document; the exit code must agree with it."""
        done = self.kerncap(command, bundle, *argv, "--json")
        if done.returncode not in (0, 1):
            pytest.fail(f"{command}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        document: dict[str, Any] = json.loads(done.stdout)
        validate(document, "printed", what=command)
        assert document["passed"] == (done.returncode == 0)
        return document

    def error(self, exit_code: int, *argv: str | Path, **more: Any) -> dict[str, Any]:
        """The error document of a command that must fail with this exit code and a hint."""
        done = self.kerncap(*argv, **more)
        assert done.returncode == exit_code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "error: " in done.stderr
        assert "hint: " in done.stderr
        assert "Traceback" not in done.stderr
        return {"stderr": done.stderr, "stdout": done.stdout}
