"""From a Job to the container that does it.

In: a Job. Out: its Spec, and the `docker run` line that does the same elsewhere. Called by running.py and workflows.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from kerncap import native
from kerncap.errors import HostError, typed
from kerncap.runtime.containers.devices import devices_of
from kerncap.runtime.containers.job import BUNDLE_AT, BUNDLE_TAR_AT, VARIANT_AT, Job, Lasting
from kerncap.runtime.containers.readable import require_readable
from kerncap.runtime.containers.spec import Spec

_COLLECTED = "/tmp/collected"
# What the engine's own host keeps for itself.
_MEMORY_SHARE = 0.8


def docker_line(job: Job, lasting: Lasting | None = None) -> str:
    """The `docker run` line that does the same; what `kerncap run` prints."""
    spec, lasting = spec_of(job), lasting or Lasting()
    inside, volumes = mounts_of(job)
    if lasting.hsaco is not None:
        volumes = (*volumes[:-1], (lasting.hsaco, VARIANT_AT))
    spec = replace(spec, volumes=volumes)
    if lasting.reference is not None:
        command = [lasting.reference if word == inside else word for word in spec.command]
        command += ["--plain-http"] if lasting.plain_http else []
        spec = replace(spec, command=tuple(command), volumes=volumes[1:], network="host", read_only=False)
    line = spec.docker_line()
    # The container sends a tar when it collects.
    return f"{line} | tar -xO file > {typed(lasting.collected)}" if lasting.collected else line


def default_memory_bytes() -> int:
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * _MEMORY_SHARE)


def spec_of(job: Job) -> Spec:
    inside, volumes = mounts_of(job)
    command = ["--deadline", f"{job.timeout_s:g}"]
    command += ["--collect", _COLLECTED] if job.collect else []
    command += [job.command, inside, *job.arguments]
    command += [job.collect, _COLLECTED] if job.collect else []
    command += ["--hsaco", VARIANT_AT] if job.hsaco else []
    device = job.access.inside if job.access is not None else job.device
    command += ["--device", device] if device else []
    command += ["--json"]
    devices, groups = devices_of(job.device) if job.access is None else (job.access.nodes, job.access.groups)
    own_user = _own_user()
    require_readable(volumes, own_user)
    return Spec(
        image=job.image,
        command=tuple(command),
        volumes=volumes,
        devices=devices,
        groups=groups,
        cdi=job.access.cdi if job.access is not None else (),
        runtime=job.access.runtime if job.access is not None else None,
        environment=job.access.environment if job.access is not None else (),
        user=own_user,
        memory_bytes=job.memory_bytes or default_memory_bytes(),
        pids=job.pids,
        scratch_bytes=job.scratch_bytes,
    )


def mounts_of(job: Job) -> tuple[str, tuple[tuple[Path, str], ...]]:
    source = job.bundle.resolve()
    if not source.exists():
        raise HostError(f"{job.bundle} does not exist", code="host.no-bundle", hint=typed("ls", job.bundle.parent))
    target = BUNDLE_AT if source.is_dir() else BUNDLE_TAR_AT
    inside = target
    if job.digest or job.tag:
        inside = f"oci:{target}" + (f"@{job.digest}" if job.digest else f":{job.tag}")
    volumes = [(source, target), *_variant(job.hsaco)]
    for path, _ in volumes:
        if not native.is_utf8(path):  # the engine is told of it in JSON
            raise native.path_not_utf8(path)
    return inside, tuple(volumes)


def readable_mounts(job: Job) -> tuple[tuple[tuple[Path, str], ...], str]:
    """What is mounted, and the bundle's name inside. Raises: HostError `host.unreadable-bundle` and of the mounts."""
    inside, volumes = mounts_of(job)
    require_readable(volumes, _own_user())
    return volumes, inside


def readable_variant(hsaco: Path | None) -> tuple[tuple[Path, str], ...]:
    """As readable_mounts(), without a bundle."""
    volumes = _variant(hsaco)
    require_readable(volumes, _own_user())
    return volumes


def _variant(hsaco: Path | None) -> tuple[tuple[Path, str], ...]:
    if hsaco is None:
        return ()
    if not hsaco.is_file():
        raise HostError(f"{hsaco} is not a file", code="host.no-hsaco", hint=typed("ls", "-l", hsaco))
    return ((hsaco.resolve(), VARIANT_AT),)


def _own_user() -> str | None:
    return f"{os.getuid()}:{os.getgid()}" if os.getuid() != 0 else None
