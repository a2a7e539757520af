"""Compares the machine code of one kernel in two code objects: what it takes, which instructions, line by line.

In: two bundles or code objects, a kernel's name. Out: a CodeDiff. Called by
`bundle_diff`. Branch distances are compared as where they lead: code that only moved is the same code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle import Bundle
from kerncap.bundle.content import write_code_object
from kerncap.errors import UsageError, typed
from kerncap.scratch import Scratch
from kerncap.source.debug_info import base_names, machine_code
from kerncap.workflows.assembly_diff import assembly_diff
from kerncap.workflows.code import CodeFacts, changes, facts_of, function_facts, functions_of

_MOST_NAMED = 8


@dataclass(frozen=True)
class CodeDiff:
    """One kernel in two code objects, as CodeFacts and as text; and the functions beside it, which it may call."""

    kernel: str
    before: CodeFacts
    after: CodeFacts
    lines: tuple[str, ...]
    """A unified diff of the assembly, without file names; empty when all instructions are the same."""
    functions: Mapping[str, tuple[str, ...]]
    """Device functions that differ, each with its diff; with none where only one side has it."""

    data_differs: bool
    """Sections .text and .rodata are not the same bytes; False where that cannot be told (without llvm-objcopy)."""

    @property
    def changes(self) -> list[str]:
        found = changes(self.before, self.after) + [f"function {name} differs" for name in self.functions]
        if not found and not self.lines and self.data_differs:
            found.append("the same instructions with other constants, or other code beside them")
        return found

    @property
    def same(self) -> bool:
        return not self.changes and not self.lines

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "kerncap.code-diff/1",
            "kernel": self.kernel,
            "same": self.same,
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "changes": self.changes,
            "assembly": list(self.lines),
            "functions": {name: list(lines) for name, lines in self.functions.items()},
        }


@dataclass(frozen=True)
class _Side:
    """A code object: its functions by name, True for kernels; the captured kernel when it is a bundle's."""

    path: Path
    functions: Mapping[str, bool]
    captured: str | None

    @property
    def kernels(self) -> set[str]:
        return {name for name, is_kernel in self.functions.items() if is_kernel}


def diff_code(before: Path | Bundle, after: Path | Bundle, kernel: str | None, context: int) -> CodeDiff:
    """Each side is a code object or an open bundle; `context`: lines around a change.

    Raises: UsageError `usage.which-kernel`, `usage.no-such-kernel`, `usage.not-a-code-object`; BundleError; HostError.
    """
    with Scratch("kerncap-diff-") as scratch:
        old, new = (_side(one, Path(scratch, f"{i}.hsaco")) for i, one in enumerate((before, after)))
        name = _which(old, new, kernel)
        facts = facts_of(old.path, name), facts_of(new.path, name)
        lines = assembly_diff(*facts, Path(scratch), context)
        functions = dict(_functions(old, new, Path(scratch), context))
        data = [machine_code(side.path, Path(scratch)) for side in (old, new)]
    return CodeDiff(name, *facts, tuple(lines), functions, data_differs=data[0] != data[1])


def _side(one: Path | Bundle, place: Path) -> _Side:
    if isinstance(one, Path):
        return _Side(one, functions_of(one), None)
    code = write_code_object(one, place)
    return _Side(code, functions_of(code), one.capture.kernel.name)


def _which(old: _Side, new: _Side, named: str | None) -> str:
    """The mangled name of the kernel to compare."""
    common = sorted(old.kernels & new.kernels)
    captured = {name for name in (old.captured, new.captured) if name is not None}
    if named is None and len(captured) == 1:
        found = [name for name in common if name in captured]
    else:
        bases = base_names(common) if named is not None else {}
        found = [name for name in common if named in (None, name, bases.get(name))]
    if len(found) == 1:
        return found[0]
    what = f"of both code objects are named {named}" if named else "are in both code objects"
    if named is None and len(captured) == 1:
        what = f"of both code objects are the captured {captured.pop()}"
    raise UsageError(
        f"{len(found)} kernels {what}; in common they have {', '.join(common[:_MOST_NAMED]) or 'none'}",
        code="usage.which-kernel" if found else "usage.no-such-kernel",
        hint=typed("--kernel", (found or common or ["NAME"])[0]),
    )


def _functions(old: _Side, new: _Side, scratch: Path, context: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Those that are no kernels: a kernel may call them, and its own code shows nothing of what they do."""
    for name in sorted((old.functions.keys() | new.functions.keys()) - old.kernels - new.kernels):
        if name not in old.functions or name not in new.functions:
            yield name, ()
            continue
        one, other = function_facts(old.path, name), function_facts(new.path, name)
        if lines := assembly_diff(one, other, scratch, context):
            yield name, tuple(lines)
