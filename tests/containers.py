"""A running container of the dev image, as tests use it; the fixture `dev_container` starts and removes it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class DevContainer:
    """A running container of the dev image; `work` is writable on both sides under the same path."""

    suite: str
    name: str
    root: Path
    work: Path

    @property
    def native_dir(self) -> Path:
        return self.root / "build" / "native" / self.suite

    def run(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout_s: float = 300,
        check: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program inside as the invoking user. After `timeout_s` it is killed inside, too (exit code 124 or 137).

        With `check` a non-zero exit fails the test and shows what the program said.
        """
        options = ["--workdir", str(cwd or self.work)]
        for key, value in (env or {}).items():
            options += ["--env", f"{key}={value}"]
        command = ["timeout", "--kill-after=5", str(timeout_s), *map(os.fspath, argv)]
        done = subprocess.run(
            ["docker", "exec", *options, self.name, *command],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=timeout_s + 30,
        )
        if check and done.returncode != 0:
            line = " ".join(map(os.fspath, argv))
            pytest.fail(f"{line}\nexit code {done.returncode} on {self.suite}\n{done.stdout}\n{done.stderr}")
        return done
