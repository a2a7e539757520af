"""A running container of the dev image, or of another one on the same tool chain, as tests use it.

The fixtures `dev_container` and `app_container` start and remove them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

# Targets that a suite's compiler and HSA runtime do not know: trixie has LLVM 17 and ROCr 6.1.
UNKNOWN_TARGETS = {"trixie": frozenset({"gfx950", "gfx1201"}), "sid": frozenset()}


def known_targets(suite: str, targets: Iterable[str]) -> list[str]:
    """Those of `targets` that the suite compiles for and runs."""
    return [t for t in targets if t not in UNKNOWN_TARGETS[suite]]


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


@contextmanager
def running(
    image: str, suite: str, root: Path, base: Path, work: Path, *, options: Sequence[str] = ()
) -> Iterator[DevContainer]:
    """A container of this image that runs the checkout's Python and native code; writes below `base` only.

    `options`: more of `docker run`'s.
    """
    native = root / "build" / "native" / suite
    if not native.is_dir():
        pytest.fail(f"{native} does not exist: run `make images`")
    command = ["docker", "run", "--detach", "--rm", "--init", "--network", "host", "--shm-size", "1g", *options]
    command += ["--user", f"{os.getuid()}:{os.getgid()}", "--label", "dev.kerncap.test=1"]
    command += ["--volume", f"{root}:{root}:ro", "--volume", f"{base}:{base}", "--workdir", str(work)]
    environment = {"PYTHONPATH": str(root), "KERNCAP_NATIVE_DIR": str(native), "HOME": str(work)}
    for key, value in environment.items():
        command += ["--env", f"{key}={value}"]
    started = subprocess.run([*command, image, "sleep", "infinity"], capture_output=True, text=True)
    if started.returncode != 0:
        pytest.fail(f"cannot start {image}: {started.stderr.strip()}\nrun `make images`")
    name = started.stdout.strip()
    try:
        yield DevContainer(suite=suite, name=name, root=root, work=work)
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True)
