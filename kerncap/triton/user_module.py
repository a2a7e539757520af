"""A module of the user's that a kernel takes something from, and the imports between such modules.

In: its text as the shim recorded it. Out: Module, what its imports name, imports as they are written down again.
Called by source.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kerncap.triton.syntax import absolute, decorators_of, is_foreign_module, is_loose, source_lines, with_decorators


@dataclass
class Module:
    """One of the user's: its text, the statements that bind its names, and those of them that are needed."""

    name: str
    package: str
    tree: ast.Module
    text: str
    bound: dict[str, list[ast.stmt]] = field(default_factory=dict)
    """All statements that bind a name, in their order."""
    values: dict[str, Any] = field(default_factory=dict)
    kept: set[ast.stmt] = field(default_factory=set)
    constants: dict[str, str] = field(default_factory=dict)
    """Names whose value takes the place of what computed it."""
    imports: dict[str, str] = field(default_factory=dict)
    """Names whose import is written anew: the statement."""
    inner: dict[str, str] = field(default_factory=dict)
    """Functions that other functions defined, by their qualified names: the text at the module's level."""
    aliases: dict[str, str] = field(default_factory=dict)
    """What those called a function of the module: its own name."""
    dropped: dict[ast.stmt, list[ast.expr]] = field(default_factory=dict)
    """Decorators that are left out."""

    @functools.cached_property
    def lines(self) -> list[str]:
        return source_lines(self.text)

    def binding(self, name: str) -> list[ast.stmt]:
        """The statements that give a name what the kernel finds there."""
        every = self.bound.get(name, [])
        firm = [one for one in every if not is_loose(one, name)]
        value = self.values.get(name)
        if all(isinstance(one, ast.Assign | ast.AnnAssign) for one in firm) and isinstance(value, dict):
            return every if "module" in value or "function" in value else firm or every
        return firm or every

    def without_dropped(self, statement: ast.stmt) -> ast.stmt:
        dropped = self.dropped.get(statement, [])
        return with_decorators(statement, [one for one in decorators_of(statement) if one not in dropped])


def carried_name(module: str) -> str:
    """The name under which a module is carried: what is cut out of torch must not stand in torch's way."""
    return f"from_{module}" if is_foreign_module(module) else module


def future_import(module: Module) -> str:
    for statement in module.tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            return ast.unparse(statement) + "\n"
    return ""


def import_of(statement: ast.Import | ast.ImportFrom, name: str) -> list[str]:
    """What it binds to a name: modules, or attributes of its module."""
    dotted = isinstance(statement, ast.Import)
    return [
        one.name
        for one in statement.names
        if (one.asname or (one.name.partition(".")[0] if dotted else one.name)) == name
    ]


def attributes_of_modules(statement: ast.AST, module: Module) -> Iterator[tuple[str, str]]:
    """(module, attribute) of `helpers.scale` where `helpers` is an imported module."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            target = _module_named(ast.unparse(node.value), module)
            if target is not None:
                yield target, node.attr


def _module_named(dotted: str, module: Module) -> str | None:
    head, _, rest = dotted.partition(".")
    statement = module.bound.get(head, [None])[-1]
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if (alias.asname or alias.name.partition(".")[0]) == head:
                base = alias.name if alias.asname else head
                return f"{base}.{rest}" if rest else base
    if isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            if (alias.asname or alias.name) == head:
                base = f"{absolute(statement, module.package)}.{alias.name}"
                return f"{base}.{rest}" if rest else base
    return None


def imported_names(module: Module, origin: str) -> set[str]:
    """Names that a module's kept imports take from another."""
    found: set[str] = set()
    for statement in module.kept:
        if isinstance(statement, ast.ImportFrom) and absolute(statement, module.package) == origin:
            found |= {alias.name for alias in statement.names}
    return found


def import_text(statement: ast.Import | ast.ImportFrom, package: str, names: Iterable[str]) -> str:
    """The statement with only the names that are used, relative imports made absolute."""
    wanted = set(names)
    if isinstance(statement, ast.ImportFrom):
        kept = [alias for alias in statement.names if (alias.asname or alias.name) in wanted]
        if not kept:
            return ""
        return ast.unparse(ast.ImportFrom(module=absolute(statement, package), names=kept, level=0)) + "\n"
    kept = [alias for alias in statement.names if (alias.asname or alias.name.partition(".")[0]) in wanted]
    return ast.unparse(ast.Import(names=kept)) + "\n" if kept else ""
