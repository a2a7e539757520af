"""What each instruction computes, written from the ISA manuals and not from the interpreter.

In: an instruction's name (either spelling), operand bits. Out: result bits, or None where the manuals leave them open.
Source: "AMD Instinct MI300 ISA", "RDNA3 ISA", chapters on instruction definitions. Called by vectors.py and the tests
of conformance results.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import softfloat as sf
from softfloat import F16, F32, NAN, Format

M8, M16, M32, M64 = 0xFF, 0xFFFF, 0xFFFFFFFF, (1 << 64) - 1


@dataclass(frozen=True)
class Result:
    """`dst` is None for comparisons; `bit` is the lane's bit of a mask result or SCC, None where it stays."""

    dst: int | None = None
    bit: bool | None = None


@dataclass(frozen=True)
class Mode:
    """MODE of the wave: rounding and denormals of f32 and of f64/f16 (bit 0 inputs kept, bit 1 outputs kept)."""

    round32: int = 0
    round64: int = 0
    denorm32: int = 3
    denorm64: int = 3


DEFAULT = Mode()
Function = Callable[..., Any]
_exact: dict[str, Function] = {}
_patterns: list[tuple[re.Pattern[str], Function]] = []


def op(*names: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        for name in names:
            _exact[name] = function
        return function

    return register


def pattern(text: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        _patterns.append((re.compile(text + r"\Z"), function))
        return function

    return register


def find(name: str) -> Callable[[Mode, list[int], int, bool], Result | None] | None:
    """The definition of an instruction: (mode, sources, old destination, carry or SCC in) -> result."""
    name = name.replace("v_dual_", "v_")
    function = _exact.get(name)
    groups: tuple[str, ...] = ()
    if function is None:
        for regex, candidate in _patterns:
            match = regex.match(name)
            if match:
                function, groups = candidate, match.groups()
                break
    if function is None:
        return None

    def call(mode: Mode, sources: list[int], old: int, carry: bool) -> Result | None:
        found = function(Args(mode, sources, old, carry), *groups)
        if found is None or isinstance(found, Result):
            return found
        return Result(found)

    return call


@dataclass(frozen=True)
class Args:
    mode: Mode
    s: list[int]
    old: int
    carry: bool

    def rounding(self, f: Format) -> int:
        return self.mode.round32 if f is F32 else self.mode.round64

    def kept(self, f: Format, which: int) -> bool:
        return bool((self.mode.denorm32 if f is F32 else self.mode.denorm64) >> which & 1)

    def floats(self, f: Format) -> list[int]:
        return self.s if self.kept(f, 0) else [sf.flush(f, x) for x in self.s]

    def old_float(self, f: Format) -> int:
        return self.old if self.kept(f, 0) else sf.flush(f, self.old)

    def out(self, f: Format, bits: int) -> int:
        return bits if bits == NAN or self.kept(f, 1) else sf.flush(f, bits)


def signed(x: int, width: int) -> int:
    return x - (1 << width) if x >> (width - 1) & 1 else x


def fmt(name: str) -> Format:
    return sf.FORMATS[name]


# --- integers ---------------------------------------------------------------------------------------------------------

_BINARY_32: dict[str, Callable[[int, int], int]] = {
    "v_and_b32": lambda a, b: a & b, "v_or_b32": lambda a, b: a | b, "v_xor_b32": lambda a, b: a ^ b,
    "v_xnor_b32": lambda a, b: ~(a ^ b), "v_add_u32": lambda a, b: a + b, "v_add_nc_u32": lambda a, b: a + b,
    "v_sub_u32": lambda a, b: a - b, "v_sub_nc_u32": lambda a, b: a - b, "v_subrev_u32": lambda a, b: b - a,
    "v_subrev_nc_u32": lambda a, b: b - a, "v_add_i32": lambda a, b: a + b, "v_add_nc_i32": lambda a, b: a + b,
    "v_sub_i32": lambda a, b: a - b, "v_sub_nc_i32": lambda a, b: a - b, "v_mul_lo_u32": lambda a, b: a * b,
    "v_mul_hi_u32": lambda a, b: a * b >> 32, "v_mul_hi_i32": lambda a, b: signed(a, 32) * signed(b, 32) >> 32,
    "v_mul_u32_u24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "v_mul_hi_u32_u24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32,
    "v_mul_i32_i24": lambda a, b: signed(a & 0xFFFFFF, 24) * signed(b & 0xFFFFFF, 24),
    "v_mul_hi_i32_i24": lambda a, b: signed(a & 0xFFFFFF, 24) * signed(b & 0xFFFFFF, 24) >> 32,
    "v_min_i32": lambda a, b: min(a, b, key=lambda x: signed(x, 32)),
    "v_max_i32": lambda a, b: max(a, b, key=lambda x: signed(x, 32)),
    "v_min_u32": min, "v_max_u32": max,
    "v_lshrrev_b32": lambda a, b: b >> (a & 31), "v_lshlrev_b32": lambda a, b: b << (a & 31),
    "v_ashrrev_i32": lambda a, b: signed(b, 32) >> (a & 31),
    "v_bcnt_u32_b32": lambda a, b: a.bit_count() + b, "v_bfm_b32": lambda a, b: ((1 << (a & 31)) - 1) << (b & 31),
    "v_cvt_pk_u16_u32": lambda a, b: min(a, M16) | min(b, M16) << 16,
    "v_cvt_pk_i16_i32": lambda a, b: clamp16(signed(a, 32)) | clamp16(signed(b, 32)) << 16,
    "v_pack_b32_f16": lambda a, b: a & M16 | (b & M16) << 16,
}  # fmt: skip


def clamp16(x: int) -> int:
    return min(max(x, -0x8000), 0x7FFF) & M16


def _bfe(a: int, b: int, c: int, *, sign: bool) -> int:
    offset, width = b & 31, c & 31
    if width == 0:
        return 0
    # A field that runs past the top: what lies there is the sign (signed) or zero.
    whole = signed(a, 32) if sign else a
    field = whole >> offset & ((1 << width) - 1)
    return (signed(field, width) if sign else field) & M32


def _byte(x: int, i: int) -> int:
    return x >> (8 * i) & M8


def _sad8(a: int, b: int, masked: bool = False) -> int:
    # v_msad_u8 leaves out bytes where the reference, S1, is zero.
    return sum(abs(_byte(a, i) - _byte(b, i)) for i in range(4) if not (masked and _byte(b, i) == 0))


def _perm(a: int, b: int, select: int) -> int:
    out = 0
    data = a << 32 | b
    for i in range(4):
        s = _byte(select, i)
        if s >= 13:
            byte = M8
        elif s == 12:
            byte = 0
        elif s >= 8:
            byte = M8 if data >> (16 * (s - 8) + 15) & 1 else 0
        else:
            byte = data >> (8 * s) & M8
        out |= byte << (8 * i)
    return out


def _lerp(a: int, b: int, c: int) -> int:
    return sum((_byte(a, i) + _byte(b, i) + (_byte(c, i) & 1) >> 1) << (8 * i) for i in range(4))


_TERNARY_32: dict[str, Callable[[int, int, int], int]] = {
    "v_mad_i32_i24": lambda a, b, c: signed(a & 0xFFFFFF, 24) * signed(b & 0xFFFFFF, 24) + c,
    "v_mad_u32_u24": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
    "v_bfe_u32": lambda a, b, c: _bfe(a, b, c, sign=False), "v_bfe_i32": lambda a, b, c: _bfe(a, b, c, sign=True),
    "v_bfi_b32": lambda a, b, c: a & b | ~a & c, "v_lerp_u8": _lerp, "v_perm_b32": _perm,
    "v_alignbit_b32": lambda a, b, c: (a << 32 | b) >> (c & 31),
    "v_alignbyte_b32": lambda a, b, c: (a << 32 | b) >> 8 * (c & 3),
    "v_min3_u32": min, "v_max3_u32": max, "v_med3_u32": lambda a, b, c: sorted((a, b, c))[1],
    "v_min3_i32": lambda a, b, c: min(a, b, c, key=lambda x: signed(x, 32)),
    "v_max3_i32": lambda a, b, c: max(a, b, c, key=lambda x: signed(x, 32)),
    "v_med3_i32": lambda a, b, c: sorted((a, b, c), key=lambda x: signed(x, 32))[1],
    "v_sad_u8": lambda a, b, c: _sad8(a, b) + c, "v_sad_hi_u8": lambda a, b, c: (_sad8(a, b) << 16) + c,
    "v_msad_u8": lambda a, b, c: _sad8(a, b, masked=True) + c,
    "v_sad_u16": lambda a, b, c: abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c,
    "v_sad_u32": lambda a, b, c: abs(a - b) + c,
    "v_mad_u32_u16": lambda a, b, c: (a & M16) * (b & M16) + c,
    "v_mad_i32_i16": lambda a, b, c: signed(a & M16, 16) * signed(b & M16, 16) + c,
    "v_xad_u32": lambda a, b, c: (a ^ b) + c, "v_lshl_add_u32": lambda a, b, c: (a << (b & 31)) + c,
    "v_add_lshl_u32": lambda a, b, c: (a + b) << (c & 31), "v_add3_u32": lambda a, b, c: a + b + c,
    "v_lshl_or_b32": lambda a, b, c: a << (b & 31) | c, "v_and_or_b32": lambda a, b, c: a & b | c,
    "v_or3_b32": lambda a, b, c: a | b | c, "v_xor3_b32": lambda a, b, c: a ^ b ^ c,
    "v_maxmin_u32": lambda a, b, c: min(max(a, b), c), "v_minmax_u32": lambda a, b, c: max(min(a, b), c),
    "v_maxmin_i32": lambda a, b, c: min(max(signed(a, 32), signed(b, 32)), signed(c, 32)),
    "v_minmax_i32": lambda a, b, c: max(min(signed(a, 32), signed(b, 32)), signed(c, 32)),
}  # fmt: skip

for _name, _f2 in _BINARY_32.items():
    _exact[_name] = lambda x, f=_f2: f(x.s[0], x.s[1]) & M32
for _name, _f3 in _TERNARY_32.items():
    _exact[_name] = lambda x, f=_f3: f(x.s[0], x.s[1], x.s[2]) & M32


def _leading(x: int, width: int) -> int:
    return width - x.bit_length() if x else M32


def _trailing(x: int) -> int:
    return (x & -x).bit_length() - 1 if x else M32


def _sign_run(x: int, width: int) -> int:
    """Position of the first bit that differs from the sign, from the top; -1 when all are alike."""
    top = x >> (width - 1)
    return next((i for i in range(1, width) if x >> (width - 1 - i) & 1 != top), M32)


def _reverse(x: int, width: int) -> int:
    return int(f"{x:0{width}b}"[::-1], 2)


_UNARY_32: dict[str, Callable[[int], int]] = {
    "v_mov_b32": lambda a: a, "v_not_b32": lambda a: ~a, "v_bfrev_b32": lambda a: _reverse(a, 32),
    "v_ffbh_u32": lambda a: _leading(a, 32), "v_clz_i32_u32": lambda a: _leading(a, 32),
    "v_ffbl_b32": _trailing, "v_ctz_i32_b32": _trailing,
    "v_ffbh_i32": lambda a: _sign_run(a, 32), "v_cls_i32": lambda a: _sign_run(a, 32),
}  # fmt: skip
for _name, _f1 in _UNARY_32.items():
    _exact[_name] = lambda x, f=_f1: f(x.s[0]) & M32


@op("v_sat_pk_u8_i16")
def _sat_pk(x: Args) -> int:
    return sum(min(max(signed(x.s[0] >> 16 * i & M16, 16), 0), 255) << 8 * i for i in range(2))


@pattern(r"v_(add|sub|subrev|addc|subb|subbrev)_co(_ci)?_u32")
def _carry(x: Args, what: str, ci: str | None) -> Result:
    carry = int(x.carry) if ci or what in ("addc", "subb", "subbrev") else 0
    a, b = (x.s[1], x.s[0]) if "rev" in what else (x.s[0], x.s[1])
    total = a + b + carry if what.startswith("add") else a - b - carry
    return Result(total & M32, total > M32 or total < 0)


@op("v_cndmask_b32", "v_cndmask_b16")
def _select(x: Args) -> int:
    return x.s[1] if x.carry else x.s[0]


@pattern(r"v_(lshlrev|lshrrev|ashrrev)_[bi]64")
def _shift64(x: Args, what: str) -> int:
    n, a = x.s[0] & 63, x.s[1]
    return {"lshlrev": a << n, "lshrrev": a >> n, "ashrrev": signed(a, 64) >> n}[what] & M64


@pattern(r"v_mad_([ui])64_[ui]32")
def _mad64(x: Args, kind: str) -> Result:
    a, b, c = x.s
    if kind == "u":
        total = a * b + c
        return Result(total & M64, total > M64)
    total = signed(a, 32) * signed(b, 32) + signed(c, 64)
    return Result(total & M64, None)


@op("v_lshl_add_u64")
def _lshl_add64(x: Args) -> int:
    return (x.s[0] << (x.s[1] & 7)) + x.s[2] & M64


@op("v_mov_b64")
def _mov64(x: Args) -> int:
    return x.s[0]


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
    _exact[_name] = lambda x, f=_fp: _halves(f, x)


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


# --- comparisons ------------------------------------------------------------------------------------------------------

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


# --- floats -----------------------------------------------------------------------------------------------------------


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
    _exact[f"v_pk_{_what}_f16"] = _packed16(_what)


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


# --- conversions ------------------------------------------------------------------------------------------------------


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
    return sf.encode(F32, Fraction(_byte(x.s[0], int(which))))


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


# --- scalar -----------------------------------------------------------------------------------------------------------

_LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "andn2": lambda a, b: a & ~b,
    "and_not1": lambda a, b: a & ~b, "orn2": lambda a, b: a | ~b, "or_not1": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b), "nor": lambda a, b: ~(a | b), "xnor": lambda a, b: ~(a ^ b),
}  # fmt: skip


@pattern(r"s_(and|or|xor|andn2|and_not1|orn2|or_not1|nand|nor|xnor)_b(32|64)")
def _s_logic(x: Args, what: str, width: str) -> Result:
    r = _LOGIC[what](x.s[0], x.s[1]) & ((1 << int(width)) - 1)
    return Result(r, r != 0)


@pattern(r"s_(lshl|lshr|ashr)_[bi](32|64)")
def _s_shift(x: Args, what: str, bits: str) -> Result:
    width = int(bits)
    n, a = x.s[1] & (width - 1), x.s[0]
    r = {"lshl": a << n, "lshr": a >> n, "ashr": signed(a, width) >> n}[what] & ((1 << width) - 1)
    return Result(r, r != 0)


@pattern(r"s_(add|sub|addc|subb)_u32")
def _s_carry(x: Args, what: str) -> Result:
    c = int(x.carry) if what in ("addc", "subb") else 0
    total = x.s[0] + x.s[1] + c if what.startswith("add") else x.s[0] - x.s[1] - c
    return Result(total & M32, not 0 <= total <= M32)


@pattern(r"s_(add|sub)_i32")
def _s_overflow(x: Args, what: str) -> Result:
    a, b = signed(x.s[0], 32), signed(x.s[1], 32)
    total = a + b if what == "add" else a - b
    return Result(total & M32, not -(1 << 31) <= total < 1 << 31)


@pattern(r"s_(min|max)_([ui])32")
def _s_extreme(x: Args, what: str, kind: str) -> Result:
    a, b = (signed(v, 32) if kind == "i" else v for v in x.s[:2])
    first = a < b if what == "min" else a > b
    # SCC when both are equal differs between the manuals' texts (>= of S_MAX); it is left out.
    return Result((a if first else b) & M32, None if a == b else first)


@pattern(r"s_cselect_b(32|64)")
def _s_select(x: Args, _width: str) -> Result:
    return Result(x.s[0] if x.carry else x.s[1], None)


@pattern(r"s_bfm_b(32|64)")
def _s_bfm(x: Args, width: str) -> Result:
    w = int(width)
    return Result(((1 << (x.s[0] & (w - 1))) - 1) << (x.s[1] & (w - 1)) & ((1 << w) - 1), None)


@pattern(r"s_bfe_([ui])(32|64)")
def _s_bfe(x: Args, kind: str, bits: str) -> Result:
    w = int(bits)
    offset, width = x.s[1] & (w - 1), min(x.s[1] >> 16 & 0x7F, w)
    if width == 0:
        return Result(0, False)
    whole = signed(x.s[0], w) if kind == "i" else x.s[0]
    field = whole >> offset & ((1 << width) - 1)
    r = (signed(field, width) if kind == "i" else field) & ((1 << w) - 1)
    return Result(r, r != 0)


_S_PLAIN: dict[str, Callable[[int, int], int]] = {
    "s_mul_i32": lambda a, b: a * b, "s_mul_hi_u32": lambda a, b: a * b >> 32,
    "s_mul_hi_i32": lambda a, b: signed(a, 32) * signed(b, 32) >> 32,
    "s_pack_ll_b32_b16": lambda a, b: a & M16 | b << 16, "s_pack_lh_b32_b16": lambda a, b: a & M16 | b & 0xFFFF0000,
    "s_pack_hh_b32_b16": lambda a, b: a >> 16 | b & 0xFFFF0000, "s_pack_hl_b32_b16": lambda a, b: a >> 16 | b << 16,
}  # fmt: skip
for _name, _fs in _S_PLAIN.items():
    _exact[_name] = lambda x, f=_fs: Result(f(x.s[0], x.s[1]) & M32, None)


@pattern(r"s_lshl([1-4])_add_u32")
def _s_shift_add(x: Args, n: str) -> Result:
    total = (x.s[0] << int(n)) + x.s[1]
    return Result(total & M32, total > M32)


@op("s_absdiff_i32")
def _s_absdiff(x: Args) -> Result:
    difference = signed(x.s[0] - x.s[1] & M32, 32)
    return Result(abs(difference) & M32, difference != 0)


@pattern(r"s_cmp_(eq|lg|gt|ge|lt|le)_([ui])(32|64)")
def _s_compare(x: Args, what: str, kind: str, width: str) -> Result:
    a, b = (signed(v, int(width)) if kind == "i" else v for v in x.s[:2])
    table = {"eq": a == b, "lg": a != b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b}
    return Result(bit=table[what])


@pattern(r"s_bitcmp([01])_b(32|64)")
def _s_bitcmp(x: Args, want: str, width: str) -> Result:
    return Result(bit=(x.s[0] >> (x.s[1] & (int(width) - 1)) & 1) == int(want))


def _count(what: int) -> Callable[[Args, int], Result]:
    def function(x: Args, width: int) -> Result:
        ones = x.s[0].bit_count()
        r = ones if what else width - ones
        return Result(r, r != 0)

    return function


@pattern(r"s_bcnt([01])_i32_b(32|64)")
def _s_count(x: Args, what: str, width: str) -> Result:
    return _count(int(what))(x, int(width))


@pattern(r"s_(mov|brev)_b(32|64)")
def _s_move(x: Args, what: str, width: str) -> Result:
    return Result(x.s[0] if what == "mov" else _reverse(x.s[0], int(width)), None)


@pattern(r"s_cmov_b(32|64)")
def _s_cmov(x: Args, _width: str) -> Result:
    return Result(x.s[0] if x.carry else x.old, None)


@pattern(r"s_not_b(32|64)")
def _s_not(x: Args, width: str) -> Result:
    r = ~x.s[0] & ((1 << int(width)) - 1)
    return Result(r, r != 0)


@pattern(r"s_(wqm|quadmask)_b(32|64)")
def _s_quads(x: Args, what: str, width: str) -> Result:
    quads = [bool(x.s[0] >> i & 15) for i in range(0, int(width), 4)]
    r = sum((15 << 4 * i if what == "wqm" else 1 << i) for i, q in enumerate(quads) if q)
    return Result(r, r != 0)


@pattern(r"s_(ff0|ff1|ctz)_i32_b(32|64)")
def _s_trailing(x: Args, what: str, width: str) -> Result:
    a = ~x.s[0] & ((1 << int(width)) - 1) if what == "ff0" else x.s[0]
    return Result(_trailing(a) & M32, None)


@pattern(r"s_(?:flbit_i32_b|clz_i32_u)(32|64)")
def _s_leading(x: Args, width: str) -> Result:
    return Result(_leading(x.s[0], int(width)) & M32, None)


@op("s_flbit_i32", "s_cls_i32")
def _s_cls(x: Args) -> Result:
    return Result(_sign_run(x.s[0], 32), None)


@op("s_flbit_i32_i64", "s_cls_i32_i64")
def _s_cls64(x: Args) -> Result:
    return Result(_sign_run(x.s[0], 64), None)


@pattern(r"s_sext_i32_i(8|16)")
def _s_sext(x: Args, width: str) -> Result:
    w = int(width)
    return Result(signed(x.s[0] & ((1 << w) - 1), w) & M32, None)


@pattern(r"s_bitset([01])_b(32|64)")
def _s_bitset(x: Args, what: str, width: str) -> Result:
    bit = 1 << (x.s[0] & (int(width) - 1))
    return Result(x.old | bit if what == "1" else x.old & ~bit, None)


@op("s_abs_i32")
def _s_abs(x: Args) -> Result:
    r = abs(signed(x.s[0], 32)) & M32
    return Result(r, r != 0)


@op("s_bitreplicate_b64_b32")
def _s_replicate(x: Args) -> Result:
    return Result(sum(3 << 2 * i for i in range(32) if x.s[0] >> i & 1), None)
