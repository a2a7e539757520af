"""What the commands print with --json obeys printed.schema.json, and docs/interfaces.md names every document.

Commands that need native code (extract, replay, validate, run, recompile) are checked likewise in the end-to-end tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from registry_server import running_registry
from synthetic import make_reproducer

from kerncap.bundle.documents import load_schema, validate
from kerncap.errors import BundleError

_ROOT = Path(__file__).resolve().parents[2]


def printed(*words: str | Path, cwd: Path, exit_code: int = 0) -> dict[str, Any]:
    """The one document on stdout, validated."""
    argv = [sys.executable, "-m", "kerncap", *map(str, words), "--json"]
    done = subprocess.run(argv, cwd=cwd, env={**os.environ, "PYTHONPATH": str(_ROOT)}, capture_output=True, text=True)
    assert done.returncode == exit_code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    validate(document, "printed", what=" ".join(map(str, words)))
    return document


def test_bundle_commands(tmp_path: Path) -> None:
    make_reproducer(tmp_path / "made.kcap")
    schemas = [
        printed("inspect", "made.kcap", cwd=tmp_path),
        printed("verify", "made.kcap", "--deep", cwd=tmp_path),
        printed("pack", "made.kcap", "-o", "made.kcap.tar", cwd=tmp_path),
        printed("inspect", "made.kcap.tar", cwd=tmp_path),
        printed("verify", "made.kcap.tar", cwd=tmp_path),
        printed("unpack", "made.kcap.tar", "unpacked", cwd=tmp_path),
        printed("pull", "made.kcap.tar", "-o", "oci:copy", cwd=tmp_path),
        printed("push", "oci:copy", "oci:again", cwd=tmp_path),
        printed("pack", "made.kcap", "-o", "delta.kcap.tar", "--base", "made.kcap.tar", cwd=tmp_path),
        printed("cache", "ls", cwd=tmp_path),
        printed("cache", "prune", cwd=tmp_path),
        printed("cache", "path", cwd=tmp_path),
    ]
    names = ["inspected", "verified", "packed", "inspected", "verified", "unpacked", "transferred", "transferred"]
    names += ["packed", "cache", "pruned", "cache-path"]
    assert [document["schema"] for document in schemas] == [f"kerncap.{name}/1" for name in names]
    with running_registry(tmp_path / "registry") as host:
        assert printed("push", "oci:copy", f"{host}/a/b:1", cwd=tmp_path)["schema"] == "kerncap.transferred/1"
        assert printed("inspect", f"{host}/a/b:1", cwd=tmp_path)["schema"] == "kerncap.inspected/1"


def test_launches_of_a_trace(tmp_path: Path) -> None:
    trace = _ROOT / "tests" / "triton" / "data" / "traced.ndjson"
    assert printed("launches", trace, cwd=tmp_path)["whole"] is True
    assert len(printed("launches", trace, "dropout", cwd=tmp_path)["launches"]) == 3


def test_a_bundle_with_problems(tmp_path: Path) -> None:
    made = make_reproducer(tmp_path / "made.kcap")
    blob = min((made / "capture" / "blobs" / "sha256").iterdir())
    blob.write_bytes(b"x" * blob.stat().st_size)
    document = printed("verify", "made.kcap", cwd=tmp_path, exit_code=4)
    assert document["problems"]
    assert document["whole"] is False


def test_host_commands(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "kerncap", "doctor", "--json"]
    done = subprocess.run(argv, cwd=_ROOT, capture_output=True, text=True)
    validate(json.loads(done.stdout), "printed", what="doctor")
    assert printed("image", "list", cwd=tmp_path)["schema"] == "kerncap.images/1"


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [(["inspect", "nothing"], 2), (["nothing"], 2), (["pull", "localhost:1/a:1", "-o", "oci:x"], 7)],
)
def test_errors(tmp_path: Path, words: list[str], exit_code: int) -> None:
    assert printed(*words, cwd=tmp_path, exit_code=exit_code)["exit_code"] == exit_code


def test_what_is_wrong_is_refused() -> None:
    for document in ({}, {"schema": "kerncap.packed/2"}, {"schema": "kerncap.packed/1"}, {"schema": "kerncap.error/1"}):
        with pytest.raises(BundleError):
            validate(document, "printed", what="printed")


def test_every_document_is_in_the_docs() -> None:
    """With all its members: those that the schema requires stand behind the name."""
    text = (_ROOT / "docs" / "interfaces.md").read_text("utf-8")
    for branch in load_schema("printed")["allOf"]:
        name = branch["if"]["properties"]["schema"]["const"]
        place = re.search(rf"`{re.escape(name)}`\s*`\{{([^`]*)\}}`", text)
        assert place is not None, name
        for member in branch["then"].get("required", ()):
            assert member == "schema" or re.search(rf"\b{member}\b", place[1]), f"{name}: {member}"
