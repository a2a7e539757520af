"""Floats of 4 and 8 bits as the OCP Microscaling formats have them, with and without a scale, and stochastic rounding.

Source: "CDNA4 ISA", BF8 / FP8 and Smaller Formats. A name ends in @ocp where an earlier target's instruction of that
name has other 8-bit floats. What the manual leaves open is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import softfloat as sf
from softfloat import BF16, F32, NAN

from .core import M8, M16, M32, Args, fmt, op, pattern


@dataclass(frozen=True)
class Small:
    """`highest`: code of the largest number; numbers above it become `infinity`, NaN becomes `nan`."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    highest: int
    infinity: int
    nan: int

    @property
    def sign_bit(self) -> int:
        return 1 << (self.exponent_bits + self.mantissa_bits)


_SMALL = {
    "fp8": Small(4, 3, 7, 0x7E, 0x7F, 0x7F),
    "bf8": Small(5, 2, 15, 0x7B, 0x7C, 0x7E),
    "fp4": Small(2, 1, 1, 7, 7, 7),
}
_WIDE = {"f32": F32, "f16": sf.F16, "bf16": BF16}


def _widened(s: Small, wide: sf.Format, code: int, power: int | None) -> int | None:
    """power: of the scale; None where the scale is a NaN."""
    sign = wide.sign_bit if code & s.sign_bit else 0
    magnitude = code & (s.sign_bit - 1)
    if power is None or (s.nan > s.highest and magnitude > s.highest and (magnitude, s.nan) != (s.infinity, 0x7E)):
        return NAN
    if s.nan > s.highest and magnitude > s.highest:
        return sign | wide.infinity
    exponent, mantissa = divmod(magnitude, 1 << s.mantissa_bits)
    steps = mantissa + (1 << s.mantissa_bits if exponent else 0)
    number = steps * Fraction(2) ** (max(exponent, 1) - s.bias - s.mantissa_bits + power)
    return sf.encode(wide, -number if sign else number, zero_negative=bool(sign))


def _flushed(x: Args, wide: sf.Format, bits: int) -> int:
    """An operand that is one number obeys the denormal mode, a pair is bits."""
    return bits if wide is BF16 or x.kept(wide, 0) else sf.flush(wide, bits)


def _narrowed(s: Small, wide: sf.Format, bits: int, power: int | None, seed: int | None = None) -> int:
    sign = s.sign_bit if sf.negative(wide, bits) else 0
    if power is None or sf.is_nan(wide, bits):
        return sign | s.nan
    if sf.is_inf(wide, bits):
        return sign | s.infinity
    number = abs(sf.value(wide, bits)) / Fraction(2) ** power
    if number == 0:
        return sign
    lowest = 1 - s.bias
    exponent = max(sf.exponent_of(number), lowest)
    steps = number / Fraction(2) ** (exponent - s.mantissa_bits)
    if seed is None:
        whole = round(steps)  # ties to even
    else:  # as many bits as are cut off; what a denormal result loses below them is cut first
        cut = wide.mantissa_bits - s.mantissa_bits
        whole = ((steps * (1 << cut)).__floor__() + (seed >> (32 - cut))) >> cut
    code = ((exponent - lowest) << s.mantissa_bits) + whole
    return sign | (code if code <= s.highest else s.infinity)


def _power(scale: int) -> int | None:
    exponent = scale >> 23 & M8
    return None if exponent == 255 else exponent - 127


def _next(seed: int) -> int:
    return (seed << 1 & M32) ^ (197 if seed >> 31 else 0)


@op("v_prng_b32")
def _prng(x: Args) -> int:
    return _next(x.s[0])


def _both(s: Small, wide: sf.Format, codes: tuple[int, int], power: int | None) -> int | None:
    low, high = (_widened(s, wide, code, power) for code in codes)
    if low is None or high is None or NAN in (low, high):
        return None
    return low | high << wide.width


@pattern(r"v_cvt_(pk_)?f32_(fp8|bf8)@ocp")
def _from_eight(x: Args, pair: str | None, kind: str) -> int | None:
    s = _SMALL[kind]
    return _both(s, F32, (x.s[0] & M8, x.s[0] >> 8 & M8), 0) if pair else _widened(s, F32, x.s[0] & M8, 0)


@pattern(r"v_cvt_pk_(fp8|bf8)_f32@ocp")
def _to_eight(x: Args, kind: str) -> int:
    low, high = (_narrowed(_SMALL[kind], F32, a, 0) for a in x.floats(F32)[:2])
    return low | high << 8


@pattern(r"v_cvt_sr_(fp8|bf8)_f32@ocp")
def _stochastic(x: Args, kind: str) -> int:
    return x.old & ~M8 & M32 | _narrowed(_SMALL[kind], F32, _flushed(x, F32, x.s[0]), 0, x.s[1])


@pattern(r"v_cvt_scalef32_(pk_)?(f32|f16|bf16)_(fp8|bf8|fp4)")
def _widen(x: Args, pair: str | None, to: str, kind: str) -> int | None:
    s, wide, power = _SMALL[kind], _WIDE[to], _power(x.s[1])
    width = 4 if kind == "fp4" else 8
    mask = (1 << width) - 1
    if pair:
        return _both(s, wide, (x.s[0] & mask, x.s[0] >> width & mask), power)
    out = _widened(s, wide, x.s[0] & mask, power)
    if to == "f16":  # the other half stays
        return None if out is None or out == NAN else x.old & ~M16 & M32 | out
    return out


@pattern(r"v_cvt_scalef32_pk_(fp8|bf8|fp4)_(f32|f16|bf16)")
def _narrow_pair(x: Args, kind: str, source: str) -> int:
    s, wide = _SMALL[kind], _WIDE[source]
    numbers = x.floats(F32)[:2] if source == "f32" else [x.s[0] & M16, x.s[0] >> 16]
    low, high = (_narrowed(s, wide, a, _power(x.s[-1])) for a in numbers)
    width = 4 if kind == "fp4" else 8
    return x.old & ~((1 << 2 * width) - 1) & M32 | low | high << width


@pattern(r"v_cvt_scalef32_sr_(fp8|bf8)_(f32|f16|bf16)")
def _narrow_stochastic(x: Args, kind: str, source: str) -> int:
    wide = _WIDE[source]
    number = _flushed(x, wide, x.s[0] & ((1 << wide.width) - 1))
    return x.old & ~M8 & M32 | _narrowed(_SMALL[kind], wide, number, _power(x.s[2]), x.s[1])


@pattern(r"v_cvt_scalef32_sr_pk_fp4_(f32|f16|bf16)")
def _narrow_stochastic_pair(x: Args, source: str) -> int:
    wide, power = _WIDE[source], _power(x.s[2])
    mask = (1 << wide.width) - 1
    low = _narrowed(_SMALL["fp4"], wide, x.s[0] & mask, power, x.s[1])
    high = _narrowed(_SMALL["fp4"], wide, x.s[0] >> wide.width & mask, power, _next(x.s[1]))
    return x.old & ~M8 & M32 | low | high << 4


@pattern(r"v_cvt_sr_(f16|bf16)_f32")
def _stochastic_half(x: Args, kind: str) -> int:
    f = _WIDE[kind]
    whole = Small(f.exponent_bits, f.mantissa_bits, f.bias, f.infinity - 1, f.infinity, f.infinity | f.quiet_bit)
    return _narrowed(whole, F32, _flushed(x, F32, x.s[0]), 0, x.s[1])


@op("v_cvt_f32_bf16")
def _from_brain(x: Args) -> int:
    bits = (x.s[0] & M16) << 16
    return NAN if sf.is_nan(F32, bits) else x.out(F32, bits if x.kept(F32, 0) else sf.flush(F32, bits))


@pattern(r"v_cvt_pk_(f16|bf16)_f32")
def _pair(x: Args, to: str) -> int | None:
    """Of bf16 always to the nearest."""
    f = fmt(to)
    low, high = (sf.convert(f, F32, a, x.rounding(f) if to == "f16" else 0) for a in x.floats(F32)[:2])
    if NAN in (low, high):
        return None
    return x.out(f, low) | x.out(f, high) << 16 if to == "f16" else low | high << 16


@pattern(r"v_ashr_pk_([iu])8_i32")
def _shifted(x: Args, kind: str) -> int:
    low, high = (-128, 127) if kind == "i" else (0, 255)
    a, b = (min(max((v - (v >> 31 << 32)) >> (x.s[2] & 31), low), high) & M8 for v in x.s[:2])
    return a | b << 8
