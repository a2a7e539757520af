"""What a statement of a module binds and reads, and which of its decorators Triton alone can do without.

In: syntax trees and texts of the user's. Out: names, lines, texts. Called by source and user_module.
"""

from __future__ import annotations

import ast
import copy
import symtable
import sys
from collections.abc import Iterator

_TOOLCHAIN = ("triton",)
# Decorators of frameworks that generate kernels stand between the kernel and Triton; what they do is pinned already.
_FOREIGN = ("torch", "numpy")


def first_line(statement: ast.stmt) -> int:
    """The line at which it begins, decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return int(min([statement.lineno, *(decorator.lineno for decorator in decorators)]))


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Import | ast.ImportFrom):
                yield from bound_names(node)


def loaded_names(node: ast.AST) -> set[str]:
    """The names that it reads from its module: those of parameters and local variables are not among them."""
    found: set[str] = set()
    tables = [symtable.symtable(ast.unparse(node), "source", "exec")]
    for symbol in tables[0].get_symbols():
        if symbol.is_referenced():
            found.add(symbol.get_name())
    while tables:
        for child in tables.pop().get_children():
            found |= {symbol.get_name() for symbol in child.get_symbols() if symbol.is_global()}
            tables.append(child)
    return found


def absolute(statement: ast.ImportFrom, package: str) -> str:
    if not statement.level:
        return statement.module or ""
    base = package.split(".")[: len(package.split(".")) - (statement.level - 1)]
    return ".".join([*base, *([statement.module] if statement.module else [])])


def is_installed(module: str) -> bool:
    top = module.partition(".")[0]
    return top in _TOOLCHAIN or top in _FOREIGN or top in sys.stdlib_module_names


def is_foreign_module(module: str) -> bool:
    """Of a framework, which is not there where a kernel is compiled again."""
    return module.partition(".")[0] in _FOREIGN


def is_plain(statement: ast.stmt) -> bool:
    """It gives the same wherever it runs: literals, other names, calls of Triton's own types."""
    value = getattr(statement, "value", None)
    if value is None:
        return True
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in ("tl.constexpr", "triton.language.constexpr"):
            return False
        if isinstance(node, ast.Await | ast.Yield | ast.Lambda | ast.Subscript):
            return False
        if isinstance(node, ast.Attribute) and not ast.unparse(node).startswith(("tl.", "triton.language.")):
            return False
    return True


def without_foreign(statement: ast.stmt, text: str) -> str:
    """Decorators of frameworks are left out: Triton alone compiles this."""
    decorators = getattr(statement, "decorator_list", [])
    foreign = [one for one in decorators if _is_foreign(one)]
    if not foreign:
        return text
    lines = text.splitlines(keepends=True)
    first = first_line(statement)
    gone = {line for one in foreign for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    kept = [line for number, line in enumerate(lines, first) if number not in gone]
    said = [f"# Left out, a framework's: @{_decorator_name(one)}\n" for one in foreign]
    return "".join([*said, *kept])


def of_triton(statement: ast.stmt) -> ast.stmt:
    """The statement without the decorators that are left out."""
    if not any(map(_is_foreign, getattr(statement, "decorator_list", []))):
        return statement
    copied = copy.copy(statement)
    copied.decorator_list = [one for one in statement.decorator_list if not _is_foreign(one)]  # type: ignore[attr-defined]
    return copied


def _decorator_name(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _is_foreign(decorator: ast.expr) -> bool:
    return _decorator_name(decorator).startswith(("triton_heuristics.", "torch."))


def dedented(text: str) -> str:
    lines = text.splitlines(keepends=True)
    blank = len(lines[0]) - len(lines[0].lstrip())
    return "".join(line[blank:] if line[:blank].isspace() or not line.strip() else line for line in lines)
