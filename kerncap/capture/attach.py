"""Captures of a process that runs already: starts one that can be asked, finds it, asks it.

In: a command line; later a process id, a selection, a work directory. Out: how the command ended; the captured
directory. Called by `kerncap attachable` and, through the extract workflow, by `kerncap trigger`. The files are
described in docs/interfaces.md, Tool library.
"""

from __future__ import annotations

import fcntl
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kerncap import native, proc
from kerncap.capture.application import Captured, Order, no_match
from kerncap.capture.listing import read_listing
from kerncap.capture.tool import (
    Ended,
    all_processes,
    alone_hint,
    control_files,
    processes_with,
    reported_error,
    run_under_tool,
)
from kerncap.errors import CaptureError, HostError, KerncapError, UsageError
from kerncap.scratch import Scratch

log = logging.getLogger(__name__)

_FACTS = "attach.json"
_LOOK_S = 0.05
_LOOK_DAEMONS_S = 0.5
# That the process may take to write down what it has seen, or that its capture is over.
_LAST_WORDS_S = 10.0


@dataclass(frozen=True)
class Attached:
    """A process that can be asked, and what it was started with."""

    pid: int
    directory: Path
    device: native.Device
    command: tuple[str, ...]

    def is_alive(self) -> bool:
        return any(control == self.directory / "control.json" for control in _controls(self.pid))


def run_attachable(
    command: tuple[str, ...],
    device: native.Device,
    *,
    on_stdout: proc.Sink | None = None,
    on_stderr: proc.Sink | None = None,
) -> Ended:
    """Run it to its end; meanwhile every process of it can be asked for captures.

    Raises: as run_under_tool(); CaptureError when the tool library itself failed.
    """
    with Scratch("kerncap-attach-") as scratch:
        work = Path(scratch)
        native.write_document(
            work / _FACTS, {"schema": "kerncap.attach/1", "device": str(device), "command": list(command)}
        )
        ended = run_under_tool(
            command,
            device,
            native.capture_control(work, {"kernel": None}, mode="attach"),
            native.find_native(),
            timeout_s=None,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
        )
        error = reported_error(work, command)
        if error is not None:
            raise error
        _await_daemons(ended, work / "control.json")
        return ended


def _await_daemons(ended: Ended, control: Path) -> None:
    """What the command left behind can be asked as long as the directory is there."""
    if ended.left:
        them = ", ".join(map(str, ended.left))
        log.warning("the command %s; what it left behind can still be asked: %s", ended.status, them)
    while any(processes_with(control)):
        time.sleep(_LOOK_DAEMONS_S)


def find_attached(pid: int) -> Attached:
    """The process itself, or the one below it that uses the GPU.

    Raises: UsageError `usage.no-process`, `usage.several-processes`; CaptureError `capture.not-attachable`,
    `capture.not-ready`; HostError `host.permission`.
    """
    if not Path(f"/proc/{pid}").is_dir():
        raise UsageError(
            f"there is no process {pid}",
            code="usage.no-process",
            hint="kerncap attachable -- CMD  # prints the PID to give",
        )
    family = [pid, *_below(pid)]
    found = {one: directory for one in family for directory in _attach_directories(one)}
    ready = [one for one, directory in found.items() if (directory / f"attached-{one}.json").exists()]
    if len(ready) > 1:
        text = f"process {pid} and those below it that can be asked are several: {', '.join(map(str, ready))}"
        raise UsageError(text, code="usage.several-processes", hint=f"kerncap trigger {ready[0]} KERNEL")
    if ready:
        return _read_facts(ready[0], found[ready[0]])
    if found:
        text = f"process {pid} has not created a queue yet: it has not used the GPU"
        raise CaptureError(text, code="capture.not-ready", hint=f"kerncap trigger {pid} KERNEL  # later")
    raise CaptureError(
        f"process {pid} was not started to be captured from",
        code="capture.not-attachable",
        hint="kerncap attachable -- CMD",
    )


def capture_on_demand(process: Attached, order: Order, work_dir: Path) -> Captured:
    """Ask for the capture and wait for it, at most the order's time limit.

    Raises: CaptureError `capture.no-match`, `capture.no-such-dispatch`, `capture.busy`, `capture.application-died` and
    what the tool library reports.
    """
    deadline = time.monotonic() + order.timeout_s
    with _alone(process):
        while True:
            try:
                return _ask(process, order, work_dir)
            except CaptureError as error:
                if error.code != "capture.busy" or time.monotonic() >= deadline:
                    raise
            # Who asked before was killed, or we would not be alone. Its request has been called off with ours.
            for answer in work_dir.glob("error-*.json"):
                answer.unlink()
            time.sleep(_LOOK_S)


@contextmanager
def _alone(process: Attached) -> Iterator[None]:
    """One request at a time: a second one would take the place of the first."""
    with (process.directory / f"lock-{process.pid}").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CaptureError(
                f"another capture of process {process.pid} is under way",
                code="capture.busy",
                hint=f"kerncap trigger {process.pid} KERNEL  # when that one has ended",
            ) from None
        yield


def _ask(process: Attached, order: Order, work_dir: Path) -> Captured:
    started = time.monotonic()
    limit = min(order.dispatch_timeout_s, order.timeout_s)
    control = native.capture_control(work_dir, order.selection.control(), after=order.after, timeout_s=limit)
    _appear(process.directory / f"request-{process.pid}.json", lambda path: native.write_document(path, control))
    over = False
    try:
        over = _wait(process, order, work_dir, order.timeout_s)
    finally:
        if not over and process.is_alive():
            _appear(process.directory / f"cancel-{process.pid}", Path.touch)
    # A capture that has begun is still waited for.
    if not over and not _wait(process, order, work_dir, limit + _LAST_WORDS_S if _begun(work_dir) else _LAST_WORDS_S):
        raise _died(process, "does not answer")
    if (work_dir / "capture" / "capture.json").is_file():
        ended = order.after == "stop"
        return Captured(work_dir / "capture", 0 if ended else None, time.monotonic() - started, process.directory)
    # What it has seen is written when it is called off, or when it ends.
    took_s = time.monotonic() - started
    status = f"goes on after {order.timeout_s:g} s" if took_s >= order.timeout_s else f"ended after {took_s:.0f} s"
    raise no_match(order, read_listing(work_dir), status)


def _wait(process: Attached, order: Order, work_dir: Path, limit_s: float) -> bool:
    """Whether the process has said what came of the request within the limit.

    Raises: CaptureError for what it failed with, and when it ended.
    """
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        error = reported_error(work_dir, process.command)
        if error is not None:
            raise error
        if any(work_dir.glob("seen-*.json")):
            return True
        if not process.is_alive():
            if (work_dir / "capture" / "capture.json").is_file():
                return True
            raise _died(process, "ended before it dispatched the kernel, or in the middle of the capture")
        time.sleep(_LOOK_S)
    return False


def _begun(work_dir: Path) -> bool:
    return (work_dir / "claim").exists()


def _died(process: Attached, what: str) -> KerncapError:
    return CaptureError(
        f"process {process.pid} {what}: nothing was kept",
        code="capture.application-died",
        hint=alone_hint(process.command),
    )


def _appear(path: Path, write: Callable[[Path], None]) -> None:
    """The file with this name is whole when it is seen."""
    partial = path.with_name(f".{path.name}.partial")
    write(partial)
    partial.replace(path)


def _read_facts(pid: int, directory: Path) -> Attached:
    facts = json.loads((directory / _FACTS).read_text("utf-8"))
    device = native.parse_device(facts["device"])
    assert device is not None
    return Attached(pid, directory, device, tuple(facts["command"]))


def _attach_directories(pid: int) -> Iterator[Path]:
    for control in _controls(pid):
        if (control.parent / _FACTS).is_file():
            yield control.parent


def _controls(pid: int) -> list[Path]:
    """The control file that the process was started with, if any. Raises: HostError `host.permission`."""
    try:
        return control_files(pid)
    except PermissionError:
        raise HostError(
            f"process {pid} belongs to somebody else",
            code="host.permission",
            hint="kerncap trigger PID KERNEL  # as the user who started it",
        ) from None
    except OSError:
        return []


def _below(pid: int) -> list[int]:
    """All processes that descend from this one."""
    parents: dict[int, int] = {}
    for one in all_processes():
        try:
            # Fields behind the name, which may hold anything: state, then the parent. Source: proc(5).
            fields = Path(f"/proc/{one}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents[one] = int(fields[1])
    out: list[int] = []
    level = [pid]
    while level:
        level = [child for child, parent in parents.items() if parent in level]
        out += level
    return sorted(out)
