"""Judges a bundle in a container of a runtime image, without network.

In: a bundle, a reproducer or a registry reference; options. Out: the verdict that the container reported, or its error.
Called by `kerncap run`. A reference is fetched on this host while the container
works on what is there: only files go in.
"""

from __future__ import annotations

import itertools
import json
import logging
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerncap.bundle import open_bundle
from kerncap.bundle.location import LayoutLocation, Location, RegistryLocation, parse_source, require_bundle
from kerncap.errors import BundleError, HostError, KerncapError
from kerncap.results import Ran, RanImage, Verdict, parse_verdict
from kerncap.runtime import containers, triton_images
from kerncap.runtime.containers import access
from kerncap.runtime.containers.access import Access
from kerncap.scratch import Scratch
from kerncap.workflows.image_of_run import chosen_image, default_image
from kerncap.workflows.launcher import words_of
from kerncap.workflows.preflight import require_for_container, require_of_local
from kerncap.workflows.ran import ran_here
from kerncap.workflows.recompile import Sandbox, recompile_in_sandbox
from kerncap.workflows.run_options import RunOptions
from kerncap.workflows.variant import read_launch

if TYPE_CHECKING:
    from kerncap.transport.arriving import Arrival

_log = logging.getLogger(__name__)

DISPATCH_TIMEOUT_S = 60.0


def run(source: str, options: RunOptions) -> Verdict:
    """Validate in a container; with `recompile` the bundle's own source, compiled in another container before.

    Raises: what the command inside raised; HostError for the engine, or of the doctor's checks; TransportError for a
    reference; UsageError `usage.launcher`.
    """
    access.check_way(options.access)
    if options.launcher is not None:
        words_of(options.launcher)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(Scratch("kerncap-run-")))
        named = parse_source(source)
        reference = str(named) if isinstance(named, RegistryLocation) else None
        lasting = containers.Lasting(reference, options.plain_http)
        location, arrival = _local(named, scratch, options, stack)
        compiling_image = _compiling_image(location, options.image) if options.recompile else None
        options = _with_image(location, options)
        hsaco = options.hsaco
        if options.recompile:
            hsaco, kept = scratch / "recompiled.hsaco", _free_name(Path.cwd())
            compiling = replace(lasting, collected=kept)
            sandbox = Sandbox(
                compiling_image,
                options.timeout_s,
                options.memory_bytes,
                options.say,
                compiling,
                options.configuration,
            )
            recompile_in_sandbox(str(location), hsaco, sandbox)
            hsaco.chmod(0o644)
            lasting = replace(lasting, hsaco=kept)
        launch = read_launch(hsaco) if hsaco is not None else None
        device, launched = _device_and_launcher(options)
        job = _job(
            "validate",
            location,
            options,
            arguments=(
                *("--iterations", str(options.iterations)),
                *("--atol", repr(options.atol), "--rtol", repr(options.rtol), "--ulp", str(options.ulp)),
                *("--timeout", f"{min(options.timeout_s, DISPATCH_TIMEOUT_S):g}"),
                *(("--check", options.check) if options.check else ()),
                *(("--only", str(options.only)) if options.only is not None else ()),
                *(("--kernel", options.kernel) if options.kernel is not None else ()),
                *(("--launch", json.dumps(launch)) if launch is not None else ()),
                *launched,
            ),
            device=device,
            access=gpu_access(replace(options, device=device)) if device is not None else None,
            hsaco=hsaco,
        )
        if job.access is not None:
            options.remark(_on_what(job.access))
        if arrival is not None:
            job = replace(job, timeout_s=job.timeout_s + arrival.allowance_s)
        options.say(containers.docker_line(job, lasting))
        try:
            return _verdict(job, source, options)
        except KerncapError as error:
            if arrival is None or error.code != "bundle.missing-blob":
                raise _as_named(error, options.hsaco) from None
        # Kerncap of an older image does not wait for what is on its way.
        arrival.wait()
        try:
            return _verdict(job, source, options)
        except KerncapError as error:
            raise _as_named(error, options.hsaco) from None


def gpu_access(options: RunOptions) -> Access:
    """How a container of this host gets at the GPU that `--device` names; the engine is asked only where there is one.

    Raises: UsageError `usage.gpu-access`, `usage.device`; HostError `host.no-gpu`, `host.gpu-access`, `host.no-docker`.
    """
    asks = options.access != "devices" and access.wants_gpu(options.device)
    abilities = access.engine_abilities() if asks else access.EngineAbilities()
    return access.choose(options.device, options.access, abilities)


def _on_what(found: Access) -> str:
    if found.way == "none" and found.inside == "auto":
        return "no GPU is here (there is no /dev/kfd): the virtual GPU is used"
    return f"GPU access by {found.way}: {found.why}" if found.way != "none" else f"device {found.inside}"


def _with_image(location: Location, options: RunOptions) -> RunOptions:
    """A bundle that cannot be read is not judged here: the container says what is wrong."""
    if options.image is not None:
        return options
    try:
        bundle = open_bundle(location)
    except (BundleError, OSError):
        return replace(options, image=default_image())
    return replace(options, image=chosen_image(bundle, options.remark))


def _device_and_launcher(options: RunOptions) -> tuple[str | None, tuple[str, ...]]:
    """What the container gets as its device, and more words for the command inside, where the launcher is looked up."""
    if options.launcher is None:
        return options.device, ()
    words = (f"--launcher={options.launcher}",)
    if options.device.startswith("gpu") and not containers.gpu_present():
        return None, (*words, "--device", options.device)  # the launcher's own: there is no node to hand in
    return options.device, words


def _compiling_image(location: Location, image: str | None) -> str | None:
    """The one that also replays, but for a Triton kernel in an image without Triton."""
    if image is None or open_bundle(location).capture.triton is None or triton_images.has_triton(image):
        return image
    return None


def _verdict(job: containers.Job, source: str, options: RunOptions) -> Verdict:
    done = containers.run(job, on_stderr=options.on_stderr)
    verdict = parse_verdict(_document(done, "validate", source))
    ran = verdict.ran or Ran(ran_here().at, {})  # an older Kerncap, as an image may have it, does not say
    try:
        image = RanImage(job.image, *containers.image_digests(job.image))
    except HostError as error:  # it was there; a verdict is not lost because it is gone by now
        _log.warning("%s", error)
        return replace(verdict, ran=ran)
    return replace(verdict, ran=replace(ran, image=image))


def _as_named(error: KerncapError, hsaco: Path | None) -> KerncapError:
    """The same error with the variant's name on this host: inside it has the name that it is mounted at."""
    if hsaco is not None:
        error.message = error.message.replace(containers.VARIANT_AT, str(hsaco))
    return error


def _free_name(folder: Path) -> Path:
    """For the printed lines: the first writes the compiled source there, the second reads it."""
    names = itertools.chain(("recompiled.hsaco",), (f"recompiled-{number}.hsaco" for number in itertools.count(2)))
    return next(folder / name for name in names if not (folder / name).exists())


def _job(command: str, location: Location, options: RunOptions, **more: Any) -> containers.Job:
    assert not isinstance(location, RegistryLocation)
    return containers.Job(
        image=options.image or default_image(),  # run() chose one
        command=command,
        bundle=location.path,
        tag=location.tag if isinstance(location, LayoutLocation) else None,
        digest=location.digest if isinstance(location, LayoutLocation) else None,
        timeout_s=options.timeout_s,
        memory_bytes=options.memory_bytes,
        **more,
    )


def _document(outcome: containers.Outcome, doing: str, bundle: str) -> dict[str, Any]:
    containers.raise_for_failure(outcome, doing, bundle)
    try:
        document = json.loads(outcome.stdout)
    except ValueError:
        raise containers.error_of(outcome, doing, bundle) from None
    if not isinstance(document, dict):
        raise containers.error_of(outcome, doing, bundle)
    return document


def _local(location: Location, scratch: Path, options: RunOptions, stack: ExitStack) -> tuple[Location, Arrival | None]:
    """Where it lies on this machine; what still brings it, of a reference."""
    if not isinstance(location, RegistryLocation):
        require_bundle(location)
        if options.launcher is None:
            require_of_local(location, options.device)
        return location, None
    # Only a reference needs the transport, whose import takes longer than all the rest.
    from kerncap.transport import open_any
    from kerncap.transport.arriving import arriving

    remote = open_any(location, plain_http=options.plain_http)
    if options.launcher is None:
        require_for_container(remote, options.device)
    coming = arriving(remote, scratch / "bundle", between=options.only is not None, source=options.recompile)
    arrival = stack.enter_context(coming)
    return arrival.location, arrival
