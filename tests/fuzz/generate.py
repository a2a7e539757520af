"""Random programs without undefined behaviour, as one source for host and device.

In: a seed and what the target can do. Out: a Program, whose statements can be dropped one by one (reduction) before it is
rendered. Called by campaign.py. How host and device code hang together is told in prelude.hpp.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from lanes import CROSSINGS, LDS_WORDS, MEMORY_WORDS, Crossing
from operations import FLOATS, INTEGERS, TYPES, build

OPERATIONS = build()
# LLVM 21 loses which half of a register holds the value (v_perm_b32 reads the low one).
MISCOMPILED_ON_GFX11 = ("swap_({u16})", "swap_({u64})")
COUNTS = {"u32": 5, "i32": 3, "u64": 3, "f32": 3, "h2": 3}  # fields of a type in the struct, else two
UNIFORM = ("u32", "i32", "u64", "i64", "u16", "u8", "f32", "f64")
FLOATING = ("f16", "f32", "f64", "h2", "f2", "d2")
FIELDS = [f"{t}_{n}" for t in TYPES for n in range(COUNTS.get(t, 2))]
UNIFORM_FIELDS = [f"q_{t}_{n}" for t in UNIFORM for n in range(2)]


def type_of(name: str) -> str:
    return name.removeprefix("q_").rsplit("_", 1)[0]


@dataclass
class Statement:
    """A line, or blocks of statements between the lines of a compound statement; `dropped` ones are left out."""

    lines: list[str]
    blocks: list[list[Statement]] = field(default_factory=list)
    dropped: bool = False

    def text(self, depth: int) -> str:
        if self.dropped:
            return ""
        out = "  " * depth + self.lines[0] + "\n"
        for block, line in zip(self.blocks, self.lines[1:], strict=True):
            out += "".join(s.text(depth + 1) for s in block) + "  " * depth + line + "\n"
        return out

    def walk(self) -> Iterator[Statement]:
        yield self
        for block in self.blocks:
            for s in block:
                yield from s.walk()


@dataclass
class Phase:
    statements: list[Statement]
    noinline: bool
    crossing: Crossing | None
    condition: str | None
    crossing_dropped: bool = False


@dataclass
class Program:
    seed: int
    gfx11: bool
    floats: bool  # without: -ffast-math leaves nothing to compare of them
    items: int  # workitems of a workgroup
    groups: int
    functions: list[str]
    phases: list[Phase]

    def statements(self) -> list[Statement]:
        return [s for p in self.phases for top in p.statements for s in top.walk()]

    @property
    def wave(self) -> int:
        return 32 if self.gfx11 else 64


class Writer:
    """The choices of one program."""

    def __init__(self, seed: int, gfx11: bool, *, floats: bool) -> None:
        self.random = random.Random(seed)
        self.gfx11, self.floats = gfx11, floats
        self.functions: list[str] = []
        self.signatures: list[tuple[str, str, list[str]]] = []
        self.loops = 0

    # --- expressions
    def constant(self, t: str) -> str:
        r = self.random
        if t in INTEGERS:
            bits = int(t[1:])
            value = r.choice(
                [0, 1, 2, 3, 5, 7, 16, 31, 64, 255, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1]
            )
            value = value if r.random() < 0.6 else r.getrandbits(bits)
            value &= (1 << bits) - 1
            return f"({t}){value}{'u' if bits < 64 else 'ul'}"
        if t in FLOATS:
            plain = [
                "0.0",
                "1.0",
                "-1.0",
                "0.5",
                "2.0",
                "-4.0",
                "0.15915494",
                "3.0",
                "1024.0",
                "0.1",
                "-65504.0",
                "1e-7",
            ]
            return f"({t}){r.choice(plain)}"
        if t == "bool":
            return r.choice(["true", "false"])
        return f"Get<{t}>::at({r.getrandbits(64)}ul)"

    def leaf(self, t: str, uniform: bool, extra: dict[str, list[str]]) -> str:
        r = self.random
        if r.random() < 0.12:
            return self.constant(t)
        names = [] if uniform else [f"s.{n}" for n in FIELDS if type_of(n) == t]
        names += [f"s.{n}" for n in UNIFORM_FIELDS if type_of(n) == t]
        names += extra.get(t, []) * 3
        return r.choice(names) if names else self.constant(t)

    def expression(self, t: str, depth: int, uniform: bool = False, extra: dict[str, list[str]] | None = None) -> str:
        r, extra = self.random, extra or {}
        if t == "bool" and depth <= 0:
            return (
                f"({self.leaf('u32', uniform, extra)} {r.choice(['<', '>', '!='])} {self.leaf('u32', uniform, extra)})"
            )
        if depth <= 0 or (depth < 3 and r.random() < 0.2):
            return f"({self.leaf(t, uniform, extra)})" if t != "bool" else self.expression("bool", 0, uniform, extra)
        while True:
            template = r.choice(OPERATIONS[t])
            if self.gfx11 and template in MISCOMPILED_ON_GFX11:
                continue
            if self.floats or not any(f in template for f in FLOATING):
                break
        text, at = "", 0
        while (start := template.find("{", at)) >= 0:
            end = template.find("}", start)
            name = template[start + 1 : end]
            if name not in OPERATIONS:  # a brace of the language
                text += template[at : start + 1]
                at = start + 1
                continue
            text += template[at:start] + self.expression(name, depth - 1 - r.randrange(2), uniform, extra)
            at = end + 1
        return f"({text}{template[at:]})"

    # --- functions
    def function(self) -> None:
        r = self.random
        name, result = f"fn{len(self.functions)}", self.some_type()
        parameters = [self.some_type() for _ in range(r.randrange(1, 9))]
        extra: dict[str, list[str]] = {}
        for i, t in enumerate(parameters):
            extra.setdefault(t, []).append(f"a{i}")
        arguments = ", ".join(f"{t} a{i}" for i, t in enumerate(parameters))
        body = "".join(f"  a{i} = {self.closed(t, 2, extra)};\n" for i, t in enumerate(parameters) if r.random() < 0.5)
        if r.random() < 0.5:
            body += f"  if ({self.closed('bool', 2, extra)}) return {self.closed(result, 2, extra)};\n"
        body += f"  return {self.closed(result, 3, extra)};\n"
        self.functions.append(f"NOINLINE {result} {name}({arguments}) {{\n{body}}}\n")
        self.signatures.append((name, result, parameters))

    def closed(self, t: str, depth: int, extra: dict[str, list[str]]) -> str:
        """An expression of a function's own parameters and constants."""
        saved, self.leaf = self.leaf, self._parameter  # type: ignore[method-assign]
        try:
            return self.expression(t, depth, False, extra)
        finally:
            self.leaf = saved  # type: ignore[method-assign]

    def _parameter(self, t: str, uniform: bool, extra: dict[str, list[str]]) -> str:
        return self.random.choice(extra[t]) if extra.get(t) and self.random.random() < 0.85 else self.constant(t)

    def some_type(self) -> str:
        while True:
            t = self.random.choice(TYPES)
            if self.floats or t not in FLOATING:
                return t

    # --- statements
    def assignment(self, uniform: bool) -> Statement:
        r = self.random
        if uniform and r.random() < 0.4:
            name = r.choice([n for n in UNIFORM_FIELDS if self.floats or type_of(n)[0] != "f"])
            return Statement([f"s.{name} = {self.expression(type_of(name), 3, uniform=True)};"])
        t = self.some_type()
        name = r.choice([n for n in FIELDS if type_of(n) == t])
        return Statement([f"s.{name} = {self.expression(t, 3)};"])

    def block(self, size: int, depth: int, uniform: bool, in_loop: bool) -> list[Statement]:
        return [self.statement(depth, uniform, in_loop) for _ in range(self.random.randrange(1, size + 1))]

    def statement(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        r = self.random
        if depth >= 3 or r.random() < 0.6:
            return self.assignment(uniform)
        kinds = [self.array, self.call, self.call, self.condition, self.condition]
        kinds += [self.loop, self.loop, self.switch, self.indirect, self.leave]
        return r.choice(kinds)(depth, uniform, in_loop)

    def condition(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        scalar = uniform and self.random.random() < 0.4
        test = self.expression("bool", 2, uniform=scalar)
        both = self.random.random() < 0.6
        inner = [self.block(3, depth + 1, uniform and scalar, in_loop) for _ in range(2 if both else 1)]
        return Statement([f"if ({test}) {{", "} else {", "}"] if both else [f"if ({test}) {{", "}"], inner)

    def loop(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        r = self.random
        self.loops += 1
        scalar = uniform and r.random() < 0.4
        i = f"step{self.loops}"
        bound = self.expression("u32", 1, uniform=scalar)
        body = self.block(3, depth + 1, uniform and scalar, True)
        if r.random() < 0.4:
            body.append(Statement([f"if ({self.expression('bool', 2)}) {r.choice(['break', 'continue'])};"]))
        body.append(Statement([f"s.u32_0 += {i} * 3u;"]))
        head = f"for (u32 {i} = 0, n{i} = {bound} % {r.choice([2, 3, 5, 9])}; {i} < n{i}; ++{i}) {{"
        return Statement([head, "}"], [body])

    def switch(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        r = self.random
        count = r.randrange(2, 8)
        lines = [f"switch ({self.expression('u32', 2)} % {count + 1}) {{ case 0: {{"]
        for case in range(1, count):
            lines.append(f"}} {'' if r.random() < 0.3 else 'break;'} case {case * r.choice([1, 1, 1])}: {{")
        lines.append("} break; default: {")
        lines.append("} }")
        return Statement(lines, [self.block(2, depth + 1, False, False) for _ in range(count + 1)])

    def array(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        """A private array that is indexed by a value of the lane."""
        r = self.random
        t, size = (
            r.choice(["u32", "u8", "u64", "u16", "f32", "u4"] if self.floats else ["u32", "u8", "u64", "u16", "u4"]),
            r.choice([4, 8, 16]),
        )
        values = ", ".join(self.expression(t, 1) for _ in range(size))
        index = [f"{self.expression('u32', 1)} % {size}" for _ in range(3)]
        store = f"a[{index[0]}] = {self.expression(t, 2)}; a[{index[1]}] = {self.expression(t, 1)};"
        name = r.choice([n for n in FIELDS if type_of(n) == t])
        return Statement([f"{{ {t} a[{size}] = {{{values}}}; {store} s.{name} = a[{index[2]}]; }}"])

    def call(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        r = self.random
        if len(self.signatures) < 4 and r.random() < 0.7:
            self.function()
        if not self.signatures:
            return self.assignment(uniform)
        name, result, parameters = r.choice(self.signatures)
        target = r.choice([n for n in FIELDS if type_of(n) == result])
        return Statement([f"s.{target} = {name}({', '.join(self.expression(t, 1) for t in parameters)});"])

    def indirect(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        r = self.random
        k = len(self.functions)
        t = r.choice(["u32", "u64", "i32", "u4"])
        extra = {t: ["a", "b"]}
        for j in range(3):
            self.functions.append(f"NOINLINE {t} gn{k}_{j}({t} a, {t} b) {{ return {self.closed(t, 2, extra)}; }}\n")
        name = r.choice([n for n in FIELDS if type_of(n) == t])
        which = f"{self.expression('u32', 1)} % 3"
        call = f"{t} (*f)({t}, {t}) = w == 0 ? gn{k}_0 : w == 1 ? gn{k}_1 : gn{k}_2;"
        return Statement(
            [f"{{ const u32 w = {which}; {call} s.{name} = f({self.expression(t, 1)}, {self.expression(t, 1)}); }}"]
        )

    def leave(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        return Statement([f"if ({self.expression('bool', 2)}) return;"])

    # --- the program
    def phase(self, last: bool) -> Phase:
        r = self.random
        statements = [self.statement(0, True, False) for _ in range(r.randrange(4, 14))]
        crossing, condition = None, None
        if not last:
            crossing = r.choice(CROSSINGS)(r, lambda t: r.choice([n for n in FIELDS if type_of(n) == t]), self.gfx11)
            if crossing.guarded and r.random() < 0.5:
                condition = self.expression("bool", 2)
        return Phase(statements, r.random() < 0.2, crossing, condition)


def generate(seed: int, *, gfx11: bool, floats: bool = True) -> Program:
    writer = Writer(seed, gfx11, floats=floats)
    count = writer.random.randrange(2, 7)
    phases = [writer.phase(last=i == count - 1) for i in range(count)]
    items = writer.random.choice([64, 64, 128, 256, 96, 100, 33])
    return Program(seed, gfx11, floats, items, 2, writer.functions, phases)


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
    declare = "".join(f"  {type_of(n)} {n};\n" for n in (*FIELDS, *UNIFORM_FIELDS))
    load = "".join(f"    {n} = Get<{type_of(n)}>::at(p[{i}]);\n" for i, n in enumerate(FIELDS))
    load += "".join(f"    {n} = Get<{type_of(n)}>::at(q[{i}]);\n" for i, n in enumerate(UNIFORM_FIELDS))
    seen = [n if program.floats or type_of(n) not in FLOATING else "0u" for n in (*FIELDS, *UNIFORM_FIELDS)]
    store = "".join(f"    o[{i}] = put({n});\n" for i, n in enumerate(seen))
    text = f"// seed {program.seed}\n" + ("#define FUZZ_GFX11\n" if program.gfx11 else "") + '#include "prelude.hpp"\n'
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
    outputs = len(FIELDS) + len(UNIFORM_FIELDS)
    device += f"  st.store(out + (group * n + t) * {outputs}ul);\n}}\n"
    host += f"    for (u32 t = 0; t < n_; ++t) all[t].store(out + (group * n_ + t) * {outputs}ul);\n  }}\n}}\n"
    sizes = {"ITEMS": program.items, "WAVE": program.wave, "GROUPS": program.groups, "FIELDS": f"{len(FIELDS)}ul"}
    for name, value in sizes.items():
        device, host = device.replace(name, str(value)), host.replace(name, str(value))
    return text + "#ifdef __HIP__\n" + device + "#else\n" + host + "#endif\n"
