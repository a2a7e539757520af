"""`kerncap run --print FORM`: the line or manifest that judges a bundle elsewhere. Nothing is started.

In: a bundle, a registry reference, RunOptions. Out: text; remarks through `remark`. Called by `kerncap run`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from kerncap import native
from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import LayoutLocation, Location, RegistryLocation, parse_source, require_bundle
from kerncap.errors import KerncapError, UsageError, typed
from kerncap.runtime import containers, launches
from kerncap.runtime.containers import access
from kerncap.runtime.launches import Gpu, Launch
from kerncap.workflows.image_of_run import image_for
from kerncap.workflows.launcher import words_of
from kerncap.workflows.run import DISPATCH_TIMEOUT_S, gpu_access
from kerncap.workflows.run_options import RunOptions
from kerncap.workflows.variant import read_launch

FORMS = ("docker", "podman", "apptainer", "kubernetes", "slurm")
# The scheduler gives a GPU, and the container sees no other.
_SCHEDULED = ("kubernetes", "slurm")

Remark = Callable[[str], None]


def check_form(form: str) -> None:
    """Raises: UsageError `usage.print`."""
    if form not in FORMS:
        text = f"--print is {form[:40]!r}, expected {', '.join(FORMS)}"
        raise UsageError(text, code="usage.print", hint="--print docker")


def launch_text(source: str, form: str, options: RunOptions, *, as_json: bool, remark: Remark) -> str:
    """Raises: UsageError `usage.print`, `usage.not-expressible`; what a bundle or a file that is named raises."""
    check_form(form)
    _check_access(form, options.access)
    if options.launcher is not None:
        words_of(options.launcher)
    location = parse_source(source)
    reference = _reference(location, form, remark)
    mounts, inside = _mounts(location, form, options)
    gpu, device = _gpu(form, options)
    launch = Launch(
        image=image_for(_opened(location, options, remark), options, remark),
        words=("--deadline", f"{options.timeout_s:g}", inside, *_words(options, device, as_json=as_json)),
        mounts=mounts,
        pulls=reference is not None,
        loopback=bool(reference),
        gpu=gpu,
        seconds=options.timeout_s,
        memory_bytes=options.memory_bytes,
    )
    if gpu is not None and gpu.access is None and form in ("docker", "podman"):
        remark("no GPU is here: the line is for a host that has one, and asks it for the group of /dev/kfd")
    if form not in ("docker", "podman") and not _names_a_registry(launch.image):
        remark(f"{launch.image} comes from Docker Hub there: --image REGISTRY/NAME:TAG names one of another registry")
    if form == "kubernetes":
        if gpu is not None and (gpu.access is None or not gpu.access.groups):
            remark("supplementalGroups must have the numeric group of /dev/kfd on the nodes: stat -c %g /dev/kfd")
        return launches.kubernetes_manifest(launch)
    if form == "slurm":
        return launches.slurm_script(launch)
    write = {"docker": launches.docker_line, "podman": launches.podman_line, "apptainer": launches.apptainer_line}
    return write[form](launch) + "\n"


def _names_a_registry(image: str) -> bool:
    """Source: distribution/reference, the grammar of docker's names of images."""
    first, slash, _ = image.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


def _reference(location: Location, form: str, remark: Remark) -> bool | None:
    """Whether its registry is on loopback; None: it is no reference. Raises: UsageError `usage.bad-reference`."""
    if not isinstance(location, RegistryLocation):
        return None
    from kerncap.transport.reference import parse_reference

    parsed = parse_reference(location.reference)
    if parsed.loopback and form == "kubernetes":
        text = f"{parsed.host} is this machine's own registry, which a pod of a cluster does not reach"
        hint = typed("kerncap", "copy", str(parsed), "REGISTRY/NAME:TAG")
        raise UsageError(text, code="usage.not-expressible", hint=hint)
    if parsed.loopback and form == "slurm":
        remark(f"{parsed.host} is the registry of the machine that runs the job, not of this one")
    return parsed.loopback


def _mounts(location: Location, form: str, options: RunOptions) -> tuple[tuple[tuple[Path, str], ...], str]:
    """Files of this host and where they are inside; how the bundle is called inside."""
    if options.hsaco is not None and form == "kubernetes":
        launches.no_kubernetes_files("--hsaco", options.hsaco, push=False)
    if isinstance(location, RegistryLocation):
        return containers.readable_variant(options.hsaco), str(location)
    require_bundle(location)
    if form == "kubernetes":
        launches.no_kubernetes_files("the bundle", location.path, push=True)
    tag = location.tag if isinstance(location, LayoutLocation) else None
    digest = location.digest if isinstance(location, LayoutLocation) else None
    job = containers.Job("", "validate", location.path, tag=tag, digest=digest, hsaco=options.hsaco)
    return containers.readable_mounts(job)


def _opened(location: Location, options: RunOptions, remark: Remark) -> Bundle | None:
    """To choose an image by; None, with a remark, where a registry does not answer from here."""
    if options.image is not None:
        return None
    if not isinstance(location, RegistryLocation):
        return open_bundle(location)
    from kerncap.transport import open_any

    try:
        return open_any(location, plain_http=options.plain_http)
    except KerncapError as error:
        if error.code.startswith("transport."):
            remark(f"the bundle was not looked at to choose an image by: {error.message}")
            return None
        raise


def _gpu(form: str, options: RunOptions) -> tuple[Gpu | None, str]:
    """What the container asks for, and `--device` inside. `auto` is a GPU where this host has one."""
    parsed = native.parse_device(options.device)
    named = parsed is not None and parsed.kind == "gpu"
    if parsed is not None and not named:
        return None, options.device
    if named and form in _SCHEDULED and options.device != "gpu":
        text = f"{options.device}: the scheduler chooses which GPU a job gets"
        raise UsageError(text, code="usage.not-expressible", hint=f"--print {form} --device gpu")
    here = containers.gpu_present() and access.wants_gpu(options.device)
    if not here and not named:
        return None, options.device
    if not here or form in ("apptainer", "slurm"):
        return Gpu(), options.device
    if form == "kubernetes":  # of the nodes' files only the groups are taken
        return Gpu(access.all_nodes(options.device)), options.device
    found = gpu_access(options) if form == "docker" else _access_for_podman(options)
    return Gpu(found), found.inside


def _check_access(form: str, way: str) -> None:
    """Raises: UsageError `usage.gpu-access`, `usage.not-expressible`."""
    access.check_way(way)
    ways = {"docker": access.WAYS, "podman": ("auto", "cdi", "devices")}.get(form, ("auto",))
    if way not in ways:
        text = f"--gpu-access {way} cannot be said to {form}, which has its own way to a GPU"
        raise UsageError(text, code="usage.not-expressible", hint=f"--print {form} --gpu-access auto")


def _access_for_podman(options: RunOptions) -> access.Access:
    """It knows CDI by itself. Else all nodes, and the command inside picks, as a user's own namespace hides none."""
    if options.access == "cdi":
        return access.choose(options.device, "cdi", access.EngineAbilities(cdi=True))
    return access.all_nodes(options.device)


def _words(options: RunOptions, device: str, *, as_json: bool) -> tuple[str, ...]:
    """The entry point's options: what was said, and nothing that is the default."""
    plain = RunOptions()
    launch = read_launch(options.hsaco) if options.hsaco is not None else None
    words: list[str] = []
    if options.recompile and options.configuration is None:
        words.append("--recompile")
    words += options.configuration.arguments() if options.configuration is not None else ()
    words += ["--hsaco", containers.VARIANT_AT] if options.hsaco is not None else []
    words += ["--launch", json.dumps(launch)] if launch is not None else []
    for name in ("iterations", "atol", "rtol", "ulp", "check", "only", "kernel"):
        value = getattr(options, name)
        if value != getattr(plain, name):
            words += [f"--{name}={value!r}" if isinstance(value, float) else f"--{name}={value}"]
    if min(options.timeout_s, DISPATCH_TIMEOUT_S) != DISPATCH_TIMEOUT_S:
        words += ["--timeout", f"{options.timeout_s:g}"]
    words += [f"--launcher={options.launcher}"] if options.launcher is not None else []
    words += ["--device", device] if device != plain.device else []
    words += ["--plain-http"] if options.plain_http else []
    words += ["--json"] if as_json else []
    return tuple(words)
