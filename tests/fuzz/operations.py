"""What generated expressions are made of: for each type, templates whose `{type}` places take an expression of that type.

The C++ behind the names is in prelude.hpp. Called by generate.py.
"""

from __future__ import annotations

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("f16", "f32", "f64")
SCALARS = INTEGERS + FLOATS
PACKED_INTEGERS = ("s2", "w2")
VECTORS = ("h2", *PACKED_INTEGERS, "f2", "u4", "c4", "d2")
TYPES = SCALARS + VECTORS
ELEMENT = {"h2": "f16", "s2": "i16", "w2": "u16", "f2": "f32", "u4": "u32", "c4": "u8", "d2": "f64"}
# Functions of an f32 whose result hardware bounds: in units in the last place, or absolutely. In prelude.hpp.
NEAR = ("exp2_", "log2_", "exp_", "log_", "log10_", "rcp_", "rsq_", "root_")
ABSOLUTE = ("sin_turns", "cos_turns", "sin_", "cos_")
WIDTH = {"h2": 2, "s2": 2, "w2": 2, "f2": 2, "u4": 4, "c4": 4, "d2": 2}


def _integers(table: dict[str, list[str]]) -> None:
    for t in INTEGERS:
        v = "{" + t + "}"
        table[t] += [f"({t})({v} {op} {v})" for op in ("+", "-", "*", "&", "|", "^")] * 2
        table[t] += [f"({t})~{v}", f"({t})(0 - {v})", f"({t})({v} * {v} + {v})", f"({t})({v} + {v} + {v})"]
        table[t] += [f"shl_({v}, {{u32}})", f"shr_({v}, {{u32}})", f"({t})(shl_({v}, {{u32}}) + {v})"]
        table[t] += [f"({t})(shl_({v}, {{u32}}) | {v})", f"({t})(({v} & {v}) | {v})", f"({t})({v} ^ {v} ^ {v})"]
        table[t] += [f"({t})({v} | {v} | {v})", f"({t})(({v} ^ {v}) + {v})", f"bsel({v}, {v}, {v})"]
        table[t] += [
            f"div_({v}, {v})",
            f"rem_({v}, {v})",
            f"min_({v}, {v})",
            f"max_({v}, {v})",
            f"med3_({v}, {v}, {v})",
        ]
        table[t] += [f"min_(min_({v}, {v}), {v})", f"max_(max_({v}, {v}), {v})", f"clamp_({v}, {v}, {v})"]
        table[t] += [f"addsat({v}, {v})", f"subsat({v}, {v})", f"addov({v}, {v})", f"subov({v}, {v})"]
        table[t] += [f"({{bool}} ? {v} : {v})"] * 3
        table[t] += [f"({t}){{{s}}}" for s in SCALARS if s != t]
        table[t] += [f"(({t}){{{s}}})" for s in INTEGERS if s != t]
        if t in SIGNED:
            table[t] += [f"abs_({v})"]
        if t[1:] in ("32", "64"):
            table[t] += [f"mulhi_({v}, {v})", f"mulov({v}, {v})", f"div_({v}, ({t})({v} | 1))"]
            table[t] += [f"({t})({v} / 7)", f"({t})({v} % 10)", f"({t})({v} / 641)", f"({t})({v} * 5)"]
    for t in UNSIGNED:
        v = "{" + t + "}"
        table[t] += [f"rev_({v})", f"rot_({v}, {{u32}})"]
        if t != "u8":
            table[t] += [f"swap_({v})"]


def _bits(table: dict[str, list[str]]) -> None:
    table["u32"] += [
        "clz_({u32})",
        "clz_({u64})",
        "clz_({u16})",
        "ctz_({u32})",
        "ctz_({u64})",
        "pop_({u32})",
        "pop_({u64})",
    ]
    table["u32"] += ["ubfe({u32}, {u32}, {u32})", "perm({u32}, {u32}, {u32})", "perm({u32}, {u32}, {u32} & 0x0f0f0f0f)"]
    table["u32"] += ["alignbit({u32}, {u32}, {u32})", "alignbyte({u32}, {u32}, {u32})", "lerp({u32}, {u32}, {u32})"]
    table["u32"] += [
        f"{f}({{u32}}, {{u32}}, {{u32}})" for f in ("sad8", "sadhi8", "msad8", "sad16", "udot4", "udot4s", "udot8")
    ]
    table["u32"] += [
        "sffbh({u32})",
        "udot2({w2}, {w2}, {u32})",
        "bits({f32})",
        "(u32)bits({f16})",
        "(u32)put({h2})",
        "(u32)put({c4})",
    ]
    table["u32"] += ["class_({f32}, {u32})", "class_({f64}, {u32})", "pkrtz({f32}, {f32})", "pki16({i32}, {i32})"]
    table["u32"] += ["pku16({u32}, {u32})", "pkn16({f32}, {f32})", "({u32} & 0xffffff) * ({u32} & 0xffffff)"]
    table["u32"] += [
        "({u32} & 0xffffff) * ({u32} & 0xffffff) + {u32}",
        "(u32)((u64)({u32} & 0xffffff) * ({u32} & 0xffffff) >> 32)",
    ]
    table["u32"] += [
        "({u32} & 0xff00ff) | ({u32} & 0xff00ff00)",
        "({u32} >> 16 | {u32} << 16)",
        "({u32} << 8 | {u32} >> 24)",
    ]
    table["i32"] += ["sbfe({i32}, {u32}, {u32})", "sdot4({i32}, {i32}, {i32})", "sdot4s({i32}, {i32}, {i32})"]
    table["i32"] += ["sdot8({i32}, {i32}, {i32})", "sudot4({i32}, {i32}, {i32})", "sdot2({s2}, {s2}, {i32})"]
    table["i32"] += [
        "((i32)((u32){i32} << 8) >> 8) * ((i32)((u32){i32} << 8) >> 8)",
        "frexp_e({f32})",
        "frexp_e({f64})",
    ]
    table["i32"] += ["((i32)((u32){i32} << 8) >> 8) * ((i32)((u32){i32} << 8) >> 8) + {i32}"]
    table["i32"] += ["(i32)({f32} < {f32}) - (i32)({f32} > {f32})", "(i32){i16} * (i32){i16} + {i32}"]
    table["u64"] += ["(u64){u32} * {u32}", "(u64){u32} * {u32} + {u64}", "bits({f64})", "((u64){u32} << 32 | {u32})"]
    table["u64"] += ["qsad({u64}, {u32}, {u64})", "mqsad({u64}, {u32}, {u64})", "put({u4})", "put({f2})"]
    table["i64"] += ["(i64){i32} * {i32}", "(i64){i32} * {i32} + {i64}", "(i64){u32} - (i64){u32}"]
    table["u16"] += ["bits({f16})", "(u16)({u32} >> 16)", "(u16)({u16} * {u16} + {u16})"]
    table["u8"] += ["(u8)({u32} >> 8)", "(u8)({u32} >> 24)", "(u8)clamp_({i32}, 0, 255)"]
    table["i8"] += ["(i8)({i32} >> 16)", "(i8)clamp_({i32}, -128, 127)"]
    table["i16"] += ["(i16)clamp_({i32}, -32768, 32767)", "(i16)({i32} >> 16)"]


def _floats(table: dict[str, list[str]]) -> None:
    for t in FLOATS:
        v = "{" + t + "}"
        table[t] += [f"{v} {op} {v}" for op in ("+", "-", "*")] * 3
        table[t] += [f"{v} / {v}", f"({v} * {v} + {v})", f"({v} + -{v})", f"(fabs_({v}) * {v})", f"({v} - fabs_({v}))"]
        table[t] += [f"fma_({v}, {v}, {v})"] * 2
        table[t] += [f"fma_(-{v}, {v}, {v})", f"fma_({v}, fabs_({v}), -{v})", f"fmin_({v}, {v})", f"fmax_({v}, {v})"]
        table[t] += [f"{f}({v})" for f in ("floor_", "ceil_", "trunc_", "rint_", "fabs_", "fneg_")]
        table[t] += [f"({{bool}} ? {v} : {v})"] * 2
        # LLVM 17 makes a product that is narrowed a fused one with +0, which loses the sign of a zero.
        table[t] += [f"plain(({t}){{{s}}})" if t == "f16" else f"({t}){{{s}}}" for s in SCALARS if s != t]
        table[t] += [f"({v} * ({t})2)", f"({v} * ({t})0.5)", f"({t})1 / {v}", f"({t})({v} + {v}) * ({t})4"]
    for t in ("f32", "f64"):
        v = "{" + t + "}"
        table[t] += [
            f"sqrt_({v})",
            f"sign_({v}, {v})",
            f"ldexp_({v}, {{i32}})",
            f"ldexp_({v}, {{i32}} % 40)",
            f"frexp_m({v})",
        ]
        table[t] += [
            f"fract({v})",
            f"med3f({v}, {v}, {v})",
            f"fmax_(({t})0, fmin_({v}, ({t})1))",
            f"fmin_(fmin_({v}, {v}), {v})",
        ]
    table["f32"] += ["as_f32({u32})", "fmed3({f32}, {f32}, {f32})", "(f32)({u32} & 0xff)", "(f32)({u32} >> 8 & 0xff)"]
    table["f32"] += ["(f32)({u32} >> 24)", "(f32){f16} * (f32){f16} + {f32}", "fma_((f32){f16}, (f32){f16}, {f32})"]
    table["f64"] += ["as_f64({u64})"]
    table["f16"] += ["as_f16({u16})", "(f16)fma_((f32){f16}, (f32){f16}, {f32})", "plain((f16)((f32){f16} * {f32}))"]


def _vectors(table: dict[str, list[str]]) -> None:
    for t in VECTORS:
        v, e = "{" + t + "}", "{" + ELEMENT[t] + "}"
        operators = ("+", "-", "*") if t in ("h2", "f2", "d2") else ("+", "-", "*", "&", "|", "^")
        table[t] += [f"({v} {op} {v})" for op in operators] * 3
        table[t] += [t + "{" + ", ".join([e] * WIDTH[t]) + "}"] * 2
        table[t] += [f"({v} + ({t})({e}))", f"({v} * ({t})({e}))", f"({v} * {v} + {v})", f"(-{v})"]
        swaps = (".yx", ".xx", ".yy") if WIDTH[t] == 2 else (".wzyx", ".yxwz", ".xxzz", ".zwxy", ".yyyy")
        table[t] += [v + s for s in swaps]
        table[t] += [f"({{bool}} ? {v} : {v})"]
        if WIDTH[t] == 2:
            table[t] += [
                t + "{" + v + ".x, " + v + ".y}",
                t + "{" + v + ".y, " + v + ".x}",
                t + "{(" + v + ").x, " + e + "}",
            ]
            table[t] += [f"(-{v}.yx + {v})", f"({v}.xx * {v} - {v}.yx)"]
        table[ELEMENT[t]] += [f"({ELEMENT[t]}){v}.{c}" for c in "xyzw"[: WIDTH[t]]]
    for t in PACKED_INTEGERS:
        v = "{" + t + "}"
        table[t] += [
            f"__builtin_elementwise_min({v}, {v})",
            f"__builtin_elementwise_max({v}, {v})",
            f"({v} << ({v} & 15))",
        ]
        table[t] += [f"({v} >> ({v} & 15))", f"addsat({v}, {v})", f"subsat({v}, {v})", f"({v} * {v}.yx + {v})"]
    table["h2"] += ["fma_({h2}, {h2}, {h2})", "fma_({h2}, {h2}.yx, -{h2})", "fmin_({h2}, {h2})", "fmax_({h2}, {h2})"]
    table["h2"] += ["fma_({h2}, {h2}.xx, {h2}.yy)", "h2{plain((f16){f32}), plain((f16){f32})}"]
    table["f2"] += ["f2{(f32){h2}.x, (f32){h2}.y}", "f2{fma_({f32}, {f32}, {f32}), fma_({f32}, {f32}, {f32})}"]
    table["f2"] += ["__builtin_elementwise_fma({f2}, {f2}, {f2})", "__builtin_elementwise_fma({f2}.yx, -{f2}, {f2}.xx)"]
    table["u4"] += ["mqsad4({u64}, {u32}, {u4})", "({u4} << ({u4} & 31u))", "({u4} >> ({u4} & 31u))"]
    table["c4"] += ["({c4} << ({c4} & 7))", "({c4} >> ({c4} & 7))", "__builtin_bit_cast(c4, {u32})"]


def _conditions(table: dict[str, list[str]]) -> None:
    for t in SCALARS:
        v = "{" + t + "}"
        table["bool"] += [f"{v} {op} {v}" for op in ("<", "<=", ">", ">=", "==", "!=")]
        if t in FLOATS:
            table["bool"] += [
                f"!({v} < {v})",
                f"!({v} >= {v})",
                f"{v} != {v}",
                f"({v} < {v} || {v} > {v})",
                f"{v} == ({t})0",
            ]
        else:
            table["bool"] += [f"({v} & ({t}){1 << 3}) != 0", f"{v} < ({t})17", f"{v} == ({t})0"]
    table["bool"] += ["({bool}) && ({bool})", "({bool}) || ({bool})", "!({bool})", "({bool}) != ({bool})"] * 4
    table["bool"] += ["fabs_({f32}) < {f32}", "class_({f32}, 0x1f8) != 0", "(({u32} >> ({u32} & 31)) & 1) != 0"]


def build() -> dict[str, list[str]]:
    """Templates by result type; `bool` too."""
    table: dict[str, list[str]] = {t: [] for t in (*TYPES, "bool")}
    _integers(table)
    _bits(table)
    _floats(table)
    _vectors(table)
    _conditions(table)
    return table
