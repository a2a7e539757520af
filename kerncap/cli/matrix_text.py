"""A matrix for a person: the table on stdout, what goes on meanwhile on stderr. Called by matrix and bisect."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kerncap.cli.output import escape, note, say, status_line, table
from kerncap.errors import counted

if TYPE_CHECKING:
    from kerncap.matrix import CellResult, Matrix
    from kerncap.workflows.matrix import Event, Listener

_SHOWN_CELLS = 2


def print_matrix(matrix: Matrix) -> None:
    """A line a cell, then why those came out so that are not good."""
    from kerncap.matrix import words

    rows = [
        (
            result.cell.bundle,
            result.cell.image,
            result.cell.device,
            result.outcome,
            words.dispatch_time(result.median_ns),
            words.duration(result.duration_s) + (" (kept)" if result.kept else ""),
            words.short_digest(result.cell.image_id),
            result.cell.runtime or "",
        )
        for result in matrix.results
    ]
    say(table(rows, header=("bundle", "image", "device", "verdict", "dispatch", "container", "image id", "runtime")))
    for result in (*matrix.bad, *matrix.errors):
        say()
        say(f"{place_of(result)}: {result.outcome}")
        for line in words.why(result):
            say(f"  {escape(line)}")
        if result.cell.line is not None:
            say(f"  $ {escape(result.cell.line)}")
    say()
    say(
        f"{counted(len(matrix.results), 'cell')}: {len(matrix.good)} good, {len(matrix.bad)} bad, "
        f"{len(matrix.errors)} without a verdict"
    )


@contextmanager
def live() -> Iterator[Listener]:
    """A line on stderr for each cell that is done; on a terminal also what runs now."""
    from kerncap.matrix import words

    with status_line() as show:

        def listen(event: Event) -> None:
            if event.result is not None:
                show("")
                width = len(str(event.total))
                took = words.duration(event.result.duration_s) if not event.result.kept else "kept"
                place = f"{place_of(event.result)}  {took}".rstrip()
                note(f"[{event.done:{width}}/{event.total}] {event.result.outcome}  {place}")
            if event.text is not None:
                show("")
                note(event.text)
            if event.running:
                names = [f"{os.path.basename(cell.bundle)} in {cell.image}" for cell in event.running[:_SHOWN_CELLS]]
                more = len(event.running) - len(names)
                text = f"[{event.done}/{event.total}] {', '.join(names)}" + (f" and {more} more" if more else "")
                show(text[: shutil.get_terminal_size().columns - 1])  # a line that wraps is not written over

        yield listen


def place_of(result: CellResult) -> str:
    """On one line, whatever the names are."""
    return escape(f"{result.cell.bundle} in {result.cell.image} on {result.cell.device}")
