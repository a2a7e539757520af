"""Ranks the kernels of an application by GPU time, and lists what a selection would match.

In: a command and a device. Out: a Profile or a Listing, and how the command ended. Called by `kerncap profile` and by
`kerncap extract --list`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kerncap import native, proc
from kerncap.capture.listing import Listing, read_listing
from kerncap.capture.profile import Profile, read_profile
from kerncap.capture.selection import Selection
from kerncap.capture.tool import (
    Ended,
    alone_hint,
    no_word,
    profile_hint,
    reported_error,
    require_patterns,
    run_under_tool,
)
from kerncap.errors import CaptureError, KerncapError
from kerncap.scratch import Scratch

log = logging.getLogger(__name__)

_LOOK_S = 0.5
_SOURCE = "libkerncap"

ProgressCall = Callable[[Profile], None]


@dataclass(frozen=True)
class Target:
    """The command to run, where, and for how long."""

    command: tuple[str, ...]
    device: native.Device
    timeout_s: float = 3600.0


@dataclass(frozen=True)
class Streams:
    """Who gets the command's output; None: it goes straight to ours."""

    stdout: proc.Sink | None = None
    stderr: proc.Sink | None = None


def profile(target: Target, streams: Streams, progress: ProgressCall | None = None) -> tuple[Profile, int]:
    """The profile and the command's return code (-N: ended by signal N). `progress` is called twice a second.

    Raises: CaptureError `capture.no-runtime`, `capture.no-word`, `capture.no-dispatch`, `capture.timeout`,
    `capture.device-stopped`; HostError.
    """
    with Scratch("kerncap-profile-") as scratch:
        work = Path(scratch)
        with _watched(work, progress):
            ended = _run(target, streams, native.capture_control(work, {"kernel": None}, mode="profile"))
        found = read_profile(work, _SOURCE)
        _require_work(work, target, ended, (found.processes, found.calls), alone_hint(target.command))
    return found, ended.done.returncode


def list_matches(selection: Selection, target: Target, streams: Streams) -> tuple[Listing, int]:
    """What `selection` would match, and the command's return code. Nothing is captured.

    Raises: as profile(); UsageError `usage.pattern`.
    """
    require_patterns(selection.patterns, native.find_native())
    with Scratch("kerncap-list-") as scratch:
        work = Path(scratch)
        ended = _run(target, streams, native.capture_control(work, selection.control(), mode="list"))
        found = read_listing(work)
        hint = profile_hint(target.command, target.device)
        _require_work(work, target, ended, (found.processes, found.dispatches), hint)
    return found, ended.done.returncode


def _run(target: Target, streams: Streams, control: dict[str, object]) -> Ended:
    ended = run_under_tool(
        target.command,
        target.device,
        control,
        native.find_native(),
        timeout_s=target.timeout_s,
        on_stdout=streams.stdout,
        on_stderr=streams.stderr,
    )
    if ended.done.timed_out:
        log.warning("the application was ended after %g s: this is what it did until then", target.timeout_s)
    return ended


@contextmanager
def _watched(work: Path, progress: ProgressCall | None) -> Iterator[None]:
    """`progress` hears of the profile so far, twice a second."""
    if progress is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_S):
            progress(read_profile(work, _SOURCE))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _require_work(work: Path, target: Target, ended: Ended, seen: tuple[int, int], hint: str) -> None:
    """`seen`: processes, their dispatches. Raises: CaptureError with the most telling reason why nothing was seen."""
    error = _why_nothing(work, target, ended, seen, hint)
    if error is not None:
        raise ended.with_stop(error)


def _why_nothing(work: Path, target: Target, ended: Ended, seen: tuple[int, int], hint: str) -> KerncapError | None:
    processes, dispatches = seen
    reported = reported_error(work, target.command)
    if reported is not None or dispatches:
        return reported
    if ended.done.timed_out:
        text = f"nothing was dispatched within {target.timeout_s:g} s"
        return CaptureError(text, code="capture.timeout", hint=f"--timeout {target.timeout_s * 4:g}")
    if processes:
        text = f"the application {ended.status} and reported no dispatch: there was none, or it ended at once by _exit"
        return CaptureError(text, code="capture.no-dispatch", hint=alone_hint(target.command))
    return no_word(ended, target.command, work, hint)
