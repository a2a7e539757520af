"""JUnit XML of a matrix, as Jenkins and GitLab read it: a suite a bundle, a test case a cell.

In: a Matrix. Out: bytes. Called by the command matrix. Source: the schema of the Jenkins xUnit plugin (junit-10.xsd);
GitLab, "Unit test reports". A verdict that is not good is a failure, a cell without a verdict an error.
"""

from __future__ import annotations

import re
from collections import defaultdict
from xml.etree import ElementTree

from kerncap.errors import spelled_out
from kerncap.matrix.result import CellResult
from kerncap.matrix.summary import Matrix
from kerncap.matrix.words import why

# Source: XML 1.0, production 2: what no document may hold, not even as a reference.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(matrix: Matrix) -> bytes:
    """UTF-8, with a declaration."""
    by_bundle: dict[str, list[CellResult]] = defaultdict(list)
    for result in matrix.results:
        by_bundle[result.cell.bundle].append(result)
    root = ElementTree.Element("testsuites", _counts("kerncap matrix", matrix.results, matrix))
    for bundle, results in by_bundle.items():
        suite = ElementTree.SubElement(root, "testsuite", _counts(bundle, results, matrix))
        cell = results[0].cell
        _properties(suite, {"digest": cell.digest, "kernel": cell.kernel, "target": cell.target})
        for result in results:
            _case(suite, result, matrix)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _counts(name: str, results: tuple[CellResult, ...] | list[CellResult], matrix: Matrix) -> dict[str, str]:
    wrong = [result for result in results if not result.is_good(matrix.expected)]
    errors = sum(result.verdict is None for result in wrong)
    return {
        "name": _text(name),
        "tests": str(len(results)),
        "failures": str(len(wrong) - errors),
        "errors": str(errors),
        "skipped": "0",
        "time": f"{sum(result.duration_s or 0.0 for result in results):.3f}",
    }


def _case(suite: ElementTree.Element, result: CellResult, matrix: Matrix) -> None:
    cell = result.cell
    attributes = {
        "classname": _text(cell.bundle),
        "name": _text(f"{cell.image} on {cell.device}"),
        "time": f"{result.duration_s or 0.0:.3f}",
    }
    case = ElementTree.SubElement(suite, "testcase", attributes)
    known = {"id": cell.id, "image_id": cell.image_id, "runtime": cell.runtime, "outcome": result.outcome}
    if result.median_ns is not None:
        known["dispatch_median_ns"] = f"{result.median_ns:g}"
    _properties(case, known)
    if not result.is_good(matrix.expected):
        kind = "error" if result.verdict is None else "failure"
        first, *more = why(result)
        found = ElementTree.SubElement(case, kind, {"type": _text(result.outcome), "message": _text(first)})
        found.text = _text("\n".join([first, *more]))
    if cell.line is not None:
        ElementTree.SubElement(case, "system-out").text = _text(f"$ {cell.line}")


def _properties(parent: ElementTree.Element, members: dict[str, str | None]) -> None:
    properties = ElementTree.SubElement(parent, "properties")
    for name, value in members.items():
        if value is not None:
            ElementTree.SubElement(properties, "property", {"name": name, "value": _text(value)})


def _text(text: str) -> str:
    """What XML cannot hold is spelled out."""
    return _NOT_XML.sub(lambda found: spelled_out(found[0]), text)
