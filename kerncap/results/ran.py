"""Where and when a verdict was found, as types and JSON (docs/verdict.md).

In: `kerncap.workflows.ran`, or a verdict's JSON. Out: Ran, for whoever reads the verdict later and elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RanImage:
    """A container's image: its name, the digest of its config (its id), and that of its manifest where it came from a
    registry."""

    name: str
    id: str
    repository_digest: str | None

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "id": self.id, "repository_digest": self.repository_digest}


@dataclass(frozen=True)
class Ran:
    """`at`: UTC, as RFC 3339 has it. `versions`: of what the code object ran on, by name (kerncap, hsa_runtime, os,
    linux), as far as they are known. `image` None: not in a container that Kerncap started."""

    at: str
    versions: Mapping[str, str]
    image: RanImage | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "versions": dict(self.versions),
            "image": None if self.image is None else self.image.to_json(),
        }


def parse_ran(document: Mapping[str, Any] | None) -> Ran | None:
    """What `to_json()` wrote. Raises: KeyError, TypeError, ValueError, AttributeError."""
    if document is None:
        return None
    image = document["image"]
    return Ran(
        at=str(document["at"]),
        versions={str(name): str(value) for name, value in document["versions"].items()},
        image=None
        if image is None
        else RanImage(
            str(image["name"]),
            str(image["id"]),
            None if image["repository_digest"] is None else str(image["repository_digest"]),
        ),
    )
