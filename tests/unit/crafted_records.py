"""Records of the shim, made up: modules by their texts, one kernel. Called by the unit tests of Triton."""

from __future__ import annotations

import ast
from typing import Any

from kerncap.triton.records import Records

DIGEST = "sha256:" + "1" * 64


def records(
    modules: dict[str, str], function: tuple[str, str], values: dict[str, dict[str, Any]] | None = None, **more: Any
) -> Records:
    listed = {
        name: {"name": name, "package": name.rpartition(".")[0], "file": f"{name}.py", "text": text}
        for name, text in modules.items()
    }
    functions = {
        (function[0], function[1]): {"module": function[0], "name": function[1], "values": {}, "local": [], **more}
    }
    kernel = {"hsaco": DIGEST, "name": function[1], "function": list(function)}
    return Records({"known": True}, kernel, (), {}, (), {}, functions, listed, values or {}, ())


def loads(text: str) -> set[str]:
    """Names that a module binds."""
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
