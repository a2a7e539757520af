"""Connection to the Docker engine, with its failures as HostError.

In: the environment's DOCKER_HOST. Out: a docker client. Called by images, containers and doctor of this package.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import docker.errors
import requests.exceptions
from docker import DockerClient

from kerncap.errors import HostError
from kerncap.runtime import catalog

_SOCKET = Path("/var/run/docker.sock")
# A build step may be silent for minutes (apt, compilers); reading a stream must not give up before it.
_READ_TIMEOUT_S = 3600


@contextmanager
def connect() -> Iterator[DockerClient]:
    """A client of an engine that answered.

    Raises: HostError `host.no-docker`.
    """
    try:
        client = docker.from_env(timeout=_READ_TIMEOUT_S)
        client.ping()
    except (docker.errors.DockerException, requests.exceptions.RequestException, ValueError, OverflowError) as error:
        # The latter two: what the SDK makes of a DOCKER_HOST that is none.
        raise HostError(f"no Docker engine answers: {error}", code="host.no-docker", hint=mend()) from None
    try:
        yield client
    finally:
        client.close()


def mend() -> str:
    """What brings an engine that does not answer."""
    if os.environ.get("DOCKER_HOST"):
        return "unset DOCKER_HOST  # or name an engine that answers"
    if _SOCKET.exists() and not os.access(_SOCKET, os.R_OK | os.W_OK):
        return "sudo usermod -aG docker $USER  # then log in again"
    if catalog.find_checkout():
        return "scripts/setup  # or set DOCKER_HOST"
    return "apt-get install docker.io  # or set DOCKER_HOST"


@contextmanager
def engine_errors(doing: str, hint: str = "kerncap doctor") -> Iterator[None]:
    """Turns what the engine refuses inside the block into HostError `host.docker`."""
    try:
        yield
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        text = getattr(error, "explanation", None) or str(error)
        raise HostError(f"{doing}: the Docker engine refused: {text}", code="host.docker", hint=hint) from error
