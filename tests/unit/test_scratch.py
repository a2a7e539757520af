"""Temporary folders are gone whatever ends the command."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from kerncap.bundle.outputs import new_directory
from kerncap.scratch import Scratch, _sweep_temp, lock_tree, sweep

_PACKAGE = Path(__file__).resolve().parents[2] / "kerncap"


class _Interrupted:
    """Interrupts the removal of a folder, as often as wanted, after one of its files is gone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.left = times
        self._rmtree = shutil.rmtree
        monkeypatch.setattr(shutil, "rmtree", self)

    def __call__(self, path: Any, *args: Any, **more: Any) -> None:
        if self.left:
            self.left -= 1
            next(Path(path).iterdir()).unlink()
            raise KeyboardInterrupt
        self._rmtree(path, *args, **more)


def _fill(folder: Path) -> None:
    for number in range(8):
        (folder / str(number)).touch()


def _fill_and_fail(folder: Path) -> None:
    _fill(folder)
    raise ValueError


@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupt_of_the_removal_comes_when_all_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    interrupted = _Interrupted(monkeypatch, times)
    with pytest.raises(KeyboardInterrupt), Scratch("kerncap-x-", tmp_path) as folder:
        _fill(Path(folder))
    assert interrupted.left == 0
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_of_the_removal_of_a_failed_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted = _Interrupted(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt), new_directory(tmp_path / "out") as folder:
        _fill_and_fail(folder)
    assert interrupted.left == 0
    assert list(tmp_path.iterdir()) == []


def test_nobody_makes_temporary_folders_otherwise() -> None:
    files = [path for path in _PACKAGE.rglob("*.py") if path.name != "scratch.py"]
    assert len(files) > 50
    assert [path for path in files if any(word in path.read_text() for word in ("TemporaryDirectory", "rmtree("))] == []


def _left(folder: Path, *, age_s: float) -> Path:
    folder.mkdir()
    _fill(folder)
    os.utime(folder, (time.time() - age_s,) * 2)
    return folder


def test_what_a_killed_command_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what is new, held, of another name, or of processes that can still be asked."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _sweep_temp.cache_clear()
    left = _left(tmp_path / "kerncap-run-a1b2c3d4", age_s=3600)
    held = _left(tmp_path / "kerncap-run-e5f6a7b8", age_s=3600)
    others = [
        _left(tmp_path / "kerncap-run-0123abcd", age_s=1),
        _left(tmp_path / "kerncap-attach-4567abcd", age_s=3600),
        _left(tmp_path / "kerncap-of-a-person.d", age_s=3600),
    ]
    link = tmp_path / "kerncap-run-link0000"
    link.symlink_to(_left(tmp_path / "elsewhere", age_s=3600))
    lock = lock_tree(held)
    try:
        with Scratch("kerncap-x-"):
            assert not left.exists()
            assert all(folder.is_dir() and any(folder.iterdir()) for folder in (held, *others, link))
    finally:
        os.close(lock)


def test_a_folder_in_use_is_swept_by_nobody(tmp_path: Path) -> None:
    with Scratch("kerncap-x-", tmp_path) as folder:
        os.utime(folder, (0, 0))
        sweep(tmp_path, re.compile("kerncap-.*"))
        assert Path(folder).is_dir()


def test_what_a_killed_extract_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    left = _left(tmp_path / ".out.kcap.12345.partial", age_s=3600)
    other = _left(tmp_path / ".other.kcap.12345.partial", age_s=3600)
    with new_directory(tmp_path / "out.kcap") as folder:
        os.utime(folder, (0, 0))
        assert not left.exists()
        assert other.exists()
        sweep(tmp_path, re.compile(".*"))
        assert folder.is_dir()
        assert not other.exists()
    assert (tmp_path / "out.kcap").is_dir()
