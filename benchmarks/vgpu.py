"""Speed of the virtual GPU's interpreter beside the same kernels built for the host by clang -O2, in one run.

`make bench` runs it after the others. Both sides run in one process (`vgpu_bench`, built and run in the tool chain
image) and are measured by their threads' CPU time, so that a busy machine changes the ratios little; the gain of a
second thread is wall time and counts only while the machine is otherwise idle.
Usage: vgpu.py [--suite S] [--target T ...] [KERNEL ...]
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
# Dispatches shorter than this do not fill two threads.
LEAST_SECONDS_FOR_GAIN = 0.02
IDLE_LOAD = 0.5


def measure(suite: str, target: str, kernels: list[str]) -> list[dict[str, Any]]:
    """One dictionary a kernel, as vgpu_bench prints it."""
    build = _ROOT / "build" / "native" / suite
    subprocess.run([_ROOT / "scripts/build-native", suite, "--", "vgpu_bench"], check=True, stdout=subprocess.DEVNULL)
    image = os.environ.get("KERNCAP_TOOLCHAIN_IMAGE", f"kerncap/toolchain:{suite}")
    command = ["docker", "run", "--rm", "--network", "none", "--user", f"{os.getuid()}:{os.getgid()}"]
    command += ["--volume", f"{build}:{build}:ro", "--workdir", str(build), image]
    command += ["./vgpu_bench", target, f"vgpu/vgpu_bench.{target}.hsaco", *kernels]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def report(row: dict[str, Any], idle: bool) -> bool:
    """Prints one line; whether the bars are met."""
    ratio = row["cpu_s"] / row["host_s"]
    gain = row["wall1_s"] / row["wall2_s"]
    limit = MOST_RATIO_COMPUTE_BOUND if row["compute_bound"] else MOST_RATIO
    judged = idle and row["wall1_s"] >= LEAST_SECONDS_FOR_GAIN
    lanes = row["wave_instructions"] * row["lanes"] / row["cpu_s"] / 1e9
    good = ratio <= limit and (gain >= LEAST_GAIN or not judged)
    print(
        f"{row['kernel']:18}{row['cpu_s'] * 1e3:9.1f}{row['host_s'] * 1e3:9.2f}{ratio:8.1f}{limit:6.0f}"
        f"{row['cpu_s'] / row['wave_instructions'] * 1e9:9.0f}{lanes:9.2f}{row['flop'] / row['cpu_s'] / 1e9:9.2f}"
        f"{gain:8.2f}{'' if judged else ' -'}  {'ok' if good else 'slow'}"
    )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="default: all")
    parser.add_argument("--suite", default="trixie", choices=("trixie", "sid"))
    parser.add_argument("--target", action="append", choices=("gfx90a", "gfx942", "gfx1100"))
    arguments = parser.parse_args()
    good = True
    for target in arguments.target or ["gfx942"]:
        idle = os.getloadavg()[0] <= IDLE_LOAD
        rows = measure(arguments.suite, target, arguments.kernels)
        print(f"{target}             vgpu ms  host ms   ratio limit  ns/inst  Glane/s  GFLOP/s  2 threads")
        verdicts = [report(row, idle) for row in rows]
        good = all(verdicts) and good
        if not idle:
            print("2 threads: not judged (-), the machine was busy")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
