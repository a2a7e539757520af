"""The state file: what finished cells came to, so that a run which was killed goes on where it was.

In: results one after another. Out: one JSON file, replaced as a whole each time: it is always whole, whenever the
process dies. Called by the matrix and bisect workflows.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kerncap.bundle.documents import parse_json
from kerncap.bundle.files import open_named, replace_file
from kerncap.errors import KerncapError, UsageError, typed
from kerncap.matrix.cell import SCHEMA as CELL_SCHEMA
from kerncap.matrix.cell import Cell, cell_from_json
from kerncap.matrix.result import CellResult, result_from_json

_SCHEMA = "kerncap.matrix-state/1"
_MAX_BYTES = 1 << 30


class State:
    """Results by the id of their cell. Without a path nothing is written. Safe in threads."""

    def __init__(self, path: Path | None, results: Mapping[str, CellResult] | None = None) -> None:
        self._path = path
        self._results = dict(results or {})
        self._encoded = {name: _encoded(result) for name, result in self._results.items()}
        self._lock = threading.Lock()

    def kept(self, cell: Cell) -> CellResult | None:
        """What an earlier run found of this very cell: same bundle digest, same image id, same device and options."""
        found = self._results.get(cell.id)
        if found is None or not found.is_lasting or cell.error is not None:
            return None
        cell = replace(cell, line=found.cell.line)
        return replace(found, cell=cell, kept=True)

    def add(self, result: CellResult) -> None:
        """On the disk when this returns. Raises: OSError."""
        with self._lock:
            self._results[result.cell.id] = result
            self._encoded[result.cell.id] = _encoded(result)
            self._write()

    def _write(self) -> None:
        if self._path is not None:
            cells = b",\n".join(self._encoded.values())
            replace_file(self._path, b'{"schema": "%s", "cells": [\n%s\n]}\n' % (_SCHEMA.encode(), cells))


@contextmanager
def open_state(path: Path | None, *, resume: bool) -> Iterator[State]:
    """For the time of one run, which nobody else shares.

    Raises: UsageError `usage.option-alone`, `usage.output-exists`, `usage.output-busy`, `usage.state`.
    """
    if path is None:
        if resume:
            raise UsageError("--resume needs the --state of before", code="usage.option-alone", hint="--state FILE")
        yield State(None)
        return
    if not resume and os.path.lexists(path):
        raise UsageError(
            f"{path} is there already; --resume goes on from it",
            code="usage.output-exists",
            hint=f"--resume {typed('--state', path)}",
        )
    with _alone(path):
        state = State(path, _read(path) if os.path.lexists(path) else {})
        with state._lock:
            state._write()  # what cannot be written is found before anything runs
        yield state


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    lock = path.absolute().parent / f".{path.name}.lock"
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = typed("fuser", "-v", lock)
            raise UsageError(f"another run writes {path}", code="usage.output-busy", hint=hint) from None
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()
    finally:
        os.close(fd)


def _encoded(result: CellResult) -> bytes:
    return json.dumps(result.to_json(), ensure_ascii=True).encode()


def _read(path: Path) -> dict[str, CellResult]:
    try:
        with open_named(path) as file:
            data = file.read(_MAX_BYTES + 1)
        document = parse_json(data, what=str(path), limit=_MAX_BYTES)
        if document.get("schema") != _SCHEMA or not isinstance(document.get("cells"), list):
            raise UsageError(f"it is no {_SCHEMA}", code="usage.state")
        results = [_result(entry) for entry in document["cells"]]
    except (OSError, KerncapError) as error:
        text = error.strerror if isinstance(error, OSError) else str(error)
        aside = path.with_name(path.name + ".old")
        hint = typed("mv", path, aside)
        raise UsageError(f"{path} cannot be gone on from: {text}", code="usage.state", hint=hint) from None
    return {result.cell.id: result for result in results}


def _result(entry: Any) -> CellResult:
    if not isinstance(entry, dict):
        raise UsageError("a cell is no object", code="usage.state")
    members = {**entry, "schema": CELL_SCHEMA, "result": f"{entry.get('id')}.json", "error": None}
    return result_from_json(cell_from_json(members, what="a cell"), entry)
