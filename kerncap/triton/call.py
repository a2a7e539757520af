"""Puts a launch of Triton together again: the kernarg segment's bytes, the signature, and what the shim saw of it.

In: a Capture and the Records of its code object. Out: the `launch` of triton.json: named, typed arguments, the program
grid, the configuration. Called by the extract workflow.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kerncap.bundle.capture import Capture
from kerncap.triton.descriptors import is_descriptor, parts, values
from kerncap.triton.records import Records

log = logging.getLogger(__name__)

# Of a scalar: its bytes in the kernarg segment. Source: Triton's AMD driver, what it packs for each type.
_FORMATS = {
    "i1": "<b", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q",
    "u1": "<B", "u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q",
    "fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d",
}  # fmt: skip
CONSTEXPR = "constexpr"
# As C++ and HIP name them, which is what the rest of kerncap reads. Others keep Triton's name.
_SPELLED = {
    "i1": "bool", "i8": "signed char", "i16": "short", "i32": "int", "i64": "long",
    "u1": "bool", "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned int", "u64": "unsigned long",
    "fp16": "half", "bf16": "__bf16", "fp32": "float", "f32": "float", "fp64": "double",
    "fp8e4nv": "__hip_fp8_e4m3", "fp8e5": "__hip_fp8_e5m2",
    "fp8e4b8": "__hip_fp8_e4m3_fnuz", "fp8e5b16": "__hip_fp8_e5m2_fnuz",
}  # fmt: skip
# A list or a tuple of arguments, as the shim writes it.
_SEVERAL = ("tuple", "list")

Value = int | float | str


def program_grid(capture: Capture) -> tuple[int, int, int]:
    """Programs in each direction: workitems over workgroup size."""
    x, y, z = (items // size for items, size in zip(capture.dispatch.grid, capture.dispatch.workgroup, strict=True))
    return x, y, z


def decode_kernarg(capture: Capture, signature: list[list[Any]]) -> list[tuple[str, str, Value]]:
    """(name, type, value) of each argument that is no constant, in order; of a type that has no number, its bytes.

    Elements of a tuple are named `name.0`, `name.1`, parts of a tensor descriptor `name.base`, `name.shape.0`. What
    follows them in the segment is Triton's own (scratch memory).
    """
    visible = [argument for argument in capture.kernarg.args if not argument.hidden]
    found = []
    for (name, kind), argument in zip(_leaves(signature, visible_sizes(capture)), visible, strict=False):
        found.append((name, kind, _value(capture.kernarg.value(argument), kind)))
    return found


def visible_sizes(capture: Capture) -> list[int]:
    """Bytes of the arguments in the kernarg segment that are not hidden, in order."""
    return [argument.size for argument in capture.kernarg.args if not argument.hidden]


def names_and_types(signature: list[list[Any]], sizes: Sequence[int]) -> list[tuple[str, str]]:
    """Of the arguments that are no constants, in order: `("x", "float*")`; `sizes` as of visible_sizes."""
    return [(name, _spelled(kind)) for name, kind in _leaves(signature, sizes)]


def _spelled(kind: str) -> str:
    pointee = kind.removeprefix("*").removeprefix("k")  # "*k": of what is only read
    return _SPELLED.get(pointee, pointee) + "*" if kind.startswith("*") else _SPELLED.get(kind, kind)


def _leaves(signature: list[list[Any]], sizes: Sequence[int]) -> list[tuple[str, str]]:
    """(name, kind) as they lie in the kernarg segment; ends before what is laid out in a way that is not known."""
    leaves: list[tuple[str, str]] = []
    for name, kind in _flat(signature):
        if not is_descriptor(kind):
            leaves.append((name, kind))
            continue
        found = parts(name, kind, sizes[len(leaves) :])
        if found is None:
            log.warning("arguments from %s on have no names: %s is not laid out as Triton 3.4 to 3.9 do", name, kind)
            break
        leaves += found
    return leaves


def _flat(signature: Iterable[Sequence[Any]]) -> Iterator[tuple[str, str]]:
    """Without tuples and constants."""
    for name, kind in signature:
        if isinstance(kind, dict):
            yield from _flat((f"{name}.{number}", one) for number, one in enumerate(_items(kind)))
        elif kind != CONSTEXPR:
            yield str(name), str(kind)


def _items(value: Any) -> list[Any]:
    """Of a list or tuple, as the shim writes it."""
    if isinstance(value, dict):
        for word in _SEVERAL:
            if word in value:
                return list(value[word])
    return []


def _value(raw: bytes, kind: str) -> Value:
    if kind.startswith("*"):
        return int.from_bytes(raw[:8], "little")
    number = _FORMATS.get(kind)
    if kind == "bf16":
        return float(struct.unpack("<f", b"\0\0" + raw[:2])[0])
    if number is None:
        return raw.hex()
    (value,) = struct.unpack(number, raw[: struct.calcsize(number)])
    return value if isinstance(value, float) else int(value)


def reassemble(capture: Capture, records: Records) -> dict[str, Any]:
    """The `launch` member of triton.json. Shapes: of the launch with these very arguments, where it was seen."""
    signature = records.kernel.get("signature") or []
    decoded = decode_kernarg(capture, signature)
    grid = program_grid(capture)
    trial = capture.dispatch.trial
    launches = [
        launch
        for launch in records.launches
        if bool(launch.get("trial")) == trial and _is_launch(launch, grid, decoded, signature)
    ]
    tensors = [tensors_of(launch, signature) for launch in launches]
    # The same addresses may have been seen with several shapes: these are then not known.
    shapes = tensors[-1] if tensors and all(one == tensors[-1] for one in tensors) else {}
    document: dict[str, Any] = {
        "grid": list(grid),
        "seen": bool(launches),
        "ambiguous": bool(tensors) and not shapes and any(tensors),
        "arguments": [
            {"name": name, "type": kind, "value": value, "tensor": shapes.get(name)} for name, kind, value in decoded
        ],
        "configuration": None,
        "tried": [],
        "heuristics": [],
        "trial": trial,
    }
    if launches:
        last = launches[-1]
        tuning = records.tunings.get(last.get("tuning") or "")
        document |= {
            "configuration": last.get("configuration"),
            "tried": tuning["tried"] if tuning else [],
            "heuristics": last.get("heuristics") or [],
        }
    return document


def _is_launch(
    launch: Mapping[str, Any], grid: tuple[int, ...], decoded: list[tuple[str, str, Value]], signature: list[list[Any]]
) -> bool:
    if tuple(launch["grid"]) != grid:
        return False
    seen = dict(arguments_of(launch, signature))
    return all(is_same(seen.get(name), kind, value) for name, kind, value in decoded)


def arguments_of(launch: Mapping[str, Any], signature: list[list[Any]]) -> Iterator[tuple[str, Any]]:
    """(name, value as the shim wrote it) of each argument that is no constant; elements of a tuple on their own."""
    if not launch.get("constants", True):  # a launcher that has the code object alone
        signature = [[name, kind] for name, kind in signature if kind != CONSTEXPR]
    for (name, kind), value in zip(signature, launch["arguments"], strict=False):
        yield from _pairs(str(name), kind, value)


def _pairs(name: str, kind: Any, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(kind, dict):
        for number, (one, of_it) in enumerate(zip(_items(kind), _items(value), strict=False)):
            yield from _pairs(f"{name}.{number}", one, of_it)
    elif is_descriptor(kind):
        yield from values(name, value)
    elif kind != CONSTEXPR:
        yield name, value


def is_same_scalar(seen: Any, kind: str, value: Value) -> bool:
    """As is_same(), but for pointers, which may be any."""
    return kind.startswith("*") or is_same(seen, kind, value)


def is_same(seen: Any, kind: str, value: Value) -> bool:
    """What the shim saw is what lies in the kernarg segment. Of a type whose bytes nobody here knows: it may be."""
    if isinstance(seen, dict) and "tensor" in seen:
        return bool(seen["tensor"]["va"] == value)
    if kind.startswith("*"):
        return seen == value or (seen is None and value == 0)
    if isinstance(seen, dict) and "float" in seen:
        seen = float.fromhex(seen["float"])
    if isinstance(value, str) or not isinstance(seen, int | float):
        return True
    return _value(_packed(seen, kind), kind) == value or seen != seen


def _packed(number: float, kind: str) -> bytes:
    try:
        if kind == "bf16":
            return struct.pack("<f", number)[2:]
        form = _FORMATS[kind]
        if form[1] in "efd":
            return struct.pack(form, float(number))
        return (int(number) % (1 << 64)).to_bytes(8, "little")[: struct.calcsize(form)]
    except (OverflowError, struct.error, KeyError):
        return bytes(8)


def tensors_of(launch: Mapping[str, Any], signature: list[list[Any]]) -> dict[str, Any]:
    """By argument: dtype, shape, strides, offset (elements)."""
    found = {}
    for name, value in arguments_of(launch, signature):
        if isinstance(value, dict) and "tensor" in value:
            found[name] = {key: value["tensor"][key] for key in ("dtype", "shape", "strides", "offset")}
    return found
