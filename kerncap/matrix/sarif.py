"""SARIF 2.1.0 of a matrix: a result for each cell that is not good, a rule for each outcome that these have.

In: a Matrix. Out: bytes. Called by the command matrix. Source: OASIS SARIF 2.1.0 (sections named at the members).
A result's place is the kernel's source file where the bundle carries it, and always the kernel's name.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from kerncap.matrix.result import CellResult
from kerncap.matrix.summary import Matrix
from kerncap.matrix.words import why

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_PROJECT = "https://kerncap.dev"
_OF_VERDICT = {
    "differs": "The kernel computed something else than the application did.",
    "nondeterministic": "The kernel computes different things from the same state, more than the capture recorded.",
    "within-tolerance": "The kernel's results differ by no more than was allowed.",
    "equivalent": "Another code object computed the same.",
    "faithful": "The captured code object computed the same.",
}
_OF_ERROR = {
    2: "It was asked for in a way that makes no sense.",
    3: "The machine cannot run it.",
    4: "The bundle is broken, hostile, or not vouched for.",
    5: "The capture failed.",
    6: "The replay failed.",
    7: "The registry or the network failed.",
    8: "The source does not compile.",
}


def to_sarif(matrix: Matrix, version: str) -> bytes:
    """`version`: of Kerncap."""
    wrong = [result for result in matrix.results if not result.is_good(matrix.expected)]
    rules = list(dict.fromkeys(result.outcome for result in wrong))
    described = {result.outcome: result for result in wrong}
    driver = {
        "name": "Kerncap",
        "version": version,
        "informationUri": _PROJECT,
        "rules": [_rule(described[name]) for name in rules],
    }
    run = {
        "tool": {"driver": driver},
        "results": [_result(result, rules.index(result.outcome)) for result in wrong],
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not matrix.errors, "exitCode": matrix.exit_code}],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=True).encode() + b"\n"


def _rule(result: CellResult) -> dict[str, Any]:
    """3.49: reportingDescriptor."""
    of_error = _OF_ERROR.get(result.exit_code, "Kerncap itself failed.")
    text = _OF_VERDICT[result.outcome] if result.verdict is not None else of_error
    return {
        "id": result.outcome,
        "name": "".join(word.capitalize() for word in result.outcome.replace(".", "-").split("-")),
        "shortDescription": {"text": text},
        "defaultConfiguration": {"level": _level(result)},
    }


def _level(result: CellResult) -> str:
    """3.27.10: a machine that cannot run it says nothing against the kernel."""
    return "error" if result.verdict is not None or result.exit_code in (4, 6, 8) else "warning"


def _result(result: CellResult, rule_index: int) -> dict[str, Any]:
    """3.27: result; the fingerprint is the same as long as cell and outcome are."""
    cell = result.cell
    identity = "\0".join((cell.bundle, cell.image, cell.device, result.outcome))
    first, *more = why(result)
    text = "\n".join([f"{cell.bundle} in {cell.image} on {cell.device}: {first}", *more])
    location: dict[str, Any] = {}
    if cell.source_file is not None:
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(cell.source_file)}, "region": {"startLine": 1}}
    if cell.kernel is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": cell.kernel, "kind": "function"}]
    found: dict[str, Any] = {
        "ruleId": result.outcome,
        "ruleIndex": rule_index,
        "level": _level(result),
        "message": {"text": text},
        "partialFingerprints": {"kerncapCell/v1": hashlib.sha256(identity.encode()).hexdigest()},
        "properties": {
            "bundle": cell.bundle,
            "digest": cell.digest,
            "image": cell.image,
            "imageId": cell.image_id,
            "runtime": cell.runtime,
            "device": cell.device,
            "commandLine": cell.line,
        },
    }
    if location:
        found["locations"] = [location]
    return found


def _uri(path: str) -> str:
    """3.4.3: a URI reference, relative to the project where the path is; the file of an absolute one."""
    quoted = quote(path.encode("utf-8", "surrogateescape"))
    return f"file://{quoted}" if path.startswith("/") else quoted
