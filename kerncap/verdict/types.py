"""Element types of a kernel's buffers, from the code object's metadata or from the demangled name.

In: a capture. Out: typed ranges (region, offset, length, element type) of numbers; arguments by place.
Called by the plan (what may be perturbed), by the typed comparison and wherever bytes are named for a person.

HIP's compiler writes no `.type_name` into the metadata, but the mangled name of a C++ kernel spells every parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kerncap.bundle.capture import Capture
from kerncap.bundle.dispatch import Argument
from kerncap.bundle.sequence import Step

TypedRange = tuple[int, int, int, str]
"""(region, offset, length, element type)"""


class F8Format(NamedTuple):
    """A float of 8 bits: bits of its significand, the bias of its exponent, which patterns are no numbers.

    `ieee`: infinities and NaN as IEEE 754; `fn`: 0x7f and 0xff are NaN, no infinity; `fnuz`: 0x80 is NaN, no infinity
    and no negative zero. Source: OCP "8-bit Floating Point Specification"; LLVM, APFloat, Float8E4M3FNUZ.
    """

    mantissa: int
    bias: int
    special: str


F8_FORMATS = {
    "f8e4m3": F8Format(3, 7, "fn"),
    "f8e5m2": F8Format(2, 15, "ieee"),
    "f8e4m3fnuz": F8Format(3, 8, "fnuz"),
    "f8e5m2fnuz": F8Format(2, 16, "fnuz"),
}

ELEMENT_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, **dict.fromkeys(F8_FORMATS, 1)}
"""Float types: what can be perturbed and compared under a tolerance."""

SHOWN_BYTES = ELEMENT_BYTES | {f"{sign}{8 * size}": size for sign in "iu" for size in (1, 2, 4, 8)}
"""Those and the integers: what can be shown as numbers."""

_FLOAT_TYPES = {
    "double": "f64",
    "float": "f32",
    "float2": "f32",
    "float3": "f32",
    "float4": "f32",
    "double2": "f64",
    "_Float16": "f16",
    "half": "f16",
    "__half": "f16",
    "__half2": "f16",
    "hip_bfloat16": "bf16",
    "__hip_bfloat16": "bf16",
    "__bf16": "bf16",
    "__hip_fp8_e4m3": "f8e4m3",
    "__hip_fp8_e5m2": "f8e5m2",
    "__hip_fp8_e4m3_fnuz": "f8e4m3fnuz",
    "__hip_fp8_e5m2_fnuz": "f8e5m2fnuz",
}
# On Linux for x86-64 and amdgcn: `long` has 8 bytes, `char` is signed.
_INTEGER_TYPES = {
    "char": "i8",
    "signed char": "i8",
    "unsigned char": "u8",
    "bool": "u8",
    "short": "i16",
    "unsigned short": "u16",
    "int": "i32",
    "unsigned int": "u32",
    "long": "i64",
    "unsigned long": "u64",
    "long long": "i64",
    "unsigned long long": "u64",
}
_VECTOR = re.compile(r"HIP_vector_type<(\w+), \d+u?>\Z")
_QUALIFIERS = re.compile(r"\b(const|volatile|restrict|__restrict__|struct|class)\b")


def parameters(demangled: str) -> list[str] | None:
    """The parameter types of a demangled function, or None when the text holds no parameter list.

    >>> parameters("void f<float, (int)3>(float const*, S<int, 2>*, int)")
    ['float const*', 'S<int, 2>*', 'int']
    """
    text = re.sub(r" \[clone [^\]]*\]$", "", demangled.strip())
    if not text.endswith(")"):
        return None
    depth, start = 0, -1
    for i in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[i], 0)
        if depth == 0:
            start = i
            break
    if start <= 0:
        return None
    return split_top_level(text[start + 1 : -1])


def split_top_level(text: str) -> list[str]:
    """Split at commas outside of brackets."""
    parts: list[str] = []
    depth, last = 0, 0
    for i, char in enumerate(text):
        if char in "<([{":
            depth += 1
        elif char in ">)]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[last:i].strip())
            last = i + 1
    tail = text[last:].strip()
    if tail and tail != "void":
        parts.append(tail)
    return parts


def element_type(type_name: str) -> str | None:
    """`f32` for `float const*`, `i32` for `int*`; None for what points to no numbers (`float**`)."""
    text = _QUALIFIERS.sub("", type_name).strip()
    if text.count("*") != 1 or not text.endswith("*"):
        return None
    base = " ".join(text[:-1].split())
    vector = _VECTOR.match(base)
    name = vector.group(1) if vector else base
    return _FLOAT_TYPES.get(name) or _INTEGER_TYPES.get(name)


def float_ranges(typed: Sequence[TypedRange]) -> tuple[TypedRange, ...]:
    """Those of float data."""
    return tuple(one for one in typed if one[3] in ELEMENT_BYTES)


def typed_ranges(capture: Capture, region_sizes: Sequence[int]) -> tuple[TypedRange, ...]:
    """The numbers that the kernels' arguments point to, each up to the next argument's data or the region's end."""
    pointers = [one for step in capture.steps for one in _pointers(step, len(region_sizes))]
    kinds: dict[tuple[int, int], set[str | None]] = {}
    for region, offset, kind in pointers:
        kinds.setdefault((region, offset), set()).add(kind)
    typed: list[TypedRange] = []
    for (region, offset), known in sorted(kinds.items()):
        kind = next(iter(known))
        if len(known) > 1 or kind is None:
            continue
        later = [o for r, o in kinds if r == region and o > offset]
        length = min([*later, region_sizes[region]]) - offset
        length -= length % SHOWN_BYTES[kind]
        if length > 0:
            typed.append((region, offset, length, kind))
    return tuple(typed)


def _pointers(step: Step, regions: int) -> Iterator[tuple[int, int, str | None]]:
    """(region, offset, element type) of each pointer argument."""
    arguments = [a for a in step.kernarg.args if not a.hidden]
    spelled = parameters(step.kernel.demangled or "")
    if spelled is not None and len(spelled) != len(arguments):
        spelled = None
    for i, argument in enumerate(arguments):
        if argument.region is None or argument.region_offset is None or argument.region >= regions:
            continue
        name = argument.type or (spelled[i] if spelled else "")
        yield argument.region, argument.region_offset, element_type(name)


def argument_at(capture: Capture, region: int, offset: int) -> str | None:
    """The argument that points into the region, the nearest at or before the offset; unnamed ones by their place."""
    near = [
        argument
        for step in capture.steps
        for argument in step.kernarg.args
        if argument.region == region and not argument.hidden and (argument.region_offset or 0) <= offset
    ]
    if not near:
        return None
    return name_of(max(near, key=lambda argument: argument.region_offset or 0))


def argument_of(capture: Capture, region: int, offset: int) -> Argument | None:
    """The argument that points to exactly this place; of several the one with a known shape."""
    found = [
        argument
        for step in capture.steps
        for argument in step.kernarg.args
        if (argument.region, argument.region_offset) == (region, offset) and not argument.hidden
    ]
    return next((one for one in found if one.tensor is not None), found[0] if found else None)


def name_of(argument: Argument) -> str:
    return argument.name or f"argument at {argument.offset}"


def type_at(typed: Sequence[TypedRange], region: int, offset: int, length: int) -> str | None:
    """The element type of these bytes, when all of them are of one."""
    for other, start, size, kind in typed:
        if other == region and start <= offset and offset + length <= start + size:
            return kind
    return None
