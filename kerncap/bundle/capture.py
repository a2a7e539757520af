"""capture.json as types: what was dispatched, with which arguments, where.

In: a dict that the capture schema accepts. Out: a frozen Capture. Called by the bundle reader; read by every stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerncap.bundle.documents import check_schema_version, parse_json, validate
from kerncap.bundle.limits import MAX_CAPTURE_JSON_BYTES, MAX_HSACO_BYTES, MAX_RANGES
from kerncap.errors import BundleError

ISA_PREFIX = "amdgcn-amd-amdhsa--"

ByteRange = tuple[int, int, int]
"""(region, offset, length), bytes."""


@dataclass(frozen=True, slots=True)
class Kernel:
    name: str
    """Mangled."""
    demangled: str
    symbol: str


@dataclass(frozen=True, slots=True)
class Dispatch:
    match_index: int
    queue_index: int
    dims: int
    grid: tuple[int, int, int]
    """In workitems, as HSA counts."""
    workgroup: tuple[int, int, int]
    group_segment_bytes: int
    private_segment_bytes: int
    kernarg_va: int
    kernel_object_va: int
    packet: bytes


@dataclass(frozen=True, slots=True)
class Argument:
    offset: int
    size: int
    kind: str
    """The code object's `.value_kind`."""
    name: str | None
    type: str | None
    region: int | None
    region_offset: int | None

    @property
    def hidden(self) -> bool:
        return self.kind.startswith("hidden_")


@dataclass(frozen=True, slots=True)
class Kernarg:
    size: int
    data: bytes
    args: tuple[Argument, ...]

    def value(self, argument: Argument) -> bytes:
        return self.data[argument.offset : argument.offset + argument.size]


@dataclass(frozen=True, slots=True)
class CodeObject:
    digest: str
    size: int
    isa: str
    load_va: int
    load_size: int

    @property
    def target(self) -> str:
        """`gfx942:sramecc+:xnack-`."""
        return self.isa.removeprefix(ISA_PREFIX)


@dataclass(frozen=True, slots=True)
class Device:
    agent: str
    isa: str
    product: str
    memory_bytes: int
    compute_units: int
    device_class: str | None
    """`gpu` or `vgpu`; None before sealing."""


@dataclass(frozen=True, slots=True)
class WriteSet:
    source: str
    written: tuple[ByteRange, ...]
    read_first: tuple[ByteRange, ...]


@dataclass(frozen=True, slots=True)
class Unreadable:
    va: int
    size: int
    reason: str
    touched: bool | None = None
    """Whether the dispatch used it, where the virtual GPU's trace says so."""


@dataclass(frozen=True, slots=True)
class Capture:
    kernel: Kernel
    dispatch: Dispatch
    kernarg: Kernarg
    code_object: CodeObject
    device: Device
    runtime: Mapping[str, str]
    consistent: bool
    inconsistency: tuple[str, ...]
    status: str
    """`completed` or `fault`."""
    fault_va: int | None
    unreadable: tuple[Unreadable, ...]
    command: tuple[str, ...] | None
    environment: Mapping[str, str] | None
    write_set: WriteSet | None
    noise: tuple[ByteRange, ...]
    self_check: Mapping[str, Any] | None


def parse_capture(data: bytes, *, what: str = "capture.json") -> tuple[Capture, dict[str, Any]]:
    """The typed capture and the document as read (unknown members kept).

    Raises: BundleError.
    """
    document = parse_json(data, what=what, limit=MAX_CAPTURE_JSON_BYTES)
    return capture_from_json(document, what=what), document


def capture_from_json(document: dict[str, Any], *, what: str = "capture.json") -> Capture:
    """Raises: BundleError `bundle.unsupported-version`, `bundle.malformed`, `bundle.limit`."""
    check_schema_version(document, "kerncap.capture", 1, what=what)
    validate(_without_ranges(document), "capture", what=what)
    outcome, consistency = document["outcome"], document["consistency"]
    capture = Capture(
        kernel=Kernel(**{key: document["kernel"][key] for key in ("name", "demangled", "symbol")}),
        dispatch=_dispatch(document["dispatch"]),
        kernarg=_kernarg(document["kernarg"]),
        code_object=_code_object(document["code_object"]),
        device=_device(document["device"]),
        runtime=document["runtime"],
        consistent=consistency["state"] == "consistent",
        inconsistency=tuple(consistency["reasons"]),
        status=outcome["status"],
        fault_va=outcome.get("fault_va"),
        unreadable=tuple(
            Unreadable(u["va"], u["size"], u["reason"], u.get("touched")) for u in document.get("unreadable", ())
        ),
        command=None if document.get("command") is None else tuple(document["command"]),
        environment=document.get("environment"),
        write_set=_write_set(document.get("write_set"), what),
        noise=_ranges(document.get("noise") or [], f"{what}: noise"),
        self_check=document.get("self_check"),
    )
    _check(capture, what)
    return capture


def _dispatch(node: dict[str, Any]) -> Dispatch:
    return Dispatch(
        match_index=node.get("match_index", 0),
        queue_index=node.get("queue_index", 0),
        dims=node["dims"],
        grid=_dim3(node["grid"]),
        workgroup=_dim3(node["workgroup"]),
        group_segment_bytes=node["group_segment_bytes"],
        private_segment_bytes=node["private_segment_bytes"],
        kernarg_va=node["kernarg_va"],
        kernel_object_va=node.get("kernel_object_va", 0),
        packet=bytes.fromhex(node["packet"]),
    )


def _dim3(node: list[int]) -> tuple[int, int, int]:
    return node[0], node[1], node[2]


def _kernarg(node: dict[str, Any]) -> Kernarg:
    args = tuple(
        Argument(
            offset=arg["offset"],
            size=arg["size"],
            kind=arg["kind"],
            name=arg.get("name") or None,
            type=arg.get("type") or None,
            region=arg.get("region"),
            region_offset=arg.get("region_offset"),
        )
        for arg in node["args"]
    )
    return Kernarg(size=node["size"], data=bytes.fromhex(node["bytes"]), args=args)


def _code_object(node: dict[str, Any]) -> CodeObject:
    return CodeObject(
        digest=node["digest"],
        size=node["size"],
        isa=node["isa"],
        load_va=node.get("load_va", 0),
        load_size=node.get("load_size", 0),
    )


def _device(node: dict[str, Any]) -> Device:
    return Device(
        agent=node["agent"],
        isa=node["isa"],
        product=node.get("product", ""),
        memory_bytes=node.get("memory_bytes", 0),
        compute_units=node.get("compute_units", 0),
        device_class=node.get("class"),
    )


def _without_ranges(document: dict[str, Any]) -> dict[str, Any]:
    """The document for schema validation: lists of ranges may be long and are checked by hand, as chunks are."""
    slim = {**document, "noise": []}
    write_set = document.get("write_set")
    if isinstance(write_set, dict):
        slim["write_set"] = {**write_set, **{name: [] for name in ("written", "read_first") if name in write_set}}
    return slim


def _write_set(node: dict[str, Any] | None, what: str) -> WriteSet | None:
    if node is None:
        return None
    written, read_first = (_ranges(node[name], f"{what}: write_set/{name}") for name in ("written", "read_first"))
    return WriteSet(node["source"], written, read_first)


def _ranges(node: Any, what: str) -> tuple[ByteRange, ...]:
    if not isinstance(node, list):
        raise BundleError(f"{what} is not a list", code="bundle.malformed")
    if len(node) > MAX_RANGES:
        raise BundleError(f"{what} has {len(node)} ranges, at most {MAX_RANGES} are allowed", code="bundle.limit")
    for item in node:
        if not (isinstance(item, list) and len(item) == 3 and all(type(n) is int and 0 <= n < 1 << 64 for n in item)):
            raise BundleError(f"{what} holds something that is not [region, offset, length]", code="bundle.malformed")
    return tuple((region, offset, length) for region, offset, length in node)


def _check(capture: Capture, what: str) -> None:
    """What the schema cannot say about one document alone."""
    kernarg = capture.kernarg
    if len(kernarg.data) != kernarg.size:
        raise BundleError(
            f"{what}: kernarg/bytes holds {len(kernarg.data)} bytes, size says {kernarg.size}", code="bundle.malformed"
        )
    for i, arg in enumerate(kernarg.args):
        if arg.offset + arg.size > kernarg.size:
            raise BundleError(f"{what}: kernarg/args/{i} lies outside of the kernarg segment", code="bundle.malformed")
        if arg.region is not None and arg.region_offset is None:
            raise BundleError(f"{what}: kernarg/args/{i} has a region and no region_offset", code="bundle.malformed")
    if capture.code_object.size > MAX_HSACO_BYTES:
        raise BundleError(f"{what}: the code object has {capture.code_object.size} bytes", code="bundle.limit")
