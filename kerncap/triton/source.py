"""The source of a Triton kernel as files that need Triton alone: what the kernel uses, cut out of the user's modules.

In: the modules' texts and the values of names, as the shim recorded them. Out: path in the reproducer -> text:
`src/kernel_variant.py`, and beside it the user's other modules in their packages. Decorators stay as they are. A value
that a module computed when it was imported becomes a constant. Called by the extract workflow.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

from kerncap.triton.records import Records
from kerncap.triton.syntax import (
    absolute,
    bound_names,
    dedented,
    first_line,
    is_foreign_module,
    is_installed,
    is_plain,
    loaded_names,
    of_triton,
    without_foreign,
)
from kerncap.triton.user_module import (
    Module,
    attributes_of_modules,
    carried_name,
    future_import,
    import_text,
    imported_names,
)
from kerncap.triton.written import not_carried, written

MAIN = "kernel_variant"


def source_files(records: Records) -> tuple[dict[str, str], str]:
    """The files, and the name of the kernel in `kernel_variant`.

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
    return slicer.files(module), qualname.rpartition(".")[2]


def _libraries(records: Records) -> list[tuple[str, str]]:
    """(name, path) of the bitcode that it was linked with: of Triton's own the place in its package."""
    recorded = records.kernel.get("options", {}).get("extern_libs") or {}
    return [(str(pair["list"][0]), str(pair["list"][1])) for pair in recorded.get("list", [])]


class _Slicer:
    def __init__(self, records: Records) -> None:
        self._records = records
        self._modules: dict[str, Module] = {}
        self._inner: dict[tuple[str, str], str] = {}

    def _module(self, name: str) -> Module | None:
        if name in self._modules:
            return self._modules[name]
        functions = [one for (at, _), one in self._records.functions.items() if at == name]
        apart = [one for one in functions if one.get("apart") and "<locals>" not in one["name"]]
        record = self._records.modules.get(name)
        if record is None and not apart:
            return None
        record = record or {"text": "", "package": "", "file": name}
        text = record["text"] + _apart_text(apart)
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise not_carried(f"{record['file']}: {error}") from None
        module = Module(name, record["package"], tree, text)
        for statement in tree.body:
            for bound in bound_names(statement):
                module.bound[bound] = statement
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
        record = self._records.functions.get((module.name, qualname))
        if record is None:
            raise not_carried(f"{qualname} was not recorded")
        text = dedented(record["text"])
        self._inner[(module.name, qualname)] = text
        for name in record["local"]:
            value = record["values"].get(name)
            if isinstance(value, dict) and "function" in value:
                if tuple(value["function"]) != (module.name, qualname):
                    self.need_function(*value["function"])
            else:
                module.constants[name] = written(value, name)
        for name in sorted(loaded_names(ast.parse(text)) - set(record["local"])):
            self.need(module, name)

    def need(self, module: Module, name: str) -> None:
        if name in module.constants or name in module.imports or (hasattr(builtins, name) and name not in module.bound):
            return
        statement = module.bound.get(name)
        if statement is None:
            if name in module.values:  # put there by somebody else
                self._need_value(module, name)
            return
        if statement in module.kept:
            return
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if _is_of_framework(statement, name, module) and name in module.values:
                self._need_value(module, name)
                return
            module.kept.add(statement)
            self._need_import(module, statement, name)
            return
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) and name in module.values:
            value = module.values[name]
            of_text = isinstance(value, dict) and ("function" in value or "other" in value)
            if not of_text and not is_plain(statement):
                module.constants[name] = written(value, name)
                return
        module.kept.add(statement)
        for used in sorted(loaded_names(of_triton(statement))):
            self.need(module, used)
        for other, attribute in attributes_of_modules(statement, module):
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
            module.imports[name] = f"from {carried_name(origin)} import {function} as {name}\n"
        else:
            module.constants[name] = written(value, name)

    def _need_import(self, module: Module, statement: ast.Import | ast.ImportFrom, name: str) -> None:
        if isinstance(statement, ast.Import):
            return  # of a module of the user's the attributes that are used are taken
        origin = absolute(statement, module.package)
        found = self._module(origin)
        for alias in statement.names:
            if (alias.asname or alias.name) != name:
                continue
            if found is not None:
                self.need(found, alias.name)
            elif not is_installed(origin) and self._module(f"{origin}.{alias.name}") is None:
                raise not_carried(f"{module.name} takes {name} from {origin}, which was not recorded")

    def files(self, main: str) -> dict[str, str]:
        out = {f"src/{MAIN}.py": self._text(self._modules[main])}
        for name, module in self._modules.items():
            if name == main or not (module.kept or module.constants or module.imports):
                continue
            is_package = module.package == name
            path = carried_name(name).replace(".", "/") + ("/__init__.py" if is_package else ".py")
            out[f"src/{path}"] = self._text(module)
        for path in list(out):
            parts = path.split("/")[1:-1]
            for depth in range(len(parts)):
                out.setdefault("src/" + "/".join([*parts[: depth + 1], "__init__.py"]), "")
        return dict(sorted(out.items()))

    def _text(self, module: Module) -> str:
        lines = module.text.splitlines(keepends=True)
        parts = [future_import(module), *module.imports.values()]
        names = self._names(module)
        for statement in module.tree.body:
            if statement not in module.kept:
                continue
            if isinstance(statement, ast.Import | ast.ImportFrom):
                parts.append(import_text(statement, module.package, names))
            else:
                whole = "".join(lines[first_line(statement) - 1 : statement.end_lineno])
                parts.append(without_foreign(statement, whole))
        imports = [part for part in parts if part]
        constants = [f"{name} = {value}\n" for name, value in sorted(module.constants.items())]
        inner = [text for (at, _), text in self._inner.items() if at == module.name]
        return _joined(imports, constants, inner, module)

    def _names(self, module: Module) -> set[str]:
        """Those that anything which is kept reads."""
        used: set[str] = set()
        for statement in module.kept:
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                used |= loaded_names(of_triton(statement))
        for (at, _), text in self._inner.items():
            if at == module.name:
                used |= loaded_names(ast.parse(text))
        for other in self._modules.values():
            if other is not module:
                used |= module.bound.keys() & imported_names(other, module.name)
        return used | ({"tl"} if any("tl." in value for value in module.constants.values()) else set())


def _is_of_framework(statement: ast.Import | ast.ImportFrom, name: str, module: Module) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return is_foreign_module(absolute(statement, module.package))
    return any(is_foreign_module(one.name) for one in statement.names if (one.asname or one.name) == name)


def _apart_text(functions: list[dict[str, Any]]) -> str:
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


def _joined(kept: list[str], constants: list[str], inner: list[str], module: Module) -> str:
    """Imports, then constants, then the rest in its order."""
    imports = [part for part in kept if part.startswith(("import ", "from "))]
    rest = [part for part in kept if not part.startswith(("import ", "from "))]
    if any("tl." in text for text in constants) and not any("triton.language" in text for text in imports):
        imports.append("import triton.language as tl\n")
    body = "\n".join("".join(group) for group in (imports, constants) if group)
    pieces = [body, *rest, *inner]
    head = f'"""Of {module.name}: what the captured kernel needs."""'
    return "\n\n".join([head, *(piece.rstrip("\n") for piece in pieces if piece)]) + "\n"
