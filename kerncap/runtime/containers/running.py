"""One container from creation to removal.

In: a Job. Out: an Outcome with what the command printed, its exit code and, when asked for, one file it made. Called by
the workflows (run, recompile).
"""

from __future__ import annotations

import io
import logging
import secrets
import tarfile
import threading
import time
from collections.abc import Callable
from typing import Any

import docker.errors
from docker import DockerClient

from kerncap.errors import HostError, ReplayError
from kerncap.runtime import engine
from kerncap.runtime.containers.cancellation import Cancellation
from kerncap.runtime.containers.image import require_image
from kerncap.runtime.containers.job import Job, Outcome
from kerncap.runtime.containers.line import spec_of
from kerncap.runtime.containers.spec import Spec

_log = logging.getLogger(__name__)

_CREATION_S = 5.0  # for the engine to finish creating a container that nobody waits for any more
_MAX_STDOUT_BYTES = 512 << 20
_KEEP_STDERR_BYTES = 1 << 20
# The command inside has its own deadline; this much later the container is removed from outside.
_REMOVE_AFTER_S = 20.0


def run(
    job: Job, *, on_stderr: Callable[[bytes], None] | None = None, cancellation: Cancellation | None = None
) -> Outcome:
    """Run it to its end, or until another thread cancels. Whatever happens, the container is gone afterwards.

    Raises: HostError `host.no-docker`, `host.no-image`, `host.no-gpu`, `host.docker`, `host.unreadable-bundle`;
    ReplayError `replay.timeout`, `replay.cancelled`.
    """
    spec = spec_of(job)
    with engine.connect() as client, engine.engine_errors(f"running {job.image}"):
        require_image(client, job.image)
        running = Run(client, spec, job.timeout_s + _REMOVE_AFTER_S, on_stderr, cancellation)
        exit_code, stdout, stderr = running.result()
    if job.collect is None:
        return Outcome(exit_code, stdout, stderr, None)
    printed, file = _split_collected(stdout)
    return Outcome(exit_code, printed, stderr, file)


class Run:
    """One container from creation to removal."""

    def __init__(
        self,
        client: DockerClient,
        spec: Spec,
        timeout_s: float,
        on_stderr: Callable[[bytes], None] | None,
        cancellation: Cancellation | None = None,
    ) -> None:
        self._client = client
        self._spec = spec
        self._timeout_s = timeout_s
        self._on_stderr = on_stderr
        self._timed_out = False
        self._cancellation = cancellation or Cancellation()

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
        self._cancellation.watch(container_id, lambda: self._remove(container_id))
        try:
            try:
                container = self._client.containers.create(name=container_id, **self._spec.sdk_arguments())
                answered = True
            except docker.errors.DockerException:
                answered = True
                raise
            self._cancellation.check()
            stream = container.attach(stdout=True, stderr=True, stream=True, logs=True, demux=True)
            waiter.start()
            container.start()
            timer.start()
            stdout, stderr = self._read(stream)
            waiter.join(30)
        finally:
            timer.cancel()
            self._cancellation.forget(container_id)
            self._remove(container_id, wait_s=0 if answered else _CREATION_S)
        self._cancellation.check()
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
