"""What the README tells a newcomer to type by hand, typed: block by block, in a copy of what it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")


def blocks() -> list[str]:
    """The command blocks between `make demo` and the paragraph on `make test`."""
    text = (ROOT / "README.md").read_text("utf-8")
    part = text[text.index("It leaves `.venv/bin/kerncap`") : text.index("`make test` installs likewise")]
    return re.findall(r"```\n(.*?)```", part, re.DOTALL)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    scripts = tmp_path / ".venv" / "bin"
    scripts.mkdir(parents=True)
    (tmp_path / "demo").mkdir()
    (scripts / "activate").write_text(f'export PATH="{scripts}:$PATH" PYTHONPATH="{ROOT}"\n')
    (scripts / "kerncap").write_text(f'#!/bin/sh\nexec {sys.executable} -m kerncap "$@"\n')
    (scripts / "kerncap").chmod(0o755)
    return tmp_path


def test_by_hand(checkout: Path) -> None:
    typed = "\n".join(["set -e", *blocks()]).replace("kerncap/dev:", f"{NAMESPACE}/dev:")
    assert "kerncap run" in typed
    done = subprocess.run(["bash", "-c", typed], cwd=checkout, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = re.findall(r"^verdict: (.*)", done.stdout, re.MULTILINE)
    assert verdicts == ["faithful", "equivalent", "equivalent"]
