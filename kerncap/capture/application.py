"""Runs an application under libkerncap.so and finds out what came of it.

In: a command line, a kernel name, a device, a work directory. Out: the captured directory, or why there is none.
Called by the extract workflow. The files in the work directory are described in docs/interfaces.md, Tool library.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap import native, proc
from kerncap.errors import CaptureError, KerncapError, error_from_code, typed
from kerncap.names import near_names

log = logging.getLogger(__name__)

_LISTED = 12
_ALONE = "does it run to its end without kerncap? "


@dataclass(frozen=True)
class Order:
    """What to capture, of which command."""

    kernel: str
    command: tuple[str, ...]
    device: native.Device
    dispatch: int = 0
    after: str = "continue"
    timeout_s: float = 3600.0
    dispatch_timeout_s: float = 300.0


@dataclass(frozen=True)
class Captured:
    """A whole capture and how the application ended."""

    directory: Path
    returncode: int
    duration_s: float

    @property
    def application_status(self) -> str:
        return describe_status(self.returncode)


def describe_status(returncode: int) -> str:
    """`exited with 3`, `was killed by SIGSEGV`."""
    if returncode >= 0:
        return f"exited with {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"


def run_application(
    order: Order,
    work_dir: Path,
    native_files: native.NativeFiles,
    *,
    environment: Mapping[str, str] | None = None,
    on_stdout: proc.Sink | None = None,
    on_stderr: proc.Sink | None = None,
) -> Captured:
    """Run it and return the capture.

    Without sinks the application writes straight to our stdout and stderr.

    Raises: CaptureError, HostError (full disk).
    """
    control = work_dir / "control.json"
    limit = min(order.dispatch_timeout_s, order.timeout_s)
    document = native.capture_control(
        work_dir, order.kernel, dispatch=order.dispatch, after=order.after, timeout_s=limit
    )
    control.write_text(json.dumps(document))
    base = dict(os.environ if environment is None else environment)
    base["HSA_TOOLS_LIB"] = str(native_files.tool_library)
    base["KERNCAP_CAPTURE_CONTROL"] = str(control)
    with tempfile.TemporaryDirectory(prefix="kerncap-extract-") as scratch:
        stops = Path(scratch, "stops")
        env = native.device_environment(order.device, native_files, base, stops=stops)
        if order.device.kind == "gpu" and order.device.index > 0:
            env["ROCR_VISIBLE_DEVICES"] = str(order.device.index)
        done = proc.run(
            order.command,
            timeout_s=order.timeout_s,
            env=env,
            inherit_stdin=True,
            capture=on_stdout is not None or on_stderr is not None,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            keep_bytes=1 << 16,
        )
        stopped = native.read_stops(stops)
    directory = work_dir / "capture"
    if (directory / "capture.json").is_file():
        if done.timed_out:
            log.warning("the application was ended after %g s; its capture is whole", order.timeout_s)
        return Captured(directory, done.returncode, done.duration_s)
    raise _with_stop(_why_not(order, work_dir, done), stopped)


def _with_stop(error: KerncapError, stopped: Sequence[native.Stop]) -> KerncapError:
    """The same failure with the virtual GPU's own reason, which the application may have hidden.

    A name that matches nothing is the caller's mistake whatever else happened.
    """
    if not stopped or error.code in ("capture.no-match", "capture.no-such-dispatch"):
        return error
    first = stopped[0]
    hint = error.hint
    if first.code.startswith("vgpu.un"):
        hint = "report what the virtual GPU does not know, or capture on a real GPU: --device gpu"
    message = f"{error.message}; the virtual GPU had stopped a queue: {first.text} [{first.code}]"
    return CaptureError(message, code="capture.device-stopped", hint=hint)


def _why_not(order: Order, work_dir: Path, done: proc.Completed) -> KerncapError:
    """The most telling reason for having no capture."""
    status = "was ended: the time limit was over" if done.timed_out else describe_status(done.returncode)
    for path in sorted(work_dir.glob("error-*.json")):
        failure = _load(path)
        if failure:
            return error_from_code(
                str(failure.get("code", "capture.failed")),
                str(failure.get("message", path.name)),
                failure.get("hint") or _ALONE + _shell(order.command),
            )
    if done.timed_out:
        return CaptureError(
            f"nothing was captured within {order.timeout_s:g} s",
            code="capture.timeout",
            hint=typed("kerncap", "extract", order.kernel, "--timeout", f"{order.timeout_s * 4:g}", "--", "..."),
        )
    if (work_dir / "claim").exists():
        # A process that ended well only did not wait (_exit): it waits where it stands until the capture is sealed.
        ended_well = done.returncode == 0 and order.after == "continue"
        again = typed("kerncap", "extract", order.kernel, "--after", "stop", "--", *order.command)
        return CaptureError(
            f"the application {status} in the middle of the capture: nothing was kept",
            code="capture.application-died",
            hint=again if ended_well else _ALONE + _shell(order.command),
        )
    seen = [s for s in (_load(p) for p in sorted(work_dir.glob("seen-*.json"))) if s]
    if done.returncode != 0 and not any(k for s in seen for k in s.get("kernels", ())):
        return CaptureError(
            f"the application {status} before it dispatched a kernel",
            code="capture.application-died",
            hint=_ALONE + _shell(order.command),
        )
    if not seen:
        return CaptureError(
            f"the application {status} and never used the HSA runtime",
            code="capture.no-runtime",
            hint="is it a HIP or HSA application, and are its libraries found? ldd " + order.command[0],
        )
    return _no_match(order, seen, status)


def _no_match(order: Order, seen: Sequence[Mapping[str, Any]], status: str) -> CaptureError:
    dispatches = sum(int(s.get("dispatches", 0)) for s in seen)
    queues = sum(int(s.get("queues", 0)) for s in seen)
    kernels = [k for s in seen for k in s.get("kernels", ())]
    matched = sum(int(k.get("dispatches", 0)) for k in kernels if k.get("matched"))
    if matched:
        return CaptureError(
            f"{order.kernel!r} was dispatched {matched} times, so that --dispatch {order.dispatch} was never reached; "
            f"the application {status}",
            code="capture.no-such-dispatch",
            hint=f"--dispatch N with N from 0 to {matched - 1}",
        )
    names = [str(k.get("demangled") or k.get("name")) for k in kernels if k.get("dispatches")]
    near = near_names(order.kernel, names)
    listed = near or sorted(set(names))[:_LISTED]
    what = "these look alike" if near else "these were dispatched"
    text = f"no dispatch matched {order.kernel!r} in {queues} queues and {dispatches} dispatches"
    idle = sorted({str(k.get("demangled") or k.get("name")) for k in kernels if k.get("matched")})
    if idle:
        text += f"; the application loaded {', '.join(idle[:_LISTED])} and never dispatched it"
    if listed:
        text += f"; {what}: " + ", ".join(listed)
    # Whole names match exactly, whatever templates and namespaces they hold.
    hint = typed("kerncap", "extract", near[0], "...") if near else "a name, a glob with * or a mangled name"
    return CaptureError(f"{text}; the application {status}", code="capture.no-match", hint=hint)


def _load(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _shell(command: Sequence[str]) -> str:
    return shlex.join(command)
