"""A module of the user's, cut down, as text: imports, constants, what is kept in its order, what moved to its level.

In: a Module of which is known what is kept. Out: its text. Called by source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from kerncap.triton.syntax import (
    dedented,
    first_line,
    loaded_names,
    without_decorators,
)
from kerncap.triton.user_module import Module, future_import, import_text, imported_names


def module_text(module: Module, others: Iterable[Module]) -> str:
    """`others`: all modules that are carried, for what they take from this one."""
    parts = [future_import(module), *module.imports.values()]
    names = _names(module, others)
    for statement in module.tree.body:
        if statement not in module.kept:
            continue
        if isinstance(statement, ast.Import | ast.ImportFrom):
            parts.append(import_text(statement, module.package, names))
        else:
            dropped = module.dropped.get(statement, [])
            parts.append(without_decorators(statement, _text_of(statement, module), dropped))
    constants = [f"{name} = {value}\n" for name, value in sorted(module.constants.items())]
    return _joined([part for part in parts if part], constants, module)


def _text_of(statement: ast.stmt, module: Module) -> str:
    """Its lines, comments included; where it shares one with another statement, it alone."""
    first, last = first_line(statement), statement.end_lineno or statement.lineno
    for other in module.tree.body:
        if other is not statement and first_line(other) <= last and (other.end_lineno or other.lineno) >= first:
            return ast.unparse(statement) + "\n"
    return "".join(module.lines[first - 1 : last])


def _names(module: Module, others: Iterable[Module]) -> set[str]:
    """Those that anything which is kept reads."""
    used: set[str] = set()
    for statement in module.kept:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            used |= loaded_names(module.without_dropped(statement))
    for text in module.inner.values():
        used |= loaded_names(ast.parse(text))
    for other in others:
        if other is not module:
            used |= module.bound.keys() & imported_names(other, module.name)
    return used | ({"tl"} if any("tl." in value for value in module.constants.values()) else set())


def apart_text(functions: list[dict[str, Any]]) -> str:
    """Of a notebook's cells: the kernels and helpers, and imports of the modules that they name. Constants are taken by
    their values.
    """
    imports: dict[str, str] = {}
    for function in functions:
        for name, value in function["values"].items():
            if isinstance(value, dict) and "module" in value:
                imports[name] = value["module"]
    lines = [f"import {module}" + (f" as {name}" if name != module else "") for name, module in imports.items()]
    return "\n".join(["", *lines, "", *(dedented(function["text"]) for function in functions)])


def _joined(kept: list[str], constants: list[str], module: Module) -> str:
    """Imports, then constants, then the rest in its order; other names of functions when all of those are there."""
    imports = [part for part in kept if part.startswith(("import ", "from "))]
    rest = [part for part in kept if not part.startswith(("import ", "from "))]
    if any("tl." in text for text in constants) and not any("triton.language" in text for text in imports):
        imports.append("import triton.language as tl\n")
    body = "\n".join("".join(group) for group in (imports, constants) if group)
    aliases = "".join(f"{name} = {function}\n" for name, function in module.aliases.items())
    pieces = [body, *rest, *module.inner.values(), aliases]
    head = f'"""Of {module.name}: what the captured kernel needs."""'
    return "\n\n".join([head, *(piece.rstrip("\n") for piece in pieces if piece)]) + "\n"
