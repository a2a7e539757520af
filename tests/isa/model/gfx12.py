"""What gfx12 has beside gfx11: the two kinds of minimum and maximum of IEEE 754-2019, and floats in the scalar ALU.

Source: "RDNA4 ISA", V_MIN_NUM_F32, V_MINIMUM_F32, V_MED3_NUM_F32 and the chapters SOP1, SOP2, SOPC; "CDNA4 ISA",
V_MINIMUM3_F32: gfx950 has those of three.
"""

from __future__ import annotations

from collections.abc import Callable

import softfloat as sf
from softfloat import F16, F32, NAN, Format

from .core import EXACT, M16, M64, Args, Result, find, fmt, op, pattern
from .floats import _packed16


def _quiet_nan(f: Format) -> int:
    return f.infinity | f.quiet_bit


def _number(f: Format, a: int, b: int, *, largest: bool) -> int:
    out = sf.extreme(f, a, b, largest=largest, ieee=False)
    return _quiet_nan(f) if out == NAN else out


def _propagating(f: Format, a: int, b: int, *, largest: bool) -> int:
    if sf.is_nan(f, a) or sf.is_nan(f, b):
        return _quiet_nan(f)
    return sf.extreme(f, a, b, largest=largest)


def _result(x: Args, f: Format, bits: int) -> int:
    return NAN if sf.is_nan(f, bits) else x.out(f, bits)


def _extreme(x: Args, kind: str, two: Callable[..., int], *, largest: bool) -> int:
    f = fmt(kind)
    out, *others = x.floats(f)
    for b in others:
        out = two(f, out, b, largest=largest)
    return _result(x, f, out)


@pattern(r"[vs]_(min|max)3?_num_(f16|f32|f64)")
def _extreme_number(x: Args, what: str, kind: str) -> int:
    return _extreme(x, kind, _number, largest=what == "max")


@pattern(r"[vs]_(minimum|maximum)3?_(f16|f32|f64)")
def _extreme_propagating(x: Args, what: str, kind: str) -> int:
    return _extreme(x, kind, _propagating, largest=what == "maximum")


@pattern(r"v_(minmax|maxmin)_num_(f16|f32)")
def _two_numbers(x: Args, what: str, kind: str) -> int:
    f = fmt(kind)
    a, b, c = x.floats(f)
    inner = _number(f, a, b, largest=what == "maxmin")
    return _result(x, f, _number(f, inner, c, largest=what == "minmax"))


@pattern(r"v_(minimummaximum|maximumminimum)_(f16|f32)")
def _two_propagating(x: Args, what: str, kind: str) -> int:
    f = fmt(kind)
    a, b, c = x.floats(f)
    inner = _propagating(f, a, b, largest=what == "maximumminimum")
    return _result(x, f, _propagating(f, inner, c, largest=what == "minimummaximum"))


@pattern(r"v_med3_num_(f16|f32)")
def _median(x: Args, kind: str) -> int | None:
    f = fmt(kind)
    s = x.floats(f)
    if any(sf.is_nan(f, a) for a in s):
        out = _number(f, _number(f, s[0], s[1], largest=False), s[2], largest=False)
        return _result(x, f, out)
    if sum(sf.is_zero(f, a) for a in s) > 1:
        return None
    return x.out(f, sorted(s, key=lambda a: sf.order(f, a))[1])


for _what in ("min_num", "max_num", "minimum", "maximum", "minimum3", "maximum3"):
    EXACT[f"v_pk_{_what}_f16"] = _packed16(_what)


def _like_vector(x: Args, name: str) -> Result | None:
    define = find(name)
    assert define is not None
    return define(x.mode, x.s, x.old, x.carry)


@pattern(r"s_(add|sub|mul|ceil|floor|trunc|rndne|fmac|fmaak|fmamk)_(f16|f32)")
def _scalar_float(x: Args, what: str, kind: str) -> Result | None:
    return _like_vector(x, f"v_{what}_{kind}")


@pattern(r"s_cvt_(f32_i32|f32_u32|i32_f32|u32_f32|f16_f32|f32_f16|pk_rtz_f16_f32)")
def _scalar_conversion(x: Args, what: str) -> Result | None:
    return _like_vector(x, f"v_cvt_{what}")


@op("s_cvt_hi_f32_f16")
def _high_half(x: Args) -> int:
    half = x.s[0] >> 16 & M16
    return x.out(F32, sf.convert(F32, F16, half if x.kept(F16, 0) else sf.flush(F16, half)))


@pattern(r"s_cmp_(lt|eq|le|gt|lg|ge|o|u|nge|nlg|ngt|nle|neq|nlt)_(f16|f32)")
def _scalar_comparison(x: Args, what: str, kind: str) -> Result | None:
    return _like_vector(x, f"v_cmp_{what}_{kind}")


@pattern(r"s_(add|sub)_co_(ci_)?u32")
def _carry(x: Args, what: str, carry_in: str | None) -> Result | None:
    return _like_vector(x, f"s_{what}{'' if not carry_in else 'c' if what == 'add' else 'b'}_u32")


@pattern(r"s_(add|sub)_co_i32")
def _overflow(x: Args, what: str) -> Result | None:
    return _like_vector(x, f"s_{what}_i32")


@pattern(r"s_(add|sub|mul)_(?:nc_)?u64")
def _wide(x: Args, what: str) -> Result:
    a, b = x.s[:2]
    return Result({"add": a + b, "sub": a - b, "mul": a * b}[what] & M64, None)
