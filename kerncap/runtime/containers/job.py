"""What is to run in a container, and what comes back.

In: the workflows (run, recompile) say it. Out: read by the rest of this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kerncap.runtime.containers.access import Access

# Where things lie inside.
BUNDLE_AT = "/bundle"
BUNDLE_TAR_AT = "/bundle.kcap.tar"
VARIANT_AT = "/variant.hsaco"


@dataclass(frozen=True)
class Job:
    """`kerncap COMMAND BUNDLE ARGUMENTS...` in `image`.

    `bundle`: an OCI layout directory, a bundle tar or a reproducer directory, mounted read-only; `digest` or else `tag`
    names one bundle of a layout. `hsaco` is mounted and passed as `--hsaco`. `device` decides which device nodes the
    container gets and is passed as `--device`; None: the command has no device. `access`: how it gets at a
    GPU, where that was chosen. `collect` (an option such as `-o`):
    with it the command is told where to leave a file, which comes back in the Outcome. `timeout_s` is for the container
    as a whole.
    """

    image: str
    command: str
    bundle: Path
    arguments: tuple[str, ...] = ()
    tag: str | None = None
    digest: str | None = None
    device: str | None = "auto"
    access: Access | None = None
    hsaco: Path | None = None
    collect: str | None = None
    timeout_s: float = 300.0
    memory_bytes: int | None = None
    pids: int = 1024
    scratch_bytes: int = 2 << 30


@dataclass(frozen=True)
class Outcome:
    """What came back. `file` is None when nothing was collected or the command made none."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    file: bytes | None


@dataclass(frozen=True)
class Lasting:
    """What a printed line names instead of files that are gone by the time it is typed.

    `reference`: where the bundle came from; the entry point pulls it, to the container's own disk, before it gives the
    network up. `hsaco`: where an earlier line left the variant. `collected`: where this one leaves the collected file.
    """

    reference: str | None = None
    plain_http: bool = False
    hsaco: Path | None = None
    collected: Path | None = None
