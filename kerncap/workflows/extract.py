"""Captures one dispatch of an application as a reproducer directory: run, check, carry the source, give it its name.

In: an Order, an output directory, where the source lies. Out: the finished directory and what is known of it.
Called by `kerncap extract`. Until everything is whole the directory has a temporary name.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kerncap import native, proc
from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.content import write_code_object
from kerncap.bundle.outputs import new_directory
from kerncap.capture.application import Captured, Order, run_application
from kerncap.capture.attach import Attached, capture_on_demand
from kerncap.capture.seal import NamedArgument, add_facts, add_self_check, add_triton
from kerncap.capture.tool import describe_status, require_patterns
from kerncap.errors import CompileError, HostError, KerncapError, ReplayError, UsageError, typed
from kerncap.names import base_name
from kerncap.reproducer import write_reproducer
from kerncap.results import DIFFERS, FAITHFUL, NONDETERMINISTIC, ReplayResult
from kerncap.scratch import Scratch, remove_tree
from kerncap.source.closure import SourceRequest, Wanted, carry_source
from kerncap.triton.call import names_and_types, reassemble, visible_sizes
from kerncap.triton.pinned import pin
from kerncap.triton.records import read_records
from kerncap.triton.trace_launch import Launch
from kerncap.verdict.write_set import TracedSet, read_trace
from kerncap.workflows.inductor import InductorSource, source_or_error
from kerncap.workflows.replay_process import ReplayProcess
from kerncap.workflows.traced import check_captured

log = logging.getLogger(__name__)

# A loaded machine runs a replay more slowly than the application ran the dispatch.
_SELF_CHECK_FLOOR_S = 30.0


@dataclass(frozen=True)
class Request:
    """All of `kerncap extract`'s options but those of the application's streams."""

    order: Order
    output: Path
    source: SourceRequest = field(default_factory=SourceRequest)
    self_check: int = 2
    traced: Launch | None = None
    """Of a trace: what is captured must be this launch."""
    inductor: InductorSource | None = None
    """Where the kernel's source is, when the shim does not record it."""


@dataclass(frozen=True)
class Extracted:
    """What was captured. `source_error` is set when the source was asked for and could not be carried."""

    directory: Path
    bundle: Bundle
    returncode: int | None
    """None: the application goes on."""
    self_check: dict[str, Any] | None
    source_error: CompileError | None

    def to_json(self) -> dict[str, Any]:
        capture = self.bundle.capture
        return {
            "schema": "kerncap.extracted/1",
            "directory": str(self.directory),
            "kernel": capture.kernel.demangled or capture.kernel.name,
            "mangled": capture.kernel.name,
            "match_index": capture.dispatch.match_index,
            "trigger": capture.trigger,
            "dispatches": len(capture.steps),
            "rank": capture.rank,
            "target": capture.code_object.target,
            "device_class": capture.device.device_class,
            "regions": len(self.bundle.index.regions),
            "raw_bytes": self.bundle.index.raw_bytes,
            "stored_bytes": self.bundle.index.stored_bytes,
            "consistency": {"consistent": capture.consistent, "reasons": list(capture.inconsistency)},
            "unreadable": len(capture.unreadable),
            "self_check": self.self_check,
            "source_files": self.bundle.source_count,
            "source_error": self.source_error.to_json() if self.source_error else None,
            "application": {"returncode": self.returncode, "status": describe_status(self.returncode)},
        }


def default_output(kernel: str) -> Path:
    """`vector_add.kcap` for `vector_add`: the base name, reduced to what a file name may hold."""
    name = "".join(c if c.isalnum() or c in "_-." else "_" for c in base_name(kernel)).strip("._") or "kernel"
    return Path(f"{name}.kcap")


def extract(
    request: Request, *, on_stdout: proc.Sink | None = None, on_stderr: proc.Sink | None = None
) -> tuple[Extracted, ...]:
    """One capture; with `ranks` `all` those of all processes, each in a directory of its own below the output.

    Raises: UsageError `usage.output-exists`; CaptureError; HostError. Nothing is left of a capture that failed.
    """

    def capture(work: Path, files: native.NativeFiles) -> tuple[Captured, ...]:
        return run_application(request.order, work, files, on_stdout=on_stdout, on_stderr=on_stderr)

    return _extracted(request, capture)


def trigger(request: Request, process: Attached) -> Extracted:
    """As extract(), of a process that runs already. It may use the time limit of the order to dispatch the kernel."""
    (extracted,) = _extracted(request, lambda work, files: (capture_on_demand(process, request.order, work),))
    return extracted


def _extracted(
    request: Request, capture: Callable[[Path, native.NativeFiles], tuple[Captured, ...]]
) -> tuple[Extracted, ...]:
    native_files = native.find_native()
    require_patterns(request.order.selection.patterns, native_files)
    if request.self_check < 0:
        raise UsageError("--self-check counts replays: 0 or more", code="usage.self-check", hint="--self-check 2")
    folder = request.source.directory
    if folder is not None and not folder.is_dir():
        raise UsageError(f"there is no directory {folder}", code="usage.source-dir")
    if not native.is_utf8(request.output.absolute()):  # the tool library is told of it in JSON
        text = f"{request.output}: the path of a capture must be UTF-8"
        raise HostError(text, code="host.path-not-utf8", hint="-o NAME")
    with new_directory(request.output) as partial:
        # The tool library renames inside its work directory, and we out of it: all on one file system.
        work = partial / ".work"
        work.mkdir()
        found = capture(work, native_files)
        # A process of many has its captures below a directory of its name, here as in the work directory.
        places = [captured.directory.parent.relative_to(work) for captured in found]
        for captured, place in zip(found, places, strict=True):
            (partial / place).mkdir(exist_ok=True)
            captured.directory.rename(partial / place / "capture")
        source_errors = []
        for captured, place in zip(found, places, strict=True):
            error = _seal(request, partial / place, captured.records)
            if request.traced is not None:
                check_captured(partial / place, request.traced)
            if request.inductor is not None:
                error = source_or_error(partial / place, request.inductor, error)
            source_errors.append(error)
            write_reproducer(partial / place, open_bundle(partial / place).capture)
        remove_tree(work)
    return tuple(
        _one(request.output / place, captured, source_error)
        for place, captured, source_error in zip(places, found, source_errors, strict=True)
    )


def _one(directory: Path, captured: Captured, source_error: CompileError | None) -> Extracted:
    bundle = open_bundle(directory)
    self_check = dict(bundle.capture.self_check) if bundle.capture.self_check else None
    return Extracted(directory, bundle, captured.returncode, self_check, source_error)


def _seal(request: Request, partial: Path, records_dir: Path) -> CompileError | None:
    order, capture_dir = request.order, partial / "capture"
    add_facts(capture_dir, device_class=order.device.kind, command=order.command, environment=os.environ)
    bundle = open_bundle(partial)
    records = read_records(records_dir, bundle.capture.code_object.digest)
    launch: dict[str, Any] = {}
    if records is not None:
        launch = reassemble(bundle.capture, records)
        named = names_and_types(records.kernel.get("signature") or [], visible_sizes(bundle.capture))
        tensors = [one["tensor"] for one in launch["arguments"]]
        arguments = [NamedArgument(*one, tensor) for one, tensor in zip(named, tensors, strict=False)]
        add_triton(capture_dir, records.release, arguments)
        bundle = open_bundle(partial)
    if bundle.capture.status == "completed":
        _self_check(request, bundle, capture_dir)
    else:
        log.warning("the captured dispatch ended with a %s: the self-check is left out", bundle.capture.status)
    if records is not None:
        return pin(partial, records, launch)
    if not request.source.wanted:
        return None
    kernel, target = bundle.capture.kernel, bundle.capture.code_object.target
    try:
        with Scratch("kerncap-code-") as scratch:
            code = write_code_object(bundle, Path(scratch, "captured.hsaco"))
            wanted = Wanted(kernel.name, kernel.demangled, target, code)
            carry_source(partial, wanted, request.source)
    except CompileError as error:
        return _without_source(partial, error)
    except OSError as error:
        # Of the project: gone since, or out of reach. The capture is whole all the same.
        text = f"{error.filename or 'a file of the source'}: {error.strerror or error}"
        hint = typed("ls", "-ld", error.filename) if isinstance(error.filename, str) else None
        return _without_source(partial, CompileError(text, code="compile.source-file", hint=hint))
    return None


def _without_source(partial: Path, error: CompileError) -> CompileError:
    remove_tree(partial / "src")
    for name in ("vfs.yaml", "compile.json"):
        (partial / name).unlink(missing_ok=True)
    return error


def _self_check(request: Request, bundle: Bundle, capture_dir: Path) -> None:
    """Replay the capture before it gets its name. A failure is recorded and said, and does not lose the capture."""
    if request.self_check == 0:
        log.warning("--self-check 0: nobody knows yet whether this capture replays")
        return
    device = request.order.device
    with Scratch("kerncap-check-") as scratch:
        trace = Path(scratch, "trace.jsonl") if device.kind == "vgpu" else None
        runs = [native.ReplayRun(iterations=request.self_check)]
        try:
            limit_s = _self_check_limit_s(request.order, bundle)
            result = ReplayProcess(bundle, device, Path(scratch), timeout_s=limit_s, trace=trace).run(runs)
            if result.error is not None:
                raise result.error
        except KerncapError as error:
            log.warning("self-check: the capture was not replayed: %s [%s]", error.message, error.code)
            failed = {"iterations": 0, "verdict": None, "device": str(device), "error": error.to_json()}
            add_self_check(capture_dir, failed, None, ())
            return
        stored = _traced(trace, result, bundle) if trace else None
    run = result.runs[0]
    word = FAITHFUL
    if not run.iterations_agree:
        word = NONDETERMINISTIC
    elif run.mismatch_bytes:
        word = DIFFERS
    if word != FAITHFUL:
        log.warning("self-check: %s: %d bytes came out otherwise than in the application", word, run.mismatch_bytes)
    check = {
        "iterations": run.iterations,
        "verdict": word,
        "device": str(device),
        "mismatch_bytes": run.mismatch_bytes,
    }
    touched = stored.touches if stored else None
    add_self_check(capture_dir, check, stored.to_json() if stored else None, run.noise, touched)


def _self_check_limit_s(order: Order, bundle: Bundle) -> float:
    """A dispatch that waited for something that a replay has not would be waited for in vain."""
    timing = bundle.capture_json.get("timing") or {}
    took_s = float(timing.get("dispatch_wall_s") or order.dispatch_timeout_s)
    return min(order.dispatch_timeout_s, _SELF_CHECK_FLOOR_S + 4 * took_s)


def _traced(trace: Path, result: ReplayResult, bundle: Bundle) -> TracedSet | None:
    run = result.runs[0]
    try:
        stored = read_trace(trace, run.kernel_objects or (run.kernel_object_va,), bundle.index, run.variables)
    except ReplayError as error:
        log.warning("self-check: the write set stays unknown: %s [%s]", error.message, error.code)
        return None
    if stored.outside_bytes:
        log.warning("the kernel stores %d bytes outside of the captured memory", stored.outside_bytes)
    return stored
