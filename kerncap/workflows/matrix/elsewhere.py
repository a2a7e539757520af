"""Cells that others run: Kubernetes Jobs, Slurm arrays, another machine. Written as JSON lines, read back as results.

In: a Plan; or a folder with `cells.jsonl` and a file a cell with what its container printed. Out: cells with their
lines; results. Called by the command matrix.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kerncap.bundle.files import open_named
from kerncap.errors import BundleError, HostError, KerncapError, UsageError, typed
from kerncap.matrix import Cell, CellResult, judged, not_run, parse_cells
from kerncap.matrix.result import MAX_DOCUMENT_BYTES
from kerncap.workflows.matrix.cells import line_of
from kerncap.workflows.matrix.plan import Plan

CELLS_FILE = "cells.jsonl"
_GPU_WORDS = (
    "--device /dev/kfd --device /dev/dri"
    ' --group-add "$(stat -c %g /dev/kfd)" --group-add "$(stat -c %g /dev/dri/renderD128)"'
)


def exported(plan: Plan) -> list[Cell]:
    """Every cell with its `docker run` line, or why it has none. An image or engine that is not here is no error:
    whoever runs it has it."""
    cells = []
    for cell in plan.cells:
        error = None if isinstance(cell.error, HostError) else cell.error
        error = plan.bundles[cell.bundle].error or error
        line = None
        if error is None:
            try:
                line = _line_anywhere(cell, plan)
            except KerncapError as raised:
                error = raised
        cells.append(replace(cell, line=line, error=error))
    return cells


def _line_anywhere(cell: Cell, plan: Plan) -> str:
    """Of a GPU that this machine has not: the line asks the machine that it is typed on for nodes and groups."""
    try:
        return line_of(cell, plan)
    except HostError as error:
        if error.code != "host.no-gpu":
            raise
        return line_of(cell, plan, nodes_of_here=False).replace("docker run ", f"docker run {_GPU_WORDS} ", 1)


def read_cells(folder: Path) -> list[Cell]:
    """Of `cells.jsonl`. Raises: UsageError `usage.cells`."""
    path = folder / CELLS_FILE
    try:
        with open_named(path) as file:
            cells = parse_cells(file, what=str(path))
        if not cells:
            raise BundleError(f"{path} has no cells", code="bundle.malformed")
        return cells
    except (OSError, BundleError) as error:
        text = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)
        hint = "kerncap matrix REF --image NAME " + typed("--cells", path)
        raise UsageError(text, code="usage.cells", hint=hint) from None


def collect(folder: Path, cells: list[Cell]) -> list[CellResult]:
    """What is in `ID.json` of each cell; one that has none, or that nobody can read, is an error of its own."""
    return [_collected(folder, cell) for cell in cells]


def _collected(folder: Path, cell: Cell) -> CellResult:
    if cell.error is not None:
        return not_run(cell, cell.error)
    path = folder / f"{cell.id}.json"
    try:
        with open_named(path) as file:
            printed = file.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        missing = HostError(f"{path}: {error.strerror}", code="host.no-result", hint=typed("ls", "-l", folder))
        return not_run(cell, missing)
    return judged(cell, printed, duration_s=None, finished=None)
