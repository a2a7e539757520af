"""Temporary folders are gone whatever ends the command."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kerncap.bundle.outputs import new_directory
from kerncap.scratch import Scratch

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
