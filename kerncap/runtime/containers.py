"""Runs one kerncap command in a container of a runtime image, shut off from everything but the bundle.

In: a Job. Out: an Outcome with what the command printed, its exit code and, when asked for, one file it made; results
come back as a stream on stdout, so nothing of the host is writable inside. Called by the workflows (run, recompile).
"""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import re
import secrets
import stat
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import docker.errors
from docker import DockerClient

from kerncap import native
from kerncap.errors import HostError, KerncapError, ReplayError, UsageError, error_from_code, typed
from kerncap.runtime import catalog, engine

_log = logging.getLogger(__name__)

_BUNDLE = "/bundle"
_BUNDLE_TAR = "/bundle.kcap.tar"
_SOURCE_PARTS = ("src", "vfs.yaml", "compile.json", "triton.json")
_BUNDLE_PARTS = ("oci-layout", "index.json", "blobs", "capture", "capture.json", *_SOURCE_PARTS)
VARIANT_AT = "/variant.hsaco"
_COLLECTED = "/tmp/collected"
_CREATION_S = 5.0  # for the engine to finish creating a container that nobody waits for any more
_MAX_STDOUT_BYTES = 512 << 20
_KEEP_STDERR_BYTES = 1 << 20
# The command inside has its own deadline; this much later the container is removed from outside.
_REMOVE_AFTER_S = 20.0
# What the engine's own host keeps for itself.
_MEMORY_SHARE = 0.8
# The engine copies the host's resolv.conf into containers without network, too. Source: RFC 5737, an address of nobody.
_NO_DNS = "192.0.2.1"
_KFD = Path("/dev/kfd")
_DRI = Path("/dev/dri")


@dataclass(frozen=True)
class Job:
    """`kerncap COMMAND BUNDLE ARGUMENTS...` in `image`.

    `bundle`: an OCI layout directory, a bundle tar or a reproducer directory, mounted read-only; `tag` names one bundle
    of a layout. `hsaco` is mounted and passed as `--hsaco`. `device` decides which device nodes the container gets and
    is passed as `--device`; None: the command has no device. `collect` (an option such as `-o`): with it the command is
    told where to leave a file, which comes back in the Outcome. `timeout_s` is for the container as a whole.
    """

    image: str
    command: str
    bundle: Path
    arguments: tuple[str, ...] = ()
    tag: str | None = None
    device: str | None = "auto"
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
class _Spec:
    """A container in the words of `docker run`; the SDK's arguments are made from it, too: both say the same."""

    image: str
    command: tuple[str, ...]
    volumes: tuple[tuple[Path, str], ...]
    devices: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    user: str | None = None
    memory_bytes: int | None = None
    pids: int = 1024
    scratch_bytes: int = 2 << 30
    network: str = "none"
    read_only: bool = True
    labels: dict[str, str] = field(default_factory=lambda: {"dev.kerncap.run": "1"})

    @property
    def _tmpfs(self) -> str:
        return f"rw,nosuid,nodev,noexec,size={self.scratch_bytes}"

    def docker_line(self) -> str:
        words = ["docker", "run", "--rm", "--init", "--network", self.network]
        words += ["--dns", _NO_DNS] if self.network == "none" else []
        words += ["--read-only", "--tmpfs", f"/tmp:{self._tmpfs}"] if self.read_only else []
        words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", str(self.pids)]
        words += ["--ulimit", "core=0"]
        words += ["--memory", str(self.memory_bytes)] if self.memory_bytes else []
        words += ["--user", self.user] if self.user else []
        for device in self.devices:
            words += ["--device", device]
        for group in self.groups:
            words += ["--group-add", str(group)]
        for source, target in self.volumes:
            words += ["--mount", _mount_option(source, target)]
        return typed(*words, self.image, *self.command)

    def sdk_arguments(self) -> dict[str, Any]:
        return {
            "image": self.image,
            "command": list(self.command),
            "init": True,
            "auto_remove": True,
            "network_mode": self.network,
            "dns": [_NO_DNS],
            "read_only": self.read_only,
            "tmpfs": {"/tmp": self._tmpfs},
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges"],
            "pids_limit": self.pids,
            "mem_limit": self.memory_bytes,
            "ulimits": [docker.types.Ulimit(name="core", soft=0, hard=0)],
            "user": self.user,
            "devices": [f"{device}:{device}:rwm" for device in self.devices],
            "group_add": [str(group) for group in self.groups],
            "mounts": [
                docker.types.Mount(target, str(source), type="bind", read_only=True) for source, target in self.volumes
            ],
            "labels": self.labels,
        }


def _mount_option(source: Path, target: str) -> str:
    """Source: docker's `--mount` is one record of CSV, so that a path with a comma or a quote must be quoted."""
    record = io.StringIO()
    csv.writer(record, lineterminator="").writerow(["type=bind", f"source={source}", f"target={target}", "readonly"])
    return record.getvalue()


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


def docker_line(job: Job, lasting: Lasting | None = None) -> str:
    """The `docker run` line that does the same; what `kerncap run` prints."""
    spec, lasting = _spec(job), lasting or Lasting()
    inside, volumes = _mounts(job)
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


def _default_memory_bytes() -> int:
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * _MEMORY_SHARE)


def run(job: Job, *, on_stderr: Callable[[bytes], None] | None = None) -> Outcome:
    """Run it to its end. Whatever happens, the container is gone afterwards.

    Raises: HostError `host.no-docker`, `host.no-image`, `host.no-gpu`, `host.docker`, `host.unreadable-bundle`;
    ReplayError `replay.timeout`.
    """
    spec = _spec(job)
    with engine.connect() as client, engine.engine_errors(f"running {job.image}"):
        _require_image(client, job.image)
        exit_code, stdout, stderr = _Run(client, spec, job.timeout_s + _REMOVE_AFTER_S, on_stderr).result()
    if job.collect is None:
        return Outcome(exit_code, stdout, stderr, None)
    printed, file = _split_collected(stdout)
    return Outcome(exit_code, printed, stderr, file)


def gpu_present() -> bool:
    return _KFD.exists()


class _Run:
    """One container from creation to removal."""

    def __init__(
        self, client: DockerClient, spec: _Spec, timeout_s: float, on_stderr: Callable[[bytes], None] | None
    ) -> None:
        self._client = client
        self._spec = spec
        self._timeout_s = timeout_s
        self._on_stderr = on_stderr
        self._timed_out = False

    def result(self) -> tuple[int, bytes, bytes]:
        # The name is known before the container is: an interrupt while the engine creates it must not leave it behind.
        container_id = f"kerncap-run-{secrets.token_hex(8)}"
        answered = False  # whether the engine said if there is a container
        exited: dict[str, Any] = {}

        def wait() -> None:
            try:
                exited.update(self._client.api.wait(container_id, condition="removed"))
            except Exception as error:  # reported by the caller's thread, which sees no status code then
                exited["failure"] = error

        # auto_remove takes the container away as soon as it ends, so somebody must be waiting before it starts.
        waiter = threading.Thread(target=wait, daemon=True)
        timer = threading.Timer(self._timeout_s, self._give_up, (container_id,))
        timer.daemon = True
        try:
            try:
                container = self._client.containers.create(name=container_id, **self._spec.sdk_arguments())
                answered = True
            except docker.errors.DockerException:
                answered = True
                raise
            stream = container.attach(stdout=True, stderr=True, stream=True, logs=True, demux=True)
            waiter.start()
            container.start()
            timer.start()
            stdout, stderr = self._read(stream)
            waiter.join(30)
        finally:
            timer.cancel()
            self._remove(container_id, wait_s=0 if answered else _CREATION_S)
        if self._timed_out:
            raise ReplayError(
                f"not done after {self._timeout_s:g} s",
                code="replay.timeout",
                hint=f"--timeout {self._timeout_s * 4:g}",
            )
        if "StatusCode" not in exited:
            raise HostError(f"the container's exit code is unknown: {exited}", code="host.docker")
        return int(exited["StatusCode"]), stdout, stderr

    def _read(self, stream: Any) -> tuple[bytes, bytes]:
        stdout, stderr = bytearray(), bytearray()
        for out, err in stream:
            if out:
                stdout += out
                if len(stdout) > _MAX_STDOUT_BYTES:
                    raise ReplayError("the container printed more than 512 MiB", code="replay.too-much-output")
            if err:
                stderr += err
                del stderr[:-_KEEP_STDERR_BYTES]
                if self._on_stderr is not None:
                    self._on_stderr(err)
        return bytes(stdout), bytes(stderr)

    def _give_up(self, container_id: str) -> None:
        self._timed_out = True
        self._remove(container_id)

    def _remove(self, container_id: str, wait_s: float = 0) -> None:
        """`wait_s`: how long a container that is not there yet may take to appear."""
        deadline = time.monotonic() + wait_s
        try:
            while True:
                try:
                    self._client.api.remove_container(container_id, force=True)
                    return
                except docker.errors.NotFound:
                    if time.monotonic() >= deadline:
                        return
                    time.sleep(0.1)
        except docker.errors.APIError as error:
            if error.status_code != 409:  # 409: its removal is under way already
                _log.warning("container %s could not be removed: %s", container_id, error.explanation)


def _spec(job: Job) -> _Spec:
    inside, volumes = _mounts(job)
    command = ["--deadline", f"{job.timeout_s:g}"]
    command += ["--collect", _COLLECTED] if job.collect else []
    command += [job.command, inside, *job.arguments]
    command += [job.collect, _COLLECTED] if job.collect else []
    command += ["--hsaco", VARIANT_AT] if job.hsaco else []
    command += ["--device", job.device] if job.device else []
    command += ["--json"]
    devices, groups = _devices(job.device)
    own_user = f"{os.getuid()}:{os.getgid()}" if os.getuid() != 0 else None
    _require_readable(volumes, own_user)
    return _Spec(
        image=job.image,
        command=tuple(command),
        volumes=volumes,
        devices=devices,
        groups=groups,
        user=own_user,
        memory_bytes=job.memory_bytes or _default_memory_bytes(),
        pids=job.pids,
        scratch_bytes=job.scratch_bytes,
    )


def _mounts(job: Job) -> tuple[str, tuple[tuple[Path, str], ...]]:
    source = job.bundle.resolve()
    if not source.exists():
        raise HostError(f"{job.bundle} does not exist", code="host.no-bundle", hint=typed("ls", job.bundle.parent))
    target = _BUNDLE if source.is_dir() else _BUNDLE_TAR
    inside = f"oci:{target}:{job.tag}" if job.tag else target
    volumes = [(source, target)]
    if job.hsaco is not None:
        if not job.hsaco.is_file():
            raise HostError(f"{job.hsaco} is not a file", code="host.no-hsaco", hint=typed("ls", "-l", job.hsaco))
        volumes.append((job.hsaco.resolve(), VARIANT_AT))
    for path, _ in volumes:
        if not native.is_utf8(path):  # the engine is told of it in JSON
            raise native.path_not_utf8(path)
    return inside, tuple(volumes)


def _devices(device: str | None) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Device nodes and their numeric groups, when a real GPU may be used. The image need not know the groups' names."""
    if device is None or device.startswith("vgpu"):
        return (), ()
    if not gpu_present():
        if device.startswith("gpu"):
            raise HostError("no GPU here: there is no /dev/kfd", code="host.no-gpu", hint="--device vgpu:gfx942")
        return (), ()
    nodes = [_KFD, *sorted(_DRI.glob("renderD*"))]
    groups = {node.stat().st_gid for node in nodes if node.stat().st_mode & stat.S_IRGRP}
    return tuple(map(str, nodes)), tuple(sorted(groups - {0}))


def _require_readable(volumes: tuple[tuple[Path, str], ...], own_user: str | None) -> None:
    """As root the container runs as the image's own user, who must be able to read what is mounted, all of it."""
    for source, _ in volumes:
        for path in _read_inside(source):
            if _is_readable(path, own_user):
                continue
            whom = "is readable only to its owner, and the container does not run as root"
            raise HostError(
                f"{path} {whom if own_user is None else 'is not readable'}",
                code="host.unreadable-bundle",
                hint=typed("chmod", "-R", f"{'o' if own_user is None else 'u'}+rX", source),
            )


def _read_inside(source: Path) -> Iterator[Path]:
    """A mounted file or folder and everything in it that a command reads; what else lies there is nobody's business."""
    yield source
    if source.is_dir() and os.access(source, os.R_OK | os.X_OK):
        for name in _BUNDLE_PARTS:
            if os.path.lexists(source / name):
                yield source / name
            if not (source / name).is_symlink():  # refused by the reader inside, and not to be followed here
                for at, folders, files in os.walk(source / name):
                    yield from (Path(at, entry) for entry in (*folders, *files))


def _is_readable(path: Path, own_user: str | None) -> bool:
    if own_user is not None:
        return os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0))
    status = path.lstat()
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else 0)
    return status.st_mode & needed == needed


def _require_image(client: DockerClient, image: str) -> None:
    try:
        client.images.get(image)
    except docker.errors.ImageNotFound:
        raise HostError(
            f"the Docker engine has no image {image}", code="host.no-image", hint=_how_to_get(image)
        ) from None
    except docker.errors.APIError as error:
        if error.status_code != 400:
            raise
        raise UsageError(f"{image!r} is no name of an image", code="usage.image", hint="kerncap image list") from None


def image_digests(image: str) -> tuple[str, str | None]:
    """Digest of the image's config (its id), and of its manifest where it came from a registry.

    Raises: HostError `host.no-docker`, `host.no-image`, `host.docker`; UsageError `usage.image`.
    """
    with engine.connect() as client, engine.engine_errors(f"looking at {image}"):
        _require_image(client, image)
        found = client.images.get(image)
        digests = sorted(str(name).rpartition("@")[2] for name in found.attrs.get("RepoDigests") or ())
    return str(found.id), digests[0] if digests else None


def _how_to_get(image: str) -> str:
    if catalog.find_checkout() is not None:
        for suite in catalog.load().bases:
            if image == catalog.image_name("runtime", suite):
                return f"kerncap image build {suite}"
    return f"{typed('docker', 'pull', image)}  # or --image with one of: kerncap image list"


def _split_collected(stream: bytes) -> tuple[bytes, bytes | None]:
    members: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(stream), mode="r:") as archive:
            for member in archive:
                content = archive.extractfile(member)
                if member.name in ("stdout", "file") and content is not None:
                    members[member.name] = content.read()
    except tarfile.TarError:
        # The entry point stopped before the command was done: it sent nothing, or its error document.
        return stream, None
    return members.get("stdout", b""), members.get("file")


def raise_for_failure(outcome: Outcome, doing: str, bundle: str | None = None) -> None:
    """For callers that need the command's result: any exit code but 0 and 1 becomes the error that was reported."""
    if outcome.exit_code in (0, 1):
        return
    raise error_of(outcome, doing, bundle)


def _named_here(text: str, bundle: str | None) -> str:
    """Source: kerncap.workflows.recompile unpacks the source of a sealed bundle below /tmp."""
    text = re.sub(r"/tmp/kerncap-source-[^/\s]+/", "", text)
    if bundle is None:
        return text
    return re.sub(rf"(?<![\w/.])(oci:)?({re.escape(_BUNDLE_TAR)}|{_BUNDLE})(?![\w.-])", lambda _: bundle, text)


def error_of(outcome: Outcome, doing: str, bundle: str | None = None) -> KerncapError:
    """The `kerncap.error/1` document of the command's stdout as an exception, or what is known without it.

    `bundle` is what the bundle is called here: it stands in the error instead of its name inside.
    """
    try:
        document = json.loads(outcome.stdout)
        code, message, hint = document["code"], str(document["message"]), document.get("hint")
        return error_from_code(code, _named_here(message, bundle), _named_here(str(hint), bundle) if hint else None)
    except (ValueError, KeyError, TypeError, AttributeError):
        tail = outcome.stderr.decode("utf-8", "replace").strip().splitlines()[-15:]
        text = "\n".join(tail) or "it said nothing"
        return HostError(
            f"{doing} in the container failed with exit code {outcome.exit_code}:\n{text}", code="host.container"
        )
