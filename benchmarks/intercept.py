"""What the tool library costs an application that is not captured, measured by the application, with and without it.

`make bench` runs it after capture.py, in the dev image on the virtual GPU. `plain` is the application alone, `armed`
with the tool waiting for a kernel that never comes, `attach` under `kerncap attachable` while nothing is asked,
`profile` with every dispatch timed, in turn. Usage: intercept.py [--suite S]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
TARGET = "gfx942"
ROUNDS = 7
DISPATCHES = 100_000
SHORT_KERNELS = 20_000
# Bars: us of the submitting thread's CPU a dispatch; wall time of short kernels; growth of the time a code object,
# beside what differs from run to run of the time without the tool.
MOST_ADDED_US = 1.0
MOST_SHORT_RATIO = 1.05
MOST_GROWTH = 1.5
NOISE_SHARE = 0.02

# What intercept_bench is asked, how often, and in which rounds.
CASES = {
    "empty": ("empty", DISPATCHES, ROUNDS),
    "short": ("short", SHORT_KERNELS, ROUNDS),
    "load_1000": ("load", 1000, 3),
    "load_10000": ("load", 10_000, 3),
}
MODES = ("plain", "armed", "attach", "profile")
Times = dict[tuple[str, str], list[float]]


def start_container(folder: Path, suite: str) -> str:
    namespace = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
    command = [
        "docker",
        "run",
        "--detach",
        "--rm",
        "--init",
        "--network",
        "none",
        "--user",
        f"{os.getuid()}:{os.getgid()}",
    ]
    command += ["--volume", f"{_ROOT}:{_ROOT}:ro", "--volume", f"{folder}:{folder}", "--env", f"HOME={folder}"]
    command += ["--workdir", str(folder), f"{namespace}/dev:{suite}", "sleep", "infinity"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def build(container: str) -> None:
    kernels = _ROOT / "benchmarks" / "kernels"
    device = ["hipcc", f"--offload-arch={TARGET}", "--cuda-device-only", "--no-gpu-bundle-output", "-O2"]
    device += [f"{kernels}/intercept_kernels.hip", "-o", "kernels.hsaco"]
    host = ["g++", "-std=c++20", "-O2", f"{kernels}/intercept_bench.cpp", "-o", "intercept_bench", "-lhsa-runtime64"]
    for argv in (device, host):
        subprocess.run(["docker", "exec", container, *argv], check=True)


def measure(folder: Path, suite: str) -> Times:
    """ns a dispatch or code object, of every round, by (mode, case); the modes take turns."""
    native = _ROOT / "build" / "native" / suite
    environment = {"plain": {"KERNCAP_VGPU": TARGET, "LD_PRELOAD": f"{native}/libkerncap-vgpu.so"}}
    for mode, word in (("armed", "capture"), ("attach", "attach"), ("profile", "profile")):
        work, control = folder / mode, folder / f"{mode}.json"
        work.mkdir()
        kernel = "no_such_kernel" if mode == "armed" else None
        selection = {"schema": "kerncap.capture-control/1", "work_dir": str(work), "kernel": kernel}
        control.write_text(json.dumps({**selection, "mode": word}))
        tool = {"HSA_TOOLS_LIB": f"{native}/libkerncap.so", "KERNCAP_CAPTURE_CONTROL": str(control)}
        environment[mode] = environment["plain"] | tool
    times: Times = {(mode, case): [] for mode in MODES for case in CASES}
    container = start_container(folder, suite)
    try:
        build(container)
        for number in range(ROUNDS):
            for case, (what, count, rounds) in CASES.items():
                for mode in MODES if number < rounds else ():
                    options = [word for key, value in environment[mode].items() for word in ("--env", f"{key}={value}")]
                    command = [
                        "docker",
                        "exec",
                        *options,
                        container,
                        "./intercept_bench",
                        "kernels.hsaco",
                        what,
                        str(count),
                    ]
                    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                    times[mode, case].append(float(done.stdout))
    finally:
        subprocess.run(["docker", "rm", "--force", container], stdout=subprocess.DEVNULL)
    return times


def report(label: str, value: str, bar: str, good: bool) -> bool:
    print(f"{label:58}{value:>12}   {bar:26}{'ok' if good else 'slow'}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="trixie", choices=("trixie", "sid"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kerncap-bench-") as name:
        times = measure(Path(name), arguments.suite)
    verdicts = []
    for mode in MODES[1:]:
        judged = mode != "profile"
        pairs = list(zip(times[mode, "empty"], times["plain", "empty"], strict=True))
        us = statistics.median(with_tool - plain for with_tool, plain in pairs) / 1e3
        bar = f"at most {MOST_ADDED_US} us" if judged else ""
        verdicts.append(
            report(f"{mode}: CPU added to a dispatch", f"{us:.2f} us", bar, us <= MOST_ADDED_US or not judged)
        )
        pairs = list(zip(times[mode, "short"], times["plain", "short"], strict=True))
        ratio = statistics.median(with_tool / plain for with_tool, plain in pairs)
        text = f"{mode}: wall of {statistics.median(times['plain', 'short']) / 1e3:.1f} us kernels"
        bar = f"at most {MOST_SHORT_RATIO}" if judged else "rocprofv3: 1.06 to 1.72"
        verdicts.append(report(text, f"{ratio:.3f}", bar, ratio <= MOST_SHORT_RATIO or not judged))
    one = {key: min(values) for key, values in times.items()}
    added = {case: max(0.0, one["armed", case] - one["plain", case]) for case in ("load_1000", "load_10000")}
    most = MOST_GROWTH * added["load_1000"] + NOISE_SHARE * one["plain", "load_10000"]
    text = f"bookkeeping of a code object, {added['load_1000'] / 1e3:.1f} us of 1,000: of 10,000"
    took = added["load_10000"]
    verdicts.append(report(text, f"{took / 1e3:.1f} us", f"at most {most / 1e3:.1f} us", took <= most))
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
