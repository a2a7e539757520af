"""Carries the source of a captured kernel: every file that its compile read, and how to compile it again.

In: a compile database, the kernel's names and target. Out: `src/`, `vfs.yaml`, `compile.json` in a reproducer directory
(docs/interfaces.md). Called by the extract workflow.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle.code import is_allowed_name
from kerncap.bundle.files import digest_of
from kerncap.errors import CompileError, typed
from kerncap.scratch import Scratch
from kerncap.source import compiler as compilers
from kerncap.source import toolchain
from kerncap.source.arguments import Words, from_environment, take_apart, with_includes_found, without_launcher
from kerncap.source.database import Entry, find_database, load_database
from kerncap.source.debug_info import machine_code
from kerncap.source.find import candidates
from kerncap.source.overlay import inside, overlay, write_json
from kerncap.source.paths import as_found, as_looked_up
from kerncap.source.trail import explained, read_trail

log = logging.getLogger(__name__)

_NOT_FOUND = ("compile.kernel-not-found", "compile.no-database")


@dataclass(frozen=True)
class Wanted:
    """Which kernel, compiled for which target id; the code object that the application ran, if it lies in a file."""

    mangled: str
    demangled: str
    target: str
    code_object: Path | None = None


@dataclass(frozen=True)
class SourceRequest:
    """Where the source lies; none is wanted when neither is named. `headers`: of the tool chain, `toolchain.MODES`."""

    directory: Path | None = None
    database: Path | None = None
    headers: str = toolchain.CARRY

    @property
    def wanted(self) -> bool:
        return self.directory is not None or self.database is not None


@dataclass(frozen=True)
class Unit:
    """The translation unit that has the kernel, compiled once."""

    words: Words
    cwd: Path
    compiler: compilers.Compiler
    files: Mapping[Path, Path]
    """What the compile read: name in the overlay -> the file that the system found, without `..`."""
    same_code: bool | None
    """The compile gave the machine code that the application ran. None: not known."""

    @property
    def main(self) -> Path:
        return self.words.main


def carry_source(directory: Path, wanted: Wanted, source: SourceRequest) -> Unit:
    """Write the source closure into `directory`.

    Raises: CompileError.
    """
    source_dir = source.directory
    trail = read_trail(wanted.code_object, wanted.mangled)
    try:
        entries = load_database(find_database(source_dir, source.database))
        unit = find_unit(entries, wanted, source_dir, trail.main_files)
    except CompileError as error:
        if error.code in _NOT_FOUND:
            raise explained(error, trail, source_dir) from None
        raise
    if unit.same_code is False:
        log.warning(
            "%s, compiled by %s, gives other machine code than the application ran: built by another compiler, "
            "with other options, or changed since",
            unit.main,
            unit.compiler.version,
        )
    project = [unit.main.parent, unit.cwd, *([source_dir] if source_dir else [])]
    by_reference = source.headers == toolchain.REFERENCE
    left = {path for path in unit.files if by_reference and toolchain.is_toolchain(path, project)}
    places = _places(unit, left)
    files = [
        _named(path, found) if path in left else _copy(directory, path, found, places[path])
        for path, found in sorted(unit.files.items())
    ]
    write_json(directory / "vfs.yaml", overlay(places, same_as=places))
    write_json(directory / "compile.json", _compile_document(unit, wanted, files))
    return unit


def find_unit(
    entries: Sequence[Entry], wanted: Wanted, source_dir: Path | None, main_files: Collection[Path] = ()
) -> Unit:
    """The candidate whose device code has the exact mangled symbol; those with these main files come first.

    Several may have it: kernels of one name in anonymous namespaces, a template that many files instantiate. The one
    that gives the very code of the application is taken, or else the first.
    Raises: CompileError `compile.kernel-not-found`, `compile.failed`, `compile.unsupported-argument`.
    """
    found = candidates(entries, wanted.mangled, wanted.demangled, source_dir, main_files)
    failures: list[CompileError] = []
    first: Unit | None = None
    for entry in (*found.known, *found.including):
        if first is not None and entry in found.including:
            break
        try:
            unit = _compile(entry, wanted)
        except CompileError as error:
            log.info("%s: %s", entry.file, error.message.splitlines()[0])
            failures.append(error)
            continue
        if unit is not None and unit.same_code is not False:
            return unit
        first = first or unit
    if first is not None:
        return first
    if failures:
        raise failures[0]
    tried = ", ".join(str(entry.file) for entry in (*found.known, *found.including))
    raise CompileError(
        f"no translation unit gives the symbol {wanted.mangled}: tried {tried}",
        code="compile.kernel-not-found",
        hint="kerncap extract KERNEL --compile-db FILE ...  # of the build that made this application",
    )


def _compile(entry: Entry, wanted: Wanted) -> Unit | None:
    """Compile an entry for the device; None when it does not have the kernel."""
    compilers.check_environment()
    if not entry.file.is_file():  # a FIFO would be waited for
        raise CompileError(
            f"{entry.file} is no regular file, or not there",
            code="compile.source-file",
            hint=typed("ls", "-l", entry.file),
        )
    words = take_apart(entry.words, entry.cwd, entry.file)
    command = without_launcher(entry.words, entry.cwd)
    if compilers.is_hipcc(words.compiler):
        command = compilers.hipcc_words(command, entry.cwd)
    words = take_apart([*command, *from_environment(os.environ)], entry.cwd, entry.file)
    clang = compilers.examine(words.compiler, wanted.target)
    with Scratch("kerncap-source-") as scratch:
        out, depfile = Path(scratch, "kernel.hsaco"), Path(scratch, "deps")
        compilers.compile_device(
            clang.path, words.written, words.main_written, wanted.target, out, cwd=entry.cwd, depfile=depfile
        )
        if not compilers.has_kernel(out, wanted.mangled):
            return None
        read = compilers.parse_depfile(depfile.read_bytes().decode("utf-8", "surrogateescape"))
        same_code = _same_code(out, wanted.code_object, Path(scratch))
    files = _files_read(entry.cwd, [words.main_written, *read])
    return Unit(with_includes_found(words, entry.cwd, read), entry.cwd, clang, files, same_code)


def _files_read(cwd: Path, names: Iterable[str]) -> dict[Path, Path]:
    """Name in the overlay -> the file that the system found.

    Raises: CompileError `compile.file-name`; `compile.ambiguous-path` where `..` behind a symbolic link makes two files
    of one name for the overlay, which knows no links.
    """
    files: dict[Path, Path] = {}
    for name in names:
        path, found = as_looked_up(cwd, name), as_found(cwd / name)
        other = files.setdefault(path, found)
        if found != other and not os.path.samefile(found, other):
            behind = found if found != path else other
            raise CompileError(
                f"the compile reads {behind} by `..` behind a symbolic link, as {path}, where it reads another file",
                code="compile.ambiguous-path",
                hint=typed("realpath", behind.parent) + "  # name that folder in the build's options",
            )
    _check_names(files)
    return files


def _places(unit: Unit, left: Collection[Path]) -> dict[Path, Path]:
    """Where each carried file lies, as the name of the first that is the same file.

    A compiler knows a file by its inode: two copies of one that has `#pragma once` would both be read.
    """
    first: dict[tuple[int, int], Path] = {}
    places: dict[Path, Path] = {}
    own_names = sorted(unit.files, key=lambda path: (path != unit.main, str(path) != os.path.realpath(path), path))
    for path in own_names:
        if path not in left:
            status = unit.files[path].stat()
            places[path] = first.setdefault((status.st_dev, status.st_ino), path)
    return places


def _same_code(compiled: Path, captured: Path | None, scratch: Path) -> bool | None:
    """The machine code is the application's, byte for byte. None where that cannot be told."""
    if captured is None:
        return None
    codes = [machine_code(path, scratch) for path in (compiled, captured)]
    return None if None in codes else codes[0] == codes[1]


def _check_names(paths: Iterable[Path]) -> None:
    """What a bundle could not hold is refused here, where its name can still be changed."""
    for path in sorted(paths):
        if not is_allowed_name(str(inside(path))):
            raise CompileError(
                f"the compile reads {str(path)[:300]!r}, a name that a bundle cannot hold: too long, or not printable",
                code="compile.file-name",
                hint=typed("mv", path, "NAME"),
            )


def _named(path: Path, found: Path) -> dict[str, Any]:
    return {"original": str(path), "path": None, "digest": digest_of(found), "system": True}


def _copy(directory: Path, path: Path, found: Path, at: Path) -> dict[str, Any]:
    place = directory / inside(at)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found, place)
    return {
        "original": str(path),
        "path": str(inside(at)),
        "digest": digest_of(place),
        "system": toolchain.is_toolchain(path, ()),
    }


def _compile_document(unit: Unit, wanted: Wanted, files: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "schema": "kerncap.compile/1",
        "language": "hip",
        "cwd": str(unit.cwd),
        "main": str(unit.main),
        "arguments": list(unit.words.kept),
        "as_written": {"main": unit.words.main_written, "arguments": list(unit.words.written)},
        "target": wanted.target,
        "compiler": {
            "version": unit.compiler.version,
            "resource_dir": unit.compiler.resource_dir,
            "device_libs": unit.compiler.device_libs,
            "device_libs_digest": unit.compiler.device_libs_digest,
        },
        "same_code": unit.same_code,
        "files": files,
    }
