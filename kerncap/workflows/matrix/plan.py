"""Which cells there are: looks at every bundle and every image once, before anything runs.

In: a Request. Out: a Plan: cells in order, and where the bundle of each lies. What cannot be looked at is an error of
its own cells and of no others. Called by the commands matrix and bisect.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kerncap import native
from kerncap.bundle import Bundle
from kerncap.bundle.documents import canonical_json, parse_json
from kerncap.bundle.location import Location, RegistryLocation, parse_source, require_bundle
from kerncap.errors import KerncapError, bug
from kerncap.matrix import Cell, Judging
from kerncap.runtime.image_facts import ImageFacts, image_facts
from kerncap.workflows.trust import pinned

_MAX_SOURCE_DOCUMENT_BYTES = 16 << 20


@dataclass(frozen=True)
class Request:
    """What a person named. `trusted`: how to name a bundle from now on; raises where no key that is given signed it."""

    bundles: tuple[str, ...]
    images: tuple[str, ...]
    devices: tuple[str, ...]
    judging: Judging
    plain_http: bool = False
    with_source: bool = False
    trusted: Callable[[str], str] = lambda bundle: bundle
    look_at_image: Callable[[str], ImageFacts] = image_facts


@dataclass(frozen=True)
class Found:
    """A bundle that was looked at. `source` is pinned to the digest where it is in a registry."""

    name: str
    source: Location | None = None
    digest: str | None = None
    kernel: str | None = None
    target: str | None = None
    raw_bytes: int = 0
    source_file: str | None = None
    error: KerncapError | None = None


@dataclass(frozen=True)
class Plan:
    """Cells, the slowest axis first: bundle, image, device. `bundles` by their names in the cells."""

    cells: tuple[Cell, ...]
    bundles: dict[str, Found]
    plain_http: bool = False
    raw_bytes: int = field(default=0)
    """Of the biggest bundle's memory."""


def make_plan(request: Request) -> Plan:
    """Never raises for a single bundle or image."""
    bundles = [_look(name, request) for name in dict.fromkeys(request.bundles)]
    images = [(name, *_image(name, request)) for name in dict.fromkeys(request.images)]
    cells = [
        Cell(
            bundle=bundle.name,
            digest=bundle.digest,
            image=image,
            image_id=facts.image_id if facts else None,
            device=device,
            judging=request.judging,
            kernel=bundle.kernel,
            target=bundle.target,
            runtime=facts.runtime if facts else None,
            source_file=bundle.source_file,
            error=bundle.error or error,
        )
        for bundle in bundles
        for image, facts, error in images
        for device in dict.fromkeys(request.devices)
    ]
    biggest = max((bundle.raw_bytes for bundle in bundles), default=0)
    return Plan(tuple(cells), {bundle.name: bundle for bundle in bundles}, request.plain_http, biggest)


def _image(name: str, request: Request) -> tuple[ImageFacts | None, KerncapError | None]:
    try:
        return request.look_at_image(name), None
    except KerncapError as error:
        return None, error


def _look(name: str, request: Request) -> Found:
    shown = os.fsencode(name).decode("utf-8", "backslashreplace")
    try:
        named = parse_source(request.trusted(name))
        if not isinstance(named, RegistryLocation):
            require_bundle(named)
            if not native.is_utf8(named.path):  # the engine is told of it in JSON
                raise native.path_not_utf8(named.path)
        from kerncap.transport import open_any  # takes longer to import than all the rest

        bundle = open_any(named, plain_http=request.plain_http)
        source_file = _source_file(bundle) if request.with_source else None
        if bundle.manifest_digest is not None:
            named = parse_source(pinned(str(named), bundle.manifest_digest))
        return Found(
            shown,
            named,
            digest=bundle.manifest_digest or _digest_of_reproducer(bundle),
            kernel=bundle.capture.kernel.demangled,
            target=bundle.capture.code_object.target,
            raw_bytes=bundle.index.raw_bytes,
            source_file=source_file,
        )
    except KerncapError as error:
        return Found(shown, error=error)
    except (OSError, ValueError, RecursionError) as error:
        return Found(shown, error=bug(error))


def _digest_of_reproducer(bundle: Bundle) -> str:
    """Of all that decides: blobs are named by their digests in these documents."""
    source = [[file.name, file.sha256] for file in bundle.source_files()]
    content = canonical_json([bundle.capture_json, bundle.index_json, source])
    return f"reproducer:sha256:{hashlib.sha256(content).hexdigest()}"


def _source_file(bundle: Bundle) -> str | None:
    """The kernel's main source file, as it was called where it was compiled; None where none is carried."""
    if bundle.source_count == 0:
        return None
    try:
        with bundle.source_folder() as folder:
            for name in ("triton.json", "compile.json"):
                path = Path(folder) / name
                if path.is_file() and not path.is_symlink():
                    with path.open("rb") as file:
                        data = file.read(_MAX_SOURCE_DOCUMENT_BYTES + 1)
                    found = parse_json(data, what=name, limit=_MAX_SOURCE_DOCUMENT_BYTES).get("main")
                    if isinstance(found, str):
                        return found
    except KerncapError:  # the cell itself says what is wrong with it
        return None
    return None
