"""Builds the kernels of this folder with many options of a suite's compiler and runs them on the virtual GPU.

In: targets, names of option sets, the folder of the native build, a work folder. Out: a line a combination, with what
its cases said when they were wrong; exit status 1 if a case failed that is no known fault of the compiler (FAULTS), or
if one of those did not fail. Runs in a dev image. Called by tests/e2e/test_vgpu_matrix.py and `make matrix`:

    python3 tests/matrix/matrix.py --native build/native/trixie --work /tmp/matrix --targets gfx942 --options O0,O2
"""

from __future__ import annotations

import argparse
import glob
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from preload import without_preload

HERE = Path(__file__).resolve().parent
TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
NEWER = {"gfx1201": 20}  # the LLVM that knows it first
RDNA = ("gfx1100", "gfx1201")
GFX9 = ("gfx90a", "gfx942")


@dataclass(frozen=True)
class Options:
    """One way to build: the flags, for which targets and compilers, and the target as the compiler names it."""

    flags: tuple[str, ...]
    targets: tuple[str, ...] = TARGETS
    since: int = 0
    arch: dict[str, str] = field(default_factory=dict)
    program: tuple[str, ...] = ()
    without_preload: bool = False

    def applies(self, target: str, compiler: int) -> bool:
        return target in self.targets and compiler >= max(self.since, NEWER.get(target, 0))

    def device_flags(self, compiler: int) -> tuple[str, ...]:
        # LLVM 17's fast register allocator reloads values before EXEC is restored where branches by lane join.
        slow = _llvm("-optimize-regalloc") if compiler < 19 and "-O0" in self.flags else ()
        return (*self.flags, *slow)


def _llvm(*words: str) -> tuple[str, ...]:
    return tuple(part for word in words for part in ("-mllvm", word))


OPTIONS = {
    "O0": Options(("-O0",)),
    "O1": Options(("-O1",)),
    "O2": Options(("-O2",)),
    "O3": Options(("-O3",)),
    "Os": Options(("-Os",)),
    "fast": Options(("-O3", "-ffast-math"), program=("--fast",)),
    "flush": Options(("-O2", "-fgpu-flush-denormals-to-zero"), program=("--flush",)),
    "no-contraction": Options(("-O2", "-ffp-contract=off")),
    "no-inline": Options(("-O2", "-fno-inline")),
    "debug": Options(("-O1", "-g")),
    "calls": Options(("-O2", *_llvm("-amdgpu-function-calls=true", "-amdgpu-stress-function-calls=true"))),
    "unsafe-atomics": Options(("-O2", "-munsafe-fp-atomics")),
    "atomic-scan": Options(("-O2", *_llvm("-amdgpu-atomic-optimizer-strategy=DPP"))),
    "partial-groups": Options(("-O2", "-fno-offload-uniform-block"), since=18, program=("--partial",)),
    "v4": Options(("-O2", "-mcode-object-version=4")),
    "v5": Options(("-O2", "-mcode-object-version=5")),
    "v6": Options(("-O2", "-mcode-object-version=6"), since=19),
    "cumode": Options(("-O2", "-mcumode"), targets=RDNA),
    # HIP 5.7's header, beside LLVM 17, refuses it.
    "wave64": Options(("-O2", "-mwavefrontsize64", "-DMATRIX_WAVE64"), targets=RDNA, since=18, program=("--wave64",)),
    "wgp": Options(("-O3", "-mno-cumode"), targets=RDNA),
    "preload-8": Options(("-O2", *_llvm("-amdgpu-kernarg-preload-count=8")), targets=GFX9, since=18),
    "preload-16": Options(("-O3", *_llvm("-amdgpu-kernarg-preload-count=16")), targets=GFX9, since=18),
    "no-preload": Options(
        ("-O3", *_llvm("-amdgpu-kernarg-preload-count=16")), targets=GFX9, since=18, without_preload=True
    ),
    "generic": Options(
        ("-O2", "-mcode-object-version=6"),
        targets=("gfx942", *RDNA),
        since=21,
        arch={"gfx942": "gfx9-4-generic", "gfx1100": "gfx11-generic", "gfx1201": "gfx12-generic"},
        program=("--generic",),
    ),
    "no-xnack": Options(("-O2",), targets=GFX9, arch={t: f"{t}:xnack-" for t in GFX9}),
    "sramecc": Options(("-O2",), targets=GFX9, arch={t: f"{t}:sramecc+:xnack-" for t in GFX9}),
}

# A device that adds wrongly: a test of the matrix itself.
WRONG = Options(("-O2", "-DMATRIX_WRONG_DEVICE"))

# What a compiler gets wrong, by its major version, target and options: the cases that fail.
# LLVM 17 at -O0 loses the index where one of four halves is stored at a place known at run time: all go to the first.
FAULTS: dict[tuple[int, str, str], frozenset[str]] = {
    (17, "gfx90a", "O0"): frozenset({"mfma_floats"}),
    (17, "gfx942", "O0"): frozenset({"mfma_floats"}),
}
# Where the compiler itself crashes: LLVM 17 at -Os has no way to lower a copy of private memory in matrix_core.hip.
CRASHES = {(17, "gfx1100", "O0"), (17, "gfx90a", "Os")}


def find_compiler() -> int:
    found = [int(m[1]) for p in glob.glob("/usr/bin/clang-[0-9]*") if (m := re.fullmatch(r".*clang-(\d+)", p))]
    if not found:
        sys.exit("matrix: no clang here; run it in a dev image")
    return max(found)


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"matrix: {what}: {' '.join(command)}\n{done.stdout}{done.stderr}")


def known(compiler: int) -> list[str]:
    return [t for t in TARGETS if compiler >= NEWER.get(t, 0)]


def build_program(work: Path, compiler: int) -> Path:
    """The host's side: the cases and their references. Its own device code is one kernel that does nothing."""
    program, fat, none = work / "matrix", work / "none.fat", work / "none.hip"
    if program.exists():
        return program
    none.write_text("#include <hip/hip_runtime.h>\n__global__ void none() {}\n")
    archs = [f"--offload-arch={t}" for t in known(compiler)]
    _run(["hipcc", "--genco", *archs, str(none), "-o", str(fat)], "an empty kernel")
    embed = ["-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(fat)]
    language = ["-x", "hip", "--cuda-host-only", *embed, "-std=c++17", "-w"]
    # The references round as they are written.
    reference = ["-O1", "-ffp-contract=off", "-march=x86-64-v3"]
    objects = []
    for name in ("main.cpp", "all.hip"):
        objects.append(str(work / f"{name}.o"))
        _run(["hipcc", *language, *reference, "-c", str(HERE / name), "-o", objects[-1]], "the references")
    _run(["hipcc", "--hip-link", *objects, "-o", str(program)], "the program")
    return program


def build_kernels(options: Options, compiler: int, target: str, out: Path) -> str:
    """What the compiler said if it refused."""
    arch = options.arch.get(target, target)
    command = ["hipcc", f"--offload-arch={arch}", "--cuda-device-only", "--no-gpu-bundle-output", "-std=c++17", "-w"]
    done = subprocess.run(
        [*command, *options.device_flags(compiler), str(HERE / "all.hip"), "-o", str(out)],
        capture_output=True,
        text=True,
    )
    return "" if done.returncode == 0 else f"the compiler: {done.stderr[-2000:]}"


def run(program: Path, native: Path, target: str, more: list[str]) -> tuple[frozenset[str], int, str]:
    """The cases that were wrong, how many ran, and all that was said."""
    environment = dict(os.environ, KERNCAP_VGPU=target, LD_PRELOAD=str(native / "libkerncap-vgpu.so"))
    try:
        done = subprocess.run(
            [str(program), target, *more], capture_output=True, text=True, env=environment, timeout=600
        )
    except subprocess.TimeoutExpired as late:
        return frozenset(["timeout"]), 0, f"no end in ten minutes: {late.stdout!r}"
    said = done.stdout + done.stderr
    wrong = set(re.findall(r"^(\w+): WRONG", done.stdout, re.MULTILINE))
    ended = re.search(r"^matrix: (\d+) cases", done.stdout, re.MULTILINE)
    if not ended:
        last = re.findall(r"^(\w+): ", done.stdout, re.MULTILINE)
        wrong.add(last[-1] if last else "start")
    return frozenset(wrong), int(ended[1]) if ended else 0, said


def judge(args: argparse.Namespace, program: Path, compiler: int, target: str, name: str) -> bool:
    options = WRONG if name == "wrong" else OPTIONS[name]
    label = f"clang {compiler} {target} {name}"
    code = args.work / f"{target}.{name}.hsaco"
    refused = build_kernels(options, compiler, target, code)
    if refused:
        known = (compiler, target, name) in CRASHES and "PLEASE ATTACH" in refused
        print(f"{label}: {'the compiler crashes, as is known' if known else refused}", flush=True)
        return known
    if options.without_preload and without_preload(code, code) == 0:
        print(f"{label}: no kernel preloads its arguments", flush=True)
        return False
    only = [word for case in args.only.split(",") if case for word in ("--only", case)]
    wrong, count, said = run(program, args.native, target, [*options.program, *only, str(code)])
    if not args.keep:
        code.unlink()
    expected = FAULTS.get((compiler, target, name), frozenset())
    if only:
        expected &= set(args.only.split(","))
    if wrong != expected:
        lines = [line for line in said.splitlines() if not line.endswith(": right")]
        print(
            f"{label}: {count} cases, wrong: {sorted(wrong)}, expected: {sorted(expected)}\n" + "\n".join(lines),
            flush=True,
        )
        return False
    print(f"{label}: {count} cases, {len(wrong)} wrong", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", type=Path, required=True, help="folder of the native build")
    parser.add_argument("--work", type=Path, required=True, help="folder for what is built; the program in it is kept")
    parser.add_argument("--targets", help="default: all that the compiler knows")
    parser.add_argument("--options", default=",".join(OPTIONS))
    parser.add_argument("--only", default="", help="these cases alone, comma-separated")
    parser.add_argument("--keep", action="store_true", help="keep the code objects")
    args = parser.parse_args()
    args.native, args.work = args.native.resolve(), args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    compiler = find_compiler()
    program = build_program(args.work, compiler)
    done, wrong = 0, 0
    for target in args.targets.split(",") if args.targets else known(compiler):
        for name in args.options.split(","):
            if name == "wrong" or OPTIONS[name].applies(target, compiler):
                done += 1
                wrong += not judge(args, program, compiler, target, name)
    print(f"matrix: {done} combinations, {wrong} failed")
    return 1 if wrong or not done else 0


if __name__ == "__main__":
    sys.exit(main())
