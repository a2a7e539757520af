"""Cells, their results, the exit code of all together, the pool and the state file; a stand-in runs the cells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matrix_cells import DIGEST, ERRORS, GOOD_VERDICTS, IMAGE_ID, VERDICTS, FakeRunner, cell, error, result, verdict

from kerncap.bundle.documents import validate
from kerncap.cli import matrix_options
from kerncap.errors import BundleError, KerncapError, UsageError
from kerncap.matrix import Cell, Judging, Matrix, cell_from_json, judged, not_run, parse_cells
from kerncap.matrix.state import State, open_state
from kerncap.runtime.containers.cancellation import Cancellation
from kerncap.workflows.matrix import Event, default_jobs, memory_of_each, run_cells

_ROOT = Path(__file__).resolve().parents[2]


def _a_while(of: Cell) -> None:
    time.sleep(0.05)


def cells(*images: str) -> list[Cell]:
    return [cell(image=image) for image in images]


@pytest.mark.parametrize("word", VERDICTS)
def test_a_verdict_is_a_cell_s_result(word: str) -> None:
    found = result(word)
    assert (found.outcome, found.exit_code) == (word, 0 if word in GOOD_VERDICTS else 1)
    assert found.is_good(frozenset()) is (word in GOOD_VERDICTS)
    assert found.is_good(frozenset({"differs"})) is (word == "differs")
    assert found.is_lasting
    assert found.median_ns == 1100


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_is_a_cell_s_result(code: str) -> None:
    found = result(code)
    assert (found.outcome, found.exit_code) == (code, ERRORS[code])
    assert not found.is_good(frozenset())
    assert found.is_good(frozenset({code}))
    assert found.is_lasting is (ERRORS[code] not in (3, 7, 70))
    printed = json.dumps(error(code).to_json()).encode()
    assert judged(cell(), printed, duration_s=None, finished=None).outcome == code


@pytest.mark.parametrize(
    "printed",
    [
        b"",
        b"not JSON",
        b"[]",
        b'{"schema": "kerncap.verdict/2"}',
        b'{"schema": "kerncap.verdict/1"}',
        b'{"schema": "kerncap.error/1", "code": "NO", "message": "m"}',
        json.dumps(verdict("faithful").to_json() | {"timing_ns": ["1"]}).encode(),
        json.dumps(verdict("faithful", bundle="sha256:" + "c" * 64).to_json()).encode(),
        b'{"schema": "kerncap.error/1", "code": "a.b", "message": "\\ud800"}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_result_is_that_cell_s_error(printed: bytes) -> None:
    assert judged(cell(), printed, duration_s=None, finished=None).outcome == "replay.bad-result"


def test_an_error_document_cannot_pose_as_success() -> None:
    document = error("replay.fault").to_json() | {"exit_code": 2}
    assert judged(cell(), json.dumps(document).encode(), duration_s=None, finished=None).exit_code == 6


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (["faithful", "equivalent", "within-tolerance"], 0),
        (["faithful", "differs"], 1),
        (["nondeterministic", "internal.unexpected"], 1),
        (["faithful", "host.no-image"], 3),
        (["host.no-image", "bundle.digest-mismatch", "replay.timeout"], 4),
        (["host.no-image", "transport.unreachable"], 7),
        (["replay.timeout", "compile.failed", "usage.image"], 6),
        (["bundle.digest-mismatch", "internal.unexpected"], 70),
    ],
)
def test_exit_code(outcomes: list[str], code: int) -> None:
    matrix = Matrix(tuple(result(outcome, cell(image=str(i))) for i, outcome in enumerate(outcomes)))
    assert matrix.exit_code == code
    assert len(matrix.good) + len(matrix.bad) + len(matrix.errors) == len(outcomes)
    validate(matrix.to_json(), "printed", what="matrix")
    assert Matrix(matrix.results, frozenset(outcomes)).exit_code == 0


def test_the_id_changes_with_what_decides_and_with_nothing_else() -> None:
    base = cell()
    changed: list[dict[str, Any]] = [
        {"bundle": "b"},
        {"digest": "sha256:" + "c" * 64},
        {"image": "i"},
        {"image_id": None},
        {"device": "gpu"},
        {"judging": Judging(iterations=3)},
        {"judging": Judging(recompile=True)},
        {"judging": Judging(memory_bytes=1 << 30)},
    ]
    assert len({base.id, *(replace(base, **change).id for change in changed)}) == 1 + len(changed)
    same = replace(base, kernel="other", runtime="HSA runtime 9", line="docker run", source_file="a.hip")
    assert same.id == base.id


def test_a_cell_survives_its_json() -> None:
    for one in (cell(), cell(error=error("host.no-gpu")), cell(digest=None, image_id=None)):
        again = cell_from_json(json.loads(json.dumps(one.to_json())), what="cell")
        assert again == one
        assert (again.error is None) is (one.error is None)


@pytest.mark.parametrize(
    "change",
    [
        {"id": "../../etc/passwd"},
        {"id": "0" * 16},
        {"image": "another"},
        {"digest": 5},
        {"judging": {}},
        {"schema": "kerncap.cell/2"},
        {"judging": Judging().to_json() | {"iterations": 10**9}},
    ],
)
def test_a_cell_that_was_changed_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(BundleError):
        cell_from_json(cell().to_json() | change, what="cell")
    line = json.dumps(cell().to_json() | change).encode()
    with pytest.raises(BundleError):
        parse_cells([line], what="cells")


def test_results_come_in_the_order_of_the_cells_and_none_stops_another() -> None:
    images = [f"runtime:{number}" for number in range(8)]
    runner = FakeRunner({"runtime:1": "differs", "runtime:2": "host.docker", "runtime:3": "replay.timeout"}, _a_while)
    impossible = cell(image="none", error=error("host.no-image"))
    events: list[Event] = []
    found = run_cells([impossible, *cells(*images)], runner, State(None), jobs=3, listener=events.append)
    outcomes = [one.outcome for one in found]
    assert outcomes == ["host.no-image", "faithful", "differs", "host.docker", "replay.timeout", *["faithful"] * 4]
    assert [one.cell.image for one in found] == ["none", *images]
    assert impossible.id not in runner.ran
    assert 1 < runner.most_at_once <= 3
    assert [event.done for event in events if event.result] == list(range(1, 10))
    assert all(event.total == 9 for event in events)


def test_cells_of_one_gpu_run_one_after_another() -> None:
    running: list[str] = []
    seen: list[list[str]] = []

    def before(of: Cell) -> None:
        running.append(of.device)
        seen.append(list(running))
        time.sleep(0.05)
        running.remove(of.device)

    devices = ["gpu", "gpu:0", "gpu:1", "vgpu:gfx942"]
    wanted = [cell(image=f"i{n}", device=device) for n in range(3) for device in devices]
    run_cells(wanted, FakeRunner(before=before), State(None), jobs=8)
    assert len(seen) == len(wanted)
    for now in seen:
        assert sum(device in ("gpu", "gpu:0") for device in now) <= 1
        assert now.count("gpu:1") <= 1
    assert any("gpu:1" in now and {"gpu", "gpu:0"} & set(now) for now in seen)


def test_finished_cells_are_not_run_again(tmp_path: Path) -> None:
    path, wanted = tmp_path / "state.json", cells("a", "b", "c", "d")
    first = FakeRunner({"b": "differs", "c": "host.docker", "d": "bundle.digest-mismatch"})
    with open_state(path, resume=False) as state:
        run_cells(wanted, first, state, jobs=2)
    again = FakeRunner()
    with open_state(path, resume=True) as state:
        found = run_cells(wanted, again, state, jobs=2)
    assert again.ran == [wanted[2].id]  # what is wrong with the machine may have been mended
    assert [one.outcome for one in found] == ["faithful", "differs", "faithful", "bundle.digest-mismatch"]
    assert [one.kept for one in found] == [True, True, False, True]
    assert found[0].cell.line == "docker run a"
    assert sorted(os.listdir(tmp_path)) == ["state.json"]


@pytest.mark.parametrize(
    "change", [{"digest": "sha256:" + "c" * 64}, {"image_id": "sha256:" + "d" * 64}, {"judging": Judging(ulp=1)}]
)
def test_what_changed_runs_again(tmp_path: Path, change: dict[str, Any]) -> None:
    path, wanted = tmp_path / "state.json", cells("a", "b")
    with open_state(path, resume=False) as state:
        run_cells(wanted, FakeRunner(), state, jobs=1)
    changed = [replace(wanted[0], **change), wanted[1]]
    runner = FakeRunner()
    with open_state(path, resume=True) as state:
        run_cells(changed, runner, state, jobs=1)
    assert runner.ran == [changed[0].id]


def test_a_state_is_not_overwritten_nor_shared_nor_guessed(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with open_state(path, resume=False), pytest.raises(UsageError) as caught, open_state(path, resume=True):
        pass
    assert caught.value.code == "usage.output-busy"
    with pytest.raises(UsageError) as caught, open_state(path, resume=False):
        pass
    assert caught.value.code == "usage.output-exists"
    with pytest.raises(UsageError) as caught, open_state(None, resume=True):
        pass
    assert caught.value.code == "usage.option-alone"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schema": "kerncap.matrix-state/2", "cells": []}',
        '{"schema": "kerncap.matrix-state/1", "cells": [5]}',
        '{"schema": "kerncap.matrix-state/1", "cells": [{}]}',
        json.dumps({"schema": "kerncap.matrix-state/1", "cells": [cell().to_json()]}),
        json.dumps({"schema": "kerncap.matrix-state/1", "cells": [result("faithful").to_json() | {"duration_s": "1"}]}),
        json.dumps({"schema": "kerncap.matrix-state/1", "cells": [result("faithful").to_json() | {"image": "other"}]}),
    ],
)
def test_a_state_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught, open_state(path, resume=True):
        pass
    assert caught.value.code == "usage.state"
    assert path.read_text() == text
    assert os.listdir(tmp_path) == ["state.json"]


def test_a_state_s_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "state.json")
    with pytest.raises(UsageError), open_state(tmp_path / "state.json", resume=True):
        pass


def test_an_interrupt_ends_what_runs_and_keeps_what_is_done(tmp_path: Path) -> None:
    wanted = cells("a", "b", "c")
    runner = FakeRunner()
    reached = threading.Event()

    def before(of: Cell) -> None:
        if of.image == "b":
            reached.set()
            assert runner.cancelled.wait(10)

    def listen(event: Event) -> None:
        if reached.is_set():
            raise KeyboardInterrupt

    runner.before = before
    path = tmp_path / "state.json"
    with pytest.raises(KeyboardInterrupt), open_state(path, resume=False) as state:
        run_cells(wanted, runner, state, jobs=1, listener=listen)
    assert runner.cancelled.is_set()
    assert runner.at_once == 0
    kept = json.loads(path.read_text())["cells"]
    assert [entry["image"] for entry in kept] == ["a"]


_KILLED = """
import os, sys, time
from pathlib import Path
from matrix_cells import FakeRunner, cell
from kerncap.matrix.state import open_state
from kerncap.workflows.matrix import run_cells

def before(of):
    if of.image == "2":
        print("there", flush=True)
        time.sleep(60)

with open_state(Path(sys.argv[1]), resume=False) as state:
    run_cells([cell(image=str(number)) for number in range(4)], FakeRunner(before=before), state, jobs=1)
"""


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "tests/unit"), *sys.path])}
    argv = [sys.executable, "-c", _KILLED, str(path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        process.send_signal(signal.SIGKILL)
    runner, wanted = FakeRunner(), cells("0", "1", "2", "3")
    with open_state(path, resume=True) as state:
        found = run_cells(wanted, runner, state, jobs=1)
    assert runner.ran == [wanted[2].id, wanted[3].id]
    assert [one.outcome for one in found] == ["faithful"] * 4


def test_a_full_disk_stops_the_run_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could not be gone on from: so nothing more is run."""
    runner = FakeRunner()
    with open_state(tmp_path / "state.json", resume=False) as state:
        monkeypatch.setattr(State, "_write", _full)
        with pytest.raises(OSError, match="No space"):
            run_cells(cells(*map(str, range(20))), runner, state, jobs=1)
    assert len(runner.ran) < 20


def _full(state: State) -> None:
    raise OSError(28, "No space left on device")


def test_jobs_fit_into_the_machine() -> None:
    cores = len(os.sched_getaffinity(0))
    assert 1 <= default_jobs(0) <= cores
    assert default_jobs(1 << 60) == 1
    assert memory_of_each(4) * 4 <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_names_with_commas() -> None:
    assert matrix_options.split_names(["a,b", "c", "a"]) == ("a", "b", "c")
    devices = matrix_options.split_devices(["vgpu:gfx942,bar=large,gpu", "gpu:1"])
    assert devices == ("vgpu:gfx942,bar=large", "gpu", "gpu:1")
    for wrong in (["a,,b"], [""], ["a,"]):
        with pytest.raises(UsageError):
            matrix_options.split_names(wrong)
        with pytest.raises(UsageError):
            matrix_options.split_devices(wrong)


def test_cancellation_reaches_all_and_lets_none_begin() -> None:
    ended: list[str] = []

    def broken() -> None:
        raise RuntimeError("the engine went away")

    cancellation = Cancellation()
    cancellation.watch("a", broken)
    cancellation.watch("b", lambda: ended.append("b"))
    cancellation.watch("c", lambda: ended.append("c"))
    cancellation.forget("c")
    cancellation.cancel()
    assert ended == ["b"]
    with pytest.raises(KerncapError) as caught:
        cancellation.watch("d", lambda: None)
    assert caught.value.code == "replay.cancelled"


def test_constants_stand_for_what_they_say() -> None:
    assert not_run(cell(), error("host.no-image")).verdict is None
    assert (cell().digest, cell().image_id) == (DIGEST, IMAGE_ID)


def test_what_is_expected_is_a_verdict_or_a_code() -> None:
    """A slip of the pen must not show only after everything ran."""
    assert matrix_options.expected_of(["differs,replay.timeout"]) == {"differs", "replay.timeout"}
    assert matrix_options.expected_of(None) == frozenset()
    for wrong in ("foo", "Faithful", "replay."):
        with pytest.raises(UsageError) as caught:
            matrix_options.expected_of([wrong])
        assert caught.value.code == "usage.expect"
    with pytest.raises(UsageError) as caught:
        matrix_options.split_names(["a,--privileged"])
    assert caught.value.code == "usage.image"
