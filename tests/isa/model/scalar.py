"""SALU."""

from __future__ import annotations

from collections.abc import Callable

from .core import EXACT, M16, M32, Args, Result, leading, op, pattern, reverse, sign_run, signed, trailing

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
    EXACT[_name] = lambda x, f=_fs: Result(f(x.s[0], x.s[1]) & M32, None)


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
    return Result(x.s[0] if what == "mov" else reverse(x.s[0], int(width)), None)


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
    return Result(trailing(a) & M32, None)


@pattern(r"s_(?:flbit_i32_b|clz_i32_u)(32|64)")
def _s_leading(x: Args, width: str) -> Result:
    return Result(leading(x.s[0], int(width)) & M32, None)


@op("s_flbit_i32", "s_cls_i32")
def _s_cls(x: Args) -> Result:
    return Result(sign_run(x.s[0], 32), None)


@op("s_flbit_i32_i64", "s_cls_i32_i64")
def _s_cls64(x: Args) -> Result:
    return Result(sign_run(x.s[0], 64), None)


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
