"""The checked mode of the virtual GPU: which checks, on which device, and what its report says in the bundle's words.

In: the text of `--check`; a check report (docs/interfaces.md), the capture, the code object.
Out: CheckResult, with source lines, regions and argument names. Called by the replay workflow and by the commands
that have `--check`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kerncap import native
from kerncap.bundle.capture import Capture
from kerncap.bundle.index import Index, Region
from kerncap.errors import ReplayError, UsageError
from kerncap.results import CheckResult, Finding, ReplayResult, Site, parse_finding
from kerncap.source.debug_info import lines_at, symbol_value
from kerncap.verdict.types import argument_at

CHECKED_SLOWDOWN = 20.0
"""How much longer than `--timeout` a dispatch may take while it is checked."""

_NAMED_FINDINGS = 3


def parse_checks(text: str | None) -> str | None:
    """Raises: UsageError `usage.check`."""
    if text is None:
        return None
    for word in text.split("+"):
        if word not in native.CHECKS:
            raise UsageError(
                f"there is no check {word!r}, only {', '.join(native.CHECKS)}", code="usage.check", hint="--check all"
            )
    return text


def refuse_check_on_gpu(checks: str, device: native.Device, target: str) -> None:
    """Raises: UsageError `usage.check-needs-vgpu`."""
    if device.kind != "vgpu":
        raise UsageError(
            f"--check {checks} needs the virtual GPU: {device} does not tell which lane touches which byte",
            code="usage.check-needs-vgpu",
            hint=f"--device vgpu:{target}",
        )


def write_check_files(checks: str, index: Index, scratch: Path) -> native.CheckFiles:
    """The exact size of each region, which the device does not know: it maps whole pages.

    Variables are left out: they lie in the loaded code object. So is padding, which is out of bounds.
    """
    files = native.CheckFiles(checks, scratch / "check.jsonl", scratch / "regions.txt")
    lines = [f"{region.va} {region.size}\n" for region in index.regions if _is_buffer(region)]
    files.regions.write_text("".join(lines), encoding="ascii")
    return files


def read_check_report(
    files: native.CheckFiles, result: ReplayResult, capture: Capture, index: Index, code: Path
) -> CheckResult:
    """Raises: ReplayError `replay.not-checked` when the dispatch left no report."""
    line = _line_of(files.report, result)
    findings = [parse_finding(finding) for finding in line["findings"]]
    limits = [str(limit) for limit in line["limits"]]
    if "stopped" in line:
        limits.append(f"the dispatch stopped, what came after was not checked: {line['stopped']}")
    elif result.error is not None:
        limits.append(f"the dispatch stopped, what came after was not checked: {result.error.message}")
    base = symbol_value(code, capture.kernel.symbol)
    sources = _sources(code, findings, int(line["kernel_object"]), base) if base is not None else {}
    return CheckResult(
        checks=tuple(map(str, line["checks"])),
        findings=tuple(_in_words_of_the_bundle(finding, sources, capture, index) for finding in findings),
        limits=tuple(limits),
        instructions=int(line["instructions"]),
    )


def with_findings(error: ReplayError, checked: CheckResult) -> ReplayError:
    """There is no verdict to hold the findings, a fault for instance: the error names the first ones."""
    errors = [finding for finding in checked.findings if not finding.benign]
    if not errors:
        return error
    lines = [f"check {f.check}: {f.kind}: {f.message}: {_named(f.site)}" for f in errors[:_NAMED_FINDINGS]]
    left = len(errors) - len(lines)
    if left:
        lines.append(f"and {left} findings more")
    return ReplayError("; ".join([error.message, *lines]), code=error.code, hint=error.hint)


def _named(site: Site) -> str:
    where = f"{site.source}: " if site.source else ""
    lane = "" if site.lane is None else f" lane {site.lane}"
    return f"{where}{site.text} (workgroup {','.join(map(str, site.workgroup))} wave {site.wave}{lane})"


def _line_of(report: Path, result: ReplayResult) -> Mapping[str, Any]:
    """The runtime's own kernels are in the report, too: they copy code objects."""
    lines: list[Mapping[str, Any]] = []
    if report.is_file():
        lines = [json.loads(line) for line in report.read_bytes().split(b"\n") if line]
    wanted = {run.kernel_object_va for run in result.runs}
    for line in reversed(lines):
        if line["kernel_object"] in wanted or (not wanted and line.get("stopped")):
            return dict(line)
    if result.error is not None:
        raise result.error
    raise ReplayError(
        "the virtual GPU wrote no check report for the dispatch",
        code="replay.not-checked",
        hint="kerncap doctor  # are kerncap and its native files of one version?",
    )


def _in_words_of_the_bundle(finding: Finding, sources: Mapping[int, str], capture: Capture, index: Index) -> Finding:
    def with_source(site: Site) -> Site:
        return replace(site, source=sources.get(site.pc))

    region = _region(finding.address, index) if finding.space == "global" else None
    return replace(
        finding,
        site=with_source(finding.site),
        other=with_source(finding.other) if finding.other else None,
        region=region,
        argument=argument_at(capture, *region) if region else None,
    )


def _region(address: int | None, index: Index) -> tuple[int, int] | None:
    """The region of an address, or the one that ends last before it: an offset past its size is out of bounds."""
    best: tuple[int, int] | None = None
    for number, region in enumerate(index.regions):
        if address is not None and _is_buffer(region) and region.va <= address:
            best = (number, address - region.va)
    return best


def _is_buffer(region: Region) -> bool:
    return region.kind != "variable" and not region.is_padding


def _sources(code: Path, findings: Iterable[Finding], kernel_object: int, base: int) -> dict[int, str]:
    """file:line of each pc. Empty without line tables or without LLVM's tools."""
    sites = [site for finding in findings for site in (finding.site, finding.other) if site is not None]
    addresses = {site.pc - kernel_object + base: site.pc for site in sites}
    lines = lines_at(code, sorted(addresses))
    return {addresses[address]: f"{file}:{line}" for address, (file, line) in lines.items()}
