"""Completion at TAB, asked as the shells ask; and its installation, in bash itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kerncap.cli.main import COMMANDS
from kerncap.native import VGPU_TARGETS

_ROOT = Path(__file__).resolve().parents[2]


def offers(cwd: Path, *words: str) -> list[str]:
    """What bash gets when the last of these words (as bash splits them) is being typed."""
    env = {**os.environ, "_KERNCAP_COMPLETE": "complete_bash", "PYTHONPATH": str(_ROOT)}
    env |= {"COMP_WORDS": "\n".join(["kerncap", *words]), "COMP_CWORD": str(len(words))}
    argv = [sys.executable, "-m", "kerncap"]
    done = subprocess.run(argv, env=env, cwd=cwd, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sealed").mkdir()
    (tmp_path / "sealed" / "oci-layout").write_text("{}")
    (tmp_path / "scale.kcap" / "capture").mkdir(parents=True)
    (tmp_path / "scale.kcap" / "reproducer.json").write_text("{}")
    (tmp_path / "some").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "saved.kcap.tar").write_bytes(b"")
    (tmp_path / "notes.txt").write_bytes(b"")
    return tmp_path


def test_commands(tmp_path: Path) -> None:
    assert set(offers(tmp_path, "")) >= set(COMMANDS)
    assert offers(tmp_path, "re") == ["replay", "recompile"]


def test_options(tmp_path: Path) -> None:
    assert offers(tmp_path, "run", "--dev") == ["--device"]


@pytest.mark.parametrize("command", ["run", "replay", "validate", "extract"])
def test_devices(tmp_path: Path, command: str) -> None:
    everything = offers(tmp_path, command, "--device", "")
    assert set(everything) >= {"auto", "gpu", *(f"vgpu:{target}" for target in VGPU_TARGETS)}
    assert set(offers(tmp_path, command, "--device", "v")) == {f"vgpu:{target}" for target in VGPU_TARGETS}


def test_bash_takes_a_colon_for_a_word(tmp_path: Path) -> None:
    """What comes back is what follows the colon, since bash leaves the rest standing."""
    assert offers(tmp_path, "run", "x", "--device", "vgpu", ":") == list(VGPU_TARGETS)
    assert offers(tmp_path, "run", "x", "--device", "vgpu", ":", "gfx94") == ["gfx942"]
    assert offers(tmp_path, "run", "x", "--device", "=", "vgpu", ":", "gfx11") == ["gfx1100"]
    assert offers(tmp_path, "run", "oci", ":", "x", "--device", "vgpu", ":", "gfx94") == ["gfx942"]


@pytest.mark.parametrize("command", ["run", "inspect", "verify", "replay", "recompile", "unpack", "push", "pull"])
def test_bundles(folder: Path, command: str) -> None:
    assert offers(folder, command, "s") == ["saved.kcap.tar", "scale.kcap", "sealed", "some/"]
    assert offers(folder, command, "sea") == ["sealed"]


def test_bundles_of_a_layout(folder: Path) -> None:
    assert set(offers(folder, "run", "oci", ":")) == {"scale.kcap", "sealed", "empty/", "some/"}
    assert set(offers(folder, "run", "oci", ":", "se")) == {"sealed"}
    assert offers(folder, "run", "oci:se") == ["oci:sealed"]


def test_without_bundles_the_shell_offers_files(folder: Path) -> None:
    assert offers(folder, "run", "e") == []
    assert offers(folder, "run", "no") == []


def test_installed_in_bash(folder: Path, tmp_path: Path) -> None:
    """`--install-completion` as a person runs it; then bash completes with what that left."""
    bash = shutil.which("bash")
    assert bash is not None
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    program = programs / "kerncap"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kerncap "$@"\n')
    program.chmod(0o755)
    env = {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(_ROOT)}
    done = subprocess.run([program, "--install-completion", "bash"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    script = """
    source "$HOME/.bashrc"
    COMP_WORDS=(kerncap run x --device vgpu : gfx9) COMP_CWORD=6
    $(complete -p kerncap | sed -E 's/.*-F ([^ ]+) .*/\\1/') kerncap
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run([bash, "--norc", "-c", script], env=env, cwd=folder, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["gfx90a", "gfx942", "gfx950"], done.stderr
