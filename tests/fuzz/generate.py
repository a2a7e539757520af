"""Random programs without undefined behaviour, as one source for host and device.

In: a seed and what the target can do. Out: a Program, whose statements can be dropped one by one (reduction) before it is
rendered. Called by campaign.py. How host and device code hang together is told in prelude.hpp.
"""

from __future__ import annotations

import random

from lanes import CROSSINGS
from operations import ABSOLUTE, FLOATS, INTEGERS, NEAR, TYPES, build
from program import FIELDS, FLOATING, NEAR_FIELDS, TURN_FIELDS, UNIFORM_FIELDS, Phase, Program, Statement, type_of

OPERATIONS = build()
# LLVM 21 loses which half of a register holds the value (v_perm_b32 reads the low one).
MISCOMPILED_ON_RDNA = ("swap_({u16})", "swap_({u64})")


class Writer:
    """The choices of one program."""

    def __init__(self, seed: int, rdna: bool, *, floats: bool, dynamic: bool, wide_arrays: bool) -> None:
        self.random = random.Random(seed)
        self.rdna, self.floats, self.dynamic_stack, self.wide_arrays = rdna, floats, dynamic, wide_arrays
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
            if self.rdna and template in MISCOMPILED_ON_RDNA:
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
        kinds += [self.loop, self.loop, self.switch, self.indirect, self.leave, self.structure]
        kinds += [self.dynamic] * self.dynamic_stack + [self.approximate] * self.floats
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
        types = ["u32", "u8", "u16", "u4", *["u64"] * self.wide_arrays, *["f32"] * self.floats]
        t, size = r.choice(types), r.choice([4, 8, 16])
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

    def dynamic(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        """An array on the stack whose size the compiler does not know; a function, so that it is freed."""
        r = self.random
        k, t = len(self.functions), r.choice(["u32", "u64", "u8", *(["f32"] if self.floats else [])])
        self.functions.append(
            f"NOINLINE {t} dn{k}({t} v, u32 i, u32 j) {{\n  const u32 n = opaque({r.choice([1, 3, 8, 16])}u);\n"
            f"  {t}* a = ({t}*)__builtin_alloca(n * sizeof({t}));\n"
            f"  for (u32 x = 0; x < n; ++x) a[x] = ({t})(v + ({t})x);\n"
            f"  a[i % n] = {self.closed(t, 2, {t: ['v']})};\n  return a[j % n];\n}}\n"
        )
        name = r.choice([n for n in FIELDS if type_of(n) == t])
        arguments = [self.expression(a, 1) for a in (t, "u32", "u32")]
        return Statement([f"s.{name} = dn{k}({', '.join(arguments)});"])

    def structure(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        """A struct that is passed and returned by value: in registers or in memory, as its size has it."""
        r = self.random
        k, members = len(self.functions), [self.some_type() for _ in range(r.randrange(1, 12))]
        extra: dict[str, list[str]] = {}
        for i, t in enumerate(members):
            extra.setdefault(t, []).append(f"p.m{i}")
        declared = "".join(f" {t} m{i};" for i, t in enumerate(members))
        changed = sorted(r.sample(range(len(members)), r.randrange(1, len(members) + 1)))
        body = "".join(f"  p.m{i} = {self.closed(members[i], 2, extra)};\n" for i in changed)
        self.functions.append(
            f"struct S{k} {{{declared} }};\nNOINLINE S{k} sn{k}(S{k} p, u32 a) {{\n{body}  return p;\n}}\n"
        )
        values = ", ".join(self.expression(t, 1) for t in members)
        used = r.sample(range(len(members)), min(3, len(members)))
        results = "".join(f" s.{r.choice([n for n in FIELDS if type_of(n) == members[i]])} = p.m{i};" for i in used)
        return Statement([f"{{ S{k} p = {{{values}}}; p = sn{k}(p, {self.expression('u32', 1)});{results} }}"])

    def approximate(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        r = self.random
        absolute = r.random() < 0.3
        name, function = r.choice(TURN_FIELDS if absolute else NEAR_FIELDS), r.choice(ABSOLUTE if absolute else NEAR)
        return Statement([f"s.{name} = {function}({self.expression('f32', 2)});"])

    def leave(self, depth: int, uniform: bool, in_loop: bool) -> Statement:
        return Statement([f"if ({self.expression('bool', 2)}) return;"])

    # --- the program
    def phase(self, last: bool) -> Phase:
        r = self.random
        statements = [self.statement(0, True, False) for _ in range(r.randrange(4, 14))]
        crossing, condition = None, None
        if not last:
            crossing = r.choice(CROSSINGS)(r, lambda t: r.choice([n for n in FIELDS if type_of(n) == t]), self.rdna)
            if crossing.guarded and r.random() < 0.5:
                condition = self.expression("bool", 2)
        return Phase(statements, r.random() < 0.2, crossing, condition)


def generate(seed: int, *, rdna: bool, floats: bool = True, dynamic: bool = True, wide_arrays: bool = True) -> Program:
    """`dynamic`: stacks of unknown size; `wide_arrays`: private arrays of 64-bit elements."""
    writer = Writer(seed, rdna, floats=floats, dynamic=dynamic, wide_arrays=wide_arrays)
    count = writer.random.randrange(2, 7)
    phases = [writer.phase(last=i == count - 1) for i in range(count)]
    items = writer.random.choice([64, 64, 128, 256, 96, 100, 33])
    return Program(seed, rdna, floats, items, 2, writer.functions, phases)
