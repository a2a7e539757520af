"""Who may import whom (docs/architecture.md), walked over the syntax trees, so that lazy imports count as well."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = _ROOT / "kerncap"

# From left to right: a part may import its own files and every part of a later group, never one of its own group.
_GROUPS: tuple[frozenset[str], ...] = (
    frozenset({"__main__"}),
    frozenset({"cli"}),
    frozenset({"workflows"}),
    frozenset(
        {"capture", "source", "triton", "transport", "runtime", "verdict", "reproducer", "trust", "matrix", "report"}
    ),
    frozenset({"bundle", "results"}),
    frozenset({"native", "proc", "names", "scratch", "limits"}),
    frozenset({"errors", "terminal"}),
)
_ONLY_IN: dict[str, frozenset[str]] = {
    "typer": frozenset({"cli"}),
    "click": frozenset(),
    "rich": frozenset({"cli"}),
    "jinja2": frozenset({"runtime", "reproducer", "matrix", "report"}),
    "docker": frozenset({"runtime"}),
    "oras": frozenset({"transport"}),
    "requests": frozenset({"transport", "runtime"}),  # runtime: what the docker SDK raises
    "cryptography": frozenset({"trust"}),
    "license_expression": frozenset({"trust"}),
    "subprocess": frozenset({"proc"}),
}

_FILES = sorted(path for path in _PACKAGE.rglob("*.py") if path != _PACKAGE / "__init__.py")


def _part(path: Path) -> str:
    return path.relative_to(_PACKAGE).parts[0].removesuffix(".py")


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" if module == "kerncap" else module for alias in node.names)


def violations(part: str, imported: str) -> str | None:
    """Why `part` must not import the module `imported`, or None."""
    top, _, rest = imported.partition(".")
    if top != "kerncap":
        allowed = _ONLY_IN.get(top)
        return None if allowed is None or part in allowed else f"{top} is for {sorted(allowed)} only"
    other = rest.split(".")[0]
    if other in ("", part):
        return None
    rank = {name: number for number, group in enumerate(_GROUPS) for name in group}
    if other not in rank:
        return f"{other} has no place in the order"
    return None if rank[part] < rank[other] else f"{part} stands beside or right of {other}"


def test_every_part_has_a_place() -> None:
    assert {_part(path) for path in _FILES} <= frozenset().union(*_GROUPS)


@pytest.mark.parametrize("path", _FILES, ids=lambda path: str(path.relative_to(_ROOT)))
def test_imports_go_to_the_right(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    found = {name: violations(_part(path), name) for name in _imports(tree)}
    assert {name: why for name, why in found.items() if why} == {}


@pytest.mark.parametrize("path", [p for p in _FILES if _part(p) not in ("cli", "__main__")], ids=lambda path: path.stem)
def test_only_the_command_line_prints_and_exits(path: Path) -> None:
    calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    names = [ast.unparse(call) for call in calls]
    assert not {"print", "exit", "sys.exit", "sys.stdout.write", "sys.stderr.write"} & set(names)


def test_the_rules_catch_something() -> None:
    assert violations("bundle", "kerncap.transport") is not None
    assert violations("transport", "kerncap.runtime.images") is not None
    assert violations("verdict", "subprocess") is not None
    assert violations("cli", "kerncap.bundle.seal") is None


@pytest.mark.parametrize("module", ["kerncap.cli.main", "kerncap.cli.inspect", "kerncap.cli.bundle_text"])
def test_commands_that_compute_nothing_do_not_wait_for_numpy(module: str) -> None:
    program = f"import sys, {module}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=_ROOT).returncode == 0


def test_files_of_tests_have_names_of_their_own() -> None:
    """Pytest imports them by their base names: two of one name are an error as soon as both are collected."""
    names = [path.name for path in (_ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
