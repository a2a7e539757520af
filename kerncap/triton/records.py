"""What Triton's shim wrote down in an application: read, and reduced to one kernel.

In: the folder with `triton-<pid>.jsonl` of every process (docs/interfaces.md, Triton's records), the digest of a code
object. Out: Records, or None where Triton made no such code object. Called by the extract workflow.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
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
    """Of a process that had Triton make the code object with this digest: the one with its source, else the first in
    order of their numbers. Where this one launched nothing (a compile worker), launches are those of the others.
    """
    processes = [list(_lines(path)) for path in sorted(folder.glob("triton-*.jsonl"))]
    found = [one for lines in processes if (one := _of_process(lines, code_object)) is not None]
    if not found:
        if any(_launches(lines, {code_object}) for lines in processes):
            log.warning(
                "Inductor launched this kernel out of a cache of an earlier run, which has neither its call nor its "
                "source: TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 makes it compile the kernel again"
            )
        return None
    best = next((one for one in found if one.functions), found[0])
    if best.launches:
        return best
    everywhere = [line for lines in processes for line in lines]
    return replace(
        best,
        launches=tuple(_launches(everywhere, {code_object})),
        trials=_trials(everywhere, best.kernels),
        tunings=_tunings(everywhere),
    )


def _of_process(lines: list[dict[str, Any]], code_object: str) -> Records | None:
    kernel = next((one for one in lines if one["record"] == "kernel" and one.get("hsaco") == code_object), None)
    return None if kernel is None else _records(lines, kernel)


def _launches(lines: list[dict[str, Any]], code_objects: Container[str]) -> list[dict[str, Any]]:
    return [line for line in lines if line["record"] == "launch" and line["hsaco"] in code_objects]


def _trials(lines: list[dict[str, Any]], code_objects: Container[str]) -> tuple[dict[str, Any], ...]:
    return tuple(line for line in _launches(lines, code_objects) if line.get("trial"))


def _tunings(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {line["id"]: line for line in lines if line["record"] == "tuning"}


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
    return Records(
        process=next(iter(of("process")), {}),
        kernel=kernel,
        launches=tuple(_launches(lines, {kernel["hsaco"]})),
        kernels=kernels,
        trials=_trials(lines, kernels),
        tunings=_tunings(lines),
        functions={(line["module"], line["name"]): line for line in of("function", until_then)},
        modules={line["name"]: line for line in of("module", until_then)},
        values=values,
        errors=tuple(str(line["message"]) for line in of("error")),
    )
