"""Makes kernels of torch's Inductor independent of torch: what they import from its runtime is taken from elsewhere.

In: Records, whose modules may import torch._inductor.runtime. Out: the kernel's files, in which those imports name
Triton's own modules and kerncap's stand-ins of torch's helpers, carried like a module of the user's. Where the shim
recorded the kernel, torch's own helpers are carried instead (source.py). Called by pinned.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterator
from importlib import resources

from kerncap.triton.records import Records
from kerncap.triton.source import source_files
from kerncap.triton.syntax import source_lines
from kerncap.triton.written import not_carried

STAND_INS = "inductor_helpers"
_RUNTIME = "torch._inductor.runtime"
_HELPERS = f"{_RUNTIME}.triton_helpers"
# What torch's helpers pass on of Triton's. Source: torch/_inductor/runtime/triton_compat.py.
_OF_TRITON = {
    "libdevice": "from triton.language.extra import libdevice",
    "math": "from triton.language import math",
}


def torch_free_files(records: Records) -> tuple[dict[str, str], str]:
    """As source_files. Raises: CompileError `compile.triton-source`, also for a helper of torch's with no stand-in."""
    files, entry = source_files(_without_torch(records))
    for text in files.values():
        for name in _helpers_used(text):
            if name not in _known():
                raise not_carried(f"it uses triton_helpers.{name} of torch, which is not known here")
    return files, entry


def _without_torch(records: Records) -> Records:
    if records.functions:  # recorded in the application: torch's own helpers are among them
        return records
    modules = {name: {**record, "text": _rewritten(record["text"])} for name, record in records.modules.items()}
    if modules == records.modules:
        return records
    stand_ins = {"name": STAND_INS, "package": "", "file": f"{STAND_INS}.py", "text": _stand_ins()}
    return dataclasses.replace(records, modules=modules | {STAND_INS: stand_ins})


def _stand_ins() -> str:
    return resources.files("kerncap.triton").joinpath("stand_ins", f"{STAND_INS}.py").read_text("utf-8")


@functools.cache
def _known() -> frozenset[str]:
    return frozenset(node.name for node in ast.parse(_stand_ins()).body if isinstance(node, ast.FunctionDef))


def _rewritten(text: str) -> str:
    """The text with the imports replaced; what cannot be read is left to who reads it next."""
    if _RUNTIME not in text:
        return text
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    lines = source_lines(text)
    for statement in reversed(tree.body):
        if isinstance(statement, ast.ImportFrom) and statement.module in (_RUNTIME, _HELPERS):
            first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
            lines[first:last] = [_replacement(statement.module, alias) for alias in statement.names]
    return "".join(lines)


def _replacement(module: str, alias: ast.alias) -> str:
    name = alias.asname or alias.name
    if module == _RUNTIME:
        if alias.name == "triton_helpers":
            return f"import {STAND_INS} as {name}\n"
        return f"from {module} import {alias.name} as {name}\n"
    if alias.name in _OF_TRITON:
        return f"{_OF_TRITON[alias.name]} as {name}\n"
    return f"from {STAND_INS} import {alias.name} as {name}\n"


def _helpers_used(text: str) -> Iterator[str]:
    """Names that a module takes from the stand-ins."""
    tree = ast.parse(text)
    named = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == STAND_INS
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in named:
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and node.module == STAND_INS:
            yield from (alias.name for alias in node.names)
