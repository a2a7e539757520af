"""Which image compiles a Triton kernel again: the one with the release that made it, where the engine has that.

In: a release. Out: the name of an image, and what to say when it is of another release. Called by the recompile
workflow.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import docker.errors
from docker import DockerClient

from kerncap.runtime import catalog, engine
from kerncap.runtime.triton_releases import as_numbers

log = logging.getLogger(__name__)

# Of an image: the release of Triton that is in it.
LABEL = "dev.kerncap.triton"


@dataclass(frozen=True)
class Installed:
    """An image that the engine has."""

    name: str
    release: str


def image_for(release: str) -> str:
    """The image with this release; else the one with the newest, which is said; else the name of one to build.

    Raises: HostError `host.no-docker`, `host.docker`.
    """
    with engine.connect() as client, engine.engine_errors("looking for images with Triton"):
        installed = installed_images(client)
    exact = [image for image in installed if image.release == release]
    if exact:
        return exact[0].name
    built_by = _how_to_build(release)
    if not installed:
        log.warning("no image has Triton; %s", built_by)
        return catalog.image_name("triton", _default_suite())
    newest = max(installed, key=lambda image: as_numbers(image.release))
    if not as_numbers(release):  # of source that was imported: nobody knows
        return newest.name
    log.warning(
        "no image has Triton %s, which compiled the original: Triton %s in %s compiles it; %s",
        release,
        newest.release,
        newest.name,
        built_by,
    )
    return newest.name


def has_triton(image: str) -> bool:
    """Also of an image of another name, which says so. Raises: HostError `host.no-docker`, `host.docker`."""
    with engine.connect() as client, engine.engine_errors(f"looking at {image}"):
        try:
            return LABEL in client.images.get(image).labels
        except docker.errors.ImageNotFound:  # who runs it says what to do
            return False


def installed_images(client: DockerClient) -> list[Installed]:
    """All of this namespace that say which Triton is in them; default ones, which have the shorter names, first."""
    repository = catalog.image_name("triton", "").rstrip(":")
    found = []
    for image in client.images.list(name=repository, filters={"label": LABEL}):
        release = str(image.labels.get(LABEL, ""))
        if as_numbers(release):
            found += [Installed(name, release) for name in image.tags if name.rpartition(":")[0] == repository]
    return sorted(found, key=lambda image: (len(image.name), image.name))


def _how_to_build(release: str) -> str:
    """What gives an image with this release, or why nothing does."""
    if catalog.find_checkout() is None:
        return "images are built from a source checkout"
    known = catalog.load().triton.values()
    suites = [one.suite for one in known if release in one.known]
    if suites:
        return f"to have it: kerncap image build {suites[0]} --triton {release}"
    reasons = [f"{one.suite}: {reason}" for one in known if (reason := one.why_not(release))]
    return f"it is known to work in none ({'; '.join(reasons)})" if reasons else "it is known to work in none"


def _default_suite() -> str:
    """That with the newest default release."""
    if catalog.find_checkout() is None:
        return catalog.DEFAULT_SUITE
    return max(catalog.load().triton.values(), key=lambda one: as_numbers(one.default)).suite
