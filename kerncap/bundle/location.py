"""How a bundle is named on the command line: a layout directory, a tar file, a reproducer, or a registry reference.

In: text of the user. Out: a Location. Called by the bundle reader, transport and cli.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from kerncap.bundle.manifest import is_digest
from kerncap.errors import BundleError, UsageError, typed

_REGISTRY = re.compile(r"(?:localhost|[^/\s@]*[.:][^/\s@]*)/[^\s]+").fullmatch
TAR_SUFFIX = ".tar"


@dataclass(frozen=True, slots=True)
class LayoutLocation:
    """An OCI image layout directory; `tag` chooses one of several manifests, `digest` does whatever the tags say."""

    path: Path
    tag: str | None = None
    digest: str | None = None

    def __str__(self) -> str:
        return f"oci:{self.path}" + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


@dataclass(frozen=True, slots=True)
class TarLocation:
    """The same layout in one uncompressed tar file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class ReproducerLocation:
    """A reproducer directory, or a bare capture directory."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class RegistryLocation:
    """`host[:port]/repository[:tag][@digest]`; transport reads it further."""

    reference: str

    def __str__(self) -> str:
        return self.reference


Location = LayoutLocation | TarLocation | ReproducerLocation | RegistryLocation


def is_tag(text: str) -> bool:
    """Source: OCI distribution specification 1.1, grammar of a tag."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", text) is not None


def parse_source(text: str) -> Location:
    """Something that exists, or a registry reference.

    Raises: UsageError `usage.no-such-bundle`.
    """
    if text.startswith("oci:"):
        return _layout(text[4:], must_exist=True)
    path = Path(text)
    if text and path.is_dir():
        return LayoutLocation(path) if (path / "oci-layout").exists() else ReproducerLocation(path)
    if text and path.exists():
        return TarLocation(path)
    if _REGISTRY(text) and not text.endswith(TAR_SUFFIX) and not text.startswith((".", "/")):
        return RegistryLocation(text)
    raise UsageError(
        f"{text or 'an empty name'}: no such file or directory, and not a registry reference",
        code="usage.no-such-bundle",
        hint="kerncap inspect DIR | oci:DIR[:tag] | FILE.kcap.tar | localhost:5000/name:tag",
    )


def require_bundle(location: Location) -> None:
    """A look at what marks each form, before anything is started for it; a registry reference is not looked at.

    Raises: UsageError `usage.no-such-bundle`, BundleError `bundle.not-a-bundle`.
    """
    if isinstance(location, ReproducerLocation):
        if not any((location.path / name).is_file() for name in ("capture/capture.json", "capture.json")):
            raise UsageError(
                f"{location} is neither a reproducer, a capture directory nor an OCI image layout",
                code="usage.no-such-bundle",
                hint=typed("ls", location),
            )
    elif isinstance(location, LayoutLocation):
        if not (location.path / "oci-layout").is_file():
            raise BundleError(f"{location}: not an OCI image layout", code="bundle.not-a-bundle")
    elif isinstance(location, TarLocation) and not location.path.is_file():
        raise BundleError(f"{location} is not a regular file", code="bundle.hostile-file")


def parse_output(text: str) -> LayoutLocation | TarLocation:
    """A place for a new bundle that nothing occupies yet.

    Raises: UsageError `usage.output-exists`, `usage.output-form`.
    """
    if text.startswith("oci:"):
        location: LayoutLocation | TarLocation = _layout(text[4:], must_exist=False)
    elif text.endswith(TAR_SUFFIX):
        location = TarLocation(Path(text))
    else:
        raise UsageError(
            f"{text}: an output is oci:DIR[:tag] or FILE.kcap.tar (push: or host[:port]/name[:tag])",
            code="usage.output-form",
            hint=typed(tar_name(text)),
        )
    refuse_existing(location.path)
    return location


def tar_name(name: str | Path) -> str:
    """`NAME.kcap.tar`, what a tar file of a reproducer NAME or NAME.kcap is called."""
    return os.fspath(name).removesuffix(".kcap") + ".kcap.tar"


def parse_target(text: str) -> LayoutLocation | TarLocation | RegistryLocation:
    """Where a bundle goes: a new layout or tar file, or a registry.

    Raises: UsageError `usage.output-exists`, `usage.output-form`.
    """
    if text.startswith(("oci:", ".", "/")) or text.endswith(TAR_SUFFIX) or not _REGISTRY(text):
        return parse_output(text)
    return RegistryLocation(text)


def refuse_existing(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise UsageError(
            f"{path} exists and is not overwritten", code="usage.output-exists", hint=typed("ls", "-ld", path)
        )


def _layout(text: str, *, must_exist: bool) -> LayoutLocation:
    whole = Path(text)
    named, at, digest = text.rpartition("@")
    if at and named and is_digest(digest) and not whole.exists():
        if must_exist:
            return replace(_layout(named, must_exist=True), digest=digest)
        raise UsageError(
            f"oci:{text}: what is new has the digest that its content gives it",
            code="usage.output-form",
            hint=typed(f"oci:{named}"),
        )
    head, colon, tail = text.rpartition(":")
    if colon and head and is_tag(tail) and not whole.exists():
        location = LayoutLocation(Path(head), tail)
    elif text and not must_exist and colon and "/" not in tail:
        raise UsageError(
            f"oci:{text}: {tail!r} is no tag: letters, digits, '.', '_' and '-', at most 128",
            code="usage.output-form",
            hint=typed(f"oci:{head or 'DIR'}:latest"),
        )
    elif text:
        location = LayoutLocation(whole)
    else:
        raise UsageError("oci: needs a directory", code="usage.output-form", hint="oci:DIR[:tag]")
    if must_exist and not location.path.is_dir():
        raise UsageError(
            f"{location.path}: no such directory",
            code="usage.no-such-bundle",
            hint=typed("ls", "-ld", location.path),
        )
    return location
