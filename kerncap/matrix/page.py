"""One self-contained HTML page of a matrix: a grid of verdicts, times as plots, and why each cell came out so.

In: a Matrix. Out: bytes. Called by the command matrix. Nothing is loaded from anywhere and nothing is a script: the
page's own policy forbids both, and names its one style sheet by digest. Every string is a stranger's: escaped by the
template engine, and what has no shape is spelled out.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import jinja2
from markupsafe import Markup

from kerncap.errors import visible
from kerncap.matrix import words
from kerncap.matrix.plots import container_times, dispatch_times
from kerncap.matrix.result import CellResult
from kerncap.matrix.summary import Matrix

_MARKS = {"good": "✓", "bad": "✗", "error": "!"}


def to_html(matrix: Matrix, *, title: str, made: str) -> bytes:
    """`made`: when and by what, in a few words."""
    environment = _environment()
    style = environment.get_template("style.css.j2").render()
    policy = f"default-src 'none'; style-src 'sha256-{_digest(style)}'; base-uri 'none'; form-action 'none'"
    page = environment.get_template("matrix.html.j2").render(
        title=title,
        made=made,
        style=Markup(style),
        policy=policy,
        matrix=matrix,
        columns=_columns(matrix),
        grid=_grid(matrix),
        dispatch_times=dispatch_times(matrix),
        container_times=container_times(matrix),
        cells=[_Shown(result, matrix.expected) for result in matrix.results],
    )
    return page.encode("utf-8", "backslashreplace")


class _Shown:
    """A cell as the page shows it."""

    def __init__(self, result: CellResult, expected: frozenset[str]) -> None:
        self.result = result
        self.cell = result.cell
        self.kind = kind_of(result, expected)
        self.mark = _MARKS[self.kind]
        self.why = "\n".join(words.why(result))
        self.median = words.dispatch_time(result.median_ns)
        self.duration = words.duration(result.duration_s)
        self.image_id = words.short_digest(result.cell.image_id)


def kind_of(result: CellResult, expected: frozenset[str]) -> str:
    """good, bad or error: the class that gives a cell its colour."""
    if result.is_good(expected):
        return "good"
    return "error" if result.verdict is None else "bad"


def _columns(matrix: Matrix) -> list[tuple[str, str]]:
    """(image, device), in the order of the cells."""
    return list(dict.fromkeys((result.cell.image, result.cell.device) for result in matrix.results))


def _grid(matrix: Matrix) -> list[tuple[str, list[_Shown | None]]]:
    """A row a bundle, its cells by column; None where there is none."""
    found = {(r.cell.bundle, r.cell.image, r.cell.device): _Shown(r, matrix.expected) for r in matrix.results}
    columns = _columns(matrix)
    return [(axis.name, [found.get((axis.name, *column)) for column in columns]) for axis in matrix.bundles]


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("kerncap.matrix", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )


def _shown(value: Any) -> Any:
    return visible(value, keep="\n") if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(style: str) -> str:
    """Source: CSP level 3, 6.7.3.3: of the exact text between the tags."""
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
