"""Which images there are: reads dockerfiles/images.toml and renders the Dockerfile templates. Runs nothing.

In: the `dockerfiles` folder of a source checkout. Out: Base descriptions, image names, rendered Dockerfiles.
Called by images (which builds them), doctor and run (which name them).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import jinja2

from kerncap.errors import HostError, UsageError
from kerncap.runtime import triton_releases
from kerncap.runtime.triton_releases import Triton

Role = Literal["base", "toolchain", "dev", "runtime", "triton", "apps"]
# Roles of a suite that are built unless others are named; "apps" are images of real programs, by their own names.
ROLES: tuple[Role, ...] = ("base", "toolchain", "dev", "runtime")
# Built when it is named.
OPTIONAL_ROLES: tuple[Role, ...] = ("triton",)

DEFAULT_SUITE = "trixie"

_T = TypeVar("_T")


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
class App:
    """One image of real programs, for the tests: packages on top of a suite's tool chain."""

    name: str
    title: str
    suite: str
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Catalog:
    """images.toml and the templates beside it."""

    folder: Path
    bases: dict[str, Base]
    apps: dict[str, App]
    triton: dict[str, Triton]
    default_suites: tuple[str, ...]
    packages: dict[str, tuple[str, ...]]
    requirements: tuple[str, ...]

    def base(self, name: str) -> Base:
        """Raises: UsageError `usage.unknown-suite`."""
        return _named(self.bases, name, what="base image", code="usage.unknown-suite")

    def app(self, name: str) -> App:
        """Raises: UsageError `usage.unknown-app`."""
        return _named(self.apps, name, what="image of real programs", code="usage.unknown-app")

    def render(self, role: Literal["dev", "runtime"], base: Base, version: str) -> str:
        """The Dockerfile of one image."""
        packages = {key: list(value) for key, value in self.packages.items()}
        return self._template(role).render(base=base, name=base.name, packages=packages, version=version)

    def triton_of(self, suite: str) -> Triton:
        """Raises: UsageError `usage.no-triton`."""
        return _named(self.triton, suite, what="base image with a Triton", code="usage.no-triton")

    def render_triton(self, triton: Triton) -> str:
        """The Dockerfile of a suite's runtime image with Triton."""
        parent = image_name("runtime", triton.suite)
        return self._template("triton").render(triton=triton, name=triton.suite, parent=parent)

    def render_app(self, app: App) -> str:
        """The Dockerfile of one image of real programs."""
        return self._template("apps").render(app=app, parent=image_name("toolchain", app.suite))

    def _template(self, role: Role) -> jinja2.Template:
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(self.folder),
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
        )
        return environment.get_template(f"{role}.Dockerfile.j2")


def _named(known: Mapping[str, _T], name: str, *, what: str, code: str) -> _T:
    if name not in known:
        text = f"no {what} is named {name!r}; known: {', '.join(known)}"
        raise UsageError(text, code=code, hint="kerncap image list")
    return known[name]


def image_name(role: Role, suite: str) -> str:
    """`kerncap/runtime:trixie`, `kerncap/apps:llama`. KERNCAP_IMAGE_NAMESPACE replaces `kerncap` for dev, runtime and
    triton images, so that two checkouts on one engine do not overwrite each other's; the others have none of a
    checkout's code."""
    own = role in ("dev", "runtime", "triton")
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
            apps={name: _app(name, entry) for name, entry in data["apps"].items()},
            triton={name: triton_releases.of_entry(name, entry) for name, entry in data["triton"].items()},
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


def _app(name: str, entry: dict[str, Any]) -> App:
    return App(name=name, title=entry["title"], suite=entry["suite"], packages=tuple(entry["packages"]))
