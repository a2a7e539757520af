"""capture.json as types: what was dispatched, with which arguments, where.

In: a dict that the capture schema accepts. Out: a frozen Capture. Called by the bundle reader; read by every stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerncap.bundle.dispatch import (
    CodeObject,
    Dispatch,
    Kernarg,
    Kernel,
    check_dispatch,
    code_object_from_json,
    dispatch_from_json,
    kernarg_from_json,
    kernel_from_json,
)
from kerncap.bundle.documents import check_schema_version, parse_json, validate
from kerncap.bundle.limits import MAX_CAPTURE_JSON_BYTES, MAX_RANGES
from kerncap.bundle.sequence import Sequence, Step, sequence_from_json
from kerncap.errors import BundleError

ByteRange = tuple[int, int, int]
"""(region, offset, length), bytes."""


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
    rank: int | None
    """Of the process that was captured, where its launcher said one."""
    unreadable: tuple[Unreadable, ...]
    command: tuple[str, ...] | None
    environment: Mapping[str, str] | None
    write_set: WriteSet | None
    noise: tuple[ByteRange, ...]
    self_check: Mapping[str, Any] | None
    trigger: Mapping[str, Any] | None = None
    """What made this dispatch the one that was captured, where conditions were given."""
    sequence: Sequence | None = None
    """The dispatches behind the first; None: one dispatch was captured."""
    triton: str | None = None
    """The release that compiled the kernel; how lies in triton.json, beside the source."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every captured dispatch, in order."""
        first = Step(self.kernel, self.dispatch, self.kernarg, self.code_object, ())
        return (first, *(self.sequence.later if self.sequence else ()))

    @property
    def requires(self) -> tuple[str, ...]:
        """Features that a reader must know to understand this capture (bundle_spec/SPEC.md)."""
        return ("sequence",) if self.sequence else ()


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
        kernel=kernel_from_json(document["kernel"]),
        dispatch=dispatch_from_json(document["dispatch"]),
        kernarg=kernarg_from_json(document["kernarg"]),
        code_object=code_object_from_json(document["code_object"]),
        device=_device(document["device"]),
        runtime=document["runtime"],
        consistent=consistency["state"] == "consistent",
        inconsistency=tuple(consistency["reasons"]),
        status=outcome["status"],
        fault_va=outcome.get("fault_va"),
        rank=document.get("rank"),
        unreadable=tuple(
            Unreadable(u["va"], u["size"], u["reason"], u.get("touched")) for u in document.get("unreadable", ())
        ),
        command=None if document.get("command") is None else tuple(document["command"]),
        environment=document.get("environment"),
        write_set=_write_set(document.get("write_set"), what),
        noise=_ranges(document.get("noise") or [], f"{what}: noise"),
        self_check=document.get("self_check"),
        sequence=sequence_from_json(document.get("sequence"), document["code_object"]["isa"], what),
        trigger=document.get("trigger"),
        triton=document.get("triton"),
    )
    check_dispatch(capture.kernarg, capture.code_object, what)
    return capture


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
