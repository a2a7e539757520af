"""Kernels of one atomic each, on GLOBAL, FLAT, BUFFER and LDS memory: a cell of eight bytes a lane.

In: rows of one target. Out: kernel bodies and inputs for kernels.py. A cell starts as the old value of the inputs; the
output block gets the returned register (slots 0 and 1, `UNTOUCHED` before) and the cell afterwards (slots 2 and 3).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import edges
import targets

LANES = 64
UNTOUCHED = 0x5A5A5A5A5A5A5A5A
CELLS = 2 * LANES * 4  # offset of slot 2
_SPACES = ("global", "flat", "mubuf", "ds")
# Two addresses an instruction, or a choice between cells: the native tests have them.
_LEFT_OUT = ("xchg2", "2addr", "condxchg")


def wanted(row: dict[str, Any]) -> bool:
    known = row["format"] in _SPACES and row["fidelity"] != "unsupported" and "returns" in row["flags"]
    return known and not any(part in row["name"] for part in _LEFT_OUT)


def element(row: dict[str, Any]) -> str:
    """Type of a cell's content."""
    name = row["name"]
    for kind in ("f64", "f32", "bf16", "f16"):
        if kind in name:
            return f"pk{kind}" if kind.endswith("16") else kind
    data = row["src"][1]
    return "b64" if data == "b128" or (data == "b64" and "cmpswap" not in name) or name.endswith("64") else "b32"


def sources(row: dict[str, Any]) -> tuple[str, ...]:
    """Types of the values that the instruction brings: new value and comparison for those that have both."""
    two = "cmpswap" in row["name"] or row["src"][2] != "none"
    return (element(row),) * (2 if two else 1)


def inputs(row: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    """A lane each: values, then the cell. Of comparisons half the lanes find what they compare with."""
    kind = element(row)
    values = edges.values("b32" if kind == "pkbf16" else kind)
    chance = random.Random(row["name"])
    out = []
    for lane in range(LANES):
        old = values[lane % len(values)]
        given = [chance.choice(values) for _ in sources(row)]
        if len(given) == 2 and lane % 2:
            given[compared(row["name"])] = old
        out.append((*given, old))
    return tuple(out)


def compared(name: str) -> int:
    """Which of two values is the comparison.

    Source: DS_CMPST_B32 (MI300), DS_CMPSTORE_B32 (RDNA3), BUFFER_ATOMIC_CMPSWAP.
    """
    return 0 if "cmpst_" in name else 1


def packed(row: dict[str, Any], values: Sequence[int]) -> tuple[int, ...]:
    """The values as the registers v[2:3] and v[4:5] hold them: two dwords of one comparison share the first pair."""
    if "cmpswap" in row["name"] and element(row) in ("b32", "f32"):
        return (values[0] | values[1] << 32,)
    return tuple(values)


def statement(row: dict[str, Any], target: str, *, returns: bool) -> str:
    name, space = row["name"], row["format"]
    wide = element(row) in ("b64", "f64")
    first = "v[2:5]" if "cmpswap" in name and wide else "v[2:3]" if wide or "cmpswap" in name else "v2"
    result = "v[20:21]" if wide else "v20"
    bit = targets.returning(target) if returns else ""
    if space == "ds":
        data = first if len(sources(row)) == 1 else f"{first}, {'v[4:5]' if wide else 'v4'}"
        return f"{name} {result + ', ' if returns else ''}v26, {data}"
    if space == "mubuf":
        data = first.replace("v[2:5]", "v[20:23]").replace("v[2:3]", "v[20:21]").replace("v2", "v20")
        return f"{name} {data}, v26, s[24:27], {targets.no_offset(target)} offen{bit}"
    tail = ", off" if space == "global" else ""
    return f"{name} {result + ', ' if returns else ''}v[24:25], {first}{tail}{bit}"


def forms(row: dict[str, Any]) -> tuple[tuple[str, bool], ...]:
    """(name, returns): LDS has rows of their own for both."""
    if row["format"] == "ds":
        return (("lds", "_rtn" in row["name"]),)
    return (("returns", True),) if "csub" in row["name"] else (("returns", True), ("no return", False))


def body(row: dict[str, Any], target: str, prologue: Sequence[str], *, returns: bool) -> list[str]:
    rdna, lds = targets.rdna(target), row["format"] == "ds"
    load = "global_load_b32" if rdna else "global_load_dword"
    store, store2 = ("global_store_b32", "global_store_b64") if rdna else ("global_store_dword", "global_store_dwordx2")
    lds_store, lds_load = ("ds_store_b64", "ds_load_b64") if rdna else ("ds_write_b64", "ds_read_b64")
    wait = targets.waits(target)
    lines = [*prologue, "v_lshlrev_b32 v1, 2, v0", "v_lshlrev_b32 v26, 3, v0"]
    registers = (2, 3, 4, 5, 6, 7, 20, 21)
    lines += [f"{load} v{r}, v1, s[8:9] offset:{slot * LANES * 4}" for slot, r in enumerate(registers)]
    lines += [f"s_add_u32 s18, s10, {CELLS}", "s_addc_u32 s19, s11, 0", *wait]
    lines += [f"{lds_store} v26, v[20:21]" if lds else f"{store2} v26, v[20:21], s[18:19]", *wait]
    lines += [f"v_mov_b32 v{r}, {UNTOUCHED & 0xFFFFFFFF:#x}" for r in (20, 21)]
    if row["format"] == "mubuf":  # takes its data from where it returns
        lines += [f"v_mov_b32 v{20 + i}, v{2 + i}" for i in range(4)]
        lines += ["s_mov_b32 s24, s18", "s_and_b32 s25, s19, 0xffff", f"s_mov_b32 s26, {LANES * 8}"]
        lines += [f"s_mov_b32 s27, {'0x31004000' if rdna else '0x00027000'}"]
    carry = "vcc_lo" if rdna else "vcc"
    add, addc = ("v_add_co_u32", "v_add_co_ci_u32_e32") if rdna else ("v_add_co_u32_e32", "v_addc_co_u32_e32")
    lines += ["v_mov_b32 v25, s19", f"{add} v24, {carry}, s18, v26", f"{addc} v25, {carry}, 0, v25, {carry}"]
    lines += ["s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s16"]
    lines += ["s_mov_b32 exec_lo, s12"] if rdna else ["s_mov_b64 exec, s[12:13]"]
    lines += ["s_nop 4", statement(row, target, returns=returns), *wait]
    lines += ["s_mov_b32 exec_lo, -1"] if rdna else ["s_mov_b64 exec, -1"]
    lines += [f"{store} v1, v{20 + i}, s[10:11] offset:{i * LANES * 4}" for i in range(2)]
    if lds:
        lines += [f"{lds_load} v[22:23], v26", *wait, f"{store2} v26, v[22:23], s[18:19]"]
    return [*lines, *wait]


def slots(row: dict[str, Any]) -> list[tuple[int, ...]]:
    """What the input block holds a lane: registers of the values, then the cell."""
    return [(*packed(row, values), old) for *values, old in inputs(row)]
