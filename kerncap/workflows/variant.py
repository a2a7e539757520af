"""How a variant's code object is launched, where it needs a launch of its own: `CODE_OBJECT.launch.json` beside it.

In: what compiled a Triton kernel left (docs/interfaces.md), as a file or as text. Out: a Launch, or None: the captured
one. Called by the recompile, run and replay workflows. Triton decides the number of warps and the LDS of a kernel when
it compiles it, and another configuration has another grid: none of it stands in the code object.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kerncap.bundle.capture import Capture
from kerncap.bundle.documents import parse_json, validate
from kerncap.bundle.files import digest_of, read_regular
from kerncap.errors import UsageError
from kerncap.native import Launch

log = logging.getLogger(__name__)

SUFFIX = ".launch.json"
SCHEMA = "kerncap.launch/1"
_MOST_BYTES = 1 << 16


def launch_file(code_object: Path) -> Path:
    return code_object.with_name(code_object.name + SUFFIX)


def read_launch(code_object: Path) -> dict[str, Any] | None:
    """The document beside a code object; None: there is none, or it speaks of another code object, which is said.

    Raises: BundleError `bundle.malformed`, `bundle.limit`, `bundle.hostile-file`.
    """
    path = launch_file(code_object)
    if not os.path.lexists(path):
        return None
    return checked_launch(read_regular(path, what=path.name, limit=_MOST_BYTES), code_object, what=path.name)


def checked_launch(data: bytes, code_object: Path, *, what: str) -> dict[str, Any] | None:
    """What a script wrote that may be a stranger's; None: of another code object, which is said.

    Raises: BundleError `bundle.malformed`, `bundle.limit`.
    """
    document = parse_json(data, what=what, limit=_MOST_BYTES)
    validate(document, "launch", what=what)
    if document["code_object"] != digest_of(code_object):
        log.warning("%s is of another code object than %s: left out", what, code_object.name)
        return None
    return document


def write_launch(document: Mapping[str, Any], code_object: Path) -> None:
    """Raises: OSError."""
    launch_file(code_object).write_text(json.dumps(document) + "\n", encoding="utf-8")


def launch_of(code_object: Path, capture: Capture, text: str | None = None) -> tuple[Launch | None, str | None]:
    """The launch where it is not the captured one, and in words how it differs. `text`: the document, instead of what
    lies beside the code object.

    Raises: BundleError; UsageError `usage.launch-of-sequence`.
    """
    document = read_launch(code_object) if text is None else checked_launch(text.encode(), code_object, what="--launch")
    if document is None:
        return None, None
    grid, workgroup = (_three(document[name]) for name in ("grid", "workgroup"))
    launch = Launch(grid, workgroup, document["dynamic_group_segment_bytes"])
    dispatch = capture.dispatch
    captured = (dispatch.grid, dispatch.workgroup, dispatch.group_segment_bytes)
    if (grid, workgroup, launch.dynamic_group_segment_bytes) == captured:
        return None, None
    if capture.sequence:
        raise UsageError(
            f"{code_object.name} has a launch of its own, and the bundle holds a sequence",
            code="usage.launch-of-sequence",
            hint="--only 0",
        )
    own = _text(grid, workgroup, launch.dynamic_group_segment_bytes)
    return launch, f"launched as {own}; captured {_text(*captured)}"


def _three(numbers: list[int]) -> tuple[int, int, int]:
    x, y, z = numbers
    return x, y, z


def _text(grid: tuple[int, ...], workgroup: tuple[int, ...], lds_bytes: int) -> str:
    """`8x2 workgroups of 128, 16384 bytes of LDS`."""

    def shown(sizes: tuple[int, ...]) -> str:
        kept = sizes[:1] if sizes[1:] == (1, 1) else sizes[:2] if sizes[2] == 1 else sizes
        return "x".join(map(str, kept))

    groups = tuple(-(-items // size) for items, size in zip(grid, workgroup, strict=True))
    return f"{shown(groups)} workgroups of {shown(workgroup)}, {lds_bytes} bytes of LDS"
