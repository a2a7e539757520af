"""Every hint can be typed: it begins with a program, an option or a value, and is quoted for a shell."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kerncap.errors import typed

_PACKAGE = Path(__file__).resolve().parents[2] / "kerncap"

_PROGRAMS = frozenset(
    {"apt-get", "chmod", "cmake", "command", "curl", "df", "docker", "du", "edit", "export", "free", "fuser", "git"}
    | {"hipcc", "HIPCC_VERBOSE=1", "kerncap", "ldd", "ls", "make", "mkdir", "mv", "nm", "openssl", "quota", "realpath"}
    | {"rocprofv3", "scripts/build-native", "ulimit", "unset", "grep", "tritonparseoss", "TORCH_COMPILE_DEBUG=1"}
)
# Names of what may hold any character: in a line that is typed they are quoted.
_FOREIGN = frozenset({"path", "output", "main", "directory", "folder", "hsaco", "words", "command", "found", "source"})
_VALUES = ("-o ", "--", "oci:", "localhost:5000/")


def _beginning(node: ast.expr) -> Iterator[str | None]:
    """The text that a hint begins with, of every branch of its expression; None: it is made by a name or a call."""
    if isinstance(node, ast.Constant):
        if node.value is not None:
            yield str(node.value)
    elif isinstance(node, ast.JoinedStr):
        first = node.values[0]
        yield str(first.value) if isinstance(first, ast.Constant) else None
    elif isinstance(node, ast.IfExp):
        yield from _beginning(node.body)
        yield from _beginning(node.orelse)
    elif isinstance(node, ast.BinOp):
        yield from _beginning(node.left)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _beginning(value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "typed":
        first = node.args[0]
        yield str(first.value) if isinstance(first, ast.Constant) else None
    else:
        yield None


def _hints() -> Iterator[tuple[str, ast.expr]]:
    for path in sorted(_PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            where = f"{path.relative_to(_PACKAGE)}:{getattr(node, 'lineno', 0)}"
            names = [node.arg] if isinstance(node, ast.keyword) else []
            names += [getattr(target, "id", None) for target in node.targets] if isinstance(node, ast.Assign) else []
            if "hint" in names:
                yield where, node.value  # type: ignore[attr-defined]


def test_every_hint_begins_with_what_can_be_typed() -> None:
    known, found = 0, []
    for where, value in _hints():
        for text in _beginning(value):
            if text is None:
                continue
            known += 1
            if text.split()[0] not in _PROGRAMS and not text.startswith(_VALUES):
                found.append(f"{where}: {text}")
    assert found == []
    assert known > 100


def _bare_names(node: ast.AST) -> Iterator[str]:
    """Every name below that is not an argument of `typed`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "typed":
        return
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield node.id if isinstance(node, ast.Name) else node.attr
    for child in ast.iter_child_nodes(node):
        yield from _bare_names(child)


def test_no_hint_holds_a_path_unquoted() -> None:
    texts = [(w, node) for w, value in _hints() for node in ast.walk(value) if isinstance(node, ast.JoinedStr)]
    assert len(texts) > 20
    assert [(where, name) for where, node in texts for name in _bare_names(node) if name in _FOREIGN] == []


_ODD_NAMES = [b"a b", b"-dash", b"caf\xc3\xa9", b"\xff\xfe", b"new\nline", b"\x1b[2J", b"it's", b'"$(id)`', b"\t\\x41"]


@pytest.mark.parametrize("name", _ODD_NAMES)
def test_a_typed_line_names_the_file_whatever_its_name(tmp_path: Path, name: bytes) -> None:
    path = Path(os.fsdecode(name))
    (tmp_path / path).write_text("found")
    line = typed("cat", path)
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "found"
