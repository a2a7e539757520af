"""One line for `docker run` or `podman run`, with all barriers.

In: a Launch. Out: the line. Docker: every POSIX shell reads it, but for names that no terminal shows (bash). Source:
docker-run(1), podman-run(1).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kerncap.errors import UsageError, typed
from kerncap.runtime.containers.line import default_memory_bytes
from kerncap.runtime.containers.spec import NO_DNS, mount_option
from kerncap.runtime.launches.launch import Gpu, Launch

# Of the host where it is typed.
_GROUP_THERE = '"$(stat -c %g /dev/kfd)"'
# What is pulled may be more than memory holds: a volume of its own, on disk, which goes with the container.
_ON_DISK = "type=volume,target=/tmp"


def docker_line(launch: Launch) -> str:
    """As `kerncap run` starts it, with the entry point's command in one container."""
    words = ["docker", "run", "--rm", "--init", *_network(launch)]
    words += ["--dns", NO_DNS] if not launch.pulls else []
    words += _barriers(launch)
    if os.getuid() != 0 and launch.mounts:
        words += ["--user", f"{os.getuid()}:{os.getgid()}"]
    return _line(launch, words, [typed(*_gpu(launch.gpu)), _group(launch.gpu)])


def podman_line(launch: Launch) -> str:
    """Rootless where it was made by a user who is not root: then files of this host are read as that user."""
    rootless = os.getuid() != 0
    for path, _ in launch.mounts:
        if "," in str(path):
            text = f"podman takes no path with a comma in it: {path}"
            raise UsageError(text, code="usage.not-expressible", hint=typed("mv", path, "NAME"))
    words = ["podman", "run", "--rm", *_network(launch), *_barriers(launch)]
    if rootless and launch.mounts:
        words += ["--userns", "keep-id", "--user", f"{os.getuid()}:{os.getgid()}"]
    group = _group(launch.gpu)
    if rootless and launch.gpu is not None:
        # Numeric groups of the host have no number in a user namespace. Source: podman-run(1), --group-add.
        group = "--group-add keep-groups"
    return _line(launch, words, [typed(*_gpu(launch.gpu)), group])


def _line(launch: Launch, words: Sequence[str], more: Sequence[str]) -> str:
    mounts = [word for path, target in launch.mounts for word in ("--mount", mount_option(path, target))]
    parts = [typed(*words), *more, typed(*mounts), typed(launch.image, *launch.words)]
    return " ".join(part for part in parts if part)


def _network(launch: Launch) -> list[str]:
    """None; to pull, the engine's own one, or the host's where the registry is on it. The entry point gives it up."""
    if not launch.pulls:
        return ["--network", "none"]
    return ["--network", "host"] if launch.loopback else []


def _barriers(launch: Launch) -> list[str]:
    tmpfs = f"/tmp:rw,nosuid,nodev,noexec,size={launch.scratch_bytes}"
    words = ["--read-only", *(("--mount", _ON_DISK) if launch.pulls else ("--tmpfs", tmpfs))]
    words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", str(launch.pids)]
    words += ["--ulimit", "core=0", "--memory", str(launch.memory_bytes or default_memory_bytes())]
    return words


def _gpu(gpu: Gpu | None) -> list[str]:
    if gpu is None:
        return []
    if gpu.access is None:
        return ["--device", "/dev/kfd", "--device", "/dev/dri"]
    access = gpu.access
    words = ["--runtime", access.runtime] if access.runtime else []
    words += [word for name, value in access.environment for word in ("--env", f"{name}={value}")]
    return words + [word for one in (*access.nodes, *access.cdi) for word in ("--device", one)]


def _group(gpu: Gpu | None) -> str:
    if gpu is None:
        return ""
    if gpu.access is None:
        return f"--group-add {_GROUP_THERE}"
    return typed(*(word for group in gpu.access.groups for word in ("--group-add", group)))
