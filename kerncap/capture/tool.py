"""Runs a command with libkerncap.so loaded into every HSA runtime that it starts.

In: a command line, a device, a control document. Out: how it ended and why the virtual GPU stopped, if it did.
Called by application and by the profile workflow. Files of the work directory: docs/interfaces.md, Tool library.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap import native, proc
from kerncap.errors import CaptureError, KerncapError, UsageError, counted, error_from_code, typed
from kerncap.scratch import Scratch

log = logging.getLogger(__name__)

_PIDS = 8  # that a message names
_CONTROL_VARIABLE = "KERNCAP_CAPTURE_CONTROL"


@dataclass(frozen=True)
class Ended:
    """How the command ended, and what the virtual GPU did not know or was not allowed to do."""

    done: proc.Completed
    stops: list[native.Stop]
    left: tuple[int, ...] = ()
    """Processes of the command that go on without it: daemons."""

    @property
    def status(self) -> str:
        """`exited with 3`, `was ended: the time limit was over`."""
        return "was ended: the time limit was over" if self.done.timed_out else describe_status(self.done.returncode)

    def with_stop(self, error: KerncapError) -> KerncapError:
        """The same failure with the virtual GPU's own reason, which the application may have hidden."""
        if not self.stops:
            return error
        first = self.stops[0]
        hint = error.hint
        if first.code.startswith("vgpu.un"):
            hint = "--device gpu  # and report what the virtual GPU does not know"
        message = f"{error.message}; the virtual GPU had stopped a queue: {first.text} [{first.code}]"
        return CaptureError(message, code="capture.device-stopped", hint=hint)


def run_under_tool(
    command: tuple[str, ...],
    device: native.Device,
    control: Mapping[str, Any],
    native_files: native.NativeFiles,
    *,
    timeout_s: float | None,
    environment: Mapping[str, str] | None = None,
    on_stdout: proc.Sink | None = None,
    on_stderr: proc.Sink | None = None,
    cancel: threading.Event | None = None,
) -> Ended:
    """Without sinks the command writes straight to our stdout and stderr.

    Raises: HostError `host.program-missing`, `host.program-not-executable`, `host.no-native-files`.
    """
    path = Path(control["work_dir"], "control.json")
    native.write_document(path, control)
    base = dict(os.environ if environment is None else environment)
    if base.get("HSA_TOOLS_LIB"):
        log.warning("HSA_TOOLS_LIB is %s: that tool stays out while kerncap's is in", base["HSA_TOOLS_LIB"])
    base["HSA_TOOLS_LIB"] = str(native_files.tool_library)
    base[_CONTROL_VARIABLE] = str(path)
    with Scratch("kerncap-stops-") as scratch:
        stops = Path(scratch, "stops")
        base |= shim_environment(base, path.parent)
        env = native.device_environment(device, native_files, base, stops=stops)
        if device.kind == "gpu" and device.index > 0:
            env[native.VISIBLE_VARIABLE] = native.visible_word(device.index, base)
        done = proc.run(
            command,
            timeout_s=timeout_s,
            env=env,
            inherit_stdin=True,
            capture=on_stdout is not None or on_stderr is not None,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            cancel=cancel,
            keep_bytes=1 << 16,
        )
        return Ended(done, native.read_stops(stops), tuple(processes_with(path)))


def shim_environment(base: Mapping[str, str], records: Path) -> dict[str, str]:
    """What makes every Python of the application write down what Triton does there (kerncap/triton)."""
    path = os.pathsep.join(filter(None, [str(native.TRITON_SHIM_DIR), base.get("PYTHONPATH", "")]))
    return {"PYTHONPATH": path, native.TRITON_RECORDS_VARIABLE: str(records)}


def require_patterns(patterns: Sequence[str], native_files: native.NativeFiles) -> None:
    """As the tool library reads regular expressions, before anything is started for them.

    Raises: UsageError `usage.pattern`.
    """
    if not patterns:
        return
    try:
        wrong_with = ctypes.CDLL(os.fspath(native_files.tool_library)).kerncap_regex_error
    except (OSError, AttributeError):
        return  # made for another C library: it says so itself where it is loaded
    wrong_with.restype = ctypes.c_char_p
    for text in patterns:
        said = wrong_with(text.encode())
        if said is not None:
            hint = "--match base  # or quote brackets and stars of C++ names: this is ECMAScript syntax"
            raise UsageError(said.decode("utf-8", "replace"), code="usage.pattern", hint=hint)


def processes_with(control: Path) -> Iterator[int]:
    """All that were started with this control file and run still, of those that we may look into."""
    for pid in all_processes():
        with contextlib.suppress(OSError):
            if control in control_files(pid):
                yield pid


def control_files(pid: int) -> list[Path]:
    """The control file that a process was started with, if any. Raises: OSError."""
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    entries = [os.fsdecode(entry).partition("=") for entry in environment]
    return [Path(value) for name, _, value in entries if name == _CONTROL_VARIABLE]


def all_processes() -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def read_reports(work_dir: Path, stem: str) -> list[dict[str, Any]]:
    """The documents `<stem>-<pid>.json` of all processes and ranks; one that a kill cut short is left out."""
    paths = [*work_dir.glob(f"{stem}-*.json"), *work_dir.glob(f"*-*/{stem}-*.json")]
    documents = [_load(path) for path in sorted(paths)]
    return [document for document in documents if document]


def _load(path: Path) -> dict[str, Any] | None:
    try:
        # The tool library has no descriptor left for a file: the link's target is the document.
        text = os.readlink(path) if path.is_symlink() else path.read_text("utf-8")
        document = json.loads(text)
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def describe_status(returncode: int | None) -> str:
    """`exited with 3`, `was killed by SIGSEGV`, `goes on`."""
    if returncode is None:
        return "goes on"
    if returncode >= 0:
        return f"exited with {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"


def shell_status(returncode: int) -> int:
    """As a shell has it: 128 + N for an end by signal N."""
    return returncode if returncode >= 0 else 128 - returncode


def alone_hint(command: tuple[str, ...]) -> str:
    return f"{typed(*command)}  # does it run to its end without kerncap?"


def profile_hint(command: tuple[str, ...], device: native.Device) -> str:
    """What a profile counts is written down while the application runs."""
    profile = typed("kerncap", "profile", "--device", str(device), "--", *command)
    return f"{profile}  # what it dispatches until such an end"


def reported_error(work_dir: Path, command: tuple[str, ...]) -> KerncapError | None:
    """What the tool library itself failed with, in any process."""
    for failure in read_reports(work_dir, "error"):
        code, message = failure.get("code", "capture.failed"), failure.get("message", "the tool library failed")
        return error_from_code(str(code), str(message), failure.get("hint") or alone_hint(command))
    return None


def no_word(ended: Ended, command: tuple[str, ...], work_dir: Path, hint: str) -> CaptureError:
    """No process of the command said what it dispatched, or none loaded the HSA runtime with the tool library in it."""
    if ended.left:
        them = ", ".join(map(str, ended.left))
        return CaptureError(
            f"the application {ended.status} and left {counted(len(ended.left), 'process')} behind ({them}), "
            f"which nobody waits for",
            code="capture.left-behind",
            hint=f"{typed(*command)}  # with the option that keeps it in the foreground",
        )
    loaded = [str(document.get("pid")) for document in read_reports(work_dir, "loaded")]
    if loaded:
        return CaptureError(
            f"the application {ended.status}, and nothing is known of what it dispatched: "
            f"{counted(len(loaded), 'process')} ({', '.join(loaded[:_PIDS])}) used the HSA runtime and ended by _exit "
            "or a signal, or gave up the user or the root directory that it was started with",
            code="capture.no-word",
            hint=hint,
        )
    return CaptureError(
        f"the application {ended.status} and never used the HSA runtime, or not with HSA_TOOLS_LIB as it was given",
        code="capture.no-runtime",
        hint=f"{typed('ldd', command[0])}  # is it a HIP or HSA application, and are its libraries found?",
    )
