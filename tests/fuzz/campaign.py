"""Runs random programs on the virtual GPU's interpreter and on the host, and compares every value that they leave.

In: seeds (or a time budget), targets, optimisation levels, the folder of the native build. Out: a line for each failure with
its reduced source; exit status 1 if there was one. Runs where the suite's compilers are. Called by `make fuzz` and by
tests/e2e/test_fuzz.py:

    python3 tests/fuzz/campaign.py --native build/native/trixie --seeds 1:40 --levels O0,O2,O3
"""

from __future__ import annotations

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from generate import generate
from program import NEAR_FIELDS, OUTPUTS, TURN_FIELDS, Program, Statement
from render import inputs, render

HERE = Path(__file__).resolve().parent
TARGETS = ("gfx90a", "gfx942", "gfx1100")
NEWER = {"gfx950": 20, "gfx1201": 20}  # the LLVM that knows it first
RDNA = ("gfx1100", "gfx1201")
LEVELS = ("O0", "O1", "O2", "O3", "Os", "fast")
LANGUAGE = ["-std=c++17", "-fwrapv", "-fno-strict-float-cast-overflow", "-ffp-contract=off", "-w"]
# _Float16 operations round one by one, as they do on the device.
HOST = [
    "-x",
    "c++",
    "-shared",
    "-fPIC",
    "-O1",
    "-march=x86-64-v3",
    "-fno-math-errno",
    "-Xclang",
    "-ffloat16-excess-precision=none",
]
DEVICE = ["-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-nogpulib"]
# What hipcc and build systems add here and there; a seed picks one.
VARIATIONS: tuple[tuple[str, ...], ...] = (
    (),
    (),
    ("-mllvm", "-amdgpu-early-inline-all=true", "-mllvm", "-amdgpu-function-calls=false"),
    ("-mllvm", "-amdgpu-atomic-optimizer-strategy=DPP"),
    ("-munsafe-fp-atomics",),
    ("-mcode-object-version=4",),
    ("-g",),
    ("-mcumode",),
)


@dataclass(frozen=True)
class Setting:
    """How one program is made and built."""

    seed: int
    target: str
    level: str

    @property
    def label(self) -> str:
        return f"seed {self.seed} {self.target} {self.level}"


@dataclass(frozen=True)
class Bench:
    """The tools and what is common to a campaign."""

    clang: str
    version: int
    runner: Path
    work: Path
    host_flags: tuple[str, ...] = ()

    def program(self, setting: Setting) -> Program:
        # LLVM 17 crashes on a stack array whose size is not constant; LLVM 21 takes the stack pointer of gfx90a, which counts
        # the bytes of a whole wave, for the array's address.
        dynamic = self.version >= 19 and setting.target != "gfx90a"
        # LLVM 17 keeps small arrays in registers and now and then writes both halves of a 64-bit element to the same one.
        return generate(
            setting.seed,
            rdna=setting.target in RDNA,
            floats=setting.level != "fast",
            dynamic=dynamic,
            wide_arrays=self.version >= 19,
        )

    def build(self, program: Program, setting: Setting, folder: Path, without_halves: bool = False) -> str:
        """Both sides into the folder; what the compiler said if it refused."""
        source = folder / "program.hip"
        source.write_text(render(program))
        (folder / "input").write_bytes(inputs(program))
        level = ["-O3", "-ffast-math"] if setting.level == "fast" else [f"-{setting.level}"]
        variation = list(VARIATIONS[setting.seed % len(VARIATIONS)])
        if setting.target not in RDNA and "-mcumode" in variation:
            variation = []
        if self.version >= 19 and setting.target in RDNA and (setting.seed % 3 or without_halves):
            # LLVM 21 now and then loses which half of a register a 16-bit operand is (v_bfi_b32, v_perm_b32).
            variation += ["-Xclang", "-target-feature", "-Xclang", "-real-true16"]
        if self.version < 19:
            # LLVM 17 takes any value with enough sign bits for one of 24 bits that floats can divide.
            variation += ["-mllvm", "-amdgpu-codegenprepare-disable-idiv-expansion"]
        if self.version < 19 and setting.level == "O0":
            # Its fast register allocator reloads values before EXEC is restored where branches by lane join.
            variation += ["-mllvm", "-optimize-regalloc"]
        shared = [self.clang, *LANGUAGE, f"-I{HERE}", str(source)]
        host = [self.clang, *HOST, *self.host_flags, *shared[1:], "-o", str(folder / "host.so"), "-lm"]
        device = [self.clang, *DEVICE, f"--offload-arch={setting.target}", *level, *variation, *shared[1:]]
        for command in ([*device, "-o", str(folder / "code.hsaco")], host):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                own = "PLEASE submit a bug report" in done.stderr or "fatal error: error in backend" in done.stderr
                return f"crash: {done.stderr}" if own else done.stderr
        return ""

    def run(self, program: Program, setting: Setting, folder: Path) -> str:
        """The runner's words on the code object."""
        shape = [str(n) for n in (program.items, program.groups, len(OUTPUTS), len(NEAR_FIELDS), len(TURN_FIELDS))]
        files = [str(folder / name) for name in ("input", "host.so", "code.hsaco")]
        try:
            done = subprocess.run(
                [str(self.runner), setting.target, *shape, *files], capture_output=True, text=True, timeout=120
            )
        except subprocess.TimeoutExpired:
            return "code.hsaco stopped timeout"
        return (done.stdout + done.stderr).replace(str(folder) + "/", "")

    def judge(self, program: Program, setting: Setting, without_halves: bool = False) -> tuple[str, str]:
        """`ok`, `differs`, `stopped`, `broken`, or the compiler's `refused` and `crashed`, and the words."""
        with tempfile.TemporaryDirectory(dir=self.work) as name:
            said = self.build(program, setting, Path(name), without_halves)
            if said:
                return ("crashed" if said.startswith("crash: ") else "refused"), said
            said = self.run(program, setting, Path(name))
        found = re.match(r"code\.hsaco (\w+)", said)
        return (found[1] if found else "broken"), said


def reduce(bench: Bench, program: Program, setting: Setting, verdict: str, budget_s: float) -> None:
    """Drops what the failure does not need, larger parts first, in place."""
    end = time.monotonic() + budget_s

    def fails() -> bool:
        return bench.judge(program, setting)[0] == verdict

    for phase in program.phases:
        if phase.crossing and time.monotonic() < end:
            phase.crossing_dropped = True
            phase.crossing_dropped = fails()
    size = max(1, len(program.statements()) // 2)
    while size >= 1 and time.monotonic() < end:
        alive = [s for s in program.statements() if not s.dropped]
        for start in range(0, len(alive), size):
            part: Sequence[Statement] = alive[start : start + size]
            before = [s.dropped for s in part]
            for s in part:
                s.dropped = True
            if not fails():
                for s, old in zip(part, before, strict=True):
                    s.dropped = old
            if time.monotonic() > end:
                break
        size //= 2
    used = "".join(s.text(0) for p in program.phases for s in p.statements) + "".join(
        str(p.condition) for p in program.phases
    )
    kept = list(program.functions)
    program.functions[:] = [
        f for f in kept if (m := re.search(r"\b([dfgs]n\d\w*)\(", f)) and re.search(rf"\b{m[1]}\b", used)
    ]
    if not fails():
        program.functions[:] = kept


def attempt(bench: Bench, setting: Setting, reduction_s: float) -> tuple[str, bool]:
    """What is wrong, empty when all is well, and whether the program ran: a compiler's crash is not ours."""
    program = bench.program(setting)
    verdict, said = bench.judge(program, setting)
    if verdict == "refused":
        return f"{setting.label}: refused by the compiler: {said[:2000]}", False
    if verdict in ("ok", "crashed"):
        return "", verdict == "ok"
    if reduction_s > 0:
        reduce(bench, program, setting, verdict, reduction_s)
        said = bench.judge(program, setting)[1]
    if setting.target in RDNA and bench.version >= 19 and bench.judge(program, setting, True)[0] == "ok":
        said += "\n  (not so with -real-true16: perhaps the compiler's fault, see Bench.build)"
    said = re.sub(r"field (\d+)", lambda m: f"field {OUTPUTS[int(m[1])]}", said)
    body = render(program)
    body = body[body.index("};\n") + 3 :]
    variation = " ".join(VARIATIONS[setting.seed % len(VARIATIONS)])
    return f"{setting.label} ({bench.clang} {variation}): {said.strip()}\n--- reduced program\n{body}", True


def find_clang() -> tuple[str, int]:
    found = [(int(m[1]), p) for p in glob.glob("/usr/bin/clang-[0-9]*") if (m := re.fullmatch(r".*clang-(\d+)", p))]
    if not found:
        sys.exit("campaign: no clang here; run it in a tool chain or dev image")
    version, path = max(found)
    return path, version


def settings(args: argparse.Namespace) -> Iterator[Setting]:
    """Every target of every seed; a seed has one level after the other unless all are asked for."""
    levels = args.levels.split(",")
    for seed in range(*map(int, args.seeds.split(":"))):
        for n, target in enumerate(args.targets.split(",")):
            for level in levels if args.all_levels else [levels[(seed + n) % len(levels)]]:
                yield Setting(seed, target, level)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", type=Path, required=True, help="folder of the native build")
    parser.add_argument("--seeds", default="1:40", help="FIRST:END")
    parser.add_argument("--targets", help="default: all that the compiler knows")
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--all-levels", action="store_true", help="every seed at every level")
    parser.add_argument("--time", type=float, default=0, help="seconds: stop then, whatever seeds are left")
    parser.add_argument("--reduce", type=float, default=60, help="seconds for the reduction of a failure")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument(
        "--host-define", metavar="NAME", help="compile the host's side with -DNAME (to test the campaign)"
    )
    parser.add_argument("--show", action="store_true", help="print the program of the first seed and target, and stop")
    args = parser.parse_args()
    clang, version = find_clang()
    if args.targets is None:
        args.targets = ",".join((*TARGETS, *(target for target, first in NEWER.items() if version >= first)))
        for target in (target for target, first in NEWER.items() if version < first):
            print(f"campaign: without {target}, which {clang} does not know")
    work = Path(tempfile.mkdtemp(prefix="kerncap-fuzz-"))
    bench = Bench(
        clang,
        version,
        args.native.resolve() / "vgpu-fuzz-runner",
        work,
        tuple(f"-D{n}" for n in [args.host_define] if n),
    )
    todo = settings(args)
    if args.show:
        print(render(bench.program(next(todo))))
        return 0
    end = time.monotonic() + args.time if args.time else float("inf")
    failures = done = crashed = 0
    try:
        with ThreadPoolExecutor(args.jobs) as pool:
            while time.monotonic() < end and (batch := list(islice(todo, 12 * args.jobs))):
                for said, ran in pool.map(lambda setting: attempt(bench, setting, args.reduce), batch):
                    done += 1
                    crashed += not ran
                    if said:
                        failures += 1
                        print(said, flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"campaign: {done} programs run, {failures} failed ({clang}; it crashed on {crashed})")
    return 1 if failures or done == crashed else 0


if __name__ == "__main__":
    sys.exit(main())
