"""What a statement of a module binds and reads, and which of its decorators Triton alone can do without.

In: syntax trees and texts of the user's. Out: names, lines, texts. Called by source and user_module.
"""

from __future__ import annotations

import ast
import copy
import io
import symtable
import sys
from collections.abc import Collection, Iterator, Mapping

_TOOLCHAIN = ("triton",)
# Decorators of frameworks that generate kernels stand between the kernel and Triton; what they do is pinned already.
_FOREIGN = ("torch", "numpy")


def source_lines(text: str) -> list[str]:
    """With their ends, as Python's parser counts them: a form feed or another separator of Unicode's ends no line."""
    return list(io.StringIO(text, newline=""))


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


def comprehended(node: ast.AST) -> set[str]:
    """Variables of comprehensions: from Python 3.12 on loaded_names has them where a module has the comprehension."""
    targets = [one.target for one in ast.walk(node) if isinstance(one, ast.comprehension)]
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


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


def is_plain(statement: ast.stmt, bound: Mapping[str, Collection[ast.stmt]]) -> bool:
    """It gives the same wherever it runs: literals, calls of Triton's own types, names that `bound` has as plain."""
    return _is_plain(statement, bound, set())


def _is_plain(statement: ast.stmt, bound: Mapping[str, Collection[ast.stmt]], seen: set[ast.stmt]) -> bool:
    if statement in seen:
        return True
    seen.add(statement)
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)
    value = getattr(statement, "value", None)
    for node in ast.walk(value) if value is not None else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in ("tl.constexpr", "triton.language.constexpr"):
            return False
        if isinstance(node, ast.Await | ast.Yield | ast.Lambda | ast.Subscript):
            return False
        if isinstance(node, ast.Attribute) and not ast.unparse(node).startswith(("tl.", "triton.language.")):
            return False
        if isinstance(node, ast.Name) and not all(_is_plain(one, bound, seen) for one in bound.get(node.id, ())):
            return False
    return True


def decorators_of(statement: ast.stmt) -> list[ast.expr]:
    return list(getattr(statement, "decorator_list", []))


def is_loose(statement: ast.stmt, name: str) -> bool:
    """It binds the name by the way: a loop of a script, what it does because it is the script, what depends on
    something. Compiling a kernel again must not run it where another statement binds the name. Not: another definition.
    """
    if not isinstance(statement, ast.For | ast.While | ast.With | ast.If | ast.Try):
        return False
    if isinstance(statement, ast.If) and "__name__" in loaded_names(statement.test):
        return True
    inner = ast.walk(statement)
    return not any(isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name for node in inner)


def without_decorators(statement: ast.stmt, text: str, dropped: Collection[ast.expr]) -> str:
    """The text of a statement without those of its decorators; a comment says which."""
    if not dropped:
        return text
    first = first_line(statement)
    gone = {line for one in dropped for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    kept = [line for number, line in enumerate(source_lines(text), first) if number not in gone]
    of_framework = [one for one in dropped if is_foreign_decorator(one)]
    said = [
        f"# Left out, {'a framework' if one in of_framework else 'the application'}'s: @{_decorator_name(one)}\n"
        for one in dropped
    ]
    return "".join([*said, *kept])


def with_decorators(statement: ast.stmt, kept: list[ast.expr]) -> ast.stmt:
    """The statement with these decorators alone."""
    if kept == decorators_of(statement):
        return statement
    copied = copy.copy(statement)
    copied.decorator_list = kept  # type: ignore[attr-defined]
    return copied


def _decorator_name(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def is_foreign_decorator(decorator: ast.expr) -> bool:
    return _decorator_name(decorator).startswith(("triton_heuristics.", "torch."))


def dedented(text: str) -> str:
    lines = source_lines(text)
    blank = len(lines[0]) - len(lines[0].lstrip())
    return "".join(line[blank:] if line[:blank].isspace() or not line.strip() else line for line in lines)
