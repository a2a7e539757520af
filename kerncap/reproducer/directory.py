"""Writes what makes a captured directory a reproducer: reproducer.json and a Makefile.

In: a directory that holds `capture/` (and, with source, `src/`, `vfs.yaml`, `compile.json`), and its Capture.
Called by the extract workflow and as `finish` of `kerncap.bundle.unpack`.
"""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import jinja2

from kerncap.bundle.capture import Capture

VARIANT = "variant.hsaco"


def tool_version() -> str:
    try:
        return f"kerncap {importlib.metadata.version('kerncap')}"
    except importlib.metadata.PackageNotFoundError:
        return "kerncap (source checkout)"


def write_reproducer(directory: Path, capture: Capture) -> None:
    """Adds reproducer.json and Makefile."""
    document = {
        "schema": "kerncap.reproducer/1",
        "kernel": capture.kernel.name,
        "demangled": capture.kernel.demangled,
        "target": capture.code_object.target,
        "tool": tool_version(),
    }
    (directory / "reproducer.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    pinned = _pinned(directory)
    text = _template("Makefile.j2").render(
        kernel=_one_line(capture.kernel.demangled or capture.kernel.name),
        target=capture.code_object.target,
        variant=VARIANT,
        source=(directory / "compile.json").is_file() or bool(pinned and pinned.get("entry")),
        main="src/kernel_variant.py" if pinned else _main_file(directory),
    )
    (directory / "Makefile").write_text(text, encoding="utf-8")
    if pinned is not None and pinned.get("entry"):
        text = triton_script(capture.kernel.name, str(pinned.get("triton")))
        (directory / "reproducer.py").write_text(text, encoding="utf-8")


def triton_script(kernel: str, version: str) -> str:
    """reproducer.py of a Triton kernel."""
    return _template("reproducer.py.j2").render(kernel=_one_line(kernel), triton=_one_line(version))


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("kerncap.reproducer"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template(name)


def _pinned(directory: Path) -> dict[str, Any] | None:
    """Of a Triton kernel; checked by who uses what it says."""
    try:
        document = json.loads((directory / "triton.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _one_line(text: str) -> str:
    """Text of a stranger (a code object's symbol, a path) for a Makefile comment: it must stay one plain line."""
    return "".join(c if c.isprintable() and c not in "\\$#" else "?" for c in text)


def _main_file(directory: Path) -> str:
    """The file to edit, for the Makefile's first lines; empty without source."""
    try:
        main = str(json.loads((directory / "compile.json").read_text("utf-8"))["main"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return "src/root/" + _one_line(main.lstrip("/"))
