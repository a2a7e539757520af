"""Typed buffer accesses: an element in memory to registers and back, by the names of LLVM's data and number formats.

Called by formats_vectors.py. Source: "Buffer Data" of the MI300 and RDNA3 ISA manuals.
"""

from __future__ import annotations

from fractions import Fraction

import softfloat as sf
from softfloat import F16, F32, Format

LAYOUTS = (
    "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32",
    "16_16_16_16", "32_32_32", "32_32_32_32",
)  # fmt: skip
NUMBERS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT")
_SMALL = {10: Format(5, 5), 11: Format(5, 6), 16: F16, 32: F32}


def widths(layout: str) -> list[int]:
    """Of the components from the lowest bit up; the name lists them from the top."""
    return [int(part) for part in reversed(layout.split("_"))]


def exists(layout: str, number: str) -> bool:
    packed = layout in ("10_11_11", "11_11_10")
    if number == "FLOAT":
        return packed or widths(layout)[0] in (16, 32)
    return not packed and (widths(layout)[0] != 32 or number in ("UINT", "SINT"))


def signed(x: int, width: int) -> int:
    return x - (1 << width) if x >> (width - 1) & 1 else x


def split(layout: str, element: int) -> list[int]:
    out = []
    for width in widths(layout):
        out.append(element & ((1 << width) - 1))
        element >>= width
    return out


def join(layout: str, parts: list[int]) -> int:
    element = at = 0
    for width, part in zip(widths(layout), parts, strict=True):
        element |= part << at
        at += width
    return element


def _number(raw: int, width: int, number: str) -> Fraction:
    plain = signed(raw, width) if number in ("SNORM", "SSCALED") else raw
    if number == "UNORM":
        return Fraction(plain, (1 << width) - 1)
    if number == "SNORM":
        return max(Fraction(plain, (1 << (width - 1)) - 1), Fraction(-1))
    return Fraction(plain)


def _small_float(raw: int, width: int, half: bool) -> int:
    """10 and 11 bits have no sign. A 32-bit float becomes a half by truncation."""
    source, to = _SMALL[width], F16 if half else F32
    if source is to:
        return raw
    if sf.is_nan(source, raw):
        return sf.NAN
    return sf.convert(to, source, raw, 3 if width == 32 else 0)


def load(layout: str, number: str, element: int, components: int, half: bool) -> list[int]:
    """What the registers' components hold; NAN for any quiet NaN."""
    out = []
    for width, raw in zip(widths(layout), split(layout, element), strict=True):
        if number == "FLOAT":
            out.append(_small_float(raw, width, half))
        elif number in ("UINT", "SINT"):
            out.append((signed(raw, width) if number == "SINT" else raw) & (0xFFFF if half else 0xFFFFFFFF))
        else:
            out.append(sf.encode(F16 if half else F32, _number(raw, width, number)))
    return (out + [0] * 4)[:components]


def store(layout: str, number: str, registers: list[int], half: bool) -> int | None:
    """The element in memory; a missing component is the first again. None where the manuals do not say."""
    parts = []
    source = F16 if half else F32
    for at, width in enumerate(widths(layout)):
        value = registers[at if at < len(registers) else 0]
        if number in ("UINT", "SINT"):
            whole = signed(value, 16 if half else 32) if number == "SINT" else value
            low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if number == "SINT" else (0, (1 << width) - 1)
            if not low <= whole <= high:
                return None
            parts.append(whole & ((1 << width) - 1))
        elif number in ("UNORM", "SNORM"):
            if sf.is_nan(source, value):
                parts.append(0)
                continue
            low = Fraction(-1 if number == "SNORM" else 0)
            exact = Fraction(1 if not sf.negative(source, value) else -1)
            if not sf.is_inf(source, value):
                exact = sf.value(source, value)
            scale = (1 << (width - 1)) - 1 if number == "SNORM" else (1 << width) - 1
            parts.append(round(min(max(exact, low), Fraction(1)) * scale) & ((1 << width) - 1))
        elif number == "FLOAT" and width >= 16:
            to = _SMALL[width]
            if to is not source and sf.is_nan(source, value):
                return None
            parts.append(value if to is source else sf.convert(to, source, value))
        else:
            return None
    return join(layout, parts)
