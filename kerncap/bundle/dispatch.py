"""One kernel dispatch as types: kernel, packet, arguments, code object.

In: nodes of capture.json that the capture schema accepts. Out: frozen types. Called by capture (the first dispatch) and
sequence (the later ones).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kerncap.bundle.limits import MAX_HSACO_BYTES
from kerncap.errors import BundleError

ISA_PREFIX = "amdgcn-amd-amdhsa--"
_BARRIER_BIT = 1 << 8
"""Source: HSA Platform System Architecture 1.2, 2.9.1."""


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
    ordered: bool
    """The packet's barrier bit: it waits for everything before it in its queue."""
    trial: bool = False
    """An autotuner's, which timed it."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """What the application passed for a pointer; `strides` and `offset` count elements. The pointer is the address of
    the first element; `offset` is that element's place in the allocation of the framework."""

    dtype: str
    """As the framework spells it: `torch.float16`."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


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
    tensor: Tensor | None = None

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


def kernel_from_json(node: dict[str, Any]) -> Kernel:
    return Kernel(**{key: node[key] for key in ("name", "demangled", "symbol")})


def dispatch_from_json(node: dict[str, Any]) -> Dispatch:
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
        ordered=bool(node.get("header", _BARRIER_BIT) & _BARRIER_BIT),
        trial=node.get("trial", False),
    )


def _dim3(node: list[int]) -> tuple[int, int, int]:
    return node[0], node[1], node[2]


def kernarg_from_json(node: dict[str, Any]) -> Kernarg:
    args = tuple(
        Argument(
            offset=arg["offset"],
            size=arg["size"],
            kind=arg["kind"],
            name=arg.get("name") or None,
            type=arg.get("type") or None,
            region=arg.get("region"),
            region_offset=arg.get("region_offset"),
            tensor=_tensor(arg.get("tensor")),
        )
        for arg in node["args"]
    )
    return Kernarg(size=node["size"], data=bytes.fromhex(node["bytes"]), args=args)


def _tensor(node: dict[str, Any] | None) -> Tensor | None:
    if node is None:
        return None
    return Tensor(node["dtype"], tuple(node["shape"]), tuple(node["strides"]), node["offset"])


def code_object_from_json(node: dict[str, Any]) -> CodeObject:
    return CodeObject(
        digest=node["digest"],
        size=node["size"],
        isa=node["isa"],
        load_va=node.get("load_va", 0),
        load_size=node.get("load_size", 0),
    )


def check_dispatch(kernarg: Kernarg, code_object: CodeObject, what: str) -> None:
    """What the schema cannot say. Raises: BundleError `bundle.malformed`, `bundle.limit`."""
    if len(kernarg.data) != kernarg.size:
        raise BundleError(
            f"{what}: kernarg/bytes holds {len(kernarg.data)} bytes, size says {kernarg.size}", code="bundle.malformed"
        )
    for i, arg in enumerate(kernarg.args):
        if arg.offset + arg.size > kernarg.size:
            raise BundleError(f"{what}: kernarg/args/{i} lies outside of the kernarg segment", code="bundle.malformed")
        if arg.region is not None and arg.region_offset is None:
            raise BundleError(f"{what}: kernarg/args/{i} has a region and no region_offset", code="bundle.malformed")
    if code_object.size > MAX_HSACO_BYTES:
        raise BundleError(f"{what}: the code object has {code_object.size} bytes", code="bundle.limit")
