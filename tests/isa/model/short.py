"""16-bit integers, pairs of them, and dot products of integers."""

from __future__ import annotations

from collections.abc import Callable

from .core import EXACT, M16, M32, Args, op, pattern, signed

_SHORT: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b, "add_nc": lambda a, b: a + b, "sub": lambda a, b: a - b, "sub_nc": lambda a, b: a - b,
    "subrev": lambda a, b: b - a, "mul_lo": lambda a, b: a * b, "lshlrev": lambda a, b: b << (a & 15),
    "lshrrev": lambda a, b: b >> (a & 15), "ashrrev": lambda a, b: signed(b, 16) >> (a & 15),
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "mov": lambda a: a,
    "not": lambda a: ~a, "mad": lambda a, b, c: a * b + c, "mad_legacy": lambda a, b, c: a * b + c,
}  # fmt: skip


@pattern(r"v_(add|add_nc|sub|sub_nc|subrev|mul_lo|lshlrev|lshrrev|ashrrev|and|or|xor|mov|not|mad|mad_legacy)_[uib]16")
def _short(x: Args, what: str) -> int:
    return _SHORT[what](*(a & M16 for a in x.s)) & M16


@pattern(r"v_(min|max|med)(3?)_([ui])16")
def _short_extreme(x: Args, what: str, _three: str, kind: str) -> int:
    ordered = sorted((a & M16 for a in x.s), key=lambda a: signed(a, 16) if kind == "i" else a)
    return {"min": ordered[0], "max": ordered[-1], "med": ordered[len(ordered) // 2]}[what]


def _halves(function: Callable[..., int], x: Args) -> int:
    low = function(*(a & M16 for a in x.s))
    high = function(*(a >> 16 for a in x.s))
    return low & M16 | (high & M16) << 16


_PACKED: dict[str, Callable[..., int]] = {
    "v_pk_mad_i16": lambda a, b, c: a * b + c, "v_pk_mad_u16": lambda a, b, c: a * b + c,
    "v_pk_mul_lo_u16": lambda a, b: a * b, "v_pk_add_i16": lambda a, b: a + b, "v_pk_add_u16": lambda a, b: a + b,
    "v_pk_sub_i16": lambda a, b: a - b, "v_pk_sub_u16": lambda a, b: a - b,
    "v_pk_lshlrev_b16": lambda a, b: b << (a & 15), "v_pk_lshrrev_b16": lambda a, b: b >> (a & 15),
    "v_pk_ashrrev_i16": lambda a, b: signed(b, 16) >> (a & 15), "v_pk_max_u16": max, "v_pk_min_u16": min,
    "v_pk_max_i16": lambda a, b: max(a, b, key=lambda v: signed(v, 16)),
    "v_pk_min_i16": lambda a, b: min(a, b, key=lambda v: signed(v, 16)),
}  # fmt: skip
for _name, _fp in _PACKED.items():
    EXACT[_name] = lambda x, f=_fp: _halves(f, x)


@pattern(r"v_dot(2|4|8)c?_([ui])32_i?u?\d+")
def _dot(x: Args, count: str, kind: str) -> int:
    n = int(count)
    width = 32 // n
    field = lambda a, i: a >> (width * i) & ((1 << width) - 1)  # noqa: E731
    read = (lambda a, i: signed(field(a, i), width)) if kind == "i" else field
    total = sum(read(x.s[0], i) * read(x.s[1], i) for i in range(n))
    return total + (x.s[2] if len(x.s) > 2 else x.old) & M32


@op("v_dot4_i32_iu8", "v_dot8_i32_iu4")
def _dot_iu(x: Args) -> None:
    return None  # signedness is in the neg bits
