"""vfs.yaml and compile.json of a stranger's reproducer: refused as the bundle's fault, before a compiler runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kerncap.errors import BundleError
from kerncap.source.compiler import major_version
from kerncap.source.overlay import overlay, read_overlay
from kerncap.source.recompile import recompile


def reproducer(folder: Path, overlay_changes: dict[str, Any] | None = None, **compile_changes: Any) -> Path:
    (folder / "src" / "root" / "p").mkdir(parents=True)
    (folder / "src" / "root" / "p" / "k.hip").write_text("")
    (folder / "vfs.yaml").write_text(json.dumps(overlay([Path("/p/k.hip")]) | (overlay_changes or {})))
    document: dict[str, Any] = {"schema": "kerncap.compile/1", "language": "hip", "cwd": "/p", "main": "/p/k.hip"}
    document |= {"arguments": ["-O2"], "target": "gfx942", "compiler": {"version": "clang version 17.0.6"}, "files": []}
    (folder / "compile.json").write_text(json.dumps(document | compile_changes))
    return folder


def file(name: str, external: str = "src/root/p/k.hip") -> dict[str, str]:
    return {"name": name, "type": "file", "external-contents": external}


@pytest.mark.parametrize(
    "roots",
    [
        [file("/p/k.hip", "src/a\0b")],
        [file("/")],
        [file("/usr"), {"name": "/usr/include", "type": "directory", "contents": [file("a.h")]}],
        [file("/p/k.hip", "/etc/passwd")],
        [file("/" + "a/" * 1_000_000 + "k.h")],
        [file("/" + "a" * 5000)],
        [file(f"/{number}/" + "a/" * 2000 + "k.h") for number in range(3000)],
    ],
    ids=["nul", "root", "file-and-folder", "outside", "many-parts", "long", "many-folders"],
)
def test_an_overlay_that_nobody_wrote(tmp_path: Path, roots: list[dict[str, Any]]) -> None:
    with pytest.raises(BundleError) as caught:
        read_overlay(reproducer(tmp_path, {"roots": roots}))
    assert caught.value.code in ("bundle.hostile-overlay", "bundle.malformed")


@pytest.mark.parametrize(
    "changes",
    [
        {"target": "gfx9" + "0" * 100_000},
        {"arguments": ["-DA=" + "x" * 3_000_000]},
        {"arguments": ["-DA"] * 200_000},
        {"compiler": {"version": 3}},
        {"cwd": "/" + "a" * 200_000},
        {"as_written": {"main": "./" * 500_000 + "k.hip", "arguments": ["-O2"]}},
        {"arguments": ["-I/p"], "as_written": {"main": "k.hip", "arguments": ["-I" + "./" * 500_000]}},
        {"files": [{"original": "/usr/lib/" + "a/" * 1_000_000 + "b", "path": None, "digest": "sha256:" + "0" * 64}]},
    ],
    ids=["target", "argument", "arguments", "compiler", "folder", "main-written", "argument-written", "referenced"],
)
def test_a_compile_that_nobody_did(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(BundleError) as caught:
        recompile(reproducer(tmp_path / "r", **changes), tmp_path / "o.hsaco", "_Z1kv")
    assert caught.value.code == "bundle.malformed"


def test_a_version_of_any_length() -> None:
    assert major_version("clang version 17.0.6") == 17
    assert major_version("clang version " + "9" * 5000) is None
