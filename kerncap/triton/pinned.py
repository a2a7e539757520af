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

from kerncap.bundle.documents import parse_json, validate
from kerncap.bundle.files import read_regular
from kerncap.errors import A_NEWER_KERNCAP, BundleError, CompileError
from kerncap.triton.records import Records
from kerncap.triton.source import MAIN, source_files

log = logging.getLogger(__name__)

NAME = "triton.json"
SCHEMA = "kerncap.triton/1"
_MOST_BYTES = 4 << 20
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "waves_per_eu", "matrix_instr_nonkdim", "kpack")


def pin(directory: Path, records: Records, launch: Mapping[str, Any]) -> CompileError | None:
    """Write triton.json and, where it can be carried, the source. What could not be carried comes back. `launch` is put
    together from the capture (call.py).

    Raises: OSError.
    """
    error: CompileError | None = None
    entry: str | None = None
    try:
        files, entry = source_files(records)
        for path, text in files.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text, encoding="utf-8", errors="surrogateescape")
    except CompileError as failure:
        error = failure
    document = _document(records, launch, entry)
    (directory / NAME).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
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
        "launch": dict(launch),
        "problems": list(records.errors),
    }


def read_pinned(data: bytes, *, what: str) -> dict[str, Any]:
    """The document. Raises: BundleError `bundle.malformed`, `bundle.unknown-version`, `bundle.limit`."""
    document = parse_json(data, what=what, limit=_MOST_BYTES)
    if document.get("schema") != SCHEMA:
        raise BundleError(
            f"{what} has schema {document.get('schema')!r}, this kerncap knows {SCHEMA}",
            code="bundle.unknown-version",
            hint=A_NEWER_KERNCAP,
        )
    validate(document, "triton", what=what)
    return document


def load_pinned(folder: Path) -> dict[str, Any] | None:
    """Of a folder with a bundle's source; None: it is of no Triton kernel. Raises: BundleError."""
    path = folder / NAME
    if not os.path.lexists(path):
        return None
    return read_pinned(read_regular(path, what=NAME, limit=_MOST_BYTES), what=NAME)


def call_lines(document: Mapping[str, Any]) -> list[str]:
    """The call as a person would write it: the grid, each argument on a line of its own, then constants and options."""
    launch = document["launch"]
    x, y, z = launch["grid"]
    grid = f"({x},)" if (y, z) == (1, 1) else f"({x}, {y})" if z == 1 else f"({x}, {y}, {z})"
    by_name = {one["name"]: one for one in launch["arguments"]}
    constants = {path[0]: value for path, value in document["constants"] if len(path) == 1}
    lines = [f"{document['entry'] or document['kernel']}[{grid}]("]
    for number, name in enumerate(document["arguments"]):
        parts = [one for key, one in by_name.items() if key.partition(".")[0] == name]
        if parts:
            texts = [_argument(one) for one in parts]
            lines.append(f"    {name}={texts[0] if parts[0]['name'] == name else '(' + ', '.join(texts) + ')'},")
        elif number in constants:
            lines.append(f"    {name}={spelled(constants[number])},")
    options = document["options"]
    words = [f"{key}={spelled(options[key])}" for key in _OPTIONS if key in options]
    return [*lines, f"    {', '.join(words)})"]


def describe(document: Mapping[str, Any]) -> str:
    """Several lines: the call, which configuration it is of those that were tried, what is not known."""
    launch = document["launch"]
    lines = [f"Triton {document['triton']}, {document['target']['arch']}", *call_lines(document)]
    if launch["heuristics"]:
        lines.append(f"from heuristics: {', '.join(launch['heuristics'])}")
    if launch["trial"]:
        lines.append("a trial of the autotuner")
    lines += _tuning_lines(launch)
    if not launch["seen"]:
        lines.append("this launch was not seen in Python: shapes and configuration are not known")
    elif launch["ambiguous"]:
        lines.append("launched with several shapes at the same addresses: these are not known")
    return "\n".join([*lines, *(f"not recorded: {problem}" for problem in document["problems"])])


def _tuning_lines(launch: Mapping[str, Any]) -> list[str]:
    if not launch["tried"]:
        return []
    lines = ["configurations that were tried, fastest first"]
    for one in sorted(launch["tried"], key=_milliseconds):
        took = _milliseconds(one)
        chosen = one["configuration"] == launch["configuration"]
        time = "not timed" if took == float("inf") else f"{took:.4g} ms"
        lines.append(f"  {'*' if chosen else ' '} {time:>12}  {configuration_text(one['configuration'])}")
    return lines


def _milliseconds(tried: Mapping[str, Any]) -> float:
    ms = tried["ms"]
    return float.fromhex(ms["float"]) if isinstance(ms, Mapping) else float("inf")


def _argument(one: Mapping[str, Any]) -> str:
    tensor, kind, value = one["tensor"], one["type"], one["value"]
    if tensor is not None:
        shape = ", ".join(map(str, tensor["shape"]))
        strides = ", ".join(map(str, tensor["strides"]))
        return f"tensor({tensor['dtype']}, shape=({shape}), strides=({strides}), at {value:#x})"
    if kind.startswith("*"):
        return f"{kind} at {value:#x}"
    return str(value)


def spelled(value: Any) -> str:
    """A recorded value for a person."""
    if isinstance(value, Mapping):
        word, of_it = next(iter(value.items()))
        if word == "float":
            return repr(float.fromhex(of_it))
        if word in ("tuple", "list"):
            inner = ", ".join(map(spelled, of_it))
            return f"({inner})" if word == "tuple" else f"[{inner}]"
        if word == "constexpr":
            return spelled(of_it)
        if word == "function":
            return ".".join(of_it)
        return str(of_it)
    return repr(value)


def configuration_text(configuration: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={spelled(value)}" for key, value in configuration.items())
