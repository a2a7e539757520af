"""Compiles the carried source of a reproducer directory again.

In: a directory with `src/`, `vfs.yaml` and `compile.json`, all of them possibly a stranger's. Out: a code object.
Called by the recompile workflow, which decides where this may run: in the sandbox, or here when the user trusts it.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle.documents import check_schema_version, validate
from kerncap.bundle.location import refuse_existing
from kerncap.bundle.outputs import give_final_name
from kerncap.errors import BundleError, CompileError, typed
from kerncap.scratch import Scratch
from kerncap.source import compiler as compilers
from kerncap.source import toolchain
from kerncap.source.allowed import DIRECTORY_OPTIONS, FILE_OPTIONS, first_refused, is_canonical
from kerncap.source.overlay import (
    SOURCE_ROOT,
    View,
    check_inside,
    inside,
    malformed,
    read_json,
    read_overlay,
    write_json,
)
from kerncap.source.paths import as_found
from kerncap.source.written import read_written

log = logging.getLogger(__name__)

_MOST_ARGUMENT_BYTES = 100_000  # the kernel takes 128 KiB for one
_MAX_CODE_OBJECT_BYTES = 256 << 20  # the sandbox's answer is held in memory
# Source: LLVM's AMDGPU usage document, target ids.
_TARGET = re.compile(r"gfx[0-9a-z]+(-[0-9a-z]+)*(:(sramecc|xnack)[+-])*\Z", re.ASCII)


@dataclass(frozen=True)
class Recompiled:
    """The code object, and how the compiler differs from the one that made the original (None when it does not)."""

    output: Path
    compiler: str
    difference: str | None


def recompile(directory: Path, output: Path, mangled: str, *, timeout_s: float = compilers.TIMEOUT_S) -> Recompiled:
    """Compile `directory`'s source to `output`, which must not exist.

    Raises: CompileError; BundleError when compile.json or vfs.yaml is malformed or hostile.
    """
    directory = as_found(directory)  # clang takes `..` out of an overlay's paths by their text
    document = _load(directory)
    main = directory / inside(Path(document["main"]))
    for path in (main, directory / "vfs.yaml"):
        if not os.path.isfile(path):  # also where the name is longer than any can be
            raise CompileError(
                f"{path} is missing", code="compile.no-source", hint="kerncap extract KERNEL --source-dir DIR ..."
            )
    outside = toolchain.referenced(document)
    view = read_overlay(directory).beside(outside)
    check_inside(directory, main)
    written = read_written(document)
    if str(written.cwd) in view.files:
        raise malformed(f"compile.json has a file as its working directory: {str(written.cwd)[:200]!r}")
    arguments = checked_arguments(document["arguments"], view, written.arguments)
    wanted = compilers.major_version(document["compiler"]["version"])
    clang = compilers.find_clang(wanted, document["target"])
    difference = _difference(clang, document["compiler"], toolchain.difference(outside))
    refuse_existing(output)
    root = directory / SOURCE_ROOT
    with Scratch(".kerncap-recompile-", output.absolute().parent) as scratch:
        made, overlay = Path(scratch, "kernel.hsaco"), Path(scratch, "vfs.yaml")
        write_json(overlay, view.document(root, written.cwd))
        try:
            compilers.compile_device(
                clang.path,
                [*arguments, *written.naming(main.absolute(), root)],
                main.absolute(),
                document["target"],
                made,
                cwd=Path(scratch),
                overlay=overlay,
                timeout_s=timeout_s,
            )
        except CompileError as error:
            raise CompileError(written.shown(error.message, view.files), code=error.code, hint=error.hint) from None
        take(made, output, mangled, main)
    return Recompiled(output, clang.version, difference)


def take(made: Path, output: Path, mangled: str, main: Path) -> None:
    """Give what was compiled from `main` its name, if it is what was asked for.

    Raises: as check_made.
    """
    check_made(made, mangled, main)
    give_final_name(made, output)


def check_made(made: Path, mangled: str, main: Path) -> None:
    """What was compiled from `main` is a code object with this kernel, and no bigger than can be sent.

    Raises: CompileError `compile.too-big`, `compile.no-kernel`.
    """
    size = made.stat().st_size
    if size > _MAX_CODE_OBJECT_BYTES:
        raise CompileError(
            f"the compiled source is {size} bytes, more than {_MAX_CODE_OBJECT_BYTES}",
            code="compile.too-big",
            hint=typed("edit", main),
        )
    if not compilers.has_kernel(made, mangled):
        raise CompileError(
            f"the compiled source has no kernel {mangled}",
            code="compile.no-kernel",
            hint=f"{typed('edit', main)}  # and keep its signature",
        )


def _difference(clang: compilers.Compiler, original: Mapping[str, Any], headers: str | None) -> str | None:
    """In words, what here is not as it was where the original was compiled."""
    found = []
    if clang.version != original["version"]:
        found.append(f"compiled by {clang.version}, the original by {original['version']}")
    if original.get("device_libs_digest") not in (None, clang.device_libs_digest):
        found.append("the device libraries are not the original's")
    return "; ".join([*found, *([headers] if headers else [])]) or None


def checked_arguments(arguments: Sequence[str], view: View, written: Sequence[str] | None = None) -> list[str]:
    """The arguments for the compiler: on the allow-list, their files carried, their folders those of carried files.

    `written`: the same as the original had them, which are what the compiler gets. A folder of which nothing is carried
    is left out: the original compile read nothing there, and what this machine has there is no part of the bundle.
    Raises: BundleError `bundle.unsupported-argument`, `bundle.outside-path`.
    """
    refused = first_refused(arguments)
    if refused is not None:
        raise BundleError(
            f"compile.json has an argument that no bundle may have, {refused}",
            code="bundle.unsupported-argument",
            hint="kerncap unpack BUNDLE DIR, then edit DIR/compile.json",
        )
    kept: list[str] = []
    words = iter(zip(arguments, written or arguments, strict=True))
    for word, as_written in words:
        if word in FILE_OPTIONS:
            value, as_written = next(words)
            if value not in view.files and Path(value) not in view.outside:
                raise BundleError(
                    f"compile.json has {word} {value}, a file that the bundle does not carry",
                    code="bundle.outside-path",
                    hint="kerncap unpack BUNDLE DIR, then edit DIR/compile.json",
                )
            kept += [word, as_written]
        elif word in DIRECTORY_OPTIONS or word.startswith("-I"):
            if word in DIRECTORY_OPTIONS:
                option, (value, as_written) = word, next(words)
            else:
                option, value, as_written = "-I", word[2:], as_written[2:]
            if value in view.folders:
                kept += [option, as_written]
            else:
                log.info("left out %s %s: nothing of it is carried", option, value)
        else:
            kept.append(word)
    return kept


def original_compiler_major(directory: Path) -> int | None:
    """The major version of the clang that compiled the original.

    Raises: CompileError `compile.no-source`, BundleError.
    """
    return compilers.major_version(_load(directory)["compiler"]["version"])


def _load(directory: Path) -> dict[str, Any]:
    path = directory / "compile.json"
    if not path.is_file():
        raise CompileError(
            "the bundle carries no source",
            code="compile.no-source",
            hint="kerncap extract KERNEL --source-dir DIR ...",
        )
    document = read_json(path)
    check_schema_version(document, "kerncap.compile", 1, what="compile.json")
    validate(document, "compile", what="compile.json")
    if not is_canonical(document["main"]):
        raise malformed("compile.json has no absolute main file")
    if not _TARGET.match(document["target"]):  # `$` of the schema's pattern lets a last line feed pass
        raise malformed(f"compile.json has the target {document['target']!r}")
    if sum(map(len, document["arguments"])) > _MOST_ARGUMENT_BYTES:
        raise BundleError(
            f"compile.json has more than {_MOST_ARGUMENT_BYTES} characters of arguments", code="bundle.limit"
        )
    return document
