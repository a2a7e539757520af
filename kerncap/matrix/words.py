"""Why a cell came out as it did, in lines of plain text that every report shows. Called by junit, sarif and page."""

from __future__ import annotations

from kerncap.errors import counted
from kerncap.matrix.result import CellResult


def why(result: CellResult) -> list[str]:
    """At least one line; of an error its message and hint, of a verdict what it rests on.

    Further lines of a text are indented: nothing in it poses as a hint.
    """
    if result.error is not None:
        message = _indented(result.error.message) or [result.error.code]
        return [*message, *(f"hint: {line}" for line in _indented(result.error.hint or ""))]
    verdict = result.verdict
    if verdict is None:
        return ["nothing is known of it"]
    lines = [verdict.verdict]
    if verdict.mismatch_bytes:
        lines[0] += f": {counted(verdict.mismatch_bytes, 'byte')} of {verdict.bytes_compared} compared"
    lines += [line for reason in verdict.reasons for line in _indented(reason)]
    for output in verdict.outputs:
        name = output.argument or f"region {output.region}"
        lines.append(f"{name}: {output.differing} of {output.elements} {output.type or 'bytes'} differ")
    lines += [f"not judged {name}: {reason}" for name, reason in verdict.not_judged.items()]
    return [line.replace("\n", " ") for line in lines]


def _indented(text: str) -> list[str]:
    first, *more = text.splitlines() or [""]
    return [first, *(f"  {line}" for line in more)] if text else []


def duration(seconds: float | None) -> str:
    """Of a container."""
    return "" if seconds is None else f"{seconds:.1f} s"


def dispatch_time(nanoseconds: float | None) -> str:
    """In the unit that gives one to three digits before the point."""
    if nanoseconds is None:
        return ""
    for unit, factor in (("ns", 1.0), ("us", 1e3), ("ms", 1e6)):
        if nanoseconds < 1000 * factor:
            return f"{nanoseconds / factor:.1f} {unit}"
    return f"{nanoseconds / 1e9:.2f} s"


def short_digest(digest: str | None) -> str:
    """`sha256:4c15d7eccfe7`."""
    if digest is None:
        return ""
    head, colon, tail = digest.rpartition(":")
    return f"{head}{colon}{tail[:12]}"
