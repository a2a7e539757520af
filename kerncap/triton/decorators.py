"""Which decorators of a carried function are left out: those that need what is not there where it is compiled again.

In: a decorator, the function's module, how to find other modules of the user's. Out: whether it is. Triton alone
compiles the function, and what a tuner or a heuristic came to is pinned, so that none of them is needed. Called by
source.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Mapping
from typing import Any

from kerncap.triton.syntax import (
    absolute,
    comprehended,
    is_foreign_decorator,
    is_foreign_module,
    is_installed,
    loaded_names,
)
from kerncap.triton.user_module import Module, attributes_of_modules, import_of
from kerncap.triton.written import is_written

Find = Callable[[str], Module | None]


def is_left_out(decorator: ast.expr, module: Module, find: Find, local: Collection[str] = ()) -> bool:
    """It is a framework's, or a framework or a module that was not recorded is needed for it. `local`: names that the
    function closed over.
    """
    return is_foreign_decorator(decorator) or _Reach(find).is_cut_off(decorator, module, local)


class _Reach:
    def __init__(self, find: Find) -> None:
        self._find = find
        self._seen: set[tuple[str, str]] = set()

    def is_cut_off(self, node: ast.AST, module: Module, local: Collection[str] = ()) -> bool:
        """Something that it reads, or that this reads in turn, would not be there."""
        names = loaded_names(node) - set(local) - (comprehended(node) - module.bound.keys())
        if any(self._lacks(module, name) for name in sorted(names)):
            return True
        return any(
            found is not None and self._lacks(found, attribute)
            for origin, attribute in attributes_of_modules(node, module)
            for found in [self._find(origin)]
        )

    def _lacks(self, module: Module, name: str) -> bool:
        if (module.name, name) in self._seen:
            return False
        self._seen.add((module.name, name))
        statements = module.binding(name)
        if not statements:
            return name not in module.values and name not in module.constants and not hasattr(builtins, name)
        return any(self._is_beyond(statement, name, module) for statement in statements)

    def _is_beyond(self, statement: ast.stmt, name: str, module: Module) -> bool:
        if isinstance(statement, ast.Import):
            return any(is_foreign_module(one) or self._is_unknown(one) for one in import_of(statement, name))
        if not isinstance(statement, ast.ImportFrom):
            return self.is_cut_off(statement, module)
        origin = absolute(statement, module.package)
        if is_foreign_module(origin):
            return True
        found = self._find(origin)
        if found is None:
            return self._is_unknown(origin) and not is_known(module.values, name)
        return any(one in found.bound and self._lacks(found, one) for one in import_of(statement, name))

    def _is_unknown(self, origin: str) -> bool:
        return not is_installed(origin) and self._find(origin) is None


def is_known(values: Mapping[str, Any], name: str) -> bool:
    """Its value was recorded, and can take the place of what bound it."""
    if name not in values:
        return False
    value = values[name]
    if isinstance(value, Mapping) and "module" in value:
        return is_installed(str(value["module"])) and not is_foreign_module(str(value["module"]))
    return (isinstance(value, Mapping) and "function" in value) or is_written(value)
