"""What is to be launched, for every writer of this package. In: the workflow print_launch says it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from kerncap.errors import UsageError, typed
from kerncap.runtime.containers.access import Access

# Of images: the entry point, which apptainer does not run by itself; the user. Source: runtime.Dockerfile.j2.
ENTRYPOINT = ("/usr/bin/python3", "-I", "/opt/kerncap/bin/entrypoint")
USER = 10001
# On top of what the command may take: the image's pull, the container's start and end.
AROUND_S = 120
# Where it runs on a machine that is not known: without --memory.
MEMORY_BYTES = 16 << 30


@dataclass(frozen=True)
class Gpu:
    """`access`: how containers of this host get at it; None: it is of the host where the text is used."""

    access: Access | None = None


@dataclass(frozen=True)
class Launch:
    """`IMAGE WORDS...` with `mounts`, which are files of this host and where they are inside, read-only.

    `words` are the entry point's. `pulls`: it fetches the bundle itself, so that it needs a network (`loopback`: this
    host's own) and room for the bundle. `seconds` is what pull and command may take, each.
    """

    image: str
    words: tuple[str, ...]
    mounts: tuple[tuple[Path, str], ...] = ()
    pulls: bool = False
    loopback: bool = False
    gpu: Gpu | None = None
    seconds: float = 900.0
    memory_bytes: int | None = None
    pids: int = 1024
    scratch_bytes: int = 2 << 30

    @property
    def whole_seconds(self) -> int:
        """For what ends it from outside; the entry point's own deadline comes before."""
        return int(self.seconds * (2 if self.pulls else 1)) + AROUND_S


def no_kubernetes_files(what: str, path: Path, *, push: bool) -> NoReturn:
    """Raises: UsageError `usage.not-expressible`."""
    hint = typed("kerncap", "push", path, "REGISTRY/NAME:TAG") + "  # then --print kubernetes of that name"
    raise UsageError(
        f"{what} {path} is a file of this machine, which a pod of a cluster does not see",
        code="usage.not-expressible",
        hint=hint if push else "--print docker, podman, apptainer or slurm",
    )
