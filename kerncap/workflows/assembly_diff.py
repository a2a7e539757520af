"""A unified diff of the assembly of one function in two code objects, branches named by where they lead.

In: the CodeFacts of both. Out: lines as `diff -u` writes them, without file names. Called by `code_diff`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kerncap import proc
from kerncap.errors import HostError
from kerncap.workflows.code import CodeFacts

_TIMEOUT_S = 120
_LABEL = 6
"""Columns before an instruction."""


def assembly_diff(before: CodeFacts, after: CodeFacts, scratch: Path, context: int) -> list[str]:
    """Empty when all instructions are the same and all branches lead to the same ones.

    `context`: lines around a change. Raises: HostError `host.diff`.
    """
    return list(_unified(before, after, _aligned(before, after, scratch), context))


Pair = tuple[int | None, int | None]
"""Places of an instruction on both sides; None where a side has it not."""


def _aligned(before: CodeFacts, after: CodeFacts, scratch: Path) -> list[Pair]:
    """By diff(1), which is quick on long code; branches count as equal there, wherever they lead."""
    for name, facts in (("before", before), ("after", after)):
        texts = (text.split()[0] if i in facts.leads_to else text for i, text in enumerate(facts.instructions))
        (scratch / name).write_text("".join(f"{text}\n" for text in texts), "utf-8")
    formats = ["--old-line-format=-\n", "--new-line-format=+\n", "--unchanged-line-format= \n"]
    done = proc.run(
        ["diff", *formats, scratch / "before", scratch / "after"], timeout_s=_TIMEOUT_S, keep_bytes=64 << 20
    )
    if done.timed_out or done.returncode not in (0, 1):
        why = "did not end in time" if done.timed_out else done.error_text.strip()[-300:]
        raise HostError(f"the assembly could not be compared: diff {why}", code="host.diff", hint="command -v diff")
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
