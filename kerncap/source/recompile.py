"""Compiles the carried source of a reproducer directory again.

In: a directory with `src/`, `vfs.yaml` and `compile.json`, all of them possibly a stranger's. Out: a code object.
Called by the recompile workflow, which decides where this may run: in the sandbox, or here when the user trusts it.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.errors import BundleError, CompileError
from kerncap.source import compiler as compilers
from kerncap.source.arguments import check_allowed
from kerncap.source.closure import inside

_MAX_DOCUMENT_BYTES = 16 << 20


@dataclass(frozen=True)
class Recompiled:
    """The code object, and how the compiler differs from the one that made the original (None when it does not)."""

    output: Path
    compiler: str
    difference: str | None


def recompile(directory: Path, output: Path, mangled: str) -> Recompiled:
    """Compile `directory`'s source to `output`, which must not exist.

    Raises: CompileError; BundleError when compile.json is malformed.
    """
    document = _load(directory)
    arguments: list[str] = document["arguments"]
    check_allowed(arguments)
    main = directory / inside(Path(document["main"]))
    overlay = directory / "vfs.yaml"
    for path in (main, overlay):
        if not path.is_file() or not path.resolve().is_relative_to(directory.resolve()):
            raise CompileError(f"{path} is missing", code="compile.no-source", hint="capture with --source-dir")
    check_overlay(overlay)
    wanted = compilers.major_version(document["compiler"]["version"])
    clang = compilers.find_clang(wanted)
    difference = None
    if clang.version != document["compiler"]["version"]:
        difference = f"compiled by {clang.version}, the original by {document['compiler']['version']}"
    if output.exists():
        raise CompileError(f"{output} exists", code="compile.output-exists", hint=f"rm {output}")
    with tempfile.TemporaryDirectory(prefix=".kerncap-recompile-", dir=output.absolute().parent) as scratch:
        made = Path(scratch, "kernel.hsaco")
        compilers.compile_device(
            clang.path,
            arguments,
            main.absolute(),
            document["target"],
            made,
            cwd=Path(scratch),
            overlay=overlay.absolute(),
        )
        if not compilers.has_kernel(made, mangled):
            raise CompileError(
                f"the compiled source has no kernel {mangled}",
                code="compile.no-kernel",
                hint=f"keep its signature in {main}",
            )
        os.link(made, output)
    return Recompiled(output, clang.version, difference)


def original_compiler_major(directory: Path) -> int | None:
    """The major version of the clang that compiled the original.

    Raises: CompileError `compile.no-source`, BundleError.
    """
    return compilers.major_version(_load(directory)["compiler"]["version"])


def check_overlay(path: Path) -> None:
    """An overlay may only lead into `src/` of its own directory.

    Raises: BundleError `bundle.hostile-overlay`.
    """
    document = _json(path)

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            external = node.get("external-contents")
            if external is not None:
                parts = Path(str(external)).parts
                if Path(str(external)).is_absolute() or ".." in parts or parts[:1] != ("src",):
                    raise BundleError(f"vfs.yaml leads out of the bundle: {external!r}", code="bundle.hostile-overlay")
            if node.get("type") == "directory-remap":
                raise BundleError("vfs.yaml maps whole directories", code="bundle.hostile-overlay")
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(document)
    if document.get("overlay-relative") not in ("true", True):
        raise BundleError("vfs.yaml is not relative to the bundle", code="bundle.hostile-overlay")


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MAX_DOCUMENT_BYTES:
            raise ValueError("it is too big")
        document = json.loads(path.read_text("utf-8"))
        if not isinstance(document, dict):
            raise ValueError("it is no object")
        return document
    except (OSError, ValueError) as error:
        raise BundleError(f"{path.name} cannot be read: {error}", code="bundle.malformed") from None


def _load(directory: Path) -> dict[str, Any]:
    path = directory / "compile.json"
    if not path.is_file():
        raise CompileError(
            f"{directory} carries no source",
            code="compile.no-source",
            hint="kerncap extract KERNEL --source-dir DIR ...",
        )
    document = _json(path)
    if document.get("schema") != "kerncap.compile/1":
        raise BundleError(f"compile.json has schema {document.get('schema')!r}", code="bundle.unknown-version")
    main, arguments, target = document.get("main"), document.get("arguments"), document.get("target")
    words = isinstance(arguments, list) and all(isinstance(a, str) for a in arguments)
    if not isinstance(main, str) or not os.path.isabs(main) or os.path.normpath(main) != main or not words:
        raise BundleError("compile.json has no absolute main file or no arguments", code="bundle.malformed")
    if (
        not isinstance(target, str)
        or not target.startswith("gfx")
        or not target.replace(":", "").replace("+", "").replace("-", "").isalnum()
    ):
        raise BundleError(f"compile.json has the target {target!r}", code="bundle.malformed")
    if not isinstance(document.get("compiler"), dict) or not isinstance(document["compiler"].get("version"), str):
        raise BundleError("compile.json names no compiler", code="bundle.malformed")
    return document
