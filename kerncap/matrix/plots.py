"""Numbers of the page's plots: where on a scale from 0 to 1 each mark stands; the template draws them as SVG.

In: a Matrix. Out: Plots. Called by page.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from kerncap.matrix import words
from kerncap.matrix.result import CellResult
from kerncap.matrix.summary import Matrix

_MOST_ROWS = 60
_MOST_PLOTS = 40


@dataclass(frozen=True)
class Row:
    """`low`, `mark` and `high` lie on the scale from 0 to 1; `value` is the text at the end."""

    label: str
    low: float
    mark: float
    high: float
    value: str
    id: str


@dataclass(frozen=True)
class Plot:
    """`left_out`: rows that there was no place for. `end`: what stands at the end of the scale, which begins at 0."""

    title: str
    end: str
    rows: tuple[Row, ...]
    left_out: int = 0


def dispatch_times(matrix: Matrix) -> tuple[Plot, ...]:
    """One a bundle that has more than no time: minimum, median and maximum of the dispatches of each cell."""
    plots = []
    for axis in matrix.bundles[:_MOST_PLOTS]:
        timed = [r for r in matrix.results if r.cell.bundle == axis.name and r.verdict and r.verdict.timing_ns]
        most = max((max(_timing(result)) for result in timed), default=0)
        if most > 0:
            rows = tuple(_dispatch_row(result, most) for result in timed[:_MOST_ROWS])
            plots.append(Plot(axis.name, words.dispatch_time(most), rows, len(timed) - len(rows)))
    return tuple(plots)


def container_times(matrix: Matrix) -> Plot | None:
    """How long each cell took, the longest first."""
    timed = sorted((r for r in matrix.results if r.duration_s), key=lambda r: -(r.duration_s or 0.0))
    if not timed:
        return None
    most = timed[0].duration_s or 1.0
    rows = tuple(
        Row(
            f"{result.cell.bundle} · {_where(result)}",
            0.0,
            (result.duration_s or 0.0) / most,
            (result.duration_s or 0.0) / most,
            words.duration(result.duration_s),
            result.cell.id,
        )
        for result in timed[:_MOST_ROWS]
    )
    return Plot("Time of a container", words.duration(most), rows, len(timed) - len(rows))


def _timing(result: CellResult) -> tuple[int, ...]:
    return result.verdict.timing_ns if result.verdict is not None else ()


def _dispatch_row(result: CellResult, most: int) -> Row:
    timing, median = _timing(result), result.median_ns or 0.0
    label = _where(result)
    text = words.dispatch_time(median)
    return Row(label, min(timing) / most, median / most, max(timing) / most, text, result.cell.id)


def _where(result: CellResult) -> str:
    return f"{result.cell.image} · {result.cell.device}"
