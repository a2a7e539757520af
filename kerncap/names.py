"""Kernel names as people type them: base names, and which names look like a mistyped one.

In: demangled names. Out: base names and near names. Called by application (messages) and by source (text search).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def base_name(demangled: str) -> str:
    """`f` of `void (anonymous namespace)::ns::f<float, (int)3>(float const*) [clone .kd]`."""
    text = re.sub(r"( \[clone [^\]]*\])+$", "", demangled.strip()).removesuffix(".kd")
    text = text.replace("(anonymous namespace)", "{anonymous}")
    operator = re.search(r"(?:^|[\s:])(operator\s*(?:\(\)|\[\]|[^\w\s(]+|\w+))", text)
    if operator:
        return operator.group(1)
    words = _outside_brackets(text).strip().rsplit("::", 1)[-1].split()
    return words[-1] if words else demangled


def _outside_brackets(text: str) -> str:
    """What stands outside of template arguments, up to the parameter list; `>` inside of `(3 > 2)` closes nothing."""
    plain: list[str] = []
    open_brackets: list[str] = []
    for char in text:
        if char == "(" and not open_brackets:
            break
        if char == "(" or (char == "<" and open_brackets[-1:] != ["("]):
            open_brackets.append(char)
        elif (char == ")" and open_brackets[-1:] == ["("]) or (char == ">" and open_brackets[-1:] == ["<"]):
            open_brackets.pop()
        elif not open_brackets:
            plain.append(char)
    return "".join(plain)


def near_names(wanted: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Names that look like `wanted`, best first: by their base name, by a part of it, by the whole name."""
    unique = sorted(set(names))
    by_base: dict[str, list[str]] = {}
    for name in unique:
        by_base.setdefault(base_name(name).lower(), []).append(name)
    target = base_name(wanted).lower()
    found: list[str] = []
    for base in difflib.get_close_matches(target, by_base, n=limit, cutoff=0.6):
        found += by_base[base]
    found += [n for b, group in by_base.items() if len(target) > 2 and (target in b or b in target) for n in group]
    found += difflib.get_close_matches(wanted, unique, n=limit, cutoff=0.6)
    return list(dict.fromkeys(found))[:limit]
