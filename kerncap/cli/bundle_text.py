"""A bundle for people: the call with typed arguments, memory by class, what is secret in it; and the same as JSON.

In: an open Bundle. Out: text (not yet escaped) and a JSON document. Called by inspect and push.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kerncap.bundle import Bundle
from kerncap.bundle.capture import Capture
from kerncap.bundle.index import Region
from kerncap.cli.output import format_bytes, table
from kerncap.errors import counted
from kerncap.verdict.arguments import argument_name, argument_types, argument_value


def region_class(region: Region) -> str:
    return f"{region.kind}, {region.segment}"


def memory_classes(bundle: Bundle) -> dict[str, dict[str, int]]:
    """Regions, bytes and changed bytes (in whole chunks) of each kind and segment."""
    classes: dict[str, dict[str, int]] = {}
    for region in bundle.index.regions:
        row = classes.setdefault(region_class(region), {"regions": 0, "bytes": 0, "changed_chunk_bytes": 0})
        row["regions"] += 1
        row["bytes"] += region.size
        row["changed_chunk_bytes"] += sum(chunk.length for chunk in region.post)
    return classes


def trigger_text(trigger: Mapping[str, Any]) -> str:
    """`arg[3]>1000 (n is 1024)`, `slower-than=2x (52100 ns, median 20000 ns)`."""
    if "value" in trigger:
        found = f"{trigger['argument']} is {trigger['value']}"
    elif "dispatch_ns" in trigger:
        found = f"{trigger['dispatch_ns']} ns"
        found += f", median {trigger['median_ns']} ns" if "median_ns" in trigger else ""
    elif "count" in trigger:
        found = f"{trigger['count']} {trigger['type']} of {trigger['argument']}, the first at {trigger['first_va']:#x}"
    else:
        found = f"at {trigger['first_va']:#x}"
    return f"{trigger['predicate']} ({found})"


def describe(bundle: Bundle, *, regions: bool) -> str:
    """Several lines; with `regions` also one for each region and hidden argument."""
    capture = bundle.capture
    dispatch = capture.dispatch
    rows = [
        ("kernel", capture.kernel.demangled or capture.kernel.name),
        ("target", capture.code_object.target),
        (
            "captured on",
            f"{capture.device.product or capture.device.agent} ({capture.device.device_class or 'unknown class'})",
        ),
        ("grid", f"{_dim3(dispatch.grid)} workitems in workgroups of {_dim3(dispatch.workgroup)}"),
        ("LDS, scratch", f"{dispatch.group_segment_bytes} B, {dispatch.private_segment_bytes} B"),
        ("outcome", capture.status + ("" if capture.fault_va is None else f" at {capture.fault_va:#x}")),
        ("consistency", "consistent" if capture.consistent else "best-effort: " + "; ".join(capture.inconsistency)),
        ("memory", f"{format_bytes(bundle.index.raw_bytes)}, stored in {format_bytes(bundle.index.stored_bytes)}"),
        ("code object", f"{capture.code_object.digest} ({format_bytes(capture.code_object.size)})"),
        ("versions", ", ".join(f"{name} {value}" for name, value in sorted(capture.runtime.items()))),
    ]
    if capture.trigger:
        rows.append(("captured for", trigger_text(capture.trigger)))
    if capture.rank is not None:
        rows.append(("rank", str(capture.rank)))
    if capture.command:
        rows.append(("command", " ".join(capture.command)))
    if bundle.manifest is not None and bundle.config is not None:
        rows.insert(0, ("digest", bundle.manifest.digest))
        source = counted(bundle.source_count, "file") if bundle.source_count else "none"
        rows += [
            ("source", source),
            ("format", bundle.config.spec_version),
            ("total", format_bytes(bundle.manifest.total_bytes)),
        ]
    parts = [table(rows), "", "arguments", table(_arguments(capture, hidden=regions), indent=2)]
    if capture.sequence:
        header = ("#", "kernel", "grid", "workgroup", "code object", "waits for")
        parts += [
            "",
            f"dispatches (states: {capture.sequence.states})",
            table(_steps(capture), header=header, indent=2),
        ]
    memory = [
        (name, row["regions"], format_bytes(row["bytes"])) for name, row in sorted(memory_classes(bundle).items())
    ]
    parts += ["", "memory by class", table(memory, header=("class", "regions", "size"), indent=2)]
    if regions:
        parts += [
            "",
            "regions",
            table(_regions(bundle), header=("#", "va", "size", "class", "changed", "symbol"), indent=2),
        ]
    return "\n".join(parts)


def _steps(capture: Capture) -> Iterator[tuple[object, ...]]:
    for number, step in enumerate(capture.steps):
        waits = [f"all ({b.type} barrier)" for b in step.barriers_before if b.barrier]
        waits += [str(other) for b in step.barriers_before for other in b.waits_for]
        waits += ["all"] if step.dispatch.ordered and number else []
        name = step.kernel.demangled or step.kernel.name
        code = step.code_object.digest.removeprefix("sha256:")[:12]
        yield number, name, _dim3(step.dispatch.grid), _dim3(step.dispatch.workgroup), code, ", ".join(waits) or "-"


def steps_json(capture: Capture) -> list[dict[str, Any]]:
    """Every dispatch of a sequence; none of a single one."""
    return [
        {
            "kernel": {"name": step.kernel.name, "demangled": step.kernel.demangled},
            "grid": list(step.dispatch.grid),
            "workgroup": list(step.dispatch.workgroup),
            "code_object": step.code_object.digest,
            "barrier": step.dispatch.ordered,
            "barriers_before": [
                {"type": b.type, "barrier": b.barrier, "waits_for": list(b.waits_for)} for b in step.barriers_before
            ],
        }
        for step in (capture.steps if capture.sequence else ())
    ]


def _arguments(capture: Capture, *, hidden: bool) -> Iterator[tuple[str, str, str]]:
    types = argument_types(capture)
    for number, argument in enumerate(capture.kernarg.args):
        type_name = types.get(argument.offset, "")
        if hidden or not argument.hidden:
            name = argument_name(argument, number)
            yield type_name or argument.kind, name, "= " + argument_value(capture, argument, type_name)


def _regions(bundle: Bundle) -> Iterator[tuple[object, ...]]:
    for number, region in enumerate(bundle.index.regions):
        changed = format_bytes(sum(chunk.length for chunk in region.post)) if region.post else "-"
        if region.alias_of is not None:
            changed = f"as {region.alias_of}"
        yield number, f"{region.va:#x}", format_bytes(region.size), region_class(region), changed, region.symbol or ""


def describe_json(bundle: Bundle) -> dict[str, Any]:
    """`kerncap.inspected/1`."""
    capture = bundle.capture
    types = argument_types(capture)
    return {
        "schema": "kerncap.inspected/1",
        "bundle": bundle.name,
        "digest": bundle.manifest_digest,
        "content_digest": None if bundle.config is None else bundle.config.content_digest,
        "spec_version": None if bundle.config is None else bundle.config.spec_version,
        "target": capture.code_object.target,
        "kernel": {"name": capture.kernel.name, "demangled": capture.kernel.demangled},
        "dispatch": {key: bundle.capture_json["dispatch"][key] for key in ("dims", "grid", "workgroup")},
        "sequence": steps_json(capture),
        "arguments": [
            {
                "name": argument.name,
                "type": types.get(argument.offset),
                "kind": argument.kind,
                "value": argument_value(capture, argument, types.get(argument.offset, "")),
                "region": argument.region,
                "region_offset": argument.region_offset,
            }
            for argument in capture.kernarg.args
        ],
        "device": bundle.capture_json["device"],
        "runtime": dict(capture.runtime),
        "outcome": bundle.capture_json["outcome"],
        "trigger": capture.trigger,
        "consistency": bundle.capture_json["consistency"],
        "rank": capture.rank,
        "command": capture.command,
        "environment": capture.environment,
        "memory": memory_classes(bundle),
        "regions": len(bundle.index.regions),
        "raw_bytes": bundle.index.raw_bytes,
        "stored_bytes": bundle.index.stored_bytes,
        "total_bytes": None if bundle.manifest is None else bundle.manifest.total_bytes,
        "source_files": bundle.source_count,
    }


def describe_secrets(bundle: Bundle) -> str:
    """What somebody who gets this bundle can read."""
    capture = bundle.capture
    lines = [f"This bundle holds, readable for whoever gets it ({capture.kernel.demangled or capture.kernel.name}):"]
    for name, row in sorted(memory_classes(bundle).items()):
        lines.append(
            f"  memory of the captured process: {format_bytes(row['bytes'])} "
            f"in {counted(row['regions'], 'region')} ({name})"
        )
    if capture.command:
        lines.append(f"  the command line: {' '.join(capture.command)}")
    if capture.environment:
        lines.append(
            "  environment: " + ", ".join(f"{name}={value}" for name, value in sorted(capture.environment.items()))
        )
    if bundle.source_count:
        lines.append(f"  source code: {counted(bundle.source_count, 'file')}")
    lines.append(f"  the code object: {format_bytes(capture.code_object.size)}")
    return "\n".join(lines)


def _dim3(values: tuple[int, int, int]) -> str:
    return " x ".join(str(value) for value in values)
