"""Kernels that execute one instruction each, for the assembler of LLVM, and the inputs that they get.

In: rows (`kerncap-isa rows`) of one target. Out: assembly text of one code object and, per kernel, its dispatches.
Called by conformance.py. Nothing here knows the virtual GPU.

Kernel arguments (64 bytes): inputs, outputs, EXEC, lane mask (VCC),
MODE[7:0], SCC. Layout: INPUT_BYTES and OUTPUT_BYTES a dispatch, arrays of 64 dwords, one a lane.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import atomics
import edges
import forms
import targets

LANES = 64
SLOTS_IN = 8  # three sources and the old destination, two dwords each
SLOTS_OUT = 4  # destination, four dwords at most
INPUT_BYTES = SLOTS_IN * LANES * 4
OUTPUT_BYTES = (SLOTS_OUT * LANES + 8) * 4  # behind the destination: mask, EXEC, SCC
FULL = (1 << 64) - 1
PARTIAL = 0xA5A5C3C3F00F5A5A
MODES = {"default": 0xF0, "flush": 0x00, "up": 0xF5, "down": 0xFA, "zero": 0xFF}

WIDE = ("b64", "u64", "i64", "f64", "pkf32", "pk32")
HALF = ("f16", "bf16", "u16", "i16", "b16")
VALU = ("vop1", "vop2", "vopc", "vop3", "vop3p")
SALU = ("sop1", "sop2", "sopc")
FLOATS = ("f16", "f32", "f64", "pkf16", "pkf32")
LITERAL = 0x40490FDB
# Jumps, state of the wave, other lanes: executed by the test programs, not by one kernel a row.
LEFT_OUT = (
    "s_getpc", "s_setpc", "s_swappc", "s_movrel", "s_set_gpr", "saveexec", "wrexec", "s_sendmsg", "s_call", "s_cbranch",
    "v_readlane", "v_readfirstlane", "v_writelane", "v_movrel", "v_swap", "v_permlane", "v_nop", "v_clrexcp",
    "v_pipeflush", "v_accvgpr", "v_mbcnt", "s_rfe", "barrier",
)  # fmt: skip


@dataclass(frozen=True)
class Dispatch:
    """One run of a kernel on 64 input tuples."""

    mode: str
    exec_mask: int
    carry: int
    scc: bool
    inputs: tuple[
        tuple[int, ...], ...
    ]  # per lane (or, for scalar kernels, per repetition): sources, then old destination


@dataclass(frozen=True)
class Kernel:
    """One row's kernel; `text` is its body."""

    row: dict[str, Any]
    symbol: str
    scalar: bool
    text: str
    kinds: tuple[str, ...]
    dispatches: tuple[Dispatch, ...] = field(default=())
    form: str = ""  # of forms.BY_NAME, or of an atomic
    ieee: bool = True
    lds_bytes: int = 0
    device_memory: bool = False  # hardware's float atomics need memory of the GPU

    @property
    def key(self) -> str:
        """Stands for it in the result file."""
        return f"{self.row['name']} {self.form}".rstrip()


def _pair(kind: str, register: int, letter: str = "v") -> str:
    return f"{letter}[{register}:{register + 1}]" if kind in WIDE else f"{letter}{register}"


def _vector(kind: str, register: int, halves: bool) -> str:
    return _pair(kind, register) + (".l" if halves and kind in HALF else "")


def source_kinds(row: dict[str, Any]) -> list[str]:
    return [kind for kind in row["src"] if kind not in ("none", "mask")]


def valu_statement(row: dict[str, Any], target: str, halves: bool) -> str:
    """Destination v[20:21], mask VCC, sources v[2:3], v[4:5], v[6:7]; with `halves` v20.l, as newer LLVM spells it."""
    name, flags = row["name"], row["flags"]
    vcc = "vcc_lo" if targets.rdna(target) else "vcc"
    operands = []
    if row["dst"] != "none":
        operands.append(_vector(row["dst"], 20, halves))
    if "mask-dst" in flags:
        if not ("exec-dst" in flags and targets.rdna(target)):
            operands.append(vcc)
    elif "carry-out" in flags:
        operands.append(vcc)
    operands += [_vector(kind, 2 + 2 * i, halves) for i, kind in enumerate(source_kinds(row))]
    _add_literal(operands, row)
    if "carry-in" in flags:
        operands.append(vcc)
    return f"{name} {', '.join(operands)}"


def salu_statement(row: dict[str, Any]) -> str:
    operands = [] if row["dst"] == "none" else [_pair(row["dst"], 40, "s")]
    operands += [_pair(kind, 20 + 2 * i, "s") for i, kind in enumerate(source_kinds(row))]
    _add_literal(operands, row)
    return f"{row['name']} {', '.join(operands)}"


def literal(name: str) -> int:
    return LITERAL if "16" not in name else 0x3E48


def _add_literal(operands: list[str], row: dict[str, Any]) -> None:
    """The constant of instructions that always have one: the factor (mk) or the addend (ak)."""
    if "literal" in row["flags"]:
        operands.insert(2 if "mk_" in row["name"] else 3, hex(literal(row["name"])))


def scalar(row: dict[str, Any]) -> bool:
    """SGPRs in and out; v_s_* compute them in the vector ALU."""
    return row["format"] in SALU or row["name"].startswith("v_s_")


def wanted(row: dict[str, Any]) -> bool:
    kinds = source_kinds(row)
    plain = row["fidelity"] != "unsupported" and row["format"] in VALU + SALU and bool(kinds) and "simm" not in kinds
    few = all(kind not in ("b96", "b128", "b192", "b256", "b512", "b1024") for kind in (*kinds, row["dst"]))
    return plain and few and not any(part in row["name"] for part in LEFT_OUT)


def dispatches(row: dict[str, Any], single: bool) -> Iterator[Dispatch]:
    kinds = source_kinds(row)
    olds = edges.values(row["dst"]) if row["dst"] != "none" else (0,)
    inputs = tuple(
        (*sources, olds[(i * 3 + 1) % len(olds)])
        for i, sources in enumerate(
            itertools.islice(itertools.cycle(list(edges.tuples(kinds, LANES, row["name"]))), LANES)
        )
    )
    if single:
        for scc in (False, True):
            yield Dispatch("default", FULL, 0, scc, inputs)
        return
    carry = 0x9669F00FAAAA3333
    yield Dispatch("default", FULL, carry, False, inputs)
    yield Dispatch("default", PARTIAL, carry, False, inputs)
    yield Dispatch("default", 0, carry, False, inputs)
    if any(kind in FLOATS for kind in (*kinds, row["dst"])):
        for mode in ("flush", "up", "down", "zero"):
            yield Dispatch(mode, FULL, carry, False, inputs)


def make(rows: Sequence[dict[str, Any]], target: str, *, halves: bool = False) -> list[Kernel]:
    """A kernel for each row that one can be made for and for its forms; the same symbols whatever `halves` is."""
    out = []
    for number, row in enumerate(row for row in rows if wanted(row)):
        single = scalar(row)
        statement = salu_statement(row) if single else valu_statement(row, target, halves)
        body = _scalar_body(statement, target) if single else _vector_body(statement, target)
        out.append(Kernel(row, f"k{number}", single, body, tuple(source_kinds(row)), tuple(dispatches(row, single))))
        if not single:
            out += [
                _formed(row, target, f"k{number}_{k}", statement, name)
                for k, name in enumerate(forms.chosen(row, target, number))
            ]
    for number, row in enumerate(row for row in rows if atomics.wanted(row)):
        for k, (name, returns) in enumerate(atomics.forms(row)):
            body = _end(atomics.body(row, target, _prologue(target), returns=returns), target)
            runs = tuple(
                Dispatch("default", mask, 0, False, inputs)
                for inputs in [tuple(atomics.slots(row))]
                for mask in (FULL, PARTIAL, 0)
            )
            lds = atomics.LANES * 8 if row["format"] == "ds" else 0
            kinds = ("b64",) * (len(runs[0].inputs[0]) - 1)
            out.append(
                Kernel(row, f"ka{number}_{k}", False, body, kinds, runs, form=name, lds_bytes=lds, device_memory=True)
            )
    return out


def _formed(row: dict[str, Any], target: str, symbol: str, statement: str, name: str) -> Kernel:
    """A vector instruction with modifiers. The output modifier wants no IEEE mode and denormals flushed."""
    form = forms.BY_NAME[name]
    plain = next(dispatches(row, False))
    kinds = source_kinds(row)
    inputs = plain.inputs
    if any(kind in HALF for kind in kinds):  # the other halves differ
        above = lambda i, v, k: v | inputs[(i * 5 + 7) % LANES][k] << 16 if kinds[k] in HALF else v  # noqa: E731
        inputs = tuple(
            (*(above(i, v, k) for k, v in enumerate(values[:-1])), values[-1]) for i, values in enumerate(inputs)
        )
    mode = "flush" if form.omod else "default"
    runs = [Dispatch(mode, mask, plain.carry, False, inputs) for mask in (FULL, PARTIAL, 0)]
    if not form.omod and any(kind in FLOATS for kind in (*kinds, row["dst"])):
        runs.append(Dispatch("flush", FULL, plain.carry, False, inputs))
    body = _vector_body(forms.spelled(form, row, statement), target)
    return Kernel(row, symbol, False, body, tuple(kinds), tuple(runs), form=name, ieee=not form.omod)


def _vector_body(statement: str, target: str) -> str:
    load = "global_load_b32" if targets.rdna(target) else "global_load_dword"
    store = "global_store_b32" if targets.rdna(target) else "global_store_dword"
    wave32 = targets.rdna(target)
    vcc, execution = ("vcc_lo", "exec_lo") if wave32 else ("vcc", "exec")
    wide = "s_mov_b32" if wave32 else "s_mov_b64"
    source = lambda r: f"s{r}" if wave32 else f"s[{r}:{r + 1}]"  # noqa: E731
    lines = [*_prologue(target), "v_lshlrev_b32 v1, 2, v0"]
    registers = (2, 3, 4, 5, 6, 7, 20, 21)
    lines += [f"{load} v{r}, v1, s[8:9] offset:{slot * LANES * 4}" for slot, r in enumerate(registers)]
    lines += ["v_mov_b32 v22, 0", "v_mov_b32 v23, 0", *targets.waits(target)]
    lines += [f"{wide} {vcc}, {source(14)}", "s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s16"]
    lines += [f"{wide} {execution}, {source(12)}", "s_nop 4", statement, "s_nop 4"]
    # What the instruction left in the masks, before EXEC is restored.
    lines += ["s_mov_b32 s20, vcc_lo", "s_mov_b32 s21, vcc_hi", "s_mov_b32 s22, exec_lo", "s_mov_b32 s23, exec_hi"]
    lines += ["s_mov_b32 exec_lo, -1"] if wave32 else ["s_mov_b64 exec, -1"]
    lines += [f"{store} v1, v{20 + slot}, s[10:11] offset:{slot * LANES * 4}" for slot in range(SLOTS_OUT)]
    lines += ["v_mov_b32 v8, 0"]
    for i in range(4):
        lines += [f"v_mov_b32 v9, s{20 + i}", f"{store} v8, v9, s[10:11] offset:{SLOTS_OUT * LANES * 4 + 4 * i}"]
    return _end(lines, target)


def _prologue(target: str) -> list[str]:
    """s[8:9] inputs, s[10:11] outputs, s[12:13] EXEC, s[14:15] VCC, s16 MODE, s17 SCC; v0 the lane."""
    if targets.rdna(target):
        loads = ["s_load_b256 s[8:15], s[0:1], 0x0", "s_load_b64 s[16:17], s[0:1], 0x20"]
    else:
        loads = ["s_load_dwordx8 s[8:15], s[0:1], 0x0", "s_load_dwordx2 s[16:17], s[0:1], 0x20"]
    return [*loads, *targets.waits(target), "v_and_b32 v0, 0x3ff, v0"]


def _scalar_body(statement: str, target: str) -> str:
    """Repeats the instruction for 64 inputs; a repetition's results stand where a lane's would."""
    rdna = targets.rdna(target)
    store = "global_store_b32" if rdna else "global_store_dword"
    lines = [*_prologue(target), "s_mov_b32 exec_lo, 1", *([] if rdna else ["s_mov_b32 exec_hi, 0"])]
    load = "s_load_b32" if rdna else "s_load_dword"
    lines += ["v_mov_b32 v8, 0", "s_mov_b32 s30, 0", "1:"]
    for slot, r in enumerate((20, 21, 22, 23, 24, 25, 40, 41)):
        lines += [f"{load} s{r}, s[8:9], {hex(slot * LANES * 4)}"]
    lines += [*targets.waits(target), "s_cmp_lg_u32 s17, 0", statement, "s_cselect_b32 s42, 1, 0"]
    lines += ["s_wait_alu 0"] if statement.startswith("v_s_") else []
    for slot, r in enumerate((40, 41, 42)):
        lines += [f"v_mov_b32 v9, s{r}", f"{store} v8, v9, s[10:11] offset:{slot * LANES * 4}"]
    lines += [
        "s_add_u32 s8, s8, 4",
        "s_addc_u32 s9, s9, 0",
        "v_add_u32 v8, 4, v8" if not rdna else "v_add_nc_u32 v8, 4, v8",
    ]
    lines += ["s_add_u32 s30, s30, 1", f"s_cmp_lt_u32 s30, {LANES}", "s_cbranch_scc1 1b"]
    return _end(lines, target)


def _end(lines: list[str], target: str) -> str:
    return "\n".join(
        f"  {line}" if not line.endswith(":") else line for line in [*lines, *targets.waits(target), "s_endpgm"]
    )


def assembly(kernels: Sequence[Kernel], target: str) -> str:
    """One source file with a kernel descriptor and metadata for each kernel."""
    out = [f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"', ".text"]
    for k in kernels:
        out += [f".globl {k.symbol}", ".p2align 8", f".type {k.symbol},@function", f"{k.symbol}:", k.text]
        out += [f".L{k.symbol}_end:", f".size {k.symbol}, .L{k.symbol}_end-{k.symbol}"]
    out += [".rodata"]
    for k in kernels:
        accum = "  .amdhsa_accum_offset 32\n" if target.startswith("gfx9") else "  .amdhsa_wavefront_size32 1\n"
        out += [
            ".p2align 6",
            f".amdhsa_kernel {k.symbol}",
            "  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n  .amdhsa_system_sgpr_workgroup_id_x 0",
            "  .amdhsa_next_free_vgpr 32\n  .amdhsa_next_free_sgpr 48\n  .amdhsa_kernarg_size 40",
            f"  .amdhsa_group_segment_fixed_size {k.lds_bytes}",
            accum + targets.modes(target, ieee=k.ieee),
            ".end_amdhsa_kernel",
        ]
    out += [
        ".amdgpu_metadata",
        "---",
        f"amdhsa.target: amdgcn-amd-amdhsa--{target}",
        "amdhsa.version: [1, 1]",
        "amdhsa.kernels:",
    ]
    for k in kernels:
        out += [
            f"  - .name: {k.symbol}\n    .symbol: {k.symbol}.kd",
            "    .kernarg_segment_size: 40\n    .kernarg_segment_align: 8",
            f"    .group_segment_fixed_size: {k.lds_bytes}\n    .private_segment_fixed_size: 0",
            f"    .wavefront_size: {targets.lanes(target)}",
            "    .sgpr_count: 48\n    .vgpr_count: 32\n    .max_flat_workgroup_size: 64\n    .args:",
            "      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}",
            "      - {.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}",
            "      - {.size: 24, .offset: 16, .value_kind: by_value}",
        ]
    return "\n".join([*out, "...", ".end_amdgpu_metadata", ""])
