"""A generated program as source for both sides, and the words that it reads.

In: a Program. Out: text, bytes. Called by campaign.py.
"""

from __future__ import annotations

import random

from lanes import LDS_WORDS, MEMORY_WORDS
from program import FIELDS, FLOATING, NEAR_FIELDS, OUTPUTS, TURN_FIELDS, UNIFORM_FIELDS, Program, type_of


def inputs(program: Program) -> bytes:
    """Words for every field of every workitem, then of the uniform fields: ordinary numbers, edges and noise."""
    r = random.Random(program.seed ^ 0x5EED)
    edges32 = [0, 1, 2, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001,
               0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x477FF000, 0x38800000, 0x33800000, 0x4F000000, 0xCF000000]  # fmt: skip
    edges64 = [0, 1, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 0x3FF0000000000000, 0x7FF0000000000000, 0x7FF8000000000000,
               0xFFF0000000000000, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0x41E0000000000000]  # fmt: skip
    halves = [0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x0001, 0x03FF, 0x0400, 0x7BFF, 0x4000, 0x3800, 0, 0x8000]

    def word(name: str) -> int:
        t, kind = type_of(name), r.random()
        if kind < 0.35:
            return r.getrandbits(64)
        if t in ("f16", "h2"):
            return r.choice(halves) | r.choice(halves) << 16
        if t in ("f32", "f2"):
            low = r.choice(edges32) if kind < 0.5 else 0x3F000000 + r.getrandbits(26)
            return low | (0x3F000000 + r.getrandbits(26)) << 32
        if t in ("f64", "d2"):
            return r.choice(edges64) if kind < 0.5 else 0x3FE0000000000000 + r.getrandbits(56)
        if kind < 0.65:
            return r.choice(edges32) | r.choice(edges32) << 32 if r.random() < 0.5 else r.choice(edges64)
        return r.randrange(256)

    count = program.items * program.groups
    words = [word(n) for _ in range(count) for n in FIELDS] + [word(n) for n in UNIFORM_FIELDS]
    return b"".join(w.to_bytes(8, "little") for w in words)


KERNEL_HEAD = f"""
extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256))) void fuzz(const u64* in, const u64* uni, u64* out, u64* memory) {{
  __shared__ __attribute__((aligned(16))) u64 lds[{LDS_WORDS}];
  const u32 t = __builtin_amdgcn_workitem_id_x(), group = __builtin_amdgcn_workgroup_id_x(), n = ITEMS, W = WAVE;
  const u32 lane = t % W, live = n - t / W * W < W ? n - t / W * W : W;
  u64* mem = memory + group * {MEMORY_WORDS}ul;
  State st;
  (void)lane, (void)live, (void)mem, (void)lds;
  st.load(in + (group * n + t) * {len(FIELDS)}ul, uni);
"""
HOST_HEAD = """
extern "C" void fuzz(const u64* in, const u64* uni, u64* out) {
  const u32 n_ = ITEMS, W = WAVE;
  static State all[256];
  for (u32 group = 0; group < GROUPS; ++group) {
    for (u32 t = 0; t < n_; ++t) all[t].load(in + (group * n_ + t) * FIELDS, uni);
"""


def render(program: Program) -> str:
    """The source. Compiled as HIP for the device (-nogpuinc) and as C++ for the host."""
    declare = "".join(f"  {type_of(n)} {n};\n" for n in OUTPUTS)
    load = "".join(f"    {n} = Get<{type_of(n)}>::at(p[{i}]);\n" for i, n in enumerate(FIELDS))
    load += "".join(f"    {n} = Get<{type_of(n)}>::at(q[{i}]);\n" for i, n in enumerate(UNIFORM_FIELDS))
    load += "".join(f"    {n} = 0;\n" for n in (*NEAR_FIELDS, *TURN_FIELDS))
    seen = [n if program.floats or type_of(n) not in FLOATING else "0u" for n in OUTPUTS]
    store = "".join(f"    o[{i}] = put({n});\n" for i, n in enumerate(seen))
    text = f"// seed {program.seed}\n" + ("#define FUZZ_RDNA\n" if program.rdna else "") + '#include "prelude.hpp"\n'
    text += f"struct State {{\n{declare}  ATTR void load(const u64* p, const u64* q) {{\n{load}  }}\n  ATTR void store(u64* o) const {{\n{store}  }}\n}};\n"
    text = text.replace("ATTR", "FN_MEMBER")
    text += "\n".join(program.functions)
    device, host = KERNEL_HEAD, HOST_HEAD
    for number, phase in enumerate(program.phases):
        body = "".join(s.text(1) for s in phase.statements)
        text += f"{'NOINLINE' if phase.noinline else 'FN'} void phase{number}(State& s) {{\n{body}}}\n"
        device += f"  phase{number}(st);\n"
        host += f"    for (u32 t = 0; t < n_; ++t) phase{number}(all[t]);\n"
        if phase.crossing is None or phase.crossing_dropped:
            continue
        if phase.condition:
            text += f"FN bool on{number}(const State& s) {{ return {phase.condition}; }}\n"
        crossing, test = phase.crossing, f"on{number}({{}})" if phase.condition else "true"
        guard = f"if ({test.format('st')}) " if phase.condition else ""
        device += f"  {crossing.before}\n  {guard}{{ {crossing.device} }}\n  {crossing.after}\n"
        if crossing.wave:
            host += "    for (u32 first = 0; first < n_; first += W) {\n      State* s = all + first; const u32 n = n_ - first < W ? n_ - first : W; u64 ex = 0;\n"
            host += f"      for (u32 l = 0; l < n; ++l) if ({test.format('s[l]')}) ex |= 1ul << l;\n      {crossing.wave} (void)n; (void)s;\n    }}\n"
        else:
            on = (
                f"[](const State& s) {{ return {test.format('s')}; }}"
                if phase.condition
                else "[](const State&) { return true; }"
            )
            host += f"    {{ const u32 n = n_; const auto on = {on}; (void)on; {crossing.group} }}\n"
    outputs = len(OUTPUTS)
    device += f"  st.store(out + (group * n + t) * {outputs}ul);\n}}\n"
    host += f"    for (u32 t = 0; t < n_; ++t) all[t].store(out + (group * n_ + t) * {outputs}ul);\n  }}\n}}\n"
    sizes = {"ITEMS": program.items, "WAVE": program.wave, "GROUPS": program.groups, "FIELDS": f"{len(FIELDS)}ul"}
    for name, value in sizes.items():
        device, host = device.replace(name, str(value)), host.replace(name, str(value))
    return text + "#ifdef __HIP__\n" + device + "#else\n" + host + "#endif\n"
