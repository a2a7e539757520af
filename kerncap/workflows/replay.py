"""Replays a bundle or reproducer with kerncap-replay on this machine, and judges what came out.

In: a path, options. Out: Verdict. Called by the session workflow and by the commands replay and validate; in a
container, those are what the runtime stage runs.
"""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass, replace
from pathlib import Path

from kerncap import native
from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.capture import Capture
from kerncap.bundle.content import read_before, write_code_object
from kerncap.bundle.files import digest_of
from kerncap.bundle.location import RegistryLocation, parse_source
from kerncap.bundle.step import step_bundle
from kerncap.errors import ReplayError, UsageError, typed
from kerncap.names import base_name
from kerncap.results import CheckResult, Verdict
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
from kerncap.workflows.code import is_code_object
from kerncap.workflows.launcher import Launcher
from kerncap.workflows.perturbed import perturb
from kerncap.workflows.preflight import checked_device
from kerncap.workflows.ran import ran_here
from kerncap.workflows.replay_process import ReplayProcess, native_for
from kerncap.workflows.variant import launch_of

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """How to replay; `hsaco` is a variant's code object, `launch` the document of its launch (variant.py) where that
    does not lie beside it.

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
    launch: str | None = None
    plain_http: bool = False
    launcher: Launcher | None = None
    """Starts kerncap-replay."""


@dataclass(frozen=True)
class OnDevice:
    """A bundle, one dispatch of it with `--only`, and the device it is replayed on; `path` is how the user named it."""

    bundle: Bundle
    device: native.Device
    path: str

    @property
    def target(self) -> str:
        return native.target_of_isa(self.bundle.capture.code_object.isa)


def on_device(path: str, device: str, only: int | None = None) -> OnDevice:
    """Raises: HostError, BundleError, UsageError `usage.device`, `usage.only`."""
    return _on_device(open_bundle(path), path, device, only)


def _on_device(bundle: Bundle, path: str, device: str, only: int | None, launcher: Launcher | None = None) -> OnDevice:
    if only is not None:
        bundle = step_bundle(bundle, only)
    found, remark = checked_device(bundle, device, launcher)
    if remark:
        log.warning("%s", remark)
    return OnDevice(bundle, found, path)


def judge(path: str, options: Options) -> Verdict:
    """Replay and classify. A bundle in a registry is fetched meanwhile: the first dispatch waits for the memory that it
    may read, not for what it is compared with.

    Raises: HostError (exit 3, with the container's command line), BundleError, ReplayError, TransportError.
    """
    location = parse_source(path)
    if not isinstance(location, RegistryLocation):
        subject = _on_device(open_bundle(path), path, options.device, options.only, options.launcher)
        return _judge(subject, options)
    # Only a reference needs the transport, whose import takes longer than all the rest.
    from kerncap.transport import open_any
    from kerncap.transport.arriving import arriving
    from kerncap.transport.reference import parse_reference

    parse_reference(location.reference)
    native_for(path)
    remote = open_any(location, plain_http=options.plain_http)
    checked_device(remote, options.device, options.launcher)
    with (
        Scratch("kerncap-fetched-") as folder,
        arriving(remote, Path(folder), between=options.only is not None) as on_its_way,
    ):
        bundle = open_bundle(on_its_way.location)
        return _judge(_on_device(bundle, path, options.device, options.only, options.launcher), options)


def _judge(subject: OnDevice, options: Options) -> Verdict:
    with Scratch("kerncap-replay-") as scratch:
        process = ReplayProcess(
            subject.bundle,
            subject.device,
            Path(scratch),
            timeout_s=options.timeout_s,
            withhold_variables=options.withhold_variables,
            path=subject.path,
            resident=True,
            launcher=options.launcher,
        )
        with process:
            return judge_with(process, subject, options, Path(scratch))


def judge_with(process: ReplayProcess, subject: OnDevice, options: Options, scratch: Path) -> Verdict:
    """As judge(), with a process that may have replayed the bundle before; `scratch` is for this verdict alone."""
    bundle, device = subject.bundle, subject.device
    if options.check is not None:
        if bundle.capture.sequence:
            text = "--check looks at one dispatch, and the bundle holds a sequence"
            raise UsageError(text, code="usage.check-sequence", hint=f"--check {options.check} --only 0")
        refuse_check_on_gpu(options.check, device, subject.target)
    hsaco = _check_hsaco(options.hsaco, bundle)
    kernel = replaced_kernel(bundle.capture, options.kernel) if hsaco else None
    launch, launched = launch_of(hsaco, bundle.capture, options.launch) if hsaco else (None, None)
    plan = make_plan(
        bundle.capture,
        bundle.index,
        scratch,
        hsaco=hsaco,
        iterations=options.iterations,
        tolerance=options.tolerance,
        read_before=functools.partial(read_before, bundle),
    )
    run = functools.partial(process.run, kernel=kernel, launch=launch)
    result = run(plan.runs)
    plan, result = perturb(plan, result, bundle, scratch, run)
    of = Subject(bundle.manifest_digest, str(device), digest_of(hsaco) if hsaco else None)
    try:
        verdict = classify(plan, result, bundle.capture, of)
    except ReplayError as error:
        if options.check is None:
            raise
        raise with_findings(error, _checked(subject, hsaco, scratch, options, launch)) from None
    verdict = replace(verdict, ran=ran_here())
    if launched is not None:
        verdict = replace(verdict, reasons=(*verdict.reasons, launched))
    if options.check is None:
        return verdict
    return replace(verdict, checks=_checked(subject, hsaco, scratch, options, launch))


def _checked(
    subject: OnDevice, hsaco: Path | None, scratch: Path, options: Options, launch: native.Launch | None
) -> CheckResult:
    """One more dispatch from the captured state, in the checked mode, which is that of a whole process."""
    assert options.check is not None
    bundle = subject.bundle
    files = write_check_files(options.check, bundle.index, scratch)
    process = ReplayProcess(
        bundle,
        subject.device,
        scratch,
        timeout_s=options.timeout_s * CHECKED_SLOWDOWN,
        withhold_variables=options.withhold_variables,
        check=files,
        path=subject.path,
        launcher=options.launcher,
    )
    result = process.run((native.ReplayRun(hsaco=hsaco, expect_post=False),), launch=launch)
    code = hsaco or write_code_object(bundle, scratch / "checked.hsaco")
    return read_check_report(files, result, bundle.capture, bundle.index, code)


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
        raw = is_code_object(hsaco, native.target_of_isa(bundle.capture.code_object.isa))
    except OSError as error:
        raise UsageError(f"{hsaco}: {error.strerror}", code="usage.no-such-file", hint="--hsaco FILE") from None
    if not raw:
        raise UsageError(
            f"{hsaco} is no code object: it is not an ELF file",
            code="usage.not-a-code-object",
            hint="--hsaco FILE, of hipcc --cuda-device-only --no-gpu-bundle-output",
        )
    return hsaco.absolute()
