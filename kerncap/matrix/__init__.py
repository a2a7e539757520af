"""Cells of a matrix: one bundle, in one image, on one device; what came out of each, and reports about all of them.

In: cells and their results, also those that ran elsewhere. Out: the printed document, a state file, JUnit XML, SARIF
and one HTML page. It runs nothing: `kerncap.workflows.matrix` plans and runs cells. docs/matrix.md says how it is used.
"""

from kerncap.matrix import words
from kerncap.matrix.cell import Cell, Judging, cell_from_json, parse_cells
from kerncap.matrix.result import CellResult, judged, not_run, result_from_json
from kerncap.matrix.summary import Axis, Matrix

__all__ = [
    "Axis",
    "Cell",
    "CellResult",
    "Judging",
    "Matrix",
    "cell_from_json",
    "judged",
    "not_run",
    "parse_cells",
    "result_from_json",
    "words",
]
