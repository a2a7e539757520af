"""What Triton's shim wrote down in an application: read, and reduced to one kernel.

In: the folder with `triton-<pid>.jsonl` of every process (docs/interfaces.md, Triton's records), the digest of a code
object. Out: Records, or None where Triton made no such code object. Called by the extract workflow.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

SCHEMA = "kerncap.triton-records/1"


@dataclass(frozen=True)
class Records:
    """Of one process, what belongs to one code object. Documents are as the shim wrote them."""

    process: dict[str, Any]
    kernel: dict[str, Any]
    launches: tuple[dict[str, Any], ...]
    kernels: dict[str, dict[str, Any]]
    """All that the kernel's function was compiled to, by the digest of the code object."""
    trials: tuple[dict[str, Any], ...]
    """Launches of those by the autotuner."""
    tunings: dict[str, dict[str, Any]]
    functions: dict[tuple[str, str], dict[str, Any]]
    """By module and qualified name."""
    modules: dict[str, dict[str, Any]]
    values: dict[str, dict[str, Any]]
    """Of modules that a kernel names: attribute to value."""
    errors: tuple[str, ...]

    @property
    def release(self) -> str:
        return str(self.process.get("triton", "unknown"))


def read_records(folder: Path, code_object: str) -> Records | None:
    """Of the first process, in order of their numbers, that had Triton make the code object with this digest."""
    for path in sorted(folder.glob("triton-*.jsonl")):
        lines = list(_lines(path))
        kernel = next((one for one in lines if one["record"] == "kernel" and one.get("hsaco") == code_object), None)
        if kernel is not None:
            return _records(lines, kernel)
    return None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Whole records; the last line may be cut short by the end of its process."""
    for line in path.read_text("utf-8", "replace").split("\n"):
        try:
            document = json.loads(line) if line else None
        except ValueError:
            log.info("%s: a line that is no record", path)
            continue
        if isinstance(document, dict) and isinstance(document.get("record"), str):
            yield document


def _records(lines: list[dict[str, Any]], kernel: dict[str, Any]) -> Records:
    # What the source was when this kernel was compiled: a notebook's cell may be run again with another text.
    until_then = lines[: lines.index(kernel)]

    def of(kind: str, among: list[dict[str, Any]] = lines) -> list[dict[str, Any]]:
        return [line for line in among if line["record"] == kind]

    values: dict[str, dict[str, Any]] = {}
    for line in of("values", until_then):
        values.setdefault(line["module"], {}).update(line["values"])
    kernels = {line["hsaco"]: line for line in of("kernel") if line.get("function") == kernel.get("function")}
    launches = of("launch")
    return Records(
        process=next(iter(of("process")), {}),
        kernel=kernel,
        launches=tuple(line for line in launches if line["hsaco"] == kernel["hsaco"]),
        kernels=kernels,
        trials=tuple(line for line in launches if line["hsaco"] in kernels and line.get("trial")),
        tunings={line["id"]: line for line in of("tuning")},
        functions={(line["module"], line["name"]): line for line in of("function", until_then)},
        modules={line["name"]: line for line in of("module", until_then)},
        values=values,
        errors=tuple(str(line["message"]) for line in of("error")),
    )
