"""Operations across the lanes of a wave or workgroup, each as device code and as host code over an array of structs.

Device code works on `st`, the workitem's struct. Host code runs once a wave (`s`, `n` lanes that exist, `ex` their EXEC
mask, `W` the wave size) or once a group (`all`, `n` workitems). Called by generate.py between the phases of a program.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

LDS_WORDS = 1024
MEMORY_WORDS = 4096  # of global memory, each workgroup


@dataclass(frozen=True)
class Crossing:
    """One operation; `guarded`: it may stand under a condition that differs from lane to lane."""

    device: str
    wave: str = ""
    group: str = ""
    guarded: bool = False
    after: str = ""  # device code behind the condition
    before: str = ""


Field = Callable[[str], str]  # a field of a type, chosen at random
LANES = "for (u32 l = 0; l < W; ++l) if (ex >> l & 1)"


def _gather(index: str, device: str, field: Field, missing: str = "0") -> Crossing:
    """D = A of another lane; `index` computes it as j from l, -1 where there is none."""
    d, a, i = field("u32"), field("u32"), field("u32")
    text = device.format(d=d, a=a, i=i)
    wave = f"u32 r[64]; {LANES} {{ i32 j; {index.format(i=i)}; r[l] = j >= 0 && (ex >> j & 1) ? s[j].{a} : {missing.format(d=d)}; }}"
    return Crossing(text, wave + f" {LANES} s[l].{d} = r[l];", guarded=True)


def bpermute(r: random.Random, field: Field, rdna: bool) -> Crossing:
    # Of lanes that are there only: LLVM reads the register of an inactive lane when all lanes ask for the same one.
    device = "st.{d} = (u32)__builtin_amdgcn_ds_bpermute((i32)(st.{i} % live << 2), (i32)st.{a});"
    return replace(_gather("j = (i32)(s[l].{i} % n)", device, field), guarded=False)


def permute(r: random.Random, field: Field, rdna: bool) -> Crossing:
    x = r.randrange(1, 32)
    device = f"st.{{d}} = (u32)__builtin_amdgcn_ds_permute((i32)((lane ^ {x}) << 2), (i32)st.{{a}});"
    return _gather(f"j = (i32)(l ^ {x})", device, field)


def swizzle(r: random.Random, field: Field, rdna: bool) -> Crossing:
    kind = r.randrange(3)
    if kind == 0:
        pattern = r.randrange(0x8000)
        index = f"j = (i32)((l & ~31u) | ((((l & 31) & {pattern & 31}) | {pattern >> 5 & 31}) ^ {pattern >> 10 & 31}))"
    elif kind == 1:
        pattern = 0x8000 | r.randrange(256)
        index = f"j = (i32)((l & ~3u) | ({pattern} >> (2 * (l & 3)) & 3))"
    else:
        by, right = r.randrange(32), r.randrange(2)
        pattern = 0xC000 | right << 10 | by << 5
        index = f"j = (i32)((l & ~31u) | ((l {'-' if right else '+'} {by}u) & 31))"
    return _gather(index, f"st.{{d}} = (u32)__builtin_amdgcn_ds_swizzle((i32)st.{{a}}, {pattern});", field)


def _dpp_control(r: random.Random, rdna: bool) -> tuple[int, str]:
    """A DPP16 control and its source lane j of lane l (-1: none)."""
    n = r.randrange(1, 16)
    row = "i32 in = (i32)(l & 15), row = (i32)(l & ~15u);"
    choices = [
        ((q := r.randrange(256)), f"j = (i32)((l & ~3u) | ({q} >> (2 * (l & 3)) & 3))"),
        (0x100 + n, f"{row} j = in + {n} < 16 ? row + in + {n} : -1"),
        (0x110 + n, f"{row} j = in - {n} >= 0 ? row + in - {n} : -1"),
        (0x120 + n, f"{row} j = row + ((in - {n}) & 15)"),
        (0x140, f"{row} j = row + 15 - in"),
        (0x141, f"{row} j = row + (in & 8) + 7 - (in & 7)"),
        (0x150 + n, f"{row} (void)in; j = row + {n}"),
    ]
    if rdna:
        choices.append((0x160 + n, f"{row} j = row + (in ^ {n})"))
    else:
        choices += [
            (0x130, "j = l + 1 < W ? (i32)l + 1 : -1"),
            (0x134, "j = (i32)((l + 1) % W)"),
            (0x138, "j = (i32)l - 1"),
            (0x13C, "j = (i32)((l + W - 1) % W)"),
            (0x142, f"{row} (void)in; j = row - 1"),
            (0x143, "j = l < 32 ? -1 : 31"),
        ]
    return r.choice(choices)


def dpp(r: random.Random, field: Field, rdna: bool) -> Crossing:
    control, index = _dpp_control(r, rdna)
    rows = r.choice([0xF, 0xF, 0xA, 0xC, r.randrange(16)])
    banks = r.choice([0xF, 0xF, 0xF, r.randrange(16)])
    bound = r.choice(["true", "false"])
    d, a, b, o = field("u32"), field("u32"), field("u32"), field("u32")
    combine = r.choice(["{m}", "{m} + {b}", "min_({m}, {b})", "{m} & {b}", "{m} ^ {b}", "max_((i32){m}, (i32){b})"])
    move = f"(u32)__builtin_amdgcn_update_dpp((i32)st.{o}, (i32)st.{a}, {control}, {rows}, {banks}, {bound})"
    device = f"st.{d} = (u32)({combine.format(m=move, b=f'st.{b}')});"
    value = f"!({rows} >> (l / 16) & 1) || !({banks} >> (l / 4 % 4) & 1) ? s[l].{o} : j >= 0 && (ex >> j & 1) ? s[j].{a} : {bound} ? 0 : s[l].{o}"
    wave = f"u32 r[64]; {LANES} {{ i32 j; {index}; const u32 m = {value}; r[l] = (u32)({combine.format(m='m', b=f's[l].{b}')}); }}"
    return Crossing(device, wave + f" {LANES} s[l].{d} = r[l];", guarded=True)


def dpp8(r: random.Random, field: Field, rdna: bool) -> Crossing:
    if not rdna:
        return dpp(r, field, rdna)
    select = r.randrange(1 << 24)
    index = f"j = (i32)((l & ~7u) | ({select} >> (3 * (l & 7)) & 7))"
    return _gather(index, f"st.{{d}} = __builtin_amdgcn_mov_dpp8(st.{{a}}, {select});", field)


def permlane(r: random.Random, field: Field, rdna: bool) -> Crossing:
    if not rdna:
        return bpermute(r, field, rdna)
    low, high, other = r.getrandbits(32), r.getrandbits(32), r.choice([False, True])
    select = f"(((l & 8) ? {high}u : {low}u) >> (4 * (l & 7)) & 15)"
    index = f"j = (i32)(((l & ~15u) ^ {16 if other else 0}u) | {select})"
    name = "permlanex16" if other else "permlane16"
    device = f"st.{{d}} = __builtin_amdgcn_{name}(st.{{d}}, st.{{a}}, {low}u, {high}u, false, false);"
    return _gather(index, device, field, missing="s[l].{d}")


def first_lane(r: random.Random, field: Field, rdna: bool) -> Crossing:
    d, a = field("u32"), field("u32")
    device = f"st.{d} = (u32)__builtin_amdgcn_readfirstlane((i32)st.{a}) + st.{d};"
    wave = f"if (ex) {{ const u32 v = s[__builtin_ctzl(ex)].{a}; {LANES} s[l].{d} = v + s[l].{d}; }}"
    return Crossing(device, wave, guarded=True)


def any_lane(r: random.Random, field: Field, rdna: bool) -> Crossing:
    d, a, q = field("u32"), field("u32"), r.randrange(1 << 16)
    device = f"st.{d} = (u32)__builtin_amdgcn_readlane((i32)st.{a}, (i32)(({q}u + group) % live)) ^ st.{d};"
    wave = f"{{ const u32 v = s[({q}u + group) % n].{a}; {LANES} s[l].{d} = v ^ s[l].{d}; }}"
    return Crossing(device, wave)


def ballot(r: random.Random, field: Field, rdna: bool) -> Crossing:
    d, a, b = field("u64"), field("u32"), field("u32")
    test = r.choice(["{a} > {b}", "({a} & 4) != 0", "{a} == {b}", "(i32){a} < 0"])
    call = f"__builtin_amdgcn_ballot_w{32 if rdna else 64}"
    device = f"st.{d} = (u64){call}({test.format(a='st.' + a, b='st.' + b)});"
    wave = f"u64 m = 0; {LANES} if ({test.format(a='s[l].' + a, b='s[l].' + b)}) m |= 1ul << l; {LANES} s[l].{d} = m;"
    return Crossing(device, wave, guarded=True)


def count_below(r: random.Random, field: Field, rdna: bool) -> Crossing:
    d, a = field("u32"), field("u64")
    low = f"__builtin_amdgcn_mbcnt_lo((u32)st.{a}, st.{d})"
    device = f"st.{d} = __builtin_amdgcn_mbcnt_hi((u32)(st.{a} >> 32), {low});"
    if rdna:
        device = f"st.{d} = {low};"
    mask = "(u32)" if rdna else ""
    wave = f"{LANES} s[l].{d} += (u32)__builtin_popcountl({mask}s[l].{a} & ((1ul << l) - 1));"
    return Crossing(device, wave, guarded=True)


def waterfall(r: random.Random, field: Field, rdna: bool) -> Crossing:
    """A loop that serves all lanes with the first lane's value at a time."""
    d, a = field("u32"), field("u32")
    call = f"__builtin_amdgcn_ballot_w{32 if rdna else 64}"
    # The count stands before the branch: LLVM takes what only leaves the loop out of it.
    device = (
        f"for (;;) {{ const u32 v = (u32)__builtin_amdgcn_readfirstlane((i32)(st.{a} & 7)); const bool mine = (st.{a} & 7) == v;"
        f" const u32 c = (u32)__builtin_popcountll((u64){call}(mine)); if (mine) {{ st.{d} += v * c; break; }} }}"
    )
    wave = (
        f"u32 c[8] = {{}}; {LANES} ++c[s[l].{a} & 7]; {LANES} {{ const u32 v = s[l].{a} & 7; s[l].{d} += v * c[v]; }}"
    )
    return Crossing(device, wave, guarded=True)


def lds_exchange(r: random.Random, field: Field, rdna: bool) -> Crossing:
    t = r.choice(["u8", "i8", "u16", "i16", "u32", "u64", "f32", "f64", "f16", "u4", "f2", "d2", "h2"])
    d, a = field(t), field(t)
    factor, plus = r.choice([1, 3, 5, 7]), r.randrange(256)
    at = f"({{t}} * {factor} + {plus}) % n"
    pointer = r.choice(["({t}*)lds", "hide(({t}*)lds)"]).format(t=t)
    device = (
        f"{{ {t}* p = {pointer}; p[t] = st.{a}; __syncthreads(); st.{d} = p[{at.format(t='t')}]; __syncthreads(); }}"
    )
    group = f"{t} r[256]; for (u32 t = 0; t < n; ++t) r[t] = all[({at.format(t='t')})].{a}; for (u32 t = 0; t < n; ++t) all[t].{d} = r[t];"
    return Crossing(device, group=group)


ATOMICS = {
    "add": "{m} + {v}",
    "and": "{m} & {v}",
    "or": "{m} | {v}",
    "xor": "{m} ^ {v}",
    "min": "min_({m}, {v})",
    "max": "max_({m}, {v})",
}
ORDERS = ["__ATOMIC_RELAXED", "__ATOMIC_ACQ_REL", "__ATOMIC_SEQ_CST", "__ATOMIC_RELEASE", "__ATOMIC_ACQUIRE"]
SCOPES = ["__HIP_MEMORY_SCOPE_WORKGROUP", "__HIP_MEMORY_SCOPE_AGENT", "__HIP_MEMORY_SCOPE_SYSTEM"]


def atomic(r: random.Random, field: Field, rdna: bool) -> Crossing:
    """Commuting atomics of all workitems on a few places, LDS or global memory."""
    t = r.choice(["u32", "i32", "u64", "i64", "u32", "f32", "f64"])
    d, a, i = field(t), field("i32" if t[0] == "f" else t), field("u32")
    name = r.choice(list(ATOMICS)) if t[0] != "f" else r.choice(["add", "min", "max"])
    value = f"{{s}}.{a}" if t[0] != "f" else f"({t})({{s}}.{a} & 0xffff) - ({t})0x7000"
    pointer = r.choice([f"({t}*)lds", f"({t}*)mem", f"hide(({t}*)lds)", f"hide(({t}*)mem)"])
    bins, start = r.choice([1, 2, 8, 64]), r.randrange(1 << 20)
    operation = f"__hip_atomic_fetch_{name}(&p[st.{i} % {bins}], {value.format(s='st')}, {r.choice(ORDERS)}, {r.choice(SCOPES)});"
    before = f"{{ {t}* p = {pointer}; for (u32 b = t; b < {bins}; b += n) p[b] = ({t}){start}; __syncthreads();"
    after = f"__syncthreads(); st.{d} = __hip_atomic_load(&p[t % {bins}], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); __syncthreads(); }}"
    step = ATOMICS[name].format(m=f"m[k % {bins}]", v=value.format(s="all[t]"))
    group = f"{t} m[64]; for (u32 b = 0; b < {bins}; ++b) m[b] = ({t}){start};"
    group += (
        f" for (u32 t = 0; t < n; ++t) if (on(all[t])) {{ const u32 k = all[t].{i}; m[k % {bins}] = ({t})({step}); }}"
    )
    group += f" for (u32 t = 0; t < n; ++t) all[t].{d} = m[t % {bins}];"
    return Crossing(operation, group=group, guarded=True, before=before, after=after)


def returning_atomic(r: random.Random, field: Field, rdna: bool) -> Crossing:
    """An atomic on the workitem's own place, whose old value is used."""
    t = r.choice(["u32", "i32", "u64", "i64", "f32", "f64"])
    d, a, b = field(t), field(t), field(t)
    name = r.choice([*ATOMICS, "exchange", "cas", "inc", "dec"]) if t[0] != "f" else r.choice(["add", "exchange"])
    if t != "u32" and name in ("inc", "dec"):
        name = "exchange"
    pointer = r.choice([f"({t}*)lds", f"({t}*)mem", f"hide(({t}*)lds)", f"hide(({t}*)mem)"])
    order, scope = r.choice(ORDERS), r.choice(SCOPES)
    use = f"{t} old"
    # Memory units may flush float denormals whatever the mode is: whole numbers only.
    whole = (
        f"{{s}}.{a} = ({t})((bits({{s}}.{a}) >> 5) & 0xffff); {{s}}.{b} = ({t})(bits({{s}}.{b}) & 0x3fff);"
        if t == "f32"
        else ""
    )
    if name == "cas":
        operation = f"{use} = st.{b}; const bool done = __hip_atomic_compare_exchange_strong(&p[t], &old, st.{b}, __ATOMIC_RELAXED, __ATOMIC_RELAXED, {scope}); old = ({t})(old + done);"
        host = f"const {t} o = s.{a}; const bool same = o == s.{b}; const {t} old = ({t})(o + same), now = o;"
    elif name == "exchange":
        operation = f"{use} = __hip_atomic_exchange(&p[t], st.{b}, {order}, {scope});"
        host = f"const {t} old = s.{a}, now = s.{b};"
    elif name in ("inc", "dec"):
        operation = f'{use} = __builtin_amdgcn_atomic_{name}32((u32*)&p[t], st.{b}, __ATOMIC_RELAXED, "agent");'
        new = f"o >= s.{b} ? 0 : o + 1" if name == "inc" else f"o == 0 || o > s.{b} ? s.{b} : o - 1"
        host = f"const u32 o = s.{a}, old = o, now = {new};"
    else:
        operation = f"{use} = __hip_atomic_fetch_{name}(&p[t], st.{b}, {order}, {scope});"
        host = f"const {t} old = s.{a}, now = ({t})({ATOMICS[name].format(m='old', v=f's.{b}')});"
    device = f"{{ {whole.format(s='st')} {t}* p = {pointer}; p[t] = st.{a}; {operation} st.{d} = old; st.{b} = p[t]; }}"
    keep = f"{{ auto& s = all[t]; {whole.format(s='s')} {host} s.{d} = old; s.{b} = now; }}"
    group = f"for (u32 t = 0; t < n; ++t) if (on(all[t])) {keep}"
    return Crossing(device, group=group, guarded=True, after="__syncthreads();")


def buffer(r: random.Random, field: Field, rdna: bool) -> Crossing:
    """Stores and loads through a buffer resource, some of them out of range; loads also typed, as four bytes."""
    d, a, i = field("u32"), field("u32"), field("u32")
    words, plus = r.choice([16, 33, 64, 256]), r.choice([0, 1, 4])
    resource = f"resource(mem, held * 4, {0x31004000 if rdna else 0x00027000}u)"
    load = r.choice(["buffer_load", f"buffer_load_bytes<{46 if rdna else 74}>"])
    held = f"const u32 held = n < {words}u ? n : {words}u;"
    device = (
        f"{{ {held} const i4 res = {resource}; buffer_store(st.{a}, res, (i32)(t * 4), 0, 0); __syncthreads();"
        f" st.{d} = {load}(res, (i32)(st.{i} % 300u * 4 + {plus * 4}u), 0, 0); __syncthreads(); }}"
    )
    group = (
        f"{held} u32 r[256]; for (u32 t = 0; t < n; ++t) {{ const u32 k = all[t].{i} % 300u + {plus}u;"
        f" r[t] = k < held ? all[k].{a} : 0; }} for (u32 t = 0; t < n; ++t) all[t].{d} = r[t];"
    )
    return Crossing(device, group=group)


CROSSINGS: tuple[Callable[[random.Random, Field, bool], Crossing], ...] = (
    bpermute, permute, swizzle, dpp, dpp, dpp, dpp8, permlane, first_lane, any_lane, ballot, count_below, waterfall,
    lds_exchange, lds_exchange, atomic, atomic, atomic, returning_atomic, returning_atomic,
    buffer, buffer,
)  # fmt: skip
