"""triton.json: how Triton compiled the captured kernel, and the launch as a person would write it.

In: a reproducer directory, the records of the shim, the launch. Out: `triton.json` and the source below `src/`; or the
document, read and checked, of a bundle that may be a stranger's. Called by the extract and recompile workflows and by
inspect.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kerncap.bundle.documents import check_schema_version, parse_json, validate
from kerncap.bundle.files import read_regular
from kerncap.errors import CompileError
from kerncap.triton.configurations import with_changes
from kerncap.triton.records import Records
from kerncap.triton.source import MAIN
from kerncap.triton.torch_free import torch_free_files

log = logging.getLogger(__name__)

NAME = "triton.json"
SCHEMA = "kerncap.triton/1"
_MOST_BYTES = 4 << 20


def pin(directory: Path, records: Records, launch: Mapping[str, Any]) -> CompileError | None:
    """Write triton.json and, where it can be carried, the source. What could not be carried comes back. `launch` is put
    together from the capture (call.py).

    Raises: OSError.
    """
    error: CompileError | None = None
    entry: str | None = None
    try:
        files, entry = torch_free_files(records)
        for path, text in files.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text, encoding="utf-8", errors="surrogateescape")
    except CompileError as failure:
        error = failure
    document = _document(records, launch, entry)
    write_document(directory, document)
    if not records.process.get("known"):
        log.warning("Triton %s is a release that this kerncap does not know", records.release)
    for text in records.errors:
        log.warning("Triton's shim could not record %s", text)
    return error


def _document(records: Records, launch: Mapping[str, Any], entry: str | None) -> dict[str, Any]:
    kernel = records.kernel
    return {
        "schema": SCHEMA,
        "triton": records.release,
        "python": records.process.get("python", "unknown"),
        "kernel": kernel["name"],
        "function": kernel.get("function"),
        "main": None if entry is None else f"src/{MAIN}.py",
        "entry": entry,
        "target": kernel["target"],
        "arguments": kernel.get("arguments", []),
        "signature": kernel.get("signature", []),
        "constants": kernel.get("constants", []),
        "attributes": kernel.get("attributes", []),
        "options": kernel["options"],
        "launch": {**launch, "tried": with_changes(records, launch)},
        "problems": list(records.errors),
    }


def write_document(directory: Path, document: Mapping[str, Any]) -> None:
    """Raises: OSError."""
    (directory / NAME).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read_pinned(data: bytes, *, what: str) -> dict[str, Any]:
    """The document. Raises: BundleError `bundle.malformed`, `bundle.unsupported-version`, `bundle.limit`."""
    document = parse_json(data, what=what, limit=_MOST_BYTES)
    check_schema_version(document, "kerncap.triton", 1, what=what)
    validate(document, "triton", what=what)
    return document


def load_pinned(folder: Path) -> dict[str, Any] | None:
    """Of a folder with a bundle's source; None: it is of no Triton kernel. Raises: BundleError."""
    path = folder / NAME
    if not os.path.lexists(path):
        return None
    return read_pinned(read_regular(path, what=NAME, limit=_MOST_BYTES), what=NAME)
