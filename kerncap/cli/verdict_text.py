"""A verdict on stdout. Called by replay, validate and run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from kerncap.cli.output import format_bytes, print_json, say, table
from kerncap.errors import counted
from kerncap.results import CheckResult, ElementDifference, Finding, Mismatch, OutputDifference, Site, Verdict

_SHOWN_HEX = 32


def report_verdict(verdict: Verdict, *, as_json: bool) -> int:
    """On stdout, as one document or as text; gives the exit code of the command."""
    if as_json:
        print_json(verdict.to_json())
    else:
        print_verdict(verdict)
    return verdict.exit_code


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
        rows.append(("time", f"median {median:.1f} us of {counted(len(verdict.timing_ns), 'dispatch')}"))
    if verdict.tolerance:
        rows.append(("tolerance", ", ".join(f"{k} {v:g}" for k, v in verdict.tolerance.items())))
    say(table(rows, indent=2))
    for name, why in verdict.not_judged.items():
        say(f"  not judged {name}: {why}")
    for reason in verdict.reasons:
        say(f"  {reason}")
    if verdict.outputs:
        _print_outputs(verdict.outputs)
    elif verdict.mismatches:
        say("  first mismatches:")
        header = ("address", "offset", "argument", "expected", "actual")
        say(table([_mismatch(m) for m in verdict.mismatches], header=header, indent=4))
    if verdict.checks is not None:
        _print_checks(verdict.checks)


def _print_outputs(outputs: Sequence[OutputDifference]) -> None:
    """What differs by output, then the first elements of each."""
    say(f"  outputs that differ ({outputs[0].run}):")
    header = ("output", "type", "shape", "differ", "of", "beyond", "max abs", "max rel", "max ulp", "NaN", "inf")
    say(table([_output(one) for one in outputs], header=header, indent=4))
    say("  first mismatches:")
    rows = [
        (_element(one, first), f"region {one.region} + {first.offset:#x}", first.expected, first.actual)
        for one in outputs
        for first in one.first
    ]
    say(table(rows, header=("element", "place", "expected", "actual"), indent=4))


def _output(one: OutputDifference) -> tuple[object, ...]:
    shape = "" if one.shape is None else "x".join(map(str, one.shape)) or "scalar"
    known = one.type is not None

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.4g}"

    return (
        one.argument or f"region {one.region}",
        one.type or "bytes",
        shape,
        one.differing,
        one.elements if known else "",
        one.beyond,
        number(one.max_abs),
        number(one.max_rel),
        "" if one.max_ulp is None else one.max_ulp,
        _counts(one.nan),
        _counts(one.inf),
    )


def _counts(pair: tuple[int, int]) -> str:
    """`0 -> 3`: expected and actual, where there is any."""
    return f"{pair[0]} -> {pair[1]}" if any(pair) else ""


def _element(one: OutputDifference, first: ElementDifference) -> str:
    """`out[0, 3, 17]`."""
    name = one.argument or f"region {one.region}"
    if first.index is None:
        return f"{name}, byte" if one.type is None else f"{name}, outside"
    return f"{name}[{', '.join(map(str, first.index))}]"


def _print_checks(checks: CheckResult) -> None:
    errors = [f for f in checks.findings if not f.benign]
    found = counted(len(errors), "error") if errors else "clean"
    benign = len(checks.findings) - len(errors)
    say(f"check {'+'.join(checks.checks)}: {found}" + (f", {benign} benign" if benign else ""))
    for finding in sorted(checks.findings, key=lambda f: f.benign):
        times = f" ({finding.count} times)" if finding.count > 1 else ""
        say(f"  {finding.kind}: {finding.message}{times}")
        if finding.address is not None:
            say(f"    {counted(finding.size_bytes, 'byte')} at {_place(finding)}")
        say(f"    at {_where(finding.site)}")
        if finding.other is not None:
            say(f"    and {_where(finding.other)}")
    for limit in checks.limits:
        say(f"  not checked: {limit}")


def _place(finding: Finding) -> str:
    if finding.region is None:
        return f"{finding.space} {finding.address:#x}"
    number, offset = finding.region
    name = f" ({finding.argument})" if finding.argument else ""
    return f"{finding.address:#x}, region {number} + {offset:#x}{name}"


def _where(site: Site) -> str:
    lane = "" if site.lane is None else f" lane {site.lane}"
    source = f"{site.source}: " if site.source else ""
    x, y, z = site.workgroup
    return f"{source}{site.text} [pc {site.pc:#x}, workgroup {x},{y},{z} wave {site.wave}{lane}]"


def _mismatch(found: Mismatch) -> tuple[str, ...]:
    where = f"region {found.region} + {found.offset:#x}"
    return (
        f"{found.region_va + found.offset:#x}",
        where,
        found.argument or "",
        _value(found.expected, found.type),
        _value(found.actual, found.type),
    )


def _value(text: str, kind: str | None) -> str:
    """Bytes as they lie in memory and, when their type is known and they are whole elements, the numbers."""
    shown = text if len(text) <= _SHOWN_HEX else text[:_SHOWN_HEX] + "..."
    if kind is None:
        return shown
    # numpy takes time to load and is not needed for most verdicts
    from kerncap.verdict.types import SHOWN_BYTES
    from kerncap.verdict.values import text_of, values_of

    data = bytes.fromhex(text[:_SHOWN_HEX])
    if not data or len(data) % SHOWN_BYTES[kind]:
        return shown
    numbers = ", ".join(text_of(value, kind) for value in values_of(data, kind).tolist())
    return f"{shown} ({numbers})"
