"""Conversions between number types."""

from __future__ import annotations

from fractions import Fraction

import softfloat as sf
from softfloat import F16, F32, NAN

from .core import M16, M32, Args, byte_of, fmt, op, pattern, signed


@pattern(r"v_cvt_([ui])(16|32)_(f16|f32|f64)")
def _to_int(x: Args, kind: str, width: str, source: str) -> int:
    f = fmt(source)
    return sf.to_integer(f, x.floats(f)[0], width=int(width), signed=kind == "i")


@pattern(r"v_cvt_(f16|f32|f64)_([ui])(16|32)")
def _from_int(x: Args, to: str, kind: str, width: str) -> int:
    f = fmt(to)
    number = x.s[0] & ((1 << int(width)) - 1)
    number = signed(number, int(width)) if kind == "i" else number
    return sf.encode(f, Fraction(number), mode=x.rounding(f))


@pattern(r"v_cvt_(f16|f32|f64)_(f16|f32|f64)")
def _float_to_float(x: Args, to: str, source: str) -> int:
    f, g = fmt(to), fmt(source)
    return x.out(f, sf.convert(f, g, x.floats(g)[0], x.rounding(f)))


@pattern(r"v_cvt_f32_ubyte([0-3])")
def _ubyte(x: Args, which: str) -> int:
    return sf.encode(F32, Fraction(byte_of(x.s[0], int(which))))


@op("v_cvt_rpi_i32_f32", "v_cvt_nearest_i32_f32")
def _nearest(x: Args) -> int | None:
    """floor(S0 + 0.5); whether the sum is rounded to an f32 first is not stated."""
    a = x.floats(F32)[0]
    if not sf.is_nan(F32, a) and not sf.is_inf(F32, a) and abs(sf.value(F32, a)) >= 1 << 22:
        return None
    return sf.to_integer(F32, x.floats(F32)[0], width=32, signed=True, rounding="half-up")


@op("v_cvt_flr_i32_f32", "v_cvt_floor_i32_f32")
def _floor_int(x: Args) -> int:
    return sf.to_integer(F32, x.floats(F32)[0], width=32, signed=True, rounding="floor")


@op("v_cvt_off_f32_i4")
def _off_i4(x: Args) -> int:
    return sf.encode(F32, Fraction(signed(x.s[0] & 15, 4), 16))


@op("v_cvt_i32_i16")
def _sext(x: Args) -> int:
    return signed(x.s[0] & M16, 16) & M32


@op("v_cvt_u32_u16")
def _zext(x: Args) -> int:
    return x.s[0] & M16


@op("v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32")
def _pkrtz(x: Args) -> int | None:
    low, high = (sf.convert(F16, F32, a, 3) for a in x.floats(F32)[:2])
    return None if NAN in (low, high) else low | high << 16


_EIGHT_BITS = {"fp8": (3, 8), "bf8": (2, 16)}  # bits of mantissa, bias; no infinity, NaN is 0x80


@pattern(r"v_cvt_sr_(fp8|bf8)_f32")
def _stochastic(x: Args, kind: str) -> int | None:
    """The seed's top bits, as many as are cut off, are added to the mantissa. Not stated for denormal results."""
    mantissa_bits, bias = _EIGHT_BITS[kind]
    a, seed, kept = x.floats(F32)[0], x.s[1], x.old & ~0xFF
    if sf.is_nan(F32, a) or sf.is_inf(F32, a):
        return kept | 0x80
    number = abs(sf.value(F32, a))
    if number == 0:
        return kept
    exponent = sf.exponent_of(number)
    if exponent < 1 - bias:
        return None
    cut = 23 - mantissa_bits
    steps = number / Fraction(2) ** (exponent - mantissa_bits) + Fraction(seed >> (32 - cut), 1 << cut)
    code = ((exponent + bias - 1) << mantissa_bits) + steps.__floor__()
    return kept | (0x80 if code > 0x7F else code | (0x80 if sf.negative(F32, a) else 0))
