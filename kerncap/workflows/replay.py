"""Replays a bundle or reproducer with kerncap-replay on this machine, and judges what came out.

In: a path, options. Out: ReplayResult and Verdict. Called by the extract workflow (self-check) and by the commands
replay and validate; in a container, those are what the runtime stage runs.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kerncap import native, proc
from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.capture import Capture
from kerncap.bundle.content import read_before, write_code_object
from kerncap.bundle.dispatch import CodeObject
from kerncap.bundle.step import step_bundle
from kerncap.errors import HostError, KerncapError, ReplayError, UsageError, error_from_code, typed
from kerncap.names import base_name
from kerncap.results import CheckResult, ReplayResult, Verdict, parse_replay_result
from kerncap.scratch import Scratch
from kerncap.verdict.classify import Subject, classify
from kerncap.verdict.plan import EXACT, Tolerance, make_plan
from kerncap.workflows.check import (
    CHECKED_SLOWDOWN,
    read_check_report,
    refuse_check_on_gpu,
    with_findings,
    write_check_files,
)
from kerncap.workflows.perturbed import perturb

log = logging.getLogger(__name__)

# kerncap-replay bounds each wait by its own limit; this only catches one that hangs all the same.
_GRACE_S = 60.0
_LOADER_FAILED = 127


@dataclass(frozen=True)
class Options:
    """How to replay; `hsaco` is a variant's code object.

    Of a sequence: `only` one dispatch; of whose `kernel`'s code object the variant takes the place.
    """

    device: str = "auto"
    hsaco: Path | None = None
    iterations: int = 1
    tolerance: Tolerance = EXACT
    timeout_s: float = 60.0
    withhold_variables: bool = False
    verbose: bool = False
    check: str | None = None
    only: int | None = None
    kernel: str | None = None


def judge(path: str, options: Options) -> Verdict:
    """Replay and classify.

    Raises: HostError (exit 3, with the container's command line), BundleError, ReplayError.
    """
    bundle = open_bundle(path)
    if options.only is not None:
        bundle = step_bundle(bundle, options.only)
    if options.check is not None and bundle.capture.sequence:
        text = "--check looks at one dispatch, and the bundle holds a sequence"
        raise UsageError(text, code="usage.check-sequence", hint=f"--check {options.check} --only 0")
    hsaco = _check_hsaco(options.hsaco, bundle)
    kernel = replaced_kernel(bundle.capture, options.kernel) if hsaco else None
    device, remark = native.replay_device(options.device, native.target_of_isa(bundle.capture.code_object.isa))
    if remark:
        log.warning("%s", remark)
    if options.check is not None:
        refuse_check_on_gpu(options.check, device, native.target_of_isa(bundle.capture.code_object.isa))
    with Scratch("kerncap-replay-") as scratch:
        plan = make_plan(
            bundle.capture,
            bundle.index,
            Path(scratch),
            hsaco=hsaco,
            iterations=options.iterations,
            tolerance=options.tolerance,
            read_before=functools.partial(read_before, bundle),
        )
        run = functools.partial(
            run_replay,
            bundle,
            kernel=kernel,
            device=device,
            scratch=Path(scratch),
            timeout_s=options.timeout_s,
            withhold_variables=options.withhold_variables,
            path=path,
        )
        result = run(plan.runs)
        plan, result = perturb(plan, result, bundle, Path(scratch), run)
        subject = Subject(bundle.manifest_digest, str(device), _digest(hsaco) if hsaco else None)
        try:
            verdict = classify(plan, result, bundle.capture, subject)
        except ReplayError as error:
            if options.check is None:
                raise
            checked = _checked(options.check, bundle, hsaco, device, Path(scratch), options, path)
            raise with_findings(error, checked) from None
        if options.check is None:
            return verdict
        return replace(verdict, checks=_checked(options.check, bundle, hsaco, device, Path(scratch), options, path))


def _checked(
    checks: str, bundle: Bundle, hsaco: Path | None, device: native.Device, scratch: Path, options: Options, path: str
) -> CheckResult:
    """One more dispatch from the captured state, in the checked mode."""
    files = write_check_files(checks, bundle.index, scratch)
    result = run_replay(
        bundle,
        (native.ReplayRun(hsaco=hsaco, expect_post=False),),
        device,
        scratch,
        timeout_s=options.timeout_s * CHECKED_SLOWDOWN,
        withhold_variables=options.withhold_variables,
        check=files,
        path=path,
    )
    code = hsaco or write_code_object(bundle, scratch / "checked.hsaco")
    return read_check_report(files, result, bundle.capture, bundle.index, code)


def run_replay(
    bundle: Bundle,
    runs: Sequence[native.ReplayRun],
    device: native.Device,
    scratch: Path,
    *,
    timeout_s: float,
    kernel: str | None = None,
    withhold_variables: bool = False,
    trace: Path | None = None,
    check: native.CheckFiles | None = None,
    path: str | None = None,
) -> ReplayResult:
    """One kerncap-replay process.

    `kernel`: of whose code object a variant takes the place. `path` is how the user named the bundle, for the hint.

    Raises: HostError, BundleError, ReplayError.
    """
    native_files = _native_for(path)
    documents = bundle.write_documents(scratch)
    blobs = {
        digest: {"path": os.path.abspath(where.path), "offset": where.offset, "size": where.size}
        for digest, where in bundle.blob_locations().items()
    }
    request, answer = scratch / "request.json", scratch / "result.json"
    answer.unlink(missing_ok=True)
    document = native.replay_request(
        documents.capture,
        documents.index,
        blobs,
        [replace(run, kernel=kernel) for run in runs],
        agent=device.index if device.kind == "gpu" else 0,
        timeout_s=timeout_s,
        withhold_variables=withhold_variables,
    )
    native.write_document(request, document)
    env = native.device_environment(device, native_files, os.environ, trace, check)
    steps = len(bundle.capture.steps)
    whole = sum(timeout_s * steps * (run.iterations + run.warmup) for run in runs) + _GRACE_S
    done = proc.run(
        [native_files.replay, request, answer], timeout_s=whole, env=env, on_stderr=_forward, keep_bytes=1 << 16
    )
    if not answer.is_file():
        raise _no_answer(done, whole, path)
    try:
        result = parse_replay_result(json.loads(answer.read_text("utf-8")))
    except ValueError as error:
        raise ReplayError(f"kerncap-replay wrote no JSON: {error}", code="replay.bad-result") from error
    if result.error is None:
        return result
    codes = [step.code_object for step in bundle.capture.steps]
    return replace(result, error=_stopped_by(done.error_text, codes) or result.error)


_NO_CODE = re.compile(r"no code at this address at pc (0x[0-9a-f]+)")


def _stopped_by(said: str, codes: Sequence[CodeObject]) -> KerncapError | None:
    """Why the virtual GPU stopped the queue: kerncap-replay sees a queue error only. Faults it reports itself."""
    for stop in native.stops_in(said):
        if stop.code != "vgpu.page-fault":
            no_code = _NO_CODE.search(stop.text)
            if no_code and any(c.load_va <= int(no_code[1], 16) < c.load_va + c.load_size for c in codes):
                return ReplayError(
                    "the kernel calls a function by an address that was stored in memory and that leads nowhere in the "
                    "code object that is replayed",
                    code="replay.code-address",
                    hint="nm -C VARIANT  # it must keep the functions whose addresses are stored, under their names",
                )
            hint = "--device gpu  # and report the instruction"
            return error_from_code(stop.code, stop.text, hint)
    return None


def _forward(piece: bytes) -> None:
    for line in piece.decode("utf-8", "replace").splitlines():
        log.info("%s", line)


def _native_for(path: str | None) -> native.NativeFiles:
    try:
        files = native.find_native()
        assert files.replay
        return files
    except HostError as error:
        raise _with_container_hint(error, path) from None


def _with_container_hint(error: HostError, path: str | None) -> HostError:
    if path is None:
        return error
    return HostError(error.message, code=error.code, hint=typed("kerncap", "run", path))


def _no_answer(done: proc.Completed, limit_s: float, path: str | None) -> KerncapError:
    said = "\n".join(done.error_text.strip().splitlines()[-3:])
    if done.returncode == _LOADER_FAILED and "shared librar" in said:
        return _with_container_hint(
            HostError(f"kerncap-replay does not start: {said}", code="host.no-hsa-runtime", hint=None), path
        )
    if done.timed_out:
        return ReplayError(
            f"the replay did not end within {limit_s:g} s", code="replay.timeout", hint=f"--timeout {limit_s * 4:g}"
        )
    how = f"exit code {done.returncode}" if done.returncode >= 0 else f"signal {-done.returncode}"
    return ReplayError(
        f"kerncap-replay ended with {how} and without a result" + (f": {said}" if said else ""),
        code="replay.crashed",
        hint="kerncap replay BUNDLE -vv  # shows what it said",
    )


def replaced_kernel(capture: Capture, named: str | None) -> str | None:
    """The mangled name of the kernel whose code object a variant takes the place of.

    Raises: UsageError `usage.which-kernel` when it must be named, `usage.no-such-kernel` when no dispatch is of it.
    """
    kernels = {step.kernel.name: step.kernel.demangled for step in capture.steps}
    if named is None:
        if len({(step.code_object.digest, step.code_object.load_va) for step in capture.steps}) == 1:
            return None
        raise UsageError(
            "the dispatches of this sequence run from several code objects: of which kernel is the variant?",
            code="usage.which-kernel",
            hint=typed("--kernel", base_name(capture.kernel.demangled)),
        )
    for mangled, demangled in kernels.items():
        if named in (mangled, demangled, base_name(demangled)):
            return mangled
    have = ", ".join(base_name(demangled) for demangled in kernels.values())
    raise UsageError(
        f"no captured dispatch is of a kernel {named!r}, only of {have}",
        code="usage.no-such-kernel",
        hint=typed("--kernel", base_name(capture.kernel.demangled)),
    )


def _check_hsaco(hsaco: Path | None, bundle: Bundle) -> Path | None:
    """A raw code object, not an offload bundle and not something else; kerncap-replay checks its target."""
    if hsaco is None:
        return None
    try:
        with hsaco.open("rb") as file:
            magic = file.read(24)
    except OSError as error:
        raise UsageError(f"{hsaco}: {error.strerror}", code="usage.no-such-file", hint="--hsaco FILE") from None
    if magic.startswith(b"__CLANG_OFFLOAD_BUNDLE__"):
        raise UsageError(
            f"{hsaco} is an offload bundle, not a raw code object",
            code="usage.not-a-code-object",
            hint="hipcc --cuda-device-only --no-gpu-bundle-output --offload-arch="
            f"{native.target_of_isa(bundle.capture.code_object.isa)} ...",
        )
    if not magic.startswith(b"\x7fELF"):
        raise UsageError(
            f"{hsaco} is no code object: it is not an ELF file",
            code="usage.not-a-code-object",
            hint="--hsaco FILE, of hipcc --cuda-device-only --no-gpu-bundle-output",
        )
    return hsaco.absolute()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
