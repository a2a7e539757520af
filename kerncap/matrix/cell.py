"""One cell: what is judged, in which image, on which device, and how. Its id changes with any of them.

In: what a person asked for, or a line of a cells file. Out: Cell, its JSON (`kerncap.cell/1`). Called by the reports of
this package and by the matrix workflow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kerncap import limits
from kerncap.bundle.documents import canonical_json, parse_json, validate
from kerncap.errors import BundleError, KerncapError, UsageError, error_from_code

SCHEMA = "kerncap.cell/1"
_DISPATCH_TIMEOUT_S = 60.0
_ID_DIGITS = 16
_MAX_LINE_BYTES = 1 << 20
_MAX_CELLS = 100_000


@dataclass(frozen=True)
class Judging:
    """How every cell is judged; `timeout_s` is for a container as a whole."""

    recompile: bool = False
    iterations: int = 2
    atol: float = 0.0
    rtol: float = 0.0
    ulp: int = 0
    timeout_s: float = 900.0
    memory_bytes: int | None = None

    def arguments(self) -> tuple[str, ...]:
        """Of the command in the container."""
        return (
            *(("--recompile",) if self.recompile else ()),
            *("--iterations", str(self.iterations)),
            *("--atol", repr(self.atol), "--rtol", repr(self.rtol), "--ulp", str(self.ulp)),
            *("--timeout", f"{min(self.timeout_s, _DISPATCH_TIMEOUT_S):g}"),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "recompile": self.recompile,
            "iterations": self.iterations,
            "atol": self.atol,
            "rtol": self.rtol,
            "ulp": self.ulp,
            "timeout_s": self.timeout_s,
            "memory_bytes": self.memory_bytes,
        }


@dataclass(frozen=True)
class Cell:
    """`digest`: of the bundle's manifest (of a reproducer one of what it says), None where it could not be opened.

    `image_id`: what the engine has under the image's name, None where it has none. `runtime`: the versions in it, where
    they are known. `error`: why it cannot run at all, and is not tried. `line`: the `docker run` line that does it.
    """

    bundle: str
    digest: str | None
    image: str
    image_id: str | None
    device: str
    judging: Judging
    kernel: str | None = None
    target: str | None = None
    runtime: str | None = None
    source_file: str | None = None
    line: str | None = None
    error: KerncapError | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        """Hexadecimal, also a file's name; the same for the same bundle, image, device and way to judge."""
        identity = [self.bundle, self.digest, self.image, self.image_id, self.device, self.judging.to_json()]
        return hashlib.sha256(canonical_json(identity)).hexdigest()[:_ID_DIGITS]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "id": self.id,
            "bundle": self.bundle,
            "digest": self.digest,
            "kernel": self.kernel,
            "target": self.target,
            "source_file": self.source_file,
            "image": self.image,
            "image_id": self.image_id,
            "runtime": self.runtime,
            "device": self.device,
            "judging": self.judging.to_json(),
            "line": self.line,
            "result": f"{self.id}.json",
            "error": None if self.error is None else self.error.to_json(),
        }


def cell_from_json(document: Mapping[str, Any], *, what: str) -> Cell:
    """What `Cell.to_json()` wrote, from wherever it was meanwhile. Raises: BundleError `bundle.malformed`."""
    if document.get("schema") != SCHEMA:
        raise BundleError(f"{what} is no {SCHEMA}", code="bundle.malformed")
    validate(document, "cell", what=what)
    judging, error = document["judging"], document.get("error")
    if error is not None:
        validate(error, "error", what=f"{what}: error")
    try:
        limits.check_judging(judging["atol"], judging["rtol"], judging["ulp"], judging["iterations"])
    except UsageError as refused:
        raise BundleError(f"{what}: {refused.message}", code="bundle.malformed") from None
    cell = Cell(
        bundle=document["bundle"],
        digest=document["digest"],
        image=document["image"],
        image_id=document["image_id"],
        device=document["device"],
        judging=Judging(**{name: judging[name] for name in Judging.__dataclass_fields__}),
        kernel=document["kernel"],
        target=document["target"],
        runtime=document["runtime"],
        source_file=document["source_file"],
        line=document["line"],
        error=None if error is None else error_from_code(error["code"], error["message"], error.get("hint")),
    )
    if cell.id != document["id"]:
        raise BundleError(f"{what}: its id is {cell.id}, not {document['id']!r}", code="bundle.malformed")
    return cell


def parse_cells(lines: Iterable[bytes], *, what: str) -> list[Cell]:
    """One `kerncap.cell/1` a line, none twice. Raises: BundleError `bundle.malformed`, `bundle.limit`."""
    cells: dict[str, Cell] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            place = f"{what}, line {number}"
            cell = cell_from_json(parse_json(line, what=place, limit=_MAX_LINE_BYTES), what=place)
            cells[cell.id] = cell
        if len(cells) > _MAX_CELLS:
            raise BundleError(f"{what} has more than {_MAX_CELLS} cells", code="bundle.limit")
    return list(cells.values())
