"""What is known of a runtime image: its digest, and the versions of the runtime in it.

In: an image's name. Out: ImageFacts. Called by the matrix workflow. The versions are what the image's own label says,
else what images.toml says of an image of that name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kerncap.errors import KerncapError
from kerncap.runtime import catalog, engine
from kerncap.runtime.containers.image import require_image

_LABELS = "dev.kerncap.version."
_VERSION = re.compile(r"(?:HSA runtime|ROCm|hsa|rocm)\s+(\d+(?:\.\d+)*)", re.IGNORECASE)


@dataclass(frozen=True)
class ImageFacts:
    """`image_id`: digest of the image's config. `runtime`: such as `HSA runtime 6.1.2, HIP 5.7.1, clang 17`."""

    name: str
    image_id: str
    runtime: str | None


def image_facts(name: str) -> ImageFacts:
    """Raises: HostError `host.no-docker`, `host.no-image`, `host.docker`; UsageError `usage.image`."""
    with engine.connect() as client, engine.engine_errors(f"looking at {name}"):
        require_image(client, name)
        found = client.images.get(name)
        labels: Mapping[str, str] = found.labels or {}
    return ImageFacts(name, str(found.id), _labelled(labels) or _catalogued(name))


def runtime_images() -> list[str]:
    """Of the catalogue, those that the engine has, the oldest runtime first.

    Raises: HostError `host.no-checkout`, `host.no-docker`, `host.docker`.
    """
    names = [catalog.image_name("runtime", suite) for suite in catalog.load().bases]
    with engine.connect() as client, engine.engine_errors("listing images"):
        present = {tag for image in client.images.list() for tag in image.tags}
    return sorted((name for name in names if name in present), key=lambda name: version_key(_catalogued(name)))


def version_key(runtime: str | None) -> tuple[int, ...]:
    """To sort by: the version of the HSA runtime, or of ROCm; nothing where it is unknown."""
    found = _VERSION.search(runtime or "")
    return tuple(map(int, found[1].split("."))) if found else ()


def _labelled(labels: Mapping[str, str]) -> str | None:
    versions = {key.removeprefix(_LABELS): text for key, text in labels.items() if key.startswith(_LABELS)}
    return ", ".join(f"{name} {text}" for name, text in sorted(versions.items())) or None


def _catalogued(name: str) -> str | None:
    """`Debian trixie: HSA runtime 6.1.2, ...` without the distribution."""
    try:
        bases = catalog.load().bases
    except KerncapError:  # no checkout
        return None
    for suite, base in bases.items():
        if name == catalog.image_name("runtime", suite):
            return base.title.partition(": ")[2] or base.title.partition(" (")[0]
    return None
