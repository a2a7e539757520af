"""Adds to a capture what only Python knows, and makes it durable under its final name.

In: the directory that the tool library wrote. Out: capture.json with device class, command, environment, write set,
noise and self-check. Called by the extract workflow.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle.seal import allowed_environment


def add_facts(directory: Path, *, device_class: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
    """What is known before the self-check."""
    document = _read(directory)
    document["device"]["class"] = device_class
    document["command"] = [_text(word) for word in command]
    document["environment"] = {name: _text(value) for name, value in allowed_environment(environment).items()}
    document.setdefault("write_set", None)
    document.setdefault("noise", [])
    document.setdefault("self_check", None)
    _write(directory, document)


@dataclass(frozen=True)
class NamedArgument:
    """What the framework knows of an argument and the code object does not; `tensor` as in capture.json."""

    name: str
    type: str
    tensor: Mapping[str, Any] | None = None


def add_triton(directory: Path, release: str, arguments: Sequence[NamedArgument]) -> None:
    """Who compiled the kernel, and its arguments that are not hidden, in order."""
    document = _read(directory)
    document["triton"] = release
    visible = [arg for arg in document["kernarg"]["args"] if not arg["kind"].startswith("hidden_")]
    for arg, known in zip(visible, arguments, strict=False):
        arg["name"] = arg.get("name") or known.name
        arg["type"] = arg.get("type") or known.type
        if known.tensor is not None:
            arg["tensor"] = dict(known.tensor)
    _write(directory, document)


def _text(word: str) -> str:
    """A document holds text; bytes of a command line that are no UTF-8 are spelled out."""
    return os.fsencode(word).decode("utf-8", "backslashreplace")


def add_self_check(
    directory: Path,
    self_check: Mapping[str, Any] | None,
    write_set: Mapping[str, Any] | None,
    noise: Sequence[Sequence[int]],
    touched: Callable[[int, int], bool] | None = None,
) -> None:
    """What the self-check found; `touched` says whether the dispatch used bytes (va, size) that were not captured."""
    document = _read(directory)
    for memory in document.get("unreadable", ()) if touched else ():
        if memory["va"]:
            memory["touched"] = touched is not None and touched(memory["va"], memory["size"])
    document["self_check"] = dict(self_check) if self_check else None
    document["write_set"] = dict(write_set) if write_set else None
    document["noise"] = [list(r) for r in noise]
    _write(directory, document)


def _read(directory: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((directory / "capture.json").read_text("utf-8"))
    return document


def _write(directory: Path, document: Mapping[str, Any]) -> None:
    partial = directory / "capture.json.partial"
    with partial.open("w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    partial.rename(directory / "capture.json")
