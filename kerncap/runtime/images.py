"""Builds the images: base, tool chain, dev, runtime and real programs; each only when what goes into it changed.

In: a source checkout and suite names. Out: tagged images in the Docker engine, each labelled with its inputs' digest.
Called by `kerncap image`. The classic builder does (no BuildKit). Native code is built by scripts/build-native.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import sys
import tarfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import docker.errors
from docker import DockerClient

from kerncap import proc
from kerncap.errors import HostError, typed
from kerncap.runtime import catalog, engine, triton_releases
from kerncap.runtime.catalog import App, Base, Catalog, Role
from kerncap.runtime.triton_releases import Triton

_log = logging.getLogger(__name__)

INPUTS_LABEL = "dev.kerncap.inputs"
NATIVE_FILES = ("kerncap-isa", "kerncap-replay", "libkerncap.so", "libkerncap-vgpu.so")
_ROOTFS_TIMEOUT_S = 1800
_NATIVE_TIMEOUT_S = 3600
_PIP_TIMEOUT_S = 600
_MANYLINUX = ("manylinux_2_27_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64")

Say = Callable[[str], None]


@dataclass(frozen=True)
class ImageState:
    """One image as `kerncap image list` shows it."""

    name: str
    role: Role
    suite: str
    present: bool
    image_id: str | None
    size_bytes: int | None


@dataclass(frozen=True)
class _Context:
    """The files of a build context: path in the context -> (content, mode). The digest is over all of it."""

    files: dict[str, tuple[bytes, int]]

    def digest(self, *more: str) -> str:
        digest = hashlib.sha256(json.dumps(more).encode())
        for path, (content, mode) in sorted(self.files.items()):
            digest.update(f"{path}\0{mode:o}\0{len(content)}\0".encode())
            digest.update(content)
        return f"sha256:{digest.hexdigest()}"

    def tar(self) -> io.BytesIO:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for path, (content, mode) in sorted(self.files.items()):
                info = tarfile.TarInfo(path)
                info.size, info.mode = len(content), mode
                archive.addfile(info, io.BytesIO(content))
        out.seek(0)
        return out


class Builder:
    """Builds what is asked for and everything below it."""

    def __init__(self, client: DockerClient, root: Path, say: Say) -> None:
        self._client = client
        self._root = root
        self._say = say
        self._catalog: Catalog = catalog.load(root)
        pyproject = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
        self._version: str = pyproject["project"]["version"]

    def build(self, suites: tuple[str, ...], roles: tuple[Role, ...], triton: str | None = None) -> list[ImageState]:
        """`triton`: a release instead of the suites' own ones; no suite named: those on which it is known to work.

        Raises: UsageError for an unknown suite, or a release that does not run there; HostError when a step fails.
        """
        if triton is not None and not suites:
            suites = tuple(triton_releases.suites_with(self._catalog.triton.values(), triton))
        bases = [self._catalog.base(name) for name in suites or self._catalog.default_suites]
        releases = self._releases(bases, triton) if "triton" in roles else {}
        for base in bases:
            self._base(base)
            if any(role in roles for role in ("toolchain", "dev", "runtime", "triton")):
                self._toolchain(base)
            if any(role in roles for role in ("dev", "runtime", "triton")):
                native = self._native(base)
                package = self._package()
                if "dev" in roles:
                    self._dev(base, native, package)
                if "runtime" in roles or "triton" in roles:
                    self._runtime(base, native, package)
                if "triton" in roles:
                    self._triton(releases[base.name])
        states = [state for base in bases for state in _states(self._client, base.name, base.image)]
        return states + [_triton_state(self._client, release) for release in releases.values()]

    def _releases(self, bases: Sequence[Base], wanted: str | None) -> dict[str, Triton]:
        """By suite, before anything is built."""
        found = {base.name: self._catalog.triton_of(base.name) for base in bases}
        if wanted is not None:
            found = {suite: own.of_release(wanted) for suite, own in found.items()}
            for suite, release in found.items():
                if wanted not in release.known:
                    self._say(f"Triton {wanted} was not tried on {suite}; known to work: {', '.join(release.known)}")
        return found

    def build_apps(self, names: tuple[str, ...]) -> list[ImageState]:
        """Raises: UsageError for an unknown name; HostError when a step fails."""
        apps = [self._catalog.app(name) for name in names]
        for app in apps:
            base = self._catalog.base(app.suite)
            self._base(base)
            self._toolchain(base)
            self._app(app)
        return [_state(self._client, catalog.image_name("apps", app.name), "apps", app.suite) for app in apps]

    def _base(self, base: Base) -> None:
        if base.kind == "registry":
            with engine.engine_errors(f"pulling {base.image}", hint=typed("docker", "pull", base.image)):
                if self._label(base.image) is None:
                    self._say(f"{base.image}: pulling")
                    self._client.images.pull(base.image)
            return
        script = self._root / "scripts" / "make-rootfs"
        inputs = _Context({"recipe": (script.read_bytes(), 0o755)}).digest(base.name, *base.packages)
        if self._label(base.image) == inputs:
            return
        self._say(f"{base.image}: making a root file system of Debian {base.suite} with mmdebstrap (about two minutes)")
        tar = self._root / "build" / f"rootfs-{base.name}.tar"
        tar.parent.mkdir(exist_ok=True)
        try:
            self._run("making the root file system", [script, str(base.suite), tar, *base.packages], _ROOTFS_TIMEOUT_S)
            repository, tag = base.image.split(":")
            with engine.engine_errors(f"importing {base.image}"):
                self._client.api.import_image_from_file(
                    str(tar), repository, tag, changes=['CMD ["/bin/bash"]', f'LABEL {INPUTS_LABEL}="{inputs}"']
                )
        finally:
            tar.unlink(missing_ok=True)

    def _toolchain(self, base: Base) -> None:
        dockerfile = self._catalog.render("dev", base, self._version)
        # The part before the second stage is the tool chain; what follows changes with our own code.
        toolchain = dockerfile[: dockerfile.index("FROM toolchain AS dev")]
        self._image("toolchain", base.name, toolchain, self._wheels(), parent=base.image)

    def _dev(self, base: Base, native: dict[str, tuple[bytes, int]], package: dict[str, tuple[bytes, int]]) -> None:
        dockerfile = self._catalog.render("dev", base, self._version)
        files = {**self._wheels(), **native, **package}
        self._image("dev", base.name, dockerfile, files, parent=catalog.image_name("toolchain", base.name))

    def _runtime(self, base: Base, native: dict[str, tuple[bytes, int]], package: dict[str, tuple[bytes, int]]) -> None:
        entrypoint = self._catalog.folder / "entrypoint"
        files = {**self._wheels(), **native, **package, "entrypoint": (entrypoint.read_bytes(), 0o755)}
        dockerfile = self._catalog.render("runtime", base, self._version)
        self._image("runtime", base.name, dockerfile, files, parent=base.image)

    def _triton(self, triton: Triton) -> None:
        folder = self._root / "build" / "wheels" / f"triton-{triton.version}-{triton.python}"
        if not list(folder.glob("*.whl")):
            self._say(f"Triton {triton.version} for Python {triton.python}: fetching (190 to 250 MB)")
            abi = "cp" + triton.python.replace(".", "")
            tags = [word for tag in _MANYLINUX for word in ("--platform", tag)]
            tags += ["--python-version", triton.python, "--implementation", "cp", "--abi", abi, "--abi", "abi3"]
            folder.mkdir(parents=True, exist_ok=True)
            self._pip("download", "--only-binary=:all:", *tags, "--dest", str(folder), f"triton=={triton.version}")
        files = {f"triton/{path.name}": (path.read_bytes(), 0o644) for path in sorted(folder.glob("*.whl"))}
        parent = catalog.image_name("runtime", triton.suite)
        self._image("triton", triton.tag, self._catalog.render_triton(triton), files, parent=parent)

    def _app(self, app: App) -> None:
        parent = catalog.image_name("toolchain", app.suite)
        self._image("apps", app.name, self._catalog.render_app(app), {}, parent=parent)

    def _image(
        self, role: Role, tag: str, dockerfile: str, files: dict[str, tuple[bytes, int]], *, parent: str
    ) -> None:
        name = catalog.image_name(role, tag)
        context = _Context({**files, "Dockerfile": (dockerfile.encode(), 0o644)})
        with engine.engine_errors(f"building {name}"):
            inputs = context.digest(str(self._client.images.get(parent).id))
            if self._label(name) == inputs:
                return
            self._say(f"{name}: building")
            stream = self._client.api.build(
                fileobj=context.tar(),
                custom_context=True,
                tag=name,
                rm=True,
                forcerm=True,
                # The engine may have no bridge (scripts/setup starts it so); apt needs the host's network then.
                network_mode="host",
                labels={INPUTS_LABEL: inputs},
                decode=True,
            )
            _follow(name, stream)

    def _native(self, base: Base) -> dict[str, tuple[bytes, int]]:
        self._say(f"native code of {base.name}: building what changed")
        # Only what goes into the images; the unit tests are built by who runs them.
        script = self._root / "scripts" / "build-native"
        self._run("building native code", [script, base.name, "--", *NATIVE_FILES], _NATIVE_TIMEOUT_S)
        folder = self._root / "build" / "native" / base.name
        missing = [name for name in NATIVE_FILES if not (folder / name).is_file()]
        if missing:
            raise HostError(
                f"the native build of {base.name} made no {', '.join(missing)}",
                code="host.native-missing",
                hint=f"scripts/build-native {base.name}",
            )
        return {f"native/{name}": ((folder / name).read_bytes(), 0o755) for name in NATIVE_FILES}

    def _wheels(self) -> dict[str, tuple[bytes, int]]:
        """Wheels of what the distributions lack; fetched here, since containers need not reach an index over HTTPS."""
        folder = self._root / "build" / "wheels" / "third-party"
        stamp = folder / "requirements.txt"
        wanted = "\n".join(self._catalog.requirements) + "\n"
        if not stamp.is_file() or stamp.read_text("utf-8") != wanted:
            folder.mkdir(parents=True, exist_ok=True)
            for old in folder.glob("*.whl"):
                old.unlink()
            self._pip("download", "--only-binary=:all:", "--dest", str(folder), *self._catalog.requirements)
            stamp.write_text(wanted, "utf-8")
        return {f"wheels/{path.name}": (path.read_bytes(), 0o644) for path in sorted(folder.glob("*.whl"))}

    def _package(self) -> dict[str, tuple[bytes, int]]:
        """Kerncap's own wheel, built again only when the package changed."""
        sources = [self._root / "pyproject.toml", *sorted((self._root / "kerncap").rglob("*"))]
        files = [path for path in sources if path.is_file() and "__pycache__" not in path.parts]
        inputs = _Context({str(path.relative_to(self._root)): (path.read_bytes(), 0o644) for path in files}).digest()
        folder = self._root / "build" / "wheels" / "kerncap"
        stamp = folder / "inputs"
        if not stamp.is_file() or stamp.read_text("utf-8") != inputs:
            folder.mkdir(parents=True, exist_ok=True)
            for old in folder.glob("*.whl"):
                old.unlink()
            self._pip("wheel", "--no-build-isolation", "--wheel-dir", str(folder), str(self._root))
            stamp.write_text(inputs, "utf-8")
        return {f"kerncap/{path.name}": (path.read_bytes(), 0o644) for path in folder.glob("*.whl")}

    def _pip(self, command: str, *arguments: str) -> None:
        # A fixed date makes the wheel's bytes depend on the sources alone, so that image layers are found again.
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "315532800", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        argv = [sys.executable, "-m", "pip", command, "-qq", "--no-deps", *arguments]
        self._run(f"pip {command}", argv, _PIP_TIMEOUT_S, environment)

    def _run(
        self, doing: str, argv: Sequence[str | Path], timeout_s: float, environment: dict[str, str] | None = None
    ) -> None:
        done = proc.run(list(argv), timeout_s=timeout_s, cwd=self._root, env=environment)
        if not done.ok:
            tail = "\n".join((done.text + done.error_text).strip().splitlines()[-25:])
            how = "took too long" if done.timed_out else f"failed with exit code {done.returncode}"
            raise HostError(f"{doing} {how}:\n{tail}", code="host.image-build", hint=" ".join(map(str, argv[:2])))

    def _label(self, name: str) -> str | None:
        try:
            return str(self._client.images.get(name).labels.get(INPUTS_LABEL, ""))
        except docker.errors.ImageNotFound:
            return None


def build(suites: tuple[str, ...], roles: tuple[Role, ...], say: Say, triton: str | None = None) -> list[ImageState]:
    """Build the images of these roles (and what they need) for these suites; none named: the default suites.

    `triton`: a release of Triton, as Builder.build has it.
    """
    root = catalog.find_checkout()
    with engine.connect() as client:
        # catalog.load says what to do where there is no checkout.
        return Builder(client, root or catalog.load().folder.parent, say).build(suites, roles, triton)


def build_apps(names: tuple[str, ...], say: Say) -> list[ImageState]:
    """Build these images of real programs, and the tool chains below them."""
    root = catalog.find_checkout()
    with engine.connect() as client:
        return Builder(client, root or catalog.load().folder.parent, say).build_apps(names)


def list_images() -> list[ImageState]:
    """Every image of the catalog, built or not; without a checkout, the runtime images that the engine has."""
    root = catalog.find_checkout()
    known = catalog.load(root) if root else None
    default = {catalog.DEFAULT_SUITE: catalog.image_name("base", catalog.DEFAULT_SUITE)}
    suites = {name: base.image for name, base in known.bases.items()} if known else default
    apps = known.apps.values() if known else ()
    with engine.connect() as client:
        states = [state for suite, base_image in suites.items() for state in _states(client, suite, base_image)]
        for own in known.triton.values() if known else ():
            states += [_triton_state(client, own.of_release(release)) for release in own.known]
        return states + [_state(client, catalog.image_name("apps", app.name), "apps", app.suite) for app in apps]


def _states(client: DockerClient, suite: str, base_image: str) -> list[ImageState]:
    names = {role: base_image if role == "base" else catalog.image_name(role, suite) for role in catalog.ROLES}
    return [_state(client, name, role, suite) for role, name in names.items()]


def _triton_state(client: DockerClient, triton: Triton) -> ImageState:
    return _state(client, catalog.image_name("triton", triton.tag), "triton", triton.suite)


def _state(client: DockerClient, name: str, role: Role, suite: str) -> ImageState:
    try:
        image = client.images.get(name)
    except docker.errors.ImageNotFound:
        return ImageState(name, role, suite, False, None, None)
    return ImageState(name, role, suite, True, image.id, int(image.attrs["Size"]))


def _follow(name: str, stream: object) -> None:
    """Read the builder's messages to the end. The engine reports a failed step in the stream, not as a status."""
    lines: list[str] = []
    for message in stream:  # type: ignore[attr-defined]
        if text := message.get("stream"):
            lines.append(text)
            _log.debug("%s", text.rstrip())
        if problem := message.get("error"):
            tail = "".join(lines[-40:])
            raise HostError(
                f"building {name} failed: {problem}\n{tail}", code="host.image-build", hint="kerncap image build -vv"
            )
