"""A verdict as text on stdout. Called by replay, validate and run."""

from __future__ import annotations

import statistics

from kerncap.cli.output import format_bytes, say, table
from kerncap.results import Verdict

_SHOWN_HEX = 32


def print_verdict(verdict: Verdict) -> None:
    """The word first, then what it rests on."""
    say(f"verdict: {verdict.verdict}")
    rows: list[tuple[str, object]] = [
        ("kernel", verdict.kernel),
        ("device", f"{verdict.device} ({verdict.product})" if verdict.product else verdict.device),
        ("judged", ", ".join(j.name for j in verdict.judgements)),
        ("compared", format_bytes(verdict.bytes_compared)),
        ("changed", format_bytes(verdict.changed_bytes)),
        ("written", "unknown" if verdict.written_bytes is None else format_bytes(verdict.written_bytes)),
        ("mismatch", format_bytes(verdict.mismatch_bytes)),
    ]
    if verdict.timing_ns:
        median = statistics.median(verdict.timing_ns) / 1000
        rows.append(("time", f"median {median:.1f} us of {len(verdict.timing_ns)} dispatches"))
    if verdict.tolerance:
        rows.append(("tolerance", ", ".join(f"{k} {v:g}" for k, v in verdict.tolerance.items())))
    say(table(rows, indent=2))
    for name, why in verdict.not_judged.items():
        say(f"  not judged {name}: {why}")
    for reason in verdict.reasons:
        say(f"  {reason}")
    if verdict.mismatches:
        say("  first mismatches:")
        lines = [
            (f"{m.region_va + m.offset:#x}", f"region {m.region} + {m.offset:#x}", _short(m.expected), _short(m.actual))
            for m in verdict.mismatches
        ]
        say(table(lines, header=("address", "offset", "expected", "actual"), indent=4))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_HEX else text[:_SHOWN_HEX] + "..."
