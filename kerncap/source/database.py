"""Compile database: compile_commands.json in both of its forms.

In: a path. Out: entries with absolute paths and words. Called by `closure`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle.files import read_named
from kerncap.errors import CompileError
from kerncap.source.arguments import split_command
from kerncap.source.paths import as_found

_PLACES = ("compile_commands.json", "build/compile_commands.json")


@dataclass(frozen=True)
class Entry:
    """How one file was compiled. The paths are those that the system finds, without `..`."""

    file: Path
    cwd: Path
    words: tuple[str, ...]
    output: Path | None


def find_database(source_dir: Path | None, named: Path | None) -> Path:
    """The named one, or the one in the source directory or its build directory.

    Raises: CompileError `compile.no-database`.
    """
    if named is not None:
        if named.is_file():
            return named
        what = "is not a regular file" if named.exists() else "is not there"
        raise CompileError(
            f"{named} {what}", code="compile.no-database", hint="cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
        )
    for place in _PLACES:
        if source_dir is not None and (source_dir / place).is_file():
            return source_dir / place
    raise CompileError(
        f"there is no compile_commands.json in {source_dir} nor in its build directory",
        code="compile.no-database",
        hint="--compile-db FILE  # from cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON, or bear -- make",
    )


def load_database(path: Path) -> list[Entry]:
    """Raises: CompileError `compile.bad-database`."""
    try:
        document: Any = json.loads(read_named(path))
        return [_entry(item, path) for item in document]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CompileError(f"{path} is no compile database: {error!r}", code="compile.bad-database") from None


def _entry(item: dict[str, Any], path: Path) -> Entry:
    cwd = as_found(path.resolve().parent / item["directory"])
    words = item["arguments"] if "arguments" in item else split_command(item["command"] or "")
    if not words or not isinstance(words, list):
        raise ValueError(f"no command for {item['file']}")
    output = item.get("output")
    for text in (item["directory"], item["file"], output or "", *words):
        if b"\0" in os.fsencode(text):
            raise ValueError(f"{text!r} holds a NUL")
    return Entry(
        file=as_found(cwd / item["file"]),
        cwd=cwd,
        words=tuple(words),
        output=cwd / output if output else None,
    )
