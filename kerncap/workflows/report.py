"""Writes a verdict as one HTML file.

In: a Verdict, the bundle that it is about where that is at hand, what its source is compared with. Out: the file, whole
or not at all. Called by the commands that make verdicts and by `kerncap html`.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kerncap import report
from kerncap.bundle import Bundle
from kerncap.bundle.capture import Capture
from kerncap.bundle.dispatch import Argument
from kerncap.bundle.location import RegistryLocation, parse_source
from kerncap.bundle.outputs import new_file
from kerncap.bundle.step import step_bundle
from kerncap.errors import UsageError, typed
from kerncap.results import Verdict
from kerncap.transport import open_any
from kerncap.transport.reference import parse_reference
from kerncap.verdict.arguments import argument_name, argument_types, argument_value
from kerncap.verdict.ranges import Ranges, normalise
from kerncap.verdict.types import name_of
from kerncap.workflows.source_diff import compare_source

MAX_REGIONS = 256
_MAX_ARGUMENTS = 256


@dataclass(frozen=True)
class Request:
    """`bundle`: how the user named it, None where it is not at hand. `source`: with whose source its own is compared.
    `hsaco`: the variant; `recompiled`: it came from the bundle's own source. `lines`: what did the work."""

    output: Path
    bundle: str | None
    source: str | None = None
    hsaco: Path | None = None
    recompiled: bool = False
    only: int | None = None
    plain_http: bool = False
    lines: tuple[str, ...] = ()


def write_report(verdict: Verdict, request: Request) -> None:
    """Raises: UsageError `usage.output-exists`, `usage.other-bundle`; BundleError, HostError, TransportError."""
    facts = gather(verdict, request)
    with new_file(request.output) as file:
        data = memoryview(report.render(facts).encode("utf-8", "backslashreplace"))
        while data:
            data = data[file.write(data) :]


def gather(verdict: Verdict, request: Request) -> report.Facts:
    """What the page says."""
    bundle = None if request.bundle is None else open_any(request.bundle, plain_http=request.plain_http)
    if bundle is not None and bundle.manifest_digest != verdict.bundle:
        raise UsageError(
            f"the verdict is about {verdict.bundle or 'a reproducer'}, {bundle.name} is "
            f"{bundle.manifest_digest or 'a reproducer'}",
            code="usage.other-bundle",
            hint=typed("kerncap", "inspect", request.bundle),
        )
    compared = None
    if bundle is not None:
        compared = compare_source(bundle, _judged_source(request), request.recompiled, plain_http=request.plain_http)
    shown = bundle if bundle is None or request.only is None else step_bundle(bundle, request.only)
    return report.Facts(
        verdict=verdict,
        bundle=None if shown is None else _bundle_facts(shown),
        source=compared,
        reproduce=tuple(_reproduce(verdict, request)),
        written_by=_tool(),
        written_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def _judged_source(request: Request) -> str | None:
    """What was named, else the reproducer in which the variant lies."""
    if request.source is not None or request.hsaco is None:
        return request.source
    beside = request.hsaco.absolute().parent
    return str(beside) if (beside / "reproducer.json").is_file() and (beside / "src").is_dir() else None


def _bundle_facts(bundle: Bundle) -> report.Bundle:
    capture = bundle.capture
    device, dispatch = capture.device, capture.dispatch
    regions = _regions(bundle)
    return report.Bundle(
        mangled=capture.kernel.name,
        target=capture.code_object.target,
        framework=f"Triton {capture.triton}" if capture.triton else "HIP or another one on HSA",
        code_object=capture.code_object.digest,
        captured_on=f"{device.product or device.agent} ({device.device_class or 'unknown class'})",
        versions=tuple(sorted((str(name), str(value)) for name, value in capture.runtime.items()))[:32],
        grid=dispatch.grid,
        workgroup=dispatch.workgroup,
        group_segment_bytes=dispatch.group_segment_bytes,
        private_segment_bytes=dispatch.private_segment_bytes,
        steps=len(capture.steps),
        arguments=tuple(_arguments(capture))[:_MAX_ARGUMENTS],
        regions=regions,
        more_regions=len(bundle.index.regions) - len(regions),
        source_files=bundle.source_count,
    )


def _arguments(capture: Capture) -> Iterable[report.Argument]:
    types = argument_types(capture)
    for number, argument in enumerate(capture.kernarg.args):
        type_name = types.get(argument.offset, "")
        tensor = argument.tensor
        shown = ""
        if tensor is not None:
            strides = ", ".join(map(str, tensor.strides))
            shown = f"{tensor.dtype}, {' x '.join(map(str, tensor.shape)) or 'scalar'}, strides {strides or 'none'}"
        yield report.Argument(
            name=_name(argument, number),
            type=type_name or argument.kind,
            value=argument_value(capture, argument, type_name),
            tensor=shown,
            hidden=argument.hidden,
        )


def _name(argument: Argument, number: int) -> str:
    """An unnamed one as inspect and as verdicts call it."""
    name = argument_name(argument, number)
    return name if argument.name or argument.hidden else f"{name}, {name_of(argument)}"


def _regions(bundle: Bundle) -> tuple[report.Region, ...]:
    """In the order of their addresses; of too many those that are used, then the big ones."""
    capture = bundle.capture
    known = capture.write_set
    read = _by_region(normalise(known.read_first)) if known else None
    written = _by_region(normalise(known.written)) if known else None
    names: dict[int, list[str]] = {}
    for step in capture.steps:
        for argument in step.kernarg.args:
            if argument.region is not None and not argument.hidden:
                names.setdefault(argument.region, []).append(name_of(argument))
    found = []
    for number, region in enumerate(bundle.index.regions):
        kind = "padding" if region.is_padding else region.kind
        name = ", ".join(dict.fromkeys(names.get(number, ())))[:200] or region.symbol or ""
        if region.alias_of is not None:
            name = f"{name} (the memory of region {region.alias_of})".strip()
        found.append(
            report.Region(
                number=number,
                va=region.va,
                size=region.size,
                kind=kind,
                segment=region.segment,
                name=name,
                read=None if read is None else read.get(number, ()),
                written=None if written is None else written.get(number, ()),
                changed=tuple((chunk.at, chunk.length) for chunk in region.post),
            )
        )
    if len(found) > MAX_REGIONS:
        found = sorted(found, key=lambda r: (not (r.changed or r.written or r.read), not r.name, -r.size))[:MAX_REGIONS]
    return tuple(sorted(found, key=lambda region: region.va))


def _by_region(ranges: Ranges) -> dict[int, tuple[tuple[int, int], ...]]:
    by_region: dict[int, list[tuple[int, int]]] = {}
    for region, offset, length in ranges:
        by_region.setdefault(region, []).append((offset, length))
    return {region: tuple(some) for region, some in by_region.items()}


def _reproduce(verdict: Verdict, request: Request) -> Iterable[report.Reproduce]:
    for line in request.lines:
        yield report.Reproduce("As it was run", line)
    from kerncap.runtime.containers.spec import Spec  # with the docker package, which takes a while

    location = None if request.bundle is None else parse_source(request.bundle)
    options = _options(verdict, request)
    image = verdict.ran.image if verdict.ran else None
    pinned = None
    if image is not None:
        name = image.name.partition("@")[0]
        repository = name.rpartition(":")[0] if ":" in name.rpartition("/")[2] else name
        pinned = f"{repository}@{image.repository_digest}" if image.repository_digest else image.id
    if isinstance(location, RegistryLocation):
        place = _pinned(location, verdict)
        yield report.Reproduce("With Kerncap", typed("kerncap", "run", place, *options))
        if pinned is not None and not options:
            # The entry point gives the network up when it has pulled.
            spec = Spec(pinned, (place,), (), _gpu_nodes(verdict), network="host", read_only=False)
            yield report.Reproduce("With the same image, by its digest", spec.docker_line())
        return
    bundle = str(location or "BUNDLE")
    yield report.Reproduce("With Kerncap", typed("kerncap", "run", bundle, *options) + _digest_note(verdict))
    if pinned is not None and not options and location is not None and verdict.bundle is not None:
        path = Path(getattr(location, "path", "")).absolute()
        inside = "/bundle" if path.is_dir() else "/bundle.kcap.tar"
        spec = Spec(pinned, (inside,), ((path, inside),), _gpu_nodes(verdict))
        yield report.Reproduce("With the same image, by its digest", spec.docker_line())


def _pinned(location: RegistryLocation, verdict: Verdict) -> str:
    """The reference with the digest of what was judged."""
    reference = parse_reference(location.reference)
    if "@" in location.reference or verdict.bundle is None:
        return str(reference)
    return f"{reference}@{verdict.bundle}"


def _digest_note(verdict: Verdict) -> str:
    return "" if verdict.bundle is None else f"  # {verdict.bundle}"


def _options(verdict: Verdict, request: Request) -> list[str]:
    options = []
    if request.recompiled:
        options.append("--recompile")
    elif request.hsaco is not None:
        options += ["--hsaco", str(request.hsaco)]
    elif verdict.hsaco is not None:
        options += ["--hsaco", "VARIANT"]
    for name, value in (verdict.tolerance or {}).items():
        options += [f"--{name}", f"{value:g}"] if value else []
    if request.only is not None:
        options += ["--only", str(request.only)]
    if verdict.device.startswith("vgpu"):
        options += ["--device", verdict.device] if options else []
    return options


def _gpu_nodes(verdict: Verdict) -> tuple[str, ...]:
    return ("/dev/kfd", "/dev/dri") if verdict.device.startswith("gpu") else ()


def _tool() -> str:
    try:
        return f"kerncap {importlib.metadata.version('kerncap')}"
    except importlib.metadata.PackageNotFoundError:
        return "kerncap (source checkout)"
