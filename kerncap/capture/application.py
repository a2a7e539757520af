"""Runs an application under libkerncap.so and finds out what came of it.

In: a command line, a kernel name, a device, a work directory. Out: the captured directory, or why there is none.
Called by the extract workflow. The files in the work directory are described in docs/interfaces.md, Tool library.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kerncap import native, proc
from kerncap.capture.listing import Listing, read_listing
from kerncap.capture.selection import Selection, dims_text
from kerncap.capture.tool import (
    Ended,
    alone_hint,
    describe_status,
    no_word,
    profile_hint,
    reported_error,
    run_under_tool,
)
from kerncap.errors import CaptureError, KerncapError, counted, typed
from kerncap.names import near_names

log = logging.getLogger(__name__)

_LISTED = 12
_CALLERS_MISTAKES = ("capture.no-match", "capture.no-such-dispatch", "capture.no-such-rank")


@dataclass(frozen=True)
class Order:
    """What to capture, of which command."""

    selection: Selection
    command: tuple[str, ...]
    device: native.Device
    after: str = "continue"
    ranks: str = "first"
    """Which processes capture: `first`, `all`, or the one with this rank."""
    zstd_level: int = 1
    """Of what is stored; 0: nothing is compressed."""
    timeout_s: float = 3600.0
    dispatch_timeout_s: float = 300.0
    pid: int | None = None
    """Of the process that is asked; None: the command is started for the capture."""


@dataclass(frozen=True)
class Captured:
    """A whole capture and how the application ended."""

    directory: Path
    returncode: int | None
    """None: it goes on."""
    duration_s: float
    records: Path
    """The folder with what Triton's shim wrote down."""

    @property
    def application_status(self) -> str:
        return describe_status(self.returncode)


def run_application(
    order: Order,
    work_dir: Path,
    native_files: native.NativeFiles,
    *,
    environment: Mapping[str, str] | None = None,
    on_stdout: proc.Sink | None = None,
    on_stderr: proc.Sink | None = None,
) -> tuple[Captured, ...]:
    """Run it and return the capture; with `ranks` `all` those of all processes that came to the dispatch.

    Without sinks the application writes straight to our stdout and stderr.

    Raises: CaptureError, HostError (full disk).
    """
    limit = min(order.dispatch_timeout_s, order.timeout_s)
    selection = order.selection.control()
    ended = run_under_tool(
        order.command,
        order.device,
        native.capture_control(
            work_dir, selection, after=order.after, ranks=order.ranks, zstd_level=order.zstd_level, timeout_s=limit
        ),
        native_files,
        timeout_s=order.timeout_s,
        environment=environment,
        on_stdout=on_stdout,
        on_stderr=on_stderr,
    )
    done = ended.done
    folders = process_folders(work_dir) if order.ranks == "all" else [work_dir]
    whole = [folder / "capture" for folder in folders if (folder / "capture" / "capture.json").is_file()]
    if whole:
        for folder in folders:
            if folder / "capture" not in whole:
                reported = reported_error(folder, order.command)
                log.warning("%s: not captured: %s", folder.name, reported.message if reported else "no such dispatch")
        if done.timed_out:
            log.warning("the application was ended after %g s; its capture is whole", order.timeout_s)
        return tuple(Captured(directory, done.returncode, done.duration_s, work_dir) for directory in whole)
    error = _why_not(order, work_dir, ended)
    # A name that matches nothing is the caller's mistake whatever else happened.
    raise error if error.code in _CALLERS_MISTAKES else ended.with_stop(error)


def process_folders(work_dir: Path) -> list[Path]:
    """`rank-0`, `rank-1`, ..., `pid-123`: where the processes worked that had each a directory of its own."""
    folders = [path for path in work_dir.iterdir() if path.is_dir() and path.name.startswith(("rank-", "pid-"))]
    return sorted(folders, key=lambda path: (path.name.startswith("pid-"), int(path.name.rpartition("-")[2])))


def _why_not(order: Order, work_dir: Path, ended: Ended) -> KerncapError:
    """The most telling reason for having no capture."""
    done, status = ended.done, ended.status
    reported = reported_error(work_dir, order.command)
    if reported is not None:
        return reported
    if done.timed_out:
        return CaptureError(
            f"nothing was captured within {order.timeout_s:g} s",
            code="capture.timeout",
            hint=_again(order, "--timeout", f"{order.timeout_s * 4:g}"),
        )
    if any((folder / "claim").exists() for folder in (work_dir, *process_folders(work_dir))):
        # A process that ended well only did not wait (_exit): it waits where it stands until the capture is sealed.
        ended_well = done.returncode == 0 and order.after == "continue"
        again = _again(order, "--after", "stop")
        return CaptureError(
            f"the application {status} in the middle of the capture: nothing was kept",
            code="capture.application-died",
            hint=again if ended_well else alone_hint(order.command),
        )
    seen = read_listing(work_dir)
    if order.ranks.isdecimal() and seen.processes:
        if int(order.ranks) not in seen.ranks:
            return _no_such_rank(order, seen, status)
        seen = read_listing(work_dir, int(order.ranks))
    if done.returncode != 0 and not seen.kernels:
        needs = native.TARGET_NEEDS.get(order.device.target or "")
        # What a process dispatched that a signal ended nobody says.
        before = "it dispatched a kernel" if seen.processes else "anything was captured"
        text = f"the application {status} before {before}" + (f"; {needs}" if needs else "")
        return CaptureError(text, code="capture.application-died", hint=alone_hint(order.command))
    if not seen.processes:
        return no_word(ended, order.command, work_dir, profile_hint(order.command, order.device))
    return no_match(order, seen, status)


def _no_such_rank(order: Order, seen: Listing, status: str) -> CaptureError:
    there = ", ".join(map(str, sorted(seen.ranks))) or "none"
    text = f"no process had rank {order.ranks}; ranks that used the HSA runtime: {there}; the application {status}"
    return CaptureError(text, code="capture.no-such-rank", hint=_again(order, "--ranks", "all"))


def _again(order: Order, *options: str, kernel: str | None = None) -> str:
    """The same capture, typed otherwise."""
    if order.pid is not None:
        return typed("kerncap", "trigger", order.pid, kernel or order.selection.kernel, *options)
    # Of a list the sequence is no part.
    named = (kernel or order.selection.kernel,) if "--list" in options else order.selection.words(kernel)
    words = ("kerncap", "extract", *named, "--device", str(order.device))
    return typed(*words, *options, "--", *order.command)


def no_match(order: Order, seen: Listing, status: str) -> KerncapError:
    """Why nothing of what was dispatched is what was asked for."""
    wanted = order.selection
    if seen.matched:
        return _not_this_dispatch(order, seen, status)
    names = [k.name for k in seen.kernels if k.dispatches]
    near = near_names(wanted.kernel, names)
    listed = near or sorted(set(names))[:_LISTED]
    what = "these look alike" if near else "these were dispatched"
    text = f"no dispatch matched {wanted.kernel!r} in {counted(seen.queues, 'queue')}"
    text += f" and {counted(seen.dispatches, 'dispatch')}"
    idle = sorted({k.name for k in seen.kernels if k.matched})
    if idle:
        text += f"; the application loaded {', '.join(idle[:_LISTED])} and never dispatched it"
    if listed:
        text += f"; {what}: " + ", ".join(listed)
    if os.environ.get("TRITON_INTERPRET", "").lower() in ("1", "true", "yes", "on", "y"):
        text += "; TRITON_INTERPRET is set, with which Triton runs its kernels without a GPU"
    # Whole names match exactly, whatever templates and namespaces they hold.
    everything = "--timeout 600" if order.pid is not None else _again(order, "--list", kernel="*")
    hint = _again(order, kernel=near[0]) if near else everything
    return CaptureError(f"{text}; the application {status}", code="capture.no-match", hint=hint)


def _not_this_dispatch(order: Order, seen: Listing, status: str) -> KerncapError:
    """The kernel was dispatched, though not with that geometry, or not so often, or not so late."""
    wanted = order.selection
    fitting = sum(g.dispatches for g in seen.geometries if wanted.accepts(g.grid, g.workgroup))
    most = seen.most_in_one_process(wanted.accepts)
    late = f" from {wanted.after_ms:g} ms on" if wanted.after_ms else ""
    text = f"{wanted.kernel!r} was dispatched {counted(seen.matched, 'time')}"
    if wanted.geometry or late:
        text += f", of these {fitting}{wanted.geometry}{late}"
    # Numbers count in each process.
    each = f", in one process at most {counted(most, 'time')}" if 0 < most < fitting else ""
    text += f"{each}, so that --dispatch {wanted.dispatch} was never reached; the application {status}"
    if fitting and wanted.when:
        return _none_met(order, seen, status)
    if fitting and wanted.sequence:
        return _no_such_sequence(order, seen, fitting, status)
    if fitting:
        return CaptureError(text, code="capture.no-such-dispatch", hint=f"--dispatch {most - 1}  # or any from 0 on")
    launches = {f"grid {dims_text(g.grid)} workgroup {dims_text(g.workgroup)}" for g in seen.geometries}
    if launches:
        text += "; it was launched with " + ", ".join(sorted(launches)[:_LISTED])
    if order.pid is not None:
        hint = "--timeout 600  # it may come later"
    elif seen.trials:
        text += f"; {seen.trials} were made while an autotuner timed it, and do not count"
        hint = _again(order, "--trials")
    else:
        hint = _again(order, "--list") if wanted.geometry else "--after-ms 0"
    return CaptureError(text, code="capture.no-such-dispatch", hint=hint)


def _no_such_sequence(order: Order, seen: Listing, fitting: int, status: str) -> KerncapError:
    """Its first dispatch never came."""
    wanted = order.selection
    assert wanted.sequence
    if wanted.sequence.per_queue:
        text = f"no queue had a dispatch of number {wanted.dispatch}: {counted(seen.dispatches, 'dispatch')} in "
        text += counted(seen.queues, "queue")
        hint = _again(order, "--list")
    else:
        text = f"{wanted.kernel!r} was dispatched {counted(seen.matched, 'time')}"
        text += f", of these {fitting}{wanted.geometry}" if fitting != seen.matched else ""
        text += f", so that number {wanted.dispatch}, the first of the sequence, was never reached"
        last = seen.most_in_one_process(wanted.accepts) - 1
        count = wanted.sequence.count
        if count is None or not last:
            hint = f"--dispatch {last}  # or any from 0 on"
        else:
            hint = f"--dispatches {max(0, fitting - count)}..{last}"
    return CaptureError(f"{text}; the application {status}", code="capture.no-such-dispatch", hint=hint)


def _none_met(order: Order, seen: Listing, status: str) -> KerncapError:
    """Dispatches were looked at, and too few met a condition."""
    wanted = order.selection
    candidates, met = (sum(getattr(looked, name) for looked in seen.looked) for name in ("candidates", "met"))
    words = " or ".join(condition.text for condition in wanted.when)
    kernel = f"{wanted.kernel!r}{wanted.geometry}"
    if candidates == 1 and not met:
        text = f"the one dispatch of {kernel} that was looked at did not meet {words}"
    else:
        text = f"of {counted(candidates, 'dispatch')} of {kernel} that were looked at, {met or 'none'} met {words}"
    if met:
        text += f", so that --dispatch {wanted.dispatch} was never reached"
    missed = sum(looked.missed for looked in seen.looked)
    text += f"; {missed} more could not be looked at" if missed else ""
    closest = [one for looked in seen.looked for one in looked.closest]
    if closest:
        text += "; closest was " + ", ".join(closest[:_LISTED])
    hint = f"--dispatch {met - 1}  # or any from 0 on" if met else _again(order, "--when", "CONDITION")
    return CaptureError(f"{text}; the application {status}", code="capture.no-such-dispatch", hint=hint)
