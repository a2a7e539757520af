"""The config blob: what a bundle is and what a reader must understand, small enough to read before anything else.

In: config bytes from a stranger, or a capture to seal. Out: a frozen Config, or canonical bytes.
Called by reader and seal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerncap.bundle import limits
from kerncap.bundle.documents import canonical_json, check_schema_version, parse_json, unsupported_version, validate
from kerncap.bundle.manifest import SPEC_MAJOR, SPEC_VERSION
from kerncap.errors import A_NEWER_KERNCAP, BundleError

KNOWN_FEATURES: frozenset[str] = frozenset({"alias", "sequence", "shuffle"})
"""What `requires` may name: `alias`, memory that is mapped at more than one address; `sequence`, several dispatches;
`shuffle`, frames of words whose bytes are shuffled."""


@dataclass(frozen=True, slots=True)
class Summary:
    regions: int
    raw_bytes: int
    stored_bytes: int
    """Of the chunk blobs."""
    source_files: int


@dataclass(frozen=True, slots=True)
class Config:
    spec_version: str
    requires: tuple[str, ...]
    content_digest: str
    target: str
    capture: Mapping[str, Any]
    summary: Summary


def parse_config(data: bytes, *, what: str = "config") -> Config:
    """Version and features first, so that a newer bundle is refused as such and not as malformed.

    Raises: BundleError `bundle.unsupported-version`, `bundle.unknown-feature`, `bundle.malformed`, `bundle.limit`.
    """
    document = parse_json(data, what=what, limit=limits.MAX_CONFIG_BYTES)
    check_schema_version(document, "kerncap.config", 1, what=what)
    _check_spec_version(document.get("specVersion"), what)
    _check_requires(document.get("requires"), what)
    capture = document.get("capture")
    if isinstance(capture, dict):
        check_schema_version(capture, "kerncap.capture", 1, what=f"{what}: capture")
    validate(document, "config", what=what)
    summary = document["summary"]
    return Config(
        spec_version=document["specVersion"],
        requires=tuple(document["requires"]),
        content_digest=document["contentDigest"],
        target=document["target"],
        capture=document["capture"],
        summary=Summary(**{key: summary[key] for key in Summary.__dataclass_fields__}),
    )


def build_config(
    *, content_digest: str, target: str, capture: Mapping[str, Any], summary: Summary, requires: tuple[str, ...] = ()
) -> bytes:
    """Raises: BundleError `bundle.limit`."""
    data = canonical_json(
        {
            "schema": "kerncap.config/1",
            "specVersion": SPEC_VERSION,
            "requires": list(requires),
            "contentDigest": content_digest,
            "target": target,
            "capture": capture,
            "summary": {key: getattr(summary, key) for key in Summary.__dataclass_fields__},
        }
    )
    if len(data) > limits.MAX_CONFIG_BYTES:
        raise BundleError(
            f"the config would have {len(data)} bytes, at most {limits.MAX_CONFIG_BYTES} are allowed",
            code="bundle.limit",
        )
    return data


def _check_spec_version(found: Any, what: str) -> None:
    match = re.fullmatch(r"([0-9]{1,4})\.[0-9]{1,4}", found) if isinstance(found, str) else None
    if match is None:
        raise BundleError(f"{what}: specVersion is missing or not MAJOR.MINOR", code="bundle.malformed")
    if int(match[1]) != SPEC_MAJOR:
        raise unsupported_version(f"{what}: specVersion", match[0], f"{SPEC_MAJOR}.x")


def _check_requires(found: Any, what: str) -> None:
    if not isinstance(found, list) or not all(isinstance(feature, str) for feature in found):
        raise BundleError(f"{what}: requires is missing or not a list of strings", code="bundle.malformed")
    unknown = sorted(set(found) - KNOWN_FEATURES)
    if unknown:
        raise BundleError(
            f"{what}: requires the feature {unknown[0][:128]!r}, which this kerncap does not know",
            code="bundle.unknown-feature",
            hint=A_NEWER_KERNCAP,
        )
