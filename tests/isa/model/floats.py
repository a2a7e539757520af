"""Arithmetic of f16, f32, f64 and pairs of them."""

from __future__ import annotations

from fractions import Fraction

import softfloat as sf
from softfloat import F32, NAN

from .core import EXACT, M16, M32, Args, Function, find, fmt, op, pattern, signed


@pattern(r"v_(add|sub|subrev|mul)_(f16|f32|f64)")
def _arithmetic(x: Args, what: str, kind: str) -> int:
    f = fmt(kind)
    a, b = x.floats(f)[:2]
    if what == "subrev":
        a, b = b, a
    mode = x.rounding(f)
    if what == "mul":
        return x.out(f, sf.mul(f, a, b, mode))
    return x.out(f, sf.add(f, a, b if what == "add" else sf.neg(f, b), mode))


@pattern(r"v_(fma|fmac|fmaak|fmamk)_(f16|f32|f64)")
def _fma(x: Args, what: str, kind: str) -> int:
    f = fmt(kind)
    s = x.floats(f)
    if what == "fmac":
        s = [s[0], s[1], x.old_float(f)]
    elif what == "fmamk":  # D = S0 * K + S1, operands in the order of the text
        s = [s[0], s[1], s[2]]
    return x.out(f, sf.fma(f, s[0], s[1], s[2], x.rounding(f)))


def _packed16(what: str) -> Function:
    def function(x: Args) -> int | None:
        one = find(f"v_{what}_f16")
        assert one is not None
        out = 0
        for shift in (0, 16):
            result = one(x.mode, [a >> shift & M16 for a in x.s], x.old >> shift & M16, False)
            assert result is not None
            assert result.dst is not None
            if result.dst == NAN:
                return None
            out |= result.dst << shift
        return out

    return function


for _what in ("add", "mul", "fma", "min", "max", "fmac"):
    EXACT[f"v_pk_{_what}_f16"] = _packed16(_what)


@pattern(r"v_pk_(add|mul|fma)_f32")
def _packed32(x: Args, what: str) -> int | None:
    out = 0
    one = find(f"v_{what}_f32")
    assert one is not None
    for shift in (0, 32):
        result = one(x.mode, [a >> shift & M32 for a in x.s], 0, False)
        assert result is not None
        assert result.dst is not None
        if result.dst == NAN:
            return None
        out |= result.dst << shift
    return out


@pattern(r"v_(min|max)(3?)_(f16|f32|f64)")
def _float_extreme(x: Args, what: str, _three: str, kind: str) -> int:
    f = fmt(kind)
    s = x.floats(f)
    out = s[0]
    for b in s[1:]:
        out = sf.extreme(f, out, b, largest=what == "max")
        if out == NAN and len(s) == 3:
            # min3 of (min(a, b), c): a NaN result of the first step is quiet and gives way to c.
            out = f.infinity | f.quiet_bit
    if sf.is_nan(f, out):
        return NAN
    return x.out(f, out)


@pattern(r"v_(maxmin|minmax)_(f16|f32)")
def _float_two_extremes(x: Args, what: str, kind: str) -> int | None:
    f = fmt(kind)
    s = x.floats(f)
    if any(sf.is_nan(f, a) for a in s):
        return None
    inner = sf.extreme(f, s[0], s[1], largest=what == "maxmin")
    return x.out(f, sf.extreme(f, inner, s[2], largest=what != "maxmin"))


@pattern(r"v_med3_(f16|f32)")
def _float_median(x: Args, kind: str) -> int | None:
    f = fmt(kind)
    s = x.floats(f)
    if any(sf.is_nan(f, a) for a in s) or sum(sf.is_zero(f, a) for a in s) > 1:
        return None
    return x.out(f, sorted(s, key=lambda a: sf.order(f, a))[1])


@pattern(r"v_(trunc|ceil|floor|rndne)_(f16|f32|f64)")
def _whole(x: Args, what: str, kind: str) -> int:
    f = fmt(kind)
    a = x.floats(f)[0]
    if sf.is_nan(f, a):
        return NAN
    if sf.is_inf(f, a):
        return a
    number = sf.value(f, a)
    whole = {"trunc": number.__trunc__, "ceil": number.__ceil__, "floor": number.__floor__, "rndne": number.__round__}[
        what
    ]()
    return sf.encode(f, Fraction(whole), zero_negative=sf.negative(f, a))


@pattern(r"v_fract_(f16|f32|f64)")
def _fract(x: Args, kind: str) -> int | None:
    f = fmt(kind)
    a = x.floats(f)[0]
    if sf.is_nan(f, a):
        return NAN
    if sf.is_inf(f, a):
        return None
    number = sf.value(f, a)
    below_one = (f.bias << f.mantissa_bits) - 1
    return x.out(f, min(sf.encode(f, number - number.__floor__()), below_one))


@pattern(r"v_frexp_mant_(f16|f32|f64)")
def _mantissa(x: Args, kind: str) -> int:
    f = fmt(kind)
    a = x.floats(f)[0]
    if sf.is_nan(f, a):
        return NAN
    if sf.is_inf(f, a) or sf.is_zero(f, a):
        return a
    number = sf.value(f, a)
    while abs(number) >= 1:
        number /= 2
    while abs(number) < Fraction(1, 2):
        number *= 2
    return sf.encode(f, number)


@pattern(r"v_frexp_exp_i(16|32)_(f16|f32|f64)")
def _exponent(x: Args, width: str, kind: str) -> int:
    f = fmt(kind)
    a = x.floats(f)[0]
    if sf.is_nan(f, a) or sf.is_inf(f, a) or sf.is_zero(f, a):
        return 0
    number, exponent = abs(sf.value(f, a)), 0
    while number >= 1:
        number, exponent = number / 2, exponent + 1
    while number < Fraction(1, 2):
        number, exponent = number * 2, exponent - 1
    return exponent & ((1 << int(width)) - 1)


@pattern(r"v_ldexp_(f16|f32|f64)")
def _ldexp(x: Args, kind: str) -> int:
    f = fmt(kind)
    a = x.s[0] if x.kept(f, 0) else sf.flush(f, x.s[0])
    if sf.is_nan(f, a):
        return NAN
    if sf.is_inf(f, a) or sf.is_zero(f, a):
        return a
    power = signed(x.s[1] & M16, 16) if kind == "f16" else signed(x.s[1], 32)
    power = min(max(power, -5000), 5000)
    return x.out(f, sf.encode(f, sf.value(f, a) * Fraction(2) ** power, mode=x.rounding(f)))


@pattern(r"v_(mad|mac|madak|madmk|mad_legacy)_(f16|f32)")
def _mad(x: Args, what: str, kind: str) -> int | None:
    """Rounds twice. Denormals are left out: these instructions flush them whatever MODE says, on some targets."""
    f = fmt(kind)
    a, b, c = x.s if what != "mac" else [*x.s, x.old]
    if what == "mad_legacy" and kind == "f32" and (sf.is_zero(f, a) or sf.is_zero(f, b)):
        return None
    product = sf.mul(f, a, b, x.rounding(f))
    out = sf.add(f, product, c, x.rounding(f))
    return None if any(sf.is_denormal(f, v) for v in (a, b, c, product, out)) else out


@op("v_mul_legacy_f32", "v_mul_dx9_zero_f32")
def _mul_zero(x: Args) -> int:
    a, b = x.floats(F32)[:2]
    if sf.is_zero(F32, a) or sf.is_zero(F32, b):
        return 0
    return x.out(F32, sf.mul(F32, a, b, x.mode.round32))


@op("v_fma_dx9_zero_f32", "v_fmac_dx9_zero_f32")
def _fma_zero(x: Args) -> int | None:
    s = x.floats(F32)
    c = s[2] if len(s) > 2 else x.old_float(F32)
    if sf.is_zero(F32, s[0]) or sf.is_zero(F32, s[1]):
        return None if sf.is_nan(F32, c) or sf.is_zero(F32, c) else c
    return x.out(F32, sf.fma(F32, s[0], s[1], c, x.mode.round32))
