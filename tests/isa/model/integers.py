"""32-bit and 64-bit integers: logic, sums, shifts, fields, bytes."""

from __future__ import annotations

from collections.abc import Callable

from .core import (
    EXACT,
    M8,
    M16,
    M32,
    M64,
    Args,
    Result,
    byte_of,
    leading,
    op,
    pattern,
    reverse,
    sign_run,
    signed,
    trailing,
)

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


def _sad8(a: int, b: int, masked: bool = False) -> int:
    # v_msad_u8 leaves out bytes where the reference, S1, is zero.
    return sum(abs(byte_of(a, i) - byte_of(b, i)) for i in range(4) if not (masked and byte_of(b, i) == 0))


def _perm(a: int, b: int, select: int) -> int:
    out = 0
    data = a << 32 | b
    for i in range(4):
        s = byte_of(select, i)
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
    return sum((byte_of(a, i) + byte_of(b, i) + (byte_of(c, i) & 1) >> 1) << (8 * i) for i in range(4))


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
    EXACT[_name] = lambda x, f=_f2: f(x.s[0], x.s[1]) & M32
for _name, _f3 in _TERNARY_32.items():
    EXACT[_name] = lambda x, f=_f3: f(x.s[0], x.s[1], x.s[2]) & M32


_UNARY_32: dict[str, Callable[[int], int]] = {
    "v_mov_b32": lambda a: a, "v_not_b32": lambda a: ~a, "v_bfrev_b32": lambda a: reverse(a, 32),
    "v_ffbh_u32": lambda a: leading(a, 32), "v_clz_i32_u32": lambda a: leading(a, 32),
    "v_ffbl_b32": trailing, "v_ctz_i32_b32": trailing,
    "v_ffbh_i32": lambda a: sign_run(a, 32), "v_cls_i32": lambda a: sign_run(a, 32),
}  # fmt: skip
for _name, _f1 in _UNARY_32.items():
    EXACT[_name] = lambda x, f=_f1: f(x.s[0]) & M32


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
