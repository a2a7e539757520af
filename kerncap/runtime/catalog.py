"""Which images there are: reads dockerfiles/images.toml and renders the Dockerfile templates. Runs nothing.

In: the `dockerfiles` folder of a source checkout. Out: Base descriptions, image names, rendered Dockerfiles.
Called by images (which builds them), doctor and run (which name them).
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jinja2

from kerncap.errors import HostError, UsageError

Role = Literal["base", "toolchain", "dev", "runtime"]
ROLES: tuple[Role, ...] = ("base", "toolchain", "dev", "runtime")

DEFAULT_SUITE = "trixie"


@dataclass(frozen=True)
class Base:
    """One base image: a Debian root file system that stands in for ROCm's (`rootfs`), or one from a registry."""

    name: str
    title: str
    kind: Literal["rootfs", "registry"]
    image: str
    suite: str | None
    packages: tuple[str, ...]
    path: tuple[str, ...]
    rocm_prefix: str | None


@dataclass(frozen=True)
class Catalog:
    """images.toml and the templates beside it."""

    folder: Path
    bases: dict[str, Base]
    default_suites: tuple[str, ...]
    packages: dict[str, tuple[str, ...]]
    requirements: tuple[str, ...]

    def base(self, name: str) -> Base:
        """Raises: UsageError `usage.unknown-suite`."""
        if name not in self.bases:
            known = ", ".join(self.bases)
            raise UsageError(
                f"no base image is named {name!r}; known: {known}",
                code="usage.unknown-suite",
                hint="kerncap image list",
            )
        return self.bases[name]

    def render(self, role: Literal["dev", "runtime"], base: Base, version: str) -> str:
        """The Dockerfile of one image."""
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(self.folder),
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
        )
        packages = {key: list(value) for key, value in self.packages.items()}
        template = environment.get_template(f"{role}.Dockerfile.j2")
        return template.render(base=base, name=base.name, packages=packages, version=version)


def image_name(role: Role, suite: str) -> str:
    """`kerncap/runtime:trixie`. KERNCAP_IMAGE_NAMESPACE replaces `kerncap` for dev and runtime images, so that two
    checkouts on one engine do not overwrite each other's; base and toolchain depend on nothing of a checkout's code."""
    own = role in ("dev", "runtime")
    namespace = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap") if own else "kerncap"
    return f"{namespace}/{role}:{suite}"


def find_checkout() -> Path | None:
    """The source checkout this package runs from, or None where it was installed as a wheel."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "dockerfiles" / "images.toml").is_file() else None


def load(root: Path | None = None) -> Catalog:
    """Raises: HostError `host.no-checkout`, `host.bad-images-toml`."""
    root = root or find_checkout()
    if root is None:
        raise HostError(
            "images are built from a source checkout, and this kerncap was installed without one",
            code="host.no-checkout",
            hint="git clone the repository and run `make images` in it",
        )
    folder = root / "dockerfiles"
    try:
        data = tomllib.loads((folder / "images.toml").read_text("utf-8"))
        return Catalog(
            folder=folder,
            bases={name: _base(name, entry) for name, entry in data["bases"].items()},
            default_suites=tuple(data["default"]["suites"]),
            packages={key: tuple(value) for key, value in data["packages"].items()},
            requirements=tuple(data["wheels"]["requirements"]),
        )
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise HostError(
            f"dockerfiles/images.toml cannot be used: {type(error).__name__}: {error}", code="host.bad-images-toml"
        ) from None


def _base(name: str, entry: dict[str, Any]) -> Base:
    kind = entry["kind"]
    if kind not in ("rootfs", "registry"):
        raise TypeError(f"bases.{name}.kind is {kind!r}, not rootfs or registry")
    return Base(
        name=name,
        title=entry["title"],
        kind=kind,
        image=entry["image"],
        suite=entry["suite"] if kind == "rootfs" else None,
        packages=tuple(entry.get("packages", ())),
        path=tuple(entry["path"]),
        rocm_prefix=entry.get("rocm_prefix"),
    )
