"""Modifiers of vector instructions: how the assembler spells them, and what they make of operands and results.

In: a row of the instruction tables, a form of it. Out: assembly text (kernels.py); operands and results as the manuals
define them (expectation.py). Forms come in families; a row gets one or two of each family that it has, the whole tables
all of them. Source: "AMD Instinct MI300 ISA", "RDNA3 ISA" and "Vega ISA": input and output modifiers, SDWA, DPP.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import softfloat as sf
import targets

FLOAT = {"f16": sf.F16, "f32": sf.F32, "f64": sf.F64}
SHORT = ("f16", "bf16", "u16", "i16", "b16")
_FIELDS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")


@dataclass(frozen=True)
class Sdwa:
    """Selections as the assembler names them; `sext` a bit a source."""

    sources: tuple[str, str]
    dst: str = "DWORD"
    unused: str = "UNUSED_PAD"
    sext: int = 0


@dataclass(frozen=True)
class Form:
    """One setting of modifiers. Masks have a bit a source; bit 3 of `op_sel` is the destination's."""

    neg: int = 0
    abs: int = 0
    op_sel: int = 0
    op_sel_hi: int = 7
    neg_hi: int = 0
    omod: str = ""
    clamp: bool = False
    sdwa: Sdwa | None = None
    dpp: str = ""


NEGATIVE = {"neg0": Form(neg=1), "neg1 abs0": Form(neg=2, abs=1), "abs1": Form(abs=2), "neg abs": Form(neg=7, abs=7)}
OUTPUT = {"clamp": Form(clamp=True), "clamp neg0": Form(clamp=True, neg=1)}
SCALED = {
    "mul2": Form(omod="mul:2"),
    "mul4": Form(omod="mul:4"),
    "div2": Form(omod="div:2"),
    "mul2 clamp": Form(omod="mul:2", clamp=True),
}
HALVES = {
    "op_sel 1": Form(op_sel=1),
    "op_sel 2": Form(op_sel=6),
    "op_sel dst": Form(op_sel=8),
    "op_sel": Form(op_sel=15),
}
PACKED = {
    "op_sel swap": Form(op_sel=7, op_sel_hi=0),
    "op_sel low": Form(op_sel_hi=0),
    "op_sel mixed": Form(op_sel=1, op_sel_hi=5),
}
PACKED_NEGATIVE = {"neg_lo": Form(neg=1), "neg_hi": Form(neg_hi=2), "neg_lo neg_hi": Form(neg=3, neg_hi=5)}
SDWA = {
    "sdwa bytes": Form(sdwa=Sdwa(("BYTE_1", "BYTE_3"))),
    "sdwa words": Form(sdwa=Sdwa(("WORD_1", "WORD_0"), "WORD_1", "UNUSED_PRESERVE")),
    "sdwa sext": Form(sdwa=Sdwa(("BYTE_2", "WORD_1"), "BYTE_2", "UNUSED_SEXT", sext=3)),
    "sdwa pad": Form(sdwa=Sdwa(("DWORD", "BYTE_0"), "WORD_1", "UNUSED_PAD")),
    "sdwa neg": Form(sdwa=Sdwa(("WORD_0", "WORD_1")), neg=1, abs=2),
}
_DPP = (
    "quad_perm:[3,0,2,1]",
    "row_shl:1",
    "row_shr:3 bound_ctrl:1",
    "row_ror:5",
    "row_mirror bank_mask:0x5",
    "row_half_mirror",
    "quad_perm:[1,1,3,0] row_mask:0x6 bound_ctrl:1",
    "row_shl:15 bank_mask:0xb bound_ctrl:1",
)
_DPP9 = (
    "wave_shl:1",
    "wave_shr:1 bound_ctrl:1",
    "wave_rol:1",
    "wave_ror:1",
    "row_bcast:15 row_mask:0xa",
    "row_bcast:31 row_mask:0xc",
)
_DPP11 = ("row_share:3", "row_xmask:6", "row_shl:2 fi:1", "dpp8:[7,5,3,1,6,4,2,0]", "dpp8:[0,0,1,1,2,2,7,7] fi:1")
DPP9 = {text: Form(dpp=text) for text in (*_DPP, *_DPP9)}
DPP11 = {text: Form(dpp=text) for text in (*_DPP, *_DPP11)}

BY_NAME = NEGATIVE | OUTPUT | SCALED | HALVES | PACKED | PACKED_NEGATIVE | SDWA | DPP9 | DPP11
# The output modifier belongs to these; others are not scaled by it on any target.
_SCALED = re.compile(r"v_(add|sub|subrev|mul|fma|fmac|mac|mad|floor|ceil|trunc|rndne|fract|rcp|rsq|sqrt)_f\d\d\Z")


def families(row: dict[str, Any], target: str) -> Iterator[tuple[dict[str, Form], int]]:
    """The families that a row has, and how many of each it gets."""
    flags, kinds = row["flags"], [k for k in row["src"] if k not in ("none", "mask")]
    rdna = targets.rdna(target)
    if "literal" in flags or "own-operands" in flags:
        return
    if row["format"] == "vop3p":
        if "own-op-sel" not in flags and row["name"].startswith("v_pk_") and row["name"] != "v_pk_mov_b32":
            yield PACKED, 2
            if "float-modifiers" in flags:
                yield PACKED_NEGATIVE, 2
        return
    if "float-modifiers" in flags and any(k in FLOAT for k in kinds):
        yield NEGATIVE, 2 if row["format"] != "vopc" else 1
        if row["dst"] in FLOAT:
            yield OUTPUT, 1
        if _SCALED.match(row["name"]):
            yield SCALED, 2
    keeps = "reads-dst" not in flags
    if rdna and keeps and any(k in SHORT for k in (*kinds, row["dst"])) and "own-op-sel" not in flags:
        yield {name: f for name, f in HALVES.items() if row["dst"] in SHORT or not f.op_sel & 8}, 2
    narrow = all(k not in ("b64", "u64", "i64", "f64", "pkf32", "pk32") for k in (*kinds, row["dst"]))
    if row["format"] in ("vop1", "vop2", "vopc") and narrow:
        if not rdna and keeps:
            yield SDWA, 2
        yield (DPP11 if rdna else DPP9), 2 if row["format"] != "vopc" else 1 if rdna else 0


def chosen(row: dict[str, Any], target: str, number: int) -> Iterator[str]:
    """Names of the forms that row `number` gets: each family is gone through in turn."""
    for family, count in families(row, target):
        names = list(family)
        for k in range(min(count, len(names))):
            yield names[(number * count + k) % len(names)]


def spelled(form: Form, row: dict[str, Any], statement: str) -> str:
    """The statement of the plain instruction with the form's modifiers. A source is v2, v4, v6 or a pair from there."""
    name, _, rest = statement.partition(" ")
    if form.sdwa:
        name += "_sdwa"
    elif form.dpp:
        name += "_dpp"
    elif row["format"] in ("vop1", "vop2", "vopc"):
        name += "_e64"
    packed = row["format"] == "vop3p"
    kinds = [k for k in row["src"] if k not in ("none", "mask")]
    sext = form.sdwa.sext if form.sdwa and not any(k in FLOAT for k in kinds) else 0

    def marked(match: re.Match[str]) -> str:
        i, text = (int(match.group(1) or match.group(2)) - 2) // 2, match.group(0)
        if text.endswith(".l") and form.op_sel >> i & 1:
            text = text[:-1] + "h"
        if sext >> i & 1:
            text = f"sext({text})"
        if not packed and kinds[i] in FLOAT:
            text = f"|{text}|" if form.abs >> i & 1 else text
            text = f"-{text}" if form.neg >> i & 1 else text
        return text

    rest = re.sub(r"(?<![\w\[])v(?:\[(\d):\d\]|(\d)\b)(?:\.l)?", marked, rest)
    tail = []
    count = len(kinds)
    bits = lambda mask, n: "[" + ",".join(str(mask >> i & 1) for i in range(n)) + "]"  # noqa: E731
    if packed:
        tail += [f"op_sel:{bits(form.op_sel, count)}", f"op_sel_hi:{bits(form.op_sel_hi, count)}"]
        tail += [f"neg_lo:{bits(form.neg, count)}"] if form.neg else []
        tail += [f"neg_hi:{bits(form.neg_hi, count)}"] if form.neg_hi else []
    elif ".l" in statement:  # newer assemblers name the half
        rest = rest.replace("v20.l", "v20.h") if form.op_sel & 8 else rest
    elif form.op_sel:
        sources = [str(form.op_sel >> i & 1 if kinds[i] in SHORT else 0) for i in range(count)]
        tail += [f"op_sel:[{','.join([*sources, str(form.op_sel >> 3)])}]"]
    tail += ["clamp"] if form.clamp else []
    tail += [form.omod] if form.omod else []
    if form.sdwa:
        if row["dst"] != "none":
            tail += [f"dst_sel:{form.sdwa.dst}", f"dst_unused:{form.sdwa.unused}"]
        tail += [f"src{i}_sel:{form.sdwa.sources[i]}" for i in range(min(count, 2))]
    if form.dpp:
        control, *others = form.dpp.split()
        settings = dict(o.split(":") for o in others)
        masks = {} if control.startswith("dpp8") else {"row_mask": "0xf", "bank_mask": "0xf"}
        tail += [control, *(f"{k}:{v}" for k, v in (masks | settings).items())]
    return " ".join([name, rest, *tail])


def selected(value: int, field: str, sext: bool) -> int:
    """A byte or word of a register, extended to 32 bits."""
    if field == "DWORD":
        return value
    width = 8 if field.startswith("BYTE") else 16
    part = value >> (width * int(field[-1])) & ((1 << width) - 1)
    return part | ((1 << 32) - (1 << width) if sext and part >> (width - 1) else 0)


def source(form: Form, kind: str, i: int, value: int, *, sext: bool) -> int:
    """What source i hands to the operation."""
    if form.sdwa and i < 2:
        value = selected(value, form.sdwa.sources[i], sext and bool(form.sdwa.sext >> i & 1))
    if kind.startswith("pk"):
        width = 32 if kind in ("pkf32", "pk32") else 16
        low, high = value & ((1 << width) - 1), value >> width
        low, high = (high if form.op_sel >> i & 1 else low), (high if form.op_sel_hi >> i & 1 else low)
        sign = 1 << (width - 1)
        return (low ^ (sign if form.neg >> i & 1 else 0)) | (high ^ (sign if form.neg_hi >> i & 1 else 0)) << width
    if kind in SHORT:
        value = (value >> 16 if form.op_sel >> i & 1 else value) & 0xFFFF
    if kind in FLOAT:
        sign = FLOAT[kind].sign_bit
        value = value & ~sign if form.abs >> i & 1 else value
        value = value ^ sign if form.neg >> i & 1 else value
    return value


def result(form: Form, kind: str, bits: int) -> int:
    """After the output modifier (denormals flushed, IEEE mode off) and the clamp (NaN becomes 0: DX10_CLAMP)."""
    f = FLOAT.get(kind)
    if f is None:
        return bits
    if form.omod and not sf.is_nan(f, bits) and not sf.is_inf(f, bits):
        factor = {"mul:2": 2, "mul:4": 4, "div:2": 1}[form.omod]
        scaled = sf.value(f, bits) * factor / (2 if form.omod == "div:2" else 1)
        bits = sf.flush(f, sf.encode(f, scaled, zero_negative=False))
        bits = 0 if bits == f.sign_bit else bits
    if form.clamp:
        if sf.is_nan(f, bits) or sf.negative(f, bits) or sf.is_zero(f, bits):
            return 0
        return min(bits, f.bias << f.mantissa_bits)
    return bits


def placed(sdwa: Sdwa, old: int, value: int) -> int:
    """A result in its part of the destination."""
    if sdwa.dst == "DWORD":
        return value
    width = 8 if sdwa.dst.startswith("BYTE") else 16
    shift = width * int(sdwa.dst[-1])
    field = ((1 << width) - 1) << shift
    part = value << shift & field
    if sdwa.unused == "UNUSED_PRESERVE":
        return old & ~field & 0xFFFFFFFF | part
    above = 0xFFFFFFFF & ~((1 << (shift + width)) - 1)
    return part | (above if sdwa.unused == "UNUSED_SEXT" and part >> (shift + width - 1) & 1 else 0)


def dpp_source(text: str, lane: int, lanes: int, exec_mask: int) -> tuple[int | None, bool]:
    """The lane that `lane` reads (None: a zero), and whether it writes."""
    row, place = lane & ~15, lane & 15
    control, *others = text.split()
    name, _, argument = control.partition(":")
    settings = dict(o.split(":") for o in others)
    if name == "dpp8":
        from_lane = (lane & ~7) + int(argument.strip("[]").split(",")[lane & 7])
        return (from_lane if "fi" in settings or exec_mask >> from_lane & 1 else None), True
    n = int(argument) if argument.isdigit() else 0
    moved: dict[str, int | None] = {
        "row_shl": row + place + n if place + n < 16 else None,
        "row_shr": row + place - n if place >= n else None,
        "row_ror": row + (place - n) % 16,
        "row_mirror": row + 15 - place,
        "row_half_mirror": (lane & ~7) + 7 - (lane & 7),
        "row_share": row + n,
        "row_xmask": row + (place ^ n),
        "wave_shl": lane + 1 if lane + 1 < lanes else None,
        "wave_shr": lane - 1 if lane else None,
        "wave_rol": (lane + 1) % lanes,
        "wave_ror": (lane - 1) % lanes,
        "row_bcast": (row - 1 if row else None) if n == 15 else (31 if lane >= 32 else None),
    }
    read = (lane & ~3) + int(argument.strip("[]").split(",")[lane & 3]) if name == "quad_perm" else moved[name]
    if read is not None and "fi" not in settings and not exec_mask >> read & 1:
        read = None
    rows, banks = int(settings.get("row_mask", "15"), 0), int(settings.get("bank_mask", "15"), 0)
    on = bool(rows >> (lane // 16) & 1 and banks >> (lane // 4 % 4) & 1)
    return read, on and (read is not None or "bound_ctrl" in settings)
