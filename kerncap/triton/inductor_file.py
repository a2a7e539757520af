"""Finds the kernels in what torch's Inductor wrote: output_code.py of TORCH_COMPILE_DEBUG, or a kernel's own file.

In: a path. Out: each kernel with the text of its module and what its heuristics were told. The file is parsed, never
run; it may be a stranger's. Called by the inductor workflow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kerncap.bundle.files import open_named
from kerncap.errors import CompileError, typed

_MOST_BYTES = 64 << 20
_MOST_KERNELS = 20_000
_SHOWN = 60
_HEURISTICS = "triton_heuristics."


@dataclass(frozen=True)
class Call:
    """A call in an argument of a decorator, such as `DeviceProperties(type='hip', ...)`: what is called, with what."""

    name: str
    positional: tuple[Any, ...]
    named: Mapping[str, Any]


@dataclass(frozen=True)
class Word:
    """Anything else that is no literal: `ReductionHint.INNER`."""

    text: str


@dataclass(frozen=True)
class InductorKernel:
    """One kernel: `heuristic` (`pointwise`, `user_autotune`, ...) was called with `told`. `text` is a module."""

    name: str
    text: str = field(repr=False)
    heuristic: str
    told: Mapping[str, Any] = field(repr=False)
    parameters: tuple[str, ...]

    def dictionary(self, name: str) -> Mapping[Any, Any]:
        """`triton_meta` or `inductor_meta`. Raises: CompileError `compile.inductor-format`."""
        value = self.told.get(name, {})
        if not isinstance(value, dict):
            raise unknown_form(f"{name} of {self.name} is no dictionary")
        return value


def unknown_form(what: str) -> CompileError:
    """Of a torch that writes otherwise, or of nobody's."""
    return CompileError(
        f"this is not as torch's Inductor writes it: {what}",
        code="compile.inductor-format",
        hint="TORCH_COMPILE_DEBUG=1 python3 APP  # then torch_compile_debug/run_*/torchinductor/*/output_code.py",
    )


def read_kernels(path: Path) -> list[InductorKernel]:
    """All of the file, in its order. Raises: CompileError `compile.inductor-format`; OSError."""
    with open_named(path) as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise unknown_form(f"{path} has more than {_MOST_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise unknown_form(f"{path} is no text: {error.reason} at byte {error.start}") from None
    found: list[InductorKernel] = []
    tree = _parsed(text, str(path))
    for module in (text, *_sources(tree)):
        found += _of_module(module, tree if module is text else _parsed(module, f"a kernel in {path}"))
        if len(found) > _MOST_KERNELS:
            raise unknown_form(f"{path} has more than {_MOST_KERNELS} kernels")
    if not found:
        raise unknown_form(f"{path} has no kernel with a decorator of triton_heuristics")
    return found


def kernel_named(kernels: list[InductorKernel], name: str, path: Path) -> InductorKernel:
    """The kernel that the captured code object has. Raises: CompileError `compile.no-kernel`."""
    named = [one for one in kernels if one.name == name]
    # The same kernel may be written for several graphs; where only the text differs, nobody knows which was run.
    if named and all((one.text, one.told) == (named[0].text, named[0].told) for one in named):
        return named[0]
    listed = ", ".join(dict.fromkeys(one.name for one in kernels[:_SHOWN]))
    what = f"has {len(named)} different kernels" if named else "has no kernel"
    raise CompileError(
        f"{path} {what} {name}; its kernels: {listed}",
        code="compile.no-kernel",
        hint=typed("grep", "-rl", name, "--include=output_code.py", path.parent.parent),
    )


def _parsed(text: str, what: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise unknown_form(f"{what} is no Python that can be read here: {str(error)[:_SHOWN]}") from None


def _sources(tree: ast.Module) -> Iterator[str]:
    """The texts in `async_compile.triton(name, text, ...)`, wherever that stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _dotted(node.func).endswith("async_compile.triton") and len(node.args) >= 2:
            source = node.args[1]
            if isinstance(source, ast.Constant) and isinstance(source.value, str):
                yield source.value


def _of_module(text: str, tree: ast.Module) -> Iterator[InductorKernel]:
    for statement in tree.body:
        if not isinstance(statement, ast.FunctionDef):
            continue
        for decorator in statement.decorator_list:
            if isinstance(decorator, ast.Call) and _dotted(decorator.func).startswith(_HEURISTICS):
                heuristic = _dotted(decorator.func).removeprefix(_HEURISTICS)
                try:
                    told = {one.arg: literal(one.value) for one in decorator.keywords if one.arg is not None}
                except RecursionError:
                    raise unknown_form(f"the decorator of {statement.name} is nested too deeply") from None
                parameters = tuple(one.arg for one in (*statement.args.posonlyargs, *statement.args.args))
                yield InductorKernel(statement.name, text, heuristic, told, parameters)


def literal(node: ast.expr) -> Any:
    """Numbers, texts, lists, tuples, dictionaries and sets as they are; Call and Word for the rest. Nothing is run."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple):
        return tuple(map(literal, node.elts))
    if isinstance(node, ast.List | ast.Set):
        return [literal(one) for one in node.elts]
    if isinstance(node, ast.Dict):
        found = {}
        for key, value in zip(node.keys, node.values, strict=True):
            name = literal(key) if key is not None else None
            if not isinstance(name, str | int | tuple) or not _hashable(name):
                raise unknown_form(f"a dictionary has the key {ast.unparse(node)[:_SHOWN]}")
            found[name] = literal(value)
        return found
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal(node.operand)
        return -value if isinstance(value, int | float) else Word(ast.unparse(node))
    if isinstance(node, ast.Call) and _dotted(node.func):
        named = {one.arg: literal(one.value) for one in node.keywords if one.arg is not None}
        return Call(_dotted(node.func), tuple(map(literal, node.args)), named)
    return Word(ast.unparse(node))


def _hashable(key: Any) -> bool:
    return all(isinstance(one, str | int) for one in key) if isinstance(key, tuple) else True


def _dotted(node: ast.expr) -> str:
    """`a.b.c`; empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""
