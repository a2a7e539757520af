"""Runs a command with libkerncap.so loaded into every HSA runtime that it starts.

In: a command line, a device, a control document. Out: how it ended and why the virtual GPU stopped, if it did.
Called by application and by the profile workflow. Files of the work directory: docs/interfaces.md, Tool library.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap import native, proc
from kerncap.errors import CaptureError, KerncapError, error_from_code, typed
from kerncap.scratch import Scratch


@dataclass(frozen=True)
class Ended:
    """How the command ended, and what the virtual GPU did not know or was not allowed to do."""

    done: proc.Completed
    stops: list[native.Stop]

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
    base["HSA_TOOLS_LIB"] = str(native_files.tool_library)
    base["KERNCAP_CAPTURE_CONTROL"] = str(path)
    with Scratch("kerncap-stops-") as scratch:
        stops = Path(scratch, "stops")
        env = native.device_environment(device, native_files, base, stops=stops)
        if device.kind == "gpu" and device.index > 0:
            env["ROCR_VISIBLE_DEVICES"] = str(device.index)
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
        return Ended(done, native.read_stops(stops))


def read_reports(work_dir: Path, stem: str) -> list[dict[str, Any]]:
    """The documents `<stem>-<pid>.json` of all processes and ranks; one that a kill cut short is left out."""
    paths = [*work_dir.glob(f"{stem}-*.json"), *work_dir.glob(f"*-*/{stem}-*.json")]
    documents = [_load(path) for path in sorted(paths)]
    return [document for document in documents if document]


def _load(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text("utf-8"))
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


def reported_error(work_dir: Path, command: tuple[str, ...]) -> KerncapError | None:
    """What the tool library itself failed with, in any process."""
    for failure in read_reports(work_dir, "error"):
        code, message = failure.get("code", "capture.failed"), failure.get("message", "the tool library failed")
        return error_from_code(str(code), str(message), failure.get("hint") or alone_hint(command))
    return None


def no_runtime(status: str, command: tuple[str, ...]) -> CaptureError:
    """No process of the command loaded the HSA runtime."""
    return CaptureError(
        f"the application {status} and never used the HSA runtime",
        code="capture.no-runtime",
        hint=f"{typed('ldd', command[0])}  # is it a HIP or HSA application, and are its libraries found?",
    )
