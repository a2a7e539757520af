"""Comparisons and classes of floats."""

from __future__ import annotations

from collections.abc import Callable

import softfloat as sf

from .core import Args, Result, fmt, pattern, signed

_INT_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "f": lambda a, b: False, "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ne": lambda a, b: a != b, "ge": lambda a, b: a >= b, "t": lambda a, b: True,
}  # fmt: skip


@pattern(r"v_cmpx?_(f|lt|eq|le|gt|ne|ge|t)_([ui])(16|32|64)")
def _compare_int(x: Args, what: str, kind: str, bits: str) -> Result:
    width = int(bits)
    a, b = (v & ((1 << width) - 1) for v in x.s[:2])
    if kind == "i":
        a, b = signed(a, width), signed(b, width)
    return Result(bit=_INT_COMPARE[what](a, b))


@pattern(r"v_cmpx?_(f|lt|eq|le|gt|lg|ge|o|u|nge|nlg|ngt|nle|neq|nlt|tru|t)_(f16|f32|f64)")
def _compare_float(x: Args, what: str, kind: str) -> Result:
    f = fmt(kind)
    a, b = x.floats(f)[:2]
    if what in ("f", "t", "tru"):
        return Result(bit=what != "f")
    unordered = sf.is_nan(f, a) or sf.is_nan(f, b)
    if what in ("o", "u"):
        return Result(bit=unordered == (what == "u"))
    p, q = (0, 0) if unordered else (sf.order(f, a), sf.order(f, b))
    ordered = {"lt": p < q, "eq": p == q, "le": p <= q, "gt": p > q, "lg": p != q, "ge": p >= q}
    if what in ordered:
        return Result(bit=not unordered and ordered[what])
    return Result(bit=unordered or not ordered["eq" if what == "neq" else what[1:]])


@pattern(r"v_cmpx?_class_(f16|f32|f64)")
def _class(x: Args, kind: str) -> Result:
    f, a = fmt(kind), x.s[0]
    minus = sf.negative(f, a)
    if sf.is_nan(f, a):
        at = 0 if sf.is_snan(f, a) else 1
    elif sf.is_inf(f, a):
        at = 2 if minus else 9
    elif sf.is_zero(f, a):
        at = 5 if minus else 6
    elif sf.is_denormal(f, a):
        at = 4 if minus else 7
    else:
        at = 3 if minus else 8
    return Result(bit=bool(x.s[1] >> at & 1))
