"""The source of a Triton kernel as files that need Triton alone: what the kernel uses, cut out of the user's modules.

In: the modules' texts and the values of names, as the shim recorded them. Out: path in the reproducer -> text:
`src/kernel_variant.py`, and beside it the user's other modules in their packages. Decorators stay as they are. A value
that a module computed when it was imported becomes a constant. Called by the extract workflow.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from typing import Any

from kerncap.triton.decorators import is_known, is_left_out
from kerncap.triton.records import Records
from kerncap.triton.source_text import apart_text, module_text
from kerncap.triton.syntax import (
    absolute,
    bound_names,
    comprehended,
    decorators_of,
    dedented,
    is_foreign_module,
    is_installed,
    is_plain,
    loaded_names,
    without_decorators,
)
from kerncap.triton.user_module import Module, attributes_of_modules, carried_name, import_of
from kerncap.triton.written import is_written, not_carried, written

MAIN = "kernel_variant"


def source_files(records: Records) -> tuple[dict[str, str], str]:
    """The files, and the name of the kernel in `kernel_variant`: `Class.kernel` where a class has it.

    Raises: CompileError `compile.triton-source` for what cannot be carried.
    """
    function = records.kernel.get("function")
    if function is None:
        raise not_carried("it was compiled from Triton's intermediate representation, not from Python")
    for name, path in _libraries(records):
        if path.startswith("/"):
            raise not_carried(f"it is linked with {name}, which is not Triton's own: {path}")
    slicer = _Slicer(records)
    module, qualname = function
    slicer.need_function(module, qualname)
    for other, name in _functions_among(value for _, value in records.kernel.get("constants", ())):
        if not is_installed(other) or is_foreign_module(other):
            slicer.need_function(other, name)
    return slicer.files(module), carried_as(qualname)


def carried_as(qualname: str) -> str:
    """The name of a function where it is carried: a function's own ones move to the module's level."""
    return qualname.rpartition(".")[2] if "<locals>" in qualname else qualname


def _functions_among(values: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Functions that a kernel was given as constants, (module, name)."""
    for value in values:
        if isinstance(value, dict):
            word, inner = next(iter(value.items()))
            if word == "function":
                yield inner[0], inner[1]
            elif word in ("tuple", "list", "constexpr"):
                yield from _functions_among(inner if isinstance(inner, list) else [inner])


def _libraries(records: Records) -> list[tuple[str, str]]:
    """(name, path) of the bitcode that it was linked with: of Triton's own the place in its package."""
    recorded = records.kernel.get("options", {}).get("extern_libs") or {}
    return [(str(pair["list"][0]), str(pair["list"][1])) for pair in recorded.get("list", [])]


class _Slicer:
    def __init__(self, records: Records) -> None:
        self._records = records
        self._modules: dict[str, Module] = {}

    def _module(self, name: str) -> Module | None:
        if name in self._modules:
            return self._modules[name]
        functions = [one for (at, _), one in self._records.functions.items() if at == name]
        apart = [one for one in functions if one.get("apart") and "<locals>" not in one["name"]]
        record = self._records.modules.get(name)
        if record is None and not any(one.get("apart") for one in functions):
            return None
        record = record or {"text": "", "package": "", "file": name}
        text = record["text"] + apart_text(apart)
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise not_carried(f"{record['file']}: {error}") from None
        module = Module(name, record["package"], tree, text)
        for statement in tree.body:
            for bound in bound_names(statement):
                module.bound.setdefault(bound, []).append(statement)
        module.values = dict(self._records.values.get(name, {}))
        for function in functions:
            local = set(function["local"])
            module.values |= {key: value for key, value in function["values"].items() if key not in local}
        self._modules[name] = module
        return module

    def need_function(self, name: str, qualname: str) -> None:
        module = self._module(name)
        if module is None:
            raise not_carried(f"the text of module {name} was not recorded")
        if "<locals>" not in qualname:
            self.need(module, qualname.partition(".")[0])
            return
        self._need_inner(module, qualname)

    def _need_inner(self, module: Module, qualname: str) -> None:
        """A kernel that a function defines: it moves to the module's level, with what it closed over."""
        if qualname in module.inner:
            return
        record = self._records.functions.get((module.name, qualname))
        if record is None:
            raise not_carried(f"{qualname} was not recorded")
        if record.get("twice"):
            raise not_carried(f"it uses two functions {qualname} that closed over different values")
        statement = ast.parse(dedented(record["text"])).body[0]
        local = set(record["local"])
        known = local | record["values"].keys()
        dropped: list[ast.expr] = []
        for decorator in decorators_of(statement):
            # What the function around it had, nobody knows here: what a tuner came to is pinned.
            there = (
                loaded_names(decorator) - comprehended(decorator) <= known | module.bound.keys() | vars(builtins).keys()
            )
            if not there or is_left_out(decorator, module, self._module, local):
                dropped.append(decorator)
        text = without_decorators(statement, dedented(record["text"]), dropped)
        module.inner[qualname] = text
        for name in record["local"]:
            self._need_closed_over(module, name, record["values"].get(name))
        for name in sorted(loaded_names(ast.parse(text)) - local):
            self.need(module, name)

    def _need_closed_over(self, module: Module, name: str, value: Any) -> None:
        if not (isinstance(value, dict) and "function" in value):
            self._set_constant(module, name, written(value, name))
            return
        origin, qualname = value["function"]
        self.need_function(origin, qualname)
        plain = carried_as(qualname)
        if origin != module.name:
            self._import_function(module, origin, plain, name)
        elif plain != name:
            module.aliases[name] = plain

    def _set_constant(self, module: Module, name: str, text: str) -> None:
        if module.constants.setdefault(name, text) != text:
            raise not_carried(f"two functions that it uses closed over different values of {name}")

    def need(self, module: Module, name: str) -> None:
        if name in module.constants or name in module.imports or (hasattr(builtins, name) and name not in module.bound):
            return
        statements = module.binding(name)
        if not statements:
            if name in module.values:  # put there by somebody else
                self._need_value(module, name)
            return
        if all(one in module.kept for one in statements):
            return
        if isinstance(statements[-1], ast.Import | ast.ImportFrom):
            self._need_imported(module, statements[-1], name)
            return
        value = module.values.get(name)
        if name in module.values and is_written(value) and not all(is_plain(one, module.bound) for one in statements):
            module.constants[name] = written(value, name)
            return
        for statement in statements:
            self._keep(module, statement)

    def _keep(self, module: Module, statement: ast.stmt) -> None:
        if statement in module.kept:
            return
        module.kept.add(statement)
        dropped = [one for one in decorators_of(statement) if is_left_out(one, module, self._module)]
        if dropped:
            module.dropped[statement] = dropped
        rest = module.without_dropped(statement)
        for used in sorted(loaded_names(rest)):
            self.need(module, used)
        for other, attribute in attributes_of_modules(rest, module):
            found = self._module(other)
            if found is not None:
                self.need(found, attribute)

    def _need_value(self, module: Module, name: str) -> None:
        """What a name was bound to takes the place of what bound it."""
        value = module.values[name]
        if isinstance(value, dict) and "module" in value:
            module.imports[name] = f"import {carried_name(value['module'])} as {name}\n"
        elif isinstance(value, dict) and "function" in value:
            origin, function = value["function"]
            if not is_installed(origin) or is_foreign_module(origin):
                self.need_function(origin, function)
            if origin != module.name:
                self._import_function(module, origin, carried_as(function), name)
            elif carried_as(function) != name:
                module.aliases[name] = carried_as(function)
        else:
            module.constants[name] = written(value, name)

    def _import_function(self, module: Module, origin: str, function: str, name: str) -> None:
        if "." in function:
            raise not_carried(f"{module.name} calls {origin}.{function} {name}, and a class defines it")
        module.imports[name] = f"from {carried_name(origin)} import {function} as {name}\n"

    def _need_imported(self, module: Module, statement: ast.Import | ast.ImportFrom, name: str) -> None:
        if isinstance(statement, ast.Import):
            if any(map(is_foreign_module, import_of(statement, name))) and name in module.values:
                self._need_value(module, name)
            else:  # of a module of the user's the attributes that are used are taken
                module.kept.add(statement)
            return
        origin = absolute(statement, module.package)
        found = self._module(origin)
        of_framework = is_foreign_module(origin) and name in module.values
        if of_framework or (found is None and not is_installed(origin) and is_known(module.values, name)):
            self._need_value(module, name)
            return
        module.kept.add(statement)
        for attribute in import_of(statement, name):
            if found is not None:
                self.need(found, attribute)
            elif not is_installed(origin) and self._module(f"{origin}.{attribute}") is None:
                raise not_carried(f"{module.name} takes {name} from {origin}, which was not recorded")

    def files(self, main: str) -> dict[str, str]:
        modules = self._modules.values()
        out = {f"src/{MAIN}.py": module_text(self._modules[main], modules)}
        for name, module in self._modules.items():
            if name == main or not (module.kept or module.constants or module.imports or module.inner):
                continue
            is_package = module.package == name
            path = carried_name(name).replace(".", "/") + ("/__init__.py" if is_package else ".py")
            out[f"src/{path}"] = module_text(module, modules)
        for path in list(out):
            parts = path.split("/")[1:-1]
            for depth in range(len(parts)):
                out.setdefault("src/" + "/".join([*parts[: depth + 1], "__init__.py"]), "")
        return dict(sorted(out.items()))
