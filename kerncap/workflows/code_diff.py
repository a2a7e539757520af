"""Compares the machine code of one kernel in two code objects: what it takes, which instructions, line by line.

In: two bundles or code objects, a kernel's name. Out: a CodeDiff. Called by `kerncap diff`.
Branch distances are compared as where they lead: code that only moved is the same code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap import native, proc
from kerncap.bundle import open_bundle
from kerncap.bundle.content import write_code_object
from kerncap.errors import UsageError, typed
from kerncap.scratch import Scratch
from kerncap.workflows.code import CodeFacts, changes, facts_of

_TIMEOUT_S = 120
_ELF = b"\x7fELF"
_LABEL = 6
"""Columns before an instruction."""
_MOST_NAMED = 8


@dataclass(frozen=True)
class CodeDiff:
    """One kernel in two code objects, as CodeFacts and as text."""

    kernel: str
    before: CodeFacts
    after: CodeFacts
    lines: tuple[str, ...]
    """A unified diff of the assembly, without file names; empty when all instructions are the same."""

    @property
    def changes(self) -> list[str]:
        return changes(self.before, self.after)

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
        }


def diff_code(before: str, after: str, kernel: str | None, context: int) -> CodeDiff:
    """Each side is a code object or a bundle of any local kind; `context`: lines around a change.

    Raises: UsageError `usage.which-kernel`, `usage.no-such-kernel`, `usage.not-a-code-object`; BundleError; HostError.
    """
    with Scratch("kerncap-diff-") as scratch:
        sides = [_code_object(path, Path(scratch, f"{i}.hsaco")) for i, path in enumerate((before, after))]
        name = _which(sides, kernel)
        facts = [facts_of(path, name) for path, _ in sides]
        pairs = _aligned(facts[0], facts[1], Path(scratch))
    return CodeDiff(name, facts[0], facts[1], tuple(_unified(facts[0], facts[1], pairs, context)))


def _code_object(path: str, place: Path) -> tuple[Path, str | None]:
    """The raw code object, and the captured kernel's mangled name when it is a bundle's."""
    file = Path(path)
    if file.is_file():
        with file.open("rb") as opened:
            if opened.read(len(_ELF)) == _ELF:
                return file, None
    bundle = open_bundle(path)
    return write_code_object(bundle, place), bundle.capture.kernel.name


def _which(sides: Sequence[tuple[Path, str | None]], named: str | None) -> str:
    """The mangled name of the kernel to compare."""
    captured = next((name for _, name in sides if name is not None), None)
    if named is None and captured is not None:
        return captured
    common = sorted(set(_kernels(sides[0][0])) & set(_kernels(sides[1][0])))
    # A base name is found by its spelling in the mangled one.
    found = [name for name in common if named in (None, name) or f"{len(named)}{named}" in name]
    if len(found) == 1:
        return found[0]
    what = "are in both code objects" if named is None else f"of both code objects are named {named}"
    raise UsageError(
        f"{len(found)} kernels {what}; in common they have {', '.join(common[:_MOST_NAMED]) or 'none'}",
        code="usage.which-kernel" if found else "usage.no-such-kernel",
        hint=typed("--kernel", (found or common or ["NAME"])[0]),
    )


def _kernels(hsaco: Path) -> list[str]:
    done = proc.run([native.find_native().isa, "code", hsaco], timeout_s=_TIMEOUT_S, keep_bytes=256 << 20)
    if not done.ok:
        raise UsageError(
            f"{hsaco}: the code cannot be listed: {done.error_text.strip()[-300:]}", code="usage.not-a-code-object"
        )
    return [function["name"] for function in json.loads(done.stdout)["functions"] if function["kernel"]]


Pair = tuple[int | None, int | None]
"""Places of an instruction on both sides; None where a side has it not."""


def _aligned(before: CodeFacts, after: CodeFacts, scratch: Path) -> list[Pair]:
    """By diff(1), which is quick on long code; branches count as equal there, wherever they lead."""
    for name, facts in (("before", before), ("after", after)):
        texts = (text.split()[0] if i in facts.leads_to else text for i, text in enumerate(facts.instructions))
        (scratch / name).write_text("".join(f"{text}\n" for text in texts), "utf-8")
    formats = ["--old-line-format=-\n", "--new-line-format=+\n", "--unchanged-line-format= \n"]
    done = proc.run(
        ["diff", "--minimal", *formats, scratch / "before", scratch / "after"],
        timeout_s=_TIMEOUT_S,
        keep_bytes=64 << 20,
    )
    pairs: list[Pair] = []
    old = new = 0
    for mark in done.text.splitlines():
        pairs.append((old if mark != "+" else None, new if mark != "-" else None))
        old, new = old + (mark != "+"), new + (mark != "-")
    return pairs


def _labels(before: CodeFacts, after: CodeFacts, pairs: Sequence[Pair]) -> tuple[dict[int, str], dict[int, str]]:
    """Names of the places that branches lead to: one name where both sides lead to the same instruction."""
    partner = {new: old for old, new in pairs if old is not None and new is not None}
    old_names = {place: f"L{n}" for n, place in enumerate(sorted(set(before.leads_to.values())), 1)}
    new_names: dict[int, str] = {}
    for place in sorted(set(after.leads_to.values())):
        shared = old_names.get(partner[place]) if place in partner else None
        new_names[place] = shared or f"N{len(new_names) + 1}"
    return old_names, new_names


def _line(facts: CodeFacts, labels: dict[int, str], place: int) -> str:
    text = facts.instructions[place]
    if place in facts.leads_to:
        words = text.split()
        text = " ".join([*words[:-1], labels[facts.leads_to[place]]])
    label = f"{labels[place]}:" if place in labels else ""
    return f"{label:{_LABEL}}{text}"


def _unified(before: CodeFacts, after: CodeFacts, pairs: Sequence[Pair], context: int) -> Iterator[str]:
    """Hunks as `diff -u` writes them."""
    old_labels, new_labels = _labels(before, after, pairs)
    marked: list[tuple[str, str]] = []
    for old, new in pairs:
        lines = [
            ("-", _line(before, old_labels, old)) if old is not None else None,
            ("+", _line(after, new_labels, new)) if new is not None else None,
        ]
        # A label is no change of the instruction behind it.
        if lines[0] and lines[1] and lines[0][1][_LABEL:] == lines[1][1][_LABEL:]:
            marked.append((" ", lines[1][1]))
        else:
            marked += [line for line in lines if line]
    changed = [i for i, (mark, _) in enumerate(marked) if mark != " "]
    at = old_at = new_at = 0
    while changed:
        first = last = changed.pop(0)
        while changed and changed[0] - last - 1 <= 2 * context:
            last = changed.pop(0)
        start, end = max(at, first - context), min(len(marked), last + 1 + context)
        old_at += sum(mark != "+" for mark, _ in marked[at:start])
        new_at += sum(mark != "-" for mark, _ in marked[at:start])
        old_count = sum(mark != "+" for mark, _ in marked[start:end])
        new_count = sum(mark != "-" for mark, _ in marked[start:end])
        yield f"@@ -{old_at + 1},{old_count} +{new_at + 1},{new_count} @@"
        for mark, line in marked[start:end]:
            yield f"{mark}{line}".rstrip()
        at, old_at, new_at = end, old_at + old_count, new_at + new_count
