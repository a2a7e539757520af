"""Processes that can be asked for a capture: how they are found, and that each answers one request at a time."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kerncap.capture.application import Order
from kerncap.capture.attach import Attached, capture_on_demand, find_attached
from kerncap.capture.selection import Selection
from kerncap.errors import CaptureError, KerncapError, UsageError
from kerncap.native import Device


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    folder = tmp_path / "attach"
    folder.mkdir()
    facts = {"schema": "kerncap.attach/1", "device": "vgpu:gfx942", "command": ["./server", "1"]}
    (folder / "attach.json").write_text(json.dumps(facts))
    return folder


@contextmanager
def processes(directory: Path, count: int, *, ready: bool) -> Iterator[tuple[int, list[int]]]:
    """A shell without the tool and `count` processes below it that have it."""
    control = directory / "control.json"
    script = f'for i in $(seq {count}); do KERNCAP_CAPTURE_CONTROL="{control}" sleep 60 & echo $!; done; wait'
    shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert shell.stdout is not None
        pids = [int(shell.stdout.readline()) for _ in range(count)]
        for pid in pids:
            while not Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep"):
                pass  # until it is the program with its environment
            if ready:
                (directory / f"attached-{pid}.json").write_text("{}")
        yield shell.pid, pids
    finally:
        os.killpg(shell.pid, 9)
        shell.communicate()


def refused(pid: int) -> KerncapError:
    with pytest.raises(KerncapError) as caught:
        find_attached(pid)
    return caught.value


def test_the_process_itself_or_the_one_below(directory: Path) -> None:
    with processes(directory, 1, ready=True) as (shell, pids):
        for pid in (shell, pids[0]):
            found = find_attached(pid)
            assert found == Attached(pids[0], directory, Device("vgpu", "gfx942"), ("./server", "1"))
            assert found.is_alive()
    assert not found.is_alive()


def test_several(directory: Path) -> None:
    with processes(directory, 2, ready=True) as (shell, pids):
        error = refused(shell)
        assert (error.code, isinstance(error, UsageError)) == ("usage.several-processes", True)
        assert f"{pids[0]}, {pids[1]}" in error.message
        assert find_attached(pids[1]).pid == pids[1]


def test_one_that_has_no_queue_yet(directory: Path) -> None:
    with processes(directory, 1, ready=False) as (shell, _):
        assert refused(shell).code == "capture.not-ready"


def test_strangers(directory: Path) -> None:
    assert refused(os.getpid()).code == "capture.not-attachable"
    with processes(directory, 0, ready=False) as (shell, _):
        pass
    assert refused(shell).code == "usage.no-process"


def order(timeout_s: float, pid: int) -> Order:
    return Order(Selection("k"), ("./server",), Device("vgpu", "gfx942"), timeout_s=timeout_s, pid=pid)


def test_a_process_that_ends_meanwhile(directory: Path, tmp_path: Path) -> None:
    with processes(directory, 1, ready=True) as (_, pids):
        found = find_attached(pids[0])
    with pytest.raises(CaptureError) as caught:
        capture_on_demand(found, order(5, found.pid), tmp_path)
    assert caught.value.code == "capture.application-died"


def test_a_request_that_nobody_answers_is_called_off(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kerncap.capture.attach._LAST_WORDS_S", 0.2)
    with processes(directory, 1, ready=True) as (_, pids):
        found = find_attached(pids[0])
        with pytest.raises(CaptureError) as caught:
            capture_on_demand(found, order(0.2, found.pid), tmp_path)
        assert caught.value.code == "capture.application-died"
        request = json.loads((directory / f"request-{pids[0]}.json").read_text())
        assert (request["mode"], request["kernel"], request["work_dir"]) == ("capture", "k", str(tmp_path))
        assert (directory / f"cancel-{pids[0]}").exists()


def test_a_request_whose_asker_was_killed_gives_way(directory: Path, tmp_path: Path) -> None:
    """The library is busy with it until it is called off."""
    answers = []

    def answer(pid: int) -> None:
        request, cancel = directory / f"request-{pid}.json", directory / f"cancel-{pid}"
        while "captured" not in answers:
            if not request.exists():
                continue
            request.unlink()
            answers.append("captured" if cancel.exists() else "busy")
            if cancel.exists():
                (tmp_path / "capture").mkdir()
                (tmp_path / "capture" / "capture.json").write_text("{}")
                (tmp_path / f"seen-{pid}.json").write_text("{}")
            else:
                error = {"code": "capture.busy", "message": "another capture of this process is under way"}
                (tmp_path / f"error-{pid}.json").write_text(json.dumps(error))

    with processes(directory, 1, ready=True) as (_, pids):
        library = threading.Thread(target=answer, args=(pids[0],), daemon=True)
        library.start()
        found = find_attached(pids[0])
        captured = capture_on_demand(found, order(20, found.pid), tmp_path)
    assert answers == ["busy", "captured"]
    assert captured.directory == tmp_path / "capture"
    assert not list(tmp_path.glob("error-*"))


def test_a_process_that_stays_busy(directory: Path, tmp_path: Path) -> None:
    with processes(directory, 1, ready=True) as (_, pids):
        found = find_attached(pids[0])
        (tmp_path / "error-1.json").write_text(json.dumps({"code": "capture.busy", "message": "another capture"}))
        with pytest.raises(CaptureError) as caught:
            capture_on_demand(found, order(0, found.pid), tmp_path)
    assert caught.value.code == "capture.busy"


def test_one_request_at_a_time(directory: Path, tmp_path: Path) -> None:
    with processes(directory, 1, ready=True) as (_, pids):
        found = find_attached(pids[0])
        with (directory / f"lock-{pids[0]}").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with pytest.raises(CaptureError) as caught:
                capture_on_demand(found, order(5, found.pid), tmp_path)
    assert caught.value.code == "capture.busy"
