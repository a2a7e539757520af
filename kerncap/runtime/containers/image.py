"""Images of the engine: whether one is there, and its digests. Called by running.py and by attestations."""

from __future__ import annotations

from collections.abc import Iterable

import docker.errors
from docker import DockerClient

from kerncap.errors import HostError, UsageError, typed
from kerncap.runtime import catalog, engine


def require_image(client: DockerClient, image: str) -> None:
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
        require_image(client, image)
        found = client.images.get(image)
        digest = _digest_of(image, found.attrs.get("RepoDigests") or ())
    return str(found.id), digest


def _digest_of(image: str, names: Iterable[object]) -> str | None:
    """Of the repository that was named, where the same image came from several: each may have it under another one."""
    head, colon, tag = image.partition("@")[0].rpartition(":")
    repository = head if colon and "/" not in tag else image.partition("@")[0]
    found = sorted(str(name).rpartition("@")[::2] for name in names)
    named = [digest for where, digest in found if where == repository]
    return next(iter(named or [digest for _, digest in found]), None)


def _how_to_get(image: str) -> str:
    if catalog.find_checkout() is not None:
        for suite in catalog.load().bases:
            if image == catalog.image_name("runtime", suite):
                return f"kerncap image build {suite}"
    return f"{typed('docker', 'pull', image)}  # or --image with one of: kerncap image list"
