"""A kernel's arguments for people: their types, their captured values.

In: a capture. Out: text, not yet escaped. Called by inspect and by the comparison of bundles.
"""

from __future__ import annotations

import re
import struct

from kerncap.bundle.capture import Capture
from kerncap.bundle.dispatch import Argument
from kerncap.verdict.types import parameters

_FORMATS = {"float": "<f", "double": "<d", "half": "<e", "_Float16": "<e"}
_INTEGER = re.compile(
    r"(?:(?:un)?signed )?(?:char|short|int|long|long long)|bool|size_t|u?int(?:8|16|32|64)_t"
).fullmatch
_UNSIGNED_WORDS = ("unsigned", "uint", "size_t", "bool")


def argument_types(capture: Capture) -> dict[int, str]:
    """The type of each argument by its offset: from the metadata, else (HIP writes none) from the demangled name."""
    visible = [argument for argument in capture.kernarg.args if not argument.hidden]
    spelled = parameters(capture.kernel.demangled)
    types = (
        dict(zip((a.offset for a in visible), spelled, strict=True)) if spelled and len(spelled) == len(visible) else {}
    )
    return types | {argument.offset: argument.type for argument in capture.kernarg.args if argument.type}


def argument_name(argument: Argument, number: int) -> str:
    """Its name, or its kind, or its place among all."""
    return argument.name or (argument.kind if argument.hidden else f"#{number}")


def argument_value(capture: Capture, argument: Argument, type_name: str) -> str:
    """The captured value: region and offset of a pointer, a number when the type says which, else bytes."""
    raw = capture.kernarg.value(argument)
    if argument.region is not None:
        address = int.from_bytes(raw[:8], "little")
        return f"{address:#x} (region {argument.region} + {argument.region_offset})"
    number_format = _FORMATS.get(type_name)
    if number_format is not None and struct.calcsize(number_format) == len(raw):
        return f"{struct.unpack(number_format, raw)[0]:g}"
    if type_name.endswith("*") or argument.kind in ("global_buffer", "dynamic_shared_pointer"):
        return f"{int.from_bytes(raw, 'little'):#x}"
    if argument.hidden or (len(raw) in (1, 2, 4, 8) and _INTEGER(type_name) is not None):
        signed = _INTEGER(type_name) is not None and not any(word in type_name for word in _UNSIGNED_WORDS)
        return str(int.from_bytes(raw, "little", signed=signed))
    return raw[:32].hex() + ("…" if len(raw) > 32 else "")
