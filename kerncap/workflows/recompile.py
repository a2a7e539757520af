"""Compiles a bundle's source again, here or in the sandbox.

In: a path, an output file, whether the user trusts the source. Out: the code object's path.
Called by `kerncap recompile`. A bundle comes from a stranger, and source may read any file that the compiler can:
without `trust` it is compiled only in the runtime image's sandbox.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import LayoutLocation, RegistryLocation, parse_source, refuse_existing
from kerncap.bundle.outputs import give_final_name, new_file
from kerncap.capture.selection import parse_dims
from kerncap.errors import KerncapError, UsageError, error_from_code, typed
from kerncap.reproducer import triton_script
from kerncap.runtime import catalog, containers, triton_images
from kerncap.scratch import Scratch
from kerncap.source.compiler import TIMEOUT_S as COMPILE_TIMEOUT_S
from kerncap.source.recompile import check_made, original_compiler_major, recompile
from kerncap.triton import pinned
from kerncap.triton import recompile as triton
from kerncap.triton.configurations import choose
from kerncap.workflows.variant import checked_launch, read_launch, write_launch

# Beside the compiler: start of the container, the bundle's source unpacked, the result sent.
_AROUND_COMPILE_S = 60.0


@dataclass(frozen=True)
class Outcome:
    """Where the code object is and what compiled it; of a Triton kernel how it is launched, which lies beside it."""

    output: Path
    compiler: str
    difference: str | None
    launch: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "kerncap.recompiled/1",
            "output": str(self.output),
            "compiler": self.compiler,
            "difference": self.difference,
            "launch": self.launch,
        }


@dataclass(frozen=True)
class Configuration:
    """Another one of a tuned Triton kernel: what `--config` and `--programs` say."""

    text: str
    programs: tuple[int, int, int] | None = None

    def arguments(self) -> tuple[str, ...]:
        """Of the command line."""
        given = ("--programs", "x".join(map(str, self.programs))) if self.programs else ()
        return ("--config", self.text, *given)


def configuration_of(config: str | None, programs: str | None, *, prefix: str = "") -> Configuration | None:
    """`programs`: X[xYxZ]; `prefix`: how the caller spells an option.

    Raises: UsageError `usage.option-alone`, `usage.number`.
    """
    if config is not None:
        return Configuration(config, parse_dims(f"{prefix}programs", programs, "programs"))
    if programs is not None:
        text = f"{prefix}programs is the grid of {prefix}config"
        raise UsageError(text, code="usage.option-alone", hint="--config CONFIG --programs X")
    return None


def recompile_here(
    path: str, output: Path, *, timeout_s: float = COMPILE_TIMEOUT_S, configuration: Configuration | None = None
) -> Outcome:
    """On this machine: in the sandbox itself, or because the user said `--trust`.

    Raises: CompileError, BundleError, UsageError `usage.output-exists`, `usage.config`, `usage.config-grid`.
    """
    refuse_existing(output)
    bundle = open_bundle(path)
    mangled = bundle.capture.kernel.name
    with bundle.source_folder() as folder:
        document = pinned.load_pinned(folder)
        if document is not None:
            if configuration is not None:
                document = choose(document, configuration.text, configuration.programs)
            told = configuration.text if configuration else None
            return _recompile_triton(folder, document, output, mangled, timeout_s, told)
        _refuse(configuration)
        made = recompile(folder, output, mangled, timeout_s=timeout_s)
    return Outcome(made.output, made.compiler, made.difference)


def _recompile_triton(
    folder: Path, document: dict[str, Any], output: Path, mangled: str, timeout_s: float, told: str | None
) -> Outcome:
    original = document["triton"]
    with Scratch(".kerncap-recompile-", output.absolute().parent) as scratch:
        made = Path(scratch, "kernel.hsaco")
        script = triton_script(mangled, original)
        version = triton.recompile(folder, document, script, made, told=told, timeout_s=timeout_s)
        check_made(made, mangled, folder / document["main"])  # before it is read as a whole
        launch = read_launch(made)
        give_final_name(made, output)
    if launch is not None:
        write_launch(launch, output)
    differs = version != original
    difference = f"compiled by Triton {version}, the original by {original}" if differs else None
    return Outcome(output, f"Triton {version}", difference, launch)


def _refuse(configuration: Configuration | None) -> None:
    if configuration is not None:
        text = "only a kernel of Triton has configurations, and the bundle is of none"
        raise UsageError(text, code="usage.config", hint="kerncap recompile BUNDLE -o FILE  # without --config")


@dataclass(frozen=True)
class Sandbox:
    """The container of a compile. `say` gets its `docker run` line, in which `lasting` stands for what is temporary."""

    image: str | None = None
    timeout_s: float = COMPILE_TIMEOUT_S
    memory_bytes: int | None = None
    say: Callable[[str], None] = lambda line: None
    lasting: containers.Lasting | None = None
    configuration: Configuration | None = None


def recompile_in_sandbox(path: str, output: Path, sandbox: Sandbox) -> Outcome:
    """In a container of a runtime image: without network, without anything of this machine but the bundle.

    Raises: CompileError, BundleError, HostError (no engine, no image), UsageError `usage.output-exists`.
    """
    refuse_existing(output)
    bundle = open_bundle(path)
    if bundle.capture.triton is None:
        _refuse(sandbox.configuration)
    location = parse_source(path)
    if isinstance(location, RegistryLocation):
        raise UsageError(
            f"{path} is in a registry",
            code="usage.not-local",
            hint=typed("kerncap", "pull", path, "-o", "bundle.kcap.tar"),
        )
    job = containers.Job(
        image=sandbox.image or _image_for(bundle),
        command="recompile",
        bundle=location.path,
        tag=location.tag if isinstance(location, LayoutLocation) else None,
        digest=location.digest if isinstance(location, LayoutLocation) else None,
        arguments=(
            *("--trust", "--timeout", f"{sandbox.timeout_s:g}"),
            *(sandbox.configuration.arguments() if sandbox.configuration else ()),
        ),
        device=None,
        collect="-o",
        timeout_s=sandbox.timeout_s + _AROUND_COMPILE_S,
        memory_bytes=sandbox.memory_bytes,
    )
    sandbox.say(containers.docker_line(job, sandbox.lasting or containers.Lasting(collected=output)))
    done = containers.run(job)
    document = _answer(done.stdout)
    if done.exit_code != 0 or done.file is None:
        raise _failure(document, done, path)
    with new_file(output) as file:
        file.write(done.file)
    launch = document.get("launch")
    if launch is not None:
        launch = checked_launch(json.dumps(launch).encode(), output, what="the launch that the container reported")
    if launch is not None:
        write_launch(launch, output)
    return Outcome(output, str(document.get("compiler", "")), document.get("difference"), launch)


def recompile_source(path: str, output: Path, *, trust: bool, sandbox: Sandbox | None = None) -> Outcome:
    """On this machine where the user trusts the source, else in the sandbox. Raises: as those do."""
    sandbox = sandbox or Sandbox()
    if trust:
        return recompile_here(path, output, timeout_s=sandbox.timeout_s, configuration=sandbox.configuration)
    return recompile_in_sandbox(path, output, sandbox)


def _image_for(bundle: Bundle) -> str:
    """The runtime image whose clang is of the major version that compiled the original, else the default one; of a
    Triton kernel the one with that release, else another with Triton.
    """
    release = bundle.capture.triton
    if release is not None:
        return triton_images.image_for(release)
    with bundle.source_folder() as folder:
        major = original_compiler_major(folder)
    suite = catalog.DEFAULT_SUITE
    if major is not None and catalog.find_checkout() is not None:
        for name, base in catalog.load().bases.items():
            if any(re.fullmatch(rf"(clang|lld|rocm-device-libs)-{major}", package) for package in base.packages):
                suite = name
    return catalog.image_name("runtime", suite)


def _answer(stdout: bytes) -> dict[str, Any]:
    try:
        document = json.loads(stdout)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _failure(document: Mapping[str, Any], done: containers.Outcome, path: str) -> KerncapError:
    if document.get("schema") == "kerncap.error/1":
        return containers.error_of(done, "recompile", path.rstrip("/"))
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-3:]
    text = f"the sandbox ended with exit code {done.exit_code}: " + " / ".join(said)
    return error_from_code("host.sandbox", text, "kerncap doctor")
