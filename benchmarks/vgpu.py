"""Speed of the virtual GPU's interpreter beside the same kernels built for the host by clang -O2, in one run.

`make bench` runs it after the others. Both sides run in one process (`vgpu_bench`, built and run in the tool chain
image) and are measured by their threads' CPU time, the best of five runs, so that a busy machine changes the ratios
little. The gain of a second thread is wall time while the machine is otherwise idle; else, marked ~, what it would be
if both threads always had a processor: twice the CPU time of one thread by that of two. Beside it is what the machine
gives two dispatches that run at the same time and have nothing to do with each other.
With --tinygrad CHECKOUT the kernels that tinygrad's emulator can run are timed on it as well, a workgroup each.
Usage: vgpu.py [--suite S] [--target T ...] [--tinygrad CHECKOUT] [KERNEL ...]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
# Times the host's, at most; and how much faster two threads are, at least.
MOST_RATIO = 30.0
MOST_RATIO_COMPUTE_BOUND = 15.0
LEAST_GAIN = 1.7
# Enough as well: this share of what the machine gives two dispatches on their own, where that is below the bar.
LEAST_SHARE = 0.9
# Times as fast as tinygrad's emulator, at least.
LEAST_TINYGRAD = 20.0
# Dispatches shorter than this do not fill two threads.
LEAST_SECONDS_FOR_GAIN = 0.02
IDLE_LOAD = 0.5


def measure(suite: str, target: str, kernels: list[str]) -> list[dict[str, Any]]:
    """One dictionary a kernel, as vgpu_bench prints it."""
    subprocess.run([_ROOT / "scripts/build-native", suite, "--", "vgpu_bench"], check=True, stdout=subprocess.DEVNULL)
    return in_toolchain(suite, [], ["./vgpu_bench", target, f"vgpu/vgpu_bench.{target}.hsaco", *kernels])


def measure_tinygrad(suite: str, target: str, checkout: Path, kernels: list[str]) -> list[dict[str, Any]]:
    """As vgpu_tinygrad.py prints them. Its emulator calls the newest clang by that name."""
    script = _ROOT / "benchmarks" / "vgpu_tinygrad.py"
    mounts = ["--volume", f"{checkout}:{checkout}:ro", "--volume", f"{script}:{script}:ro", "--env", "HOME=/tmp"]
    run = 'mkdir /tmp/b; ln -s "$(ls /usr/bin/clang-[0-9]* | tail -1)" /tmp/b/clang; PATH=/tmp/b:$PATH python3 "$@"'
    code = f"vgpu/vgpu_bench.{target}.hsaco"
    return in_toolchain(suite, mounts, ["bash", "-c", run, "-", str(script), str(checkout), target, code, *kernels])


def in_toolchain(suite: str, options: list[str], command: list[str]) -> list[dict[str, Any]]:
    """The JSON lines that a command prints, run in the build directory."""
    build = _ROOT / "build" / "native" / suite
    image = os.environ.get("KERNCAP_TOOLCHAIN_IMAGE", f"kerncap/toolchain:{suite}")
    docker = ["docker", "run", "--rm", "--network", "none", "--user", f"{os.getuid()}:{os.getgid()}"]
    docker += ["--volume", f"{build}:{build}:ro", "--workdir", str(build), *options, image]
    done = subprocess.run([*docker, *command], check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def report(row: dict[str, Any], idle: bool) -> bool:
    """Prints one line; whether the bars are met."""
    ratio = row["cpu_s"] / row["host_s"]
    gain = row["wall1_s"] / row["wall2_s"] if idle else 2 * row["cpu_s"] / row["cpu2_s"]
    limit = MOST_RATIO_COMPUTE_BOUND if row["compute_bound"] else MOST_RATIO
    judged = row["cpu_s"] >= LEAST_SECONDS_FOR_GAIN
    lanes = row["wave_instructions"] * row["lanes"] / row["cpu_s"] / 1e9
    # Two threads that share a processor's memory and clock do not each run as fast as one alone.
    possible = 2 * row["wall1_s"] / row["pair_s"]
    good = ratio <= limit and (gain >= min(LEAST_GAIN, LEAST_SHARE * possible) or not judged)
    print(
        f"{row['kernel']:18}{row['cpu_s'] * 1e3:9.1f}{row['host_s'] * 1e3:9.2f}{ratio:8.1f}{limit:6.0f}"
        f"{row['cpu_s'] / row['wave_instructions'] * 1e9:9.0f}{lanes:9.2f}{row['flop'] / row['cpu_s'] / 1e9:9.2f}"
        f"{gain:8.2f}{' ' if idle else '~'}{possible:9.2f}{'' if judged else ' -'}  {'ok' if good else 'slow'}"
    )
    return good


def report_tinygrad(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """As report(), for a row of measure_tinygrad()."""
    if "refused" in row:
        print(f"{row['kernel']:18} not run: {row['refused']}")
        return True
    ours = next(r["cpu_s"] / r["groups"] for r in rows if r["kernel"] == row["kernel"])
    times = row["group_s"] / ours
    good = bool(times >= LEAST_TINYGRAD)
    print(f"{row['kernel']:18}{row['group_s'] * 1e6:12.0f}{ours * 1e6:10.1f}{times:8.0f}  {'ok' if good else 'slow'}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="default: all")
    parser.add_argument("--suite", default="trixie", choices=("trixie", "sid"))
    parser.add_argument("--target", action="append", choices=("gfx90a", "gfx942", "gfx1100"))
    parser.add_argument("--tinygrad", type=Path, metavar="CHECKOUT", help="compare with tinygrad's emulator too")
    arguments = parser.parse_args()
    good = True
    for target in arguments.target or ["gfx942"]:
        idle = os.getloadavg()[0] <= IDLE_LOAD
        rows = measure(arguments.suite, target, arguments.kernels)
        print(f"{target}             vgpu ms  host ms   ratio limit  ns/inst  Glane/s  GFLOP/s  2 threads  machine")
        verdicts = [report(row, idle) for row in rows]
        good = all(verdicts) and good
        if arguments.tinygrad:
            names = [row["kernel"] for row in rows]
            print(f"{target}      tinygrad us/group   vgpu us   times")
            theirs = measure_tinygrad(arguments.suite, target, arguments.tinygrad.resolve(), names)
            verdicts = [report_tinygrad(row, rows) for row in theirs]
            good = all(verdicts) and good
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
