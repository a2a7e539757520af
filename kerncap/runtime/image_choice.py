"""Which runtime image judges a bundle: the one whose HSA runtime is of the release that captured, where it is there.

In: the versions that a capture recorded, the images of the engine. Out: a Choice, with the reason in words. Called by
the workflow run; `--image` goes before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kerncap import native
from kerncap.errors import HostError
from kerncap.runtime import catalog, engine
from kerncap.runtime.catalog import DEFAULT_SUITE, image_name
from kerncap.runtime.triton_releases import as_numbers

# Of an image: the release of the HSA runtime in it. Without one: what images.toml says of its suite.
LABEL = "dev.kerncap.hsa-runtime"
# `api_table` of a capture is the version of the table of interfaces that the HSA runtime gives to a tool: major, and
# bytes. Source: ROCR-Runtime, hsa_api_trace.h; captures under 6.1.2 and 6.4.3. Of other releases nobody here knows it.
_RELEASE_OF_TABLE = {"3.56": (6, 1), "3.64": (6, 4)}
# Source: native.TARGET_NEEDS.
_LEAST_RELEASE = {"gfx950": (6, 4), "gfx1201": (6, 2)}


@dataclass(frozen=True)
class Found:
    """A runtime image that is there; `release` of its HSA runtime is None where nothing says it."""

    name: str
    release: tuple[int, ...] | None

    def __str__(self) -> str:
        return f"{self.name} (HSA runtime {_text(self.release)})" if self.release else self.name


@dataclass(frozen=True)
class Choice:
    """`matches`: it is of the release that captured."""

    image: str
    matches: bool
    why: str


def choose(recorded: Mapping[str, str], target: str, found: Sequence[Found]) -> Choice:
    """`recorded`: `runtime` of a capture; `target`: its gfx target, which not every release knows."""
    default = image_name("runtime", DEFAULT_SUITE)
    least = _LEAST_RELEASE.get(target, (0,))
    able = [one for one in found if one.release is None or one.release >= least]
    wanted = _described(recorded)
    if not found:
        return Choice(default, False, f"{default}: no runtime image is here to choose from ({wanted})")
    if not able:
        text = native.TARGET_NEEDS.get(target, "")
        return Choice(default, False, f"{default}: none of the images here knows {target}: {text}")
    ordered = sorted(able, key=lambda one: (one.name != default, one.name))
    same = [one for one in ordered if _is_of(recorded, one.release)]
    if same:
        return Choice(same[0].name, True, f"{same[0]} is of the release that captured ({wanted})")
    others = "; ".join(map(str, ordered[:5]))
    known = ordered if ordered[0].name == default else sorted(able, key=lambda one: one.release or (), reverse=True)
    text = f"{known[0]}: no image here is known to be of the release that captured ({wanted}); here: {others}"
    return Choice(known[0].name, False, text)


def _described(recorded: Mapping[str, str]) -> str:
    """What a capture says, or that it does not."""
    table = recorded.get("api_table")
    if table is None:
        return "the capture does not say"
    release = _RELEASE_OF_TABLE.get(table)
    known = f"HSA runtime {_text(release)}" if release else "of no release known here"
    return f"interface table {table[:40]!r}: {known}"


def _is_of(recorded: Mapping[str, str], release: tuple[int, ...] | None) -> bool:
    wanted = _RELEASE_OF_TABLE.get(recorded.get("api_table", ""))
    return wanted is not None and release is not None and release[: len(wanted)] == wanted


def _text(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))


def runtime_images() -> list[Found]:
    """The runtime images of this namespace that the engine has. Raises: HostError `host.no-docker`, `host.docker`."""
    repository = image_name("runtime", "").rstrip(":")
    found = []
    with engine.connect() as client, engine.engine_errors("looking for runtime images"):
        for image in client.api.images(name=repository):  # one request: the other interface makes one for each
            label = as_numbers(str((image.get("Labels") or {}).get(LABEL, "")))
            for name in image.get("RepoTags") or ():
                if name.rpartition(":")[0] == repository:
                    found.append(Found(name, label or _release_of_suite(name.rpartition(":")[2])))
    return sorted(found, key=lambda one: one.name)


def _release_of_suite(suite: str) -> tuple[int, ...] | None:
    """What the catalogue says: in the title of a Debian suite, in the name of one of ROCm's."""
    if suite.startswith("rocm-"):
        return as_numbers(suite) or None
    try:
        base = catalog.load().bases.get(suite) if catalog.find_checkout() is not None else None
    except HostError:
        return None
    said = re.search(r"HSA runtime ([0-9]+(?:\.[0-9]+)+)", base.title) if base is not None else None
    return as_numbers(said[1]) if said else None
