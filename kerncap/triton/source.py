"""The source of a Triton kernel as files that need Triton alone: what the kernel uses, cut out of the user's modules.

In: the modules' texts and the values of names, as the shim recorded them. Out: path in the reproducer -> text:
`src/kernel_variant.py`, and beside it the user's other modules in their packages. Decorators stay as they are. A value
that a module computed when it was imported becomes a constant. Called by the extract workflow.
"""

from __future__ import annotations

import ast
import builtins
import copy
import symtable
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kerncap.errors import CompileError
from kerncap.triton.records import Records

MAIN = "kernel_variant"
_TOOLCHAIN = ("triton",)
# Decorators of frameworks that generate kernels stand between the kernel and Triton; what they do is pinned already.
_FOREIGN = ("torch", "numpy")


@dataclass
class _Module:
    """One of the user's: its text, the statements that bind its names, and those of them that are needed."""

    name: str
    package: str
    tree: ast.Module
    text: str
    bound: dict[str, ast.stmt] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    kept: set[ast.stmt] = field(default_factory=set)
    constants: dict[str, str] = field(default_factory=dict)
    """Names whose value takes the place of what computed it."""


def source_files(records: Records) -> tuple[dict[str, str], str]:
    """The files, and the name of the kernel in `kernel_variant`.

    Raises: CompileError `compile.triton-source` for what cannot be carried.
    """
    function = records.kernel.get("function")
    if function is None:
        raise _lacks("it was compiled from Triton's intermediate representation, not from Python")
    slicer = _Slicer(records)
    module, qualname = function
    slicer.need_function(module, qualname)
    return slicer.files(module), qualname.rpartition(".")[2]


def _lacks(what: str) -> CompileError:
    return CompileError(
        f"the source of this Triton kernel is not carried: {what}",
        code="compile.triton-source",
        hint="kerncap inspect BUNDLE  # it replays without",
    )


class _Slicer:
    def __init__(self, records: Records) -> None:
        self._records = records
        self._modules: dict[str, _Module] = {}
        self._inner: dict[tuple[str, str], str] = {}

    def _module(self, name: str) -> _Module | None:
        if name in self._modules:
            return self._modules[name]
        record = self._records.modules.get(name)
        if record is None:
            return None
        try:
            tree = ast.parse(record["text"])
        except SyntaxError as error:
            raise _lacks(f"{record['file']}: {error}") from None
        module = _Module(name, record["package"], tree, record["text"])
        for statement in tree.body:
            for bound in _bound(statement):
                module.bound[bound] = statement
        module.values = dict(self._records.values.get(name, {}))
        for (at, _), function in self._records.functions.items():
            if at == name:
                local = set(function["local"])
                module.values |= {key: value for key, value in function["values"].items() if key not in local}
        self._modules[name] = module
        return module

    def need_function(self, name: str, qualname: str) -> None:
        module = self._module(name)
        if module is None:
            raise _lacks(f"the text of module {name} was not recorded")
        if "<locals>" not in qualname:
            self.need(module, qualname.partition(".")[0])
            return
        self._need_inner(module, qualname)

    def _need_inner(self, module: _Module, qualname: str) -> None:
        """A kernel that a function defines: it moves to the module's level, with what it closed over."""
        record = self._records.functions.get((module.name, qualname))
        if record is None:
            raise _lacks(f"{qualname} was not recorded")
        text = _dedented(record["text"])
        self._inner[(module.name, qualname)] = text
        for name in record["local"]:
            value = record["values"].get(name)
            if isinstance(value, dict) and "function" in value:
                if tuple(value["function"]) != (module.name, qualname):
                    self.need_function(*value["function"])
            else:
                module.constants[name] = _written(value, name)
        for name in sorted(_loaded(ast.parse(text)) - set(record["local"])):
            self.need(module, name)

    def need(self, module: _Module, name: str) -> None:
        if name in module.constants or (hasattr(builtins, name) and name not in module.bound):
            return
        statement = module.bound.get(name)
        if statement is None:
            if name in module.values:  # put there by somebody else
                module.constants[name] = _written(module.values[name], name)
            return
        if statement in module.kept:
            return
        if isinstance(statement, ast.Import | ast.ImportFrom):
            module.kept.add(statement)
            self._need_import(module, statement, name)
            return
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) and name in module.values:
            value = module.values[name]
            of_text = isinstance(value, dict) and ("function" in value or "other" in value)
            if not of_text and not _is_plain(statement):
                module.constants[name] = _written(value, name)
                return
        module.kept.add(statement)
        for used in sorted(_loaded(_of_triton(statement))):
            self.need(module, used)
        for other, attribute in _attributes(statement, module):
            found = self._module(other)
            if found is not None:
                self.need(found, attribute)

    def _need_import(self, module: _Module, statement: ast.Import | ast.ImportFrom, name: str) -> None:
        if isinstance(statement, ast.Import):
            return  # of a module of the user's the attributes that are used are taken
        origin = _absolute(statement, module.package)
        found = self._module(origin)
        for alias in statement.names:
            if (alias.asname or alias.name) != name:
                continue
            if found is not None:
                self.need(found, alias.name)
            elif not _is_installed(origin) and self._module(f"{origin}.{alias.name}") is None:
                raise _lacks(f"{module.name} takes {name} from {origin}, which was not recorded")

    def files(self, main: str) -> dict[str, str]:
        out = {f"src/{MAIN}.py": self._text(self._modules[main])}
        for name, module in self._modules.items():
            if name == main or not (module.kept or module.constants):
                continue
            is_package = module.package == name
            path = name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
            out[f"src/{path}"] = self._text(module)
        for path in list(out):
            parts = path.split("/")[1:-1]
            for depth in range(len(parts)):
                out.setdefault("src/" + "/".join([*parts[: depth + 1], "__init__.py"]), "")
        return dict(sorted(out.items()))

    def _text(self, module: _Module) -> str:
        lines = module.text.splitlines(keepends=True)
        parts = [_future(module)]
        names = self._names(module)
        for statement in module.tree.body:
            if statement not in module.kept:
                continue
            if isinstance(statement, ast.Import | ast.ImportFrom):
                parts.append(_import(statement, module.package, names))
            else:
                parts.append(_without_foreign(statement, "".join(lines[_first(statement) - 1 : statement.end_lineno])))
        imports = [part for part in parts if part]
        constants = [f"{name} = {value}\n" for name, value in sorted(module.constants.items())]
        inner = [text for (at, _), text in self._inner.items() if at == module.name]
        return _joined(imports, constants, inner, module)

    def _names(self, module: _Module) -> set[str]:
        """Those that anything which is kept reads."""
        used: set[str] = set()
        for statement in module.kept:
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                used |= _loaded(_of_triton(statement))
        for (at, _), text in self._inner.items():
            if at == module.name:
                used |= _loaded(ast.parse(text))
        for other in self._modules.values():
            used |= {name for name in module.bound if other is not module and name in _imported(other, module.name)}
        return used | ({"tl"} if any("tl." in value for value in module.constants.values()) else set())


def _joined(kept: list[str], constants: list[str], inner: list[str], module: _Module) -> str:
    """Imports, then constants, then the rest in its order."""
    imports = [part for part in kept if part.startswith(("import ", "from "))]
    rest = [part for part in kept if not part.startswith(("import ", "from "))]
    if any("tl." in text for text in constants) and not any("triton.language" in text for text in imports):
        imports.append("import triton.language as tl\n")
    body = "\n".join("".join(group) for group in (imports, constants) if group)
    pieces = [body, *rest, *inner]
    head = f'"""Of {module.name}: what the captured kernel needs."""'
    return "\n\n".join([head, *(piece.rstrip("\n") for piece in pieces if piece)]) + "\n"


def _future(module: _Module) -> str:
    for statement in module.tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            return ast.unparse(statement) + "\n"
    return ""


def _first(statement: ast.stmt) -> int:
    """The line at which it begins, decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return int(min([statement.lineno, *(decorator.lineno for decorator in decorators)]))


def _bound(statement: ast.stmt) -> Iterator[str]:
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
                yield from _bound(node)


def _loaded(node: ast.AST) -> set[str]:
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


def _attributes(statement: ast.stmt, module: _Module) -> Iterator[tuple[str, str]]:
    """(module, attribute) of `helpers.scale` where `helpers` is an imported module."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            target = _module_named(ast.unparse(node.value), module)
            if target is not None:
                yield target, node.attr


def _module_named(dotted: str, module: _Module) -> str | None:
    head, _, rest = dotted.partition(".")
    statement = module.bound.get(head)
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if (alias.asname or alias.name.partition(".")[0]) == head:
                base = alias.name if alias.asname else head
                return f"{base}.{rest}" if rest else base
    if isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            if (alias.asname or alias.name) == head:
                base = f"{_absolute(statement, module.package)}.{alias.name}"
                return f"{base}.{rest}" if rest else base
    return None


def _imported(module: _Module, origin: str) -> set[str]:
    """Names that a module's kept imports take from another."""
    found: set[str] = set()
    for statement in module.kept:
        if isinstance(statement, ast.ImportFrom) and _absolute(statement, module.package) == origin:
            found |= {alias.name for alias in statement.names}
    return found


def _absolute(statement: ast.ImportFrom, package: str) -> str:
    if not statement.level:
        return statement.module or ""
    base = package.split(".")[: len(package.split(".")) - (statement.level - 1)]
    return ".".join([*base, *([statement.module] if statement.module else [])])


def _import(statement: ast.Import | ast.ImportFrom, package: str, names: Iterable[str]) -> str:
    """The statement with only the names that are used, relative imports made absolute."""
    wanted = set(names)
    if isinstance(statement, ast.ImportFrom):
        kept = [alias for alias in statement.names if (alias.asname or alias.name) in wanted]
        if not kept:
            return ""
        return ast.unparse(ast.ImportFrom(module=_absolute(statement, package), names=kept, level=0)) + "\n"
    kept = [alias for alias in statement.names if (alias.asname or alias.name.partition(".")[0]) in wanted]
    return ast.unparse(ast.Import(names=kept)) + "\n" if kept else ""


def _is_installed(module: str) -> bool:
    top = module.partition(".")[0]
    return top in _TOOLCHAIN or top in _FOREIGN or top in sys.stdlib_module_names


def _is_plain(statement: ast.stmt) -> bool:
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


def _without_foreign(statement: ast.stmt, text: str) -> str:
    """Decorators of frameworks are left out: Triton alone compiles this."""
    decorators = getattr(statement, "decorator_list", [])
    foreign = [one for one in decorators if _is_foreign(one)]
    if not foreign:
        return text
    lines = text.splitlines(keepends=True)
    first = _first(statement)
    gone = {line for one in foreign for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    kept = [line for number, line in enumerate(lines, first) if number not in gone]
    said = [f"# Left out, a framework's: @{_named(one)}\n" for one in foreign]
    return "".join([*said, *kept])


def _of_triton(statement: ast.stmt) -> ast.stmt:
    """The statement without the decorators that are left out."""
    if not any(map(_is_foreign, getattr(statement, "decorator_list", []))):
        return statement
    copied = copy.copy(statement)
    copied.decorator_list = [one for one in statement.decorator_list if not _is_foreign(one)]  # type: ignore[attr-defined]
    return copied


def _named(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _is_foreign(decorator: ast.expr) -> bool:
    return _named(decorator).startswith(("triton_heuristics.", "torch."))


def _written(value: Any, name: str) -> str:
    """A recorded value as Python. Raises: CompileError."""
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, Mapping):
        if "float" in value:
            number = float.fromhex(value["float"])
            return repr(number) if number == number and abs(number) != float("inf") else f'float("{number}")'
        if "constexpr" in value:
            return f"tl.constexpr({_written(value['constexpr'], name)})"
        if "dtype" in value:
            return f"tl.dtype({value['dtype']!r})"
        if "tuple" in value:
            return "(" + "".join(_written(one, name) + ", " for one in value["tuple"]) + ")"
        if "list" in value:
            return "[" + ", ".join(_written(one, name) for one in value["list"]) + "]"
    shown = value.get("other", value) if isinstance(value, Mapping) else value
    raise _lacks(f"{name} has a value that no text gives: {shown}")


def _dedented(text: str) -> str:
    lines = text.splitlines(keepends=True)
    blank = len(lines[0]) - len(lines[0].lstrip())
    return "".join(line[blank:] if line[:blank].isspace() or not line.strip() else line for line in lines)
