"""The evaluation of Kerncap's paper, again, with what runs here: its Tables 2, 3, 4 and 6 for programs of Debian's.

`make evaluation` runs it in the images kerncap/apps:*, on the GPU of this machine where there is one, else on virtual
ones. Prints the tables and writes them into docs/evaluation.md. Runs of the application alone, with the tool waiting
for a kernel that never comes, and with the capture take turns; CPU time of the whole process is compared, since other
programs of a busy machine change it less than wall time. What was measured before is kept in build/evaluation.json, so
that a run of one application renews its rows alone. Usage: evaluation.py [--devices D,E] [--apps A,B] [--runs N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / "tests"), str(_ROOT / "tests" / "apps")]

import inner_loop  # noqa: E402
import mmvq_project  # noqa: E402
from containers import DevContainer, running  # noqa: E402
from paper_workloads import TARGETS, WORKLOADS, Workload, idle_variant, of_app  # noqa: E402

from kerncap.runtime import catalog  # noqa: E402

SAVED = _ROOT / "build" / "evaluation.json"
# The key of what inner_loop measured, beside those of the workloads.
LOOP = "inner loop"
DOCUMENT = _ROOT / "docs" / "evaluation.md"
BEGIN, END = "<!-- figures: written by make evaluation -->", "<!-- end of the figures -->"
LIMIT_S = 3600.0
MODES = ("base", "intercept", "full")
Row = dict[str, Any]

# In the container: runs argv[2:] with the environment of argv[1] and prints what it took.
_RUN = """
import json, os, resource, subprocess, sys, time
start = time.monotonic()
done = subprocess.run(sys.argv[2:], env={**os.environ, **json.loads(sys.argv[1])}, capture_output=True)
wall = time.monotonic() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if done.returncode != 0:
    sys.exit(done.stderr.decode(errors="replace")[-2000:])
print(json.dumps({"wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / 1024}))
"""


class Programs:
    """One application's container and the device that its programs use."""

    def __init__(self, container: DevContainer, device: str) -> None:
        self.container, self.device = container, device
        self.native = container.native_dir

    def kerncap(self, *argv: str | Path, exit_codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
        command = ["python3", "-m", "kerncap", *map(str, argv)]
        if "--" in command:
            command.insert(command.index("--"), "--json")
        else:
            command.append("--json")
        done = self.container.run(command, timeout_s=LIMIT_S)
        if done.returncode not in exit_codes:
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def alone(self) -> dict[str, str]:
        if self.device == "gpu":
            return {}
        return {
            "KERNCAP_VGPU": self.device.removeprefix("vgpu:"),
            "LD_PRELOAD": str(self.native / "libkerncap-vgpu.so"),
        }

    def run(self, workload: Workload, mode: str, folder: Path) -> dict[str, float]:
        environment = self.alone()
        if mode != "base":
            folder.mkdir()
            control = {"schema": "kerncap.capture-control/1", "work_dir": str(folder), "dispatch": workload.dispatch}
            control["kernel"] = workload.kernel if mode == "full" else "no_such_kernel"
            (folder / "control.json").write_text(json.dumps(control))
            environment["HSA_TOOLS_LIB"] = str(self.native / "libkerncap.so")
            environment["KERNCAP_CAPTURE_CONTROL"] = str(folder / "control.json")
        argv = ["python3", "-c", _RUN, json.dumps(environment), *workload.command]
        done = self.container.run(argv, timeout_s=LIMIT_S, check=True)
        if mode == "full" and not (folder / "capture" / "capture.json").is_file():
            raise SystemExit(f"{workload.name}: nothing was captured\n{done.stderr}")
        measured: dict[str, float] = json.loads(done.stdout)
        return measured


def extraction(programs: Programs, workload: Workload, folder: Path) -> Row:
    """A row of Table 2: extract, seal, replay, refuse a kernel that does nothing."""
    made, bundle, device = folder / "made.kcap", folder / "made.kcap.tar", ("--device", programs.device)
    which = ("--dispatch", str(workload.dispatch), "--self-check", "0", "--timeout", str(LIMIT_S))
    start = time.monotonic()
    extracted = programs.kerncap("extract", workload.kernel, "-o", made, *device, *which, "--", *workload.command)
    took_s = time.monotonic() - start
    packed = programs.kerncap("pack", made, "-o", bundle)
    replayed = programs.kerncap("replay", bundle, *device, exit_codes=(0, 1))
    refused = programs.kerncap("validate", bundle, "--hsaco", idle_variant(made), *device, exit_codes=(0, 1))
    timing = json.loads((made / "capture/capture.json").read_text())["timing"]
    return {
        "regions": extracted["regions"],
        "snapshot_mb": extracted["raw_bytes"] / 1e6,
        "extract_s": took_s,
        "snapshot_s": timing["snapshot_s"],
        "bundle_mb": packed["total_bytes"] / 1e6,
        "replay": replayed["verdict"],
        "idle": refused["verdict"],
    }


def overhead(programs: Programs, workload: Workload, folder: Path, runs: int) -> Row:
    """What Tables 3 and 4 are made of; the first round is not counted where there are several."""
    measured: dict[str, list[dict[str, float]]] = {mode: [] for mode in MODES}
    for number in range(runs + (runs > 1)):
        for mode in MODES:
            measured[mode].append(programs.run(workload, mode, folder / f"{mode}-{number}"))
    counted = {mode: values[1:] if runs > 1 else values for mode, values in measured.items()}

    def ratios(mode: str, key: str) -> list[float]:
        return [one[key] / base[key] for one, base in zip(counted[mode], counted["base"], strict=True)]

    full, waiting = counted["full"], counted["intercept"]
    return {
        "runs": runs,
        "base_cpu_s": statistics.median(one["cpu"] for one in counted["base"]),
        "base_wall_s": statistics.median(one["wall"] for one in counted["base"]),
        "intercept": statistics.median(ratios("intercept", "cpu")),
        "full": statistics.median(ratios("full", "cpu")),
        "intercept_wall": statistics.median(ratios("intercept", "wall")),
        "full_wall": statistics.median(ratios("full", "wall")),
        "capture_cpu_s": statistics.median(f["cpu"] - w["cpu"] for f, w in zip(full, waiting, strict=True)),
        "added_mib": max(one["peak_mib"] for one in waiting) - max(one["peak_mib"] for one in counted["base"]),
    }


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def in_order(results: dict[str, Row]) -> Iterator[tuple[str, str, Row]]:
    names = [workload.name for workload in WORKLOADS]
    results = {key: row for key, row in results.items() if key != LOOP}
    for key in sorted(results, key=lambda key: (names.index(results[key]["name"]), results[key]["device"])):
        yield results[key]["name"], results[key]["device"], results[key]


def tables(results: dict[str, Row]) -> str:
    """Markdown."""
    second, third = [], []
    for name, device, row in in_order(results):
        size = (f"{row['regions']}", f"{row['snapshot_mb']:,.1f}", f"{row['extract_s']:.1f}")
        stored = (f"{row['snapshot_s']:.2f}", f"{row['bundle_mb']:,.1f}", row["replay"], row["idle"])
        second.append((name, device, *size, *stored))
        base = (f"{row['base_cpu_s']:.1f}", f"{row['base_wall_s']:.1f}")
        cpu = (f"{row['intercept']:.3f}x", f"{row['full']:.3f}x", f"{row['capture_cpu_s']:.2f}")
        wall = (f"{row['intercept_wall']:.2f}x", f"{row['full_wall']:.2f}x")
        third.append((name, device, *base, *cpu, *wall, f"{row['added_mib']:.0f}", str(row["runs"])))
    sizes = ("Regions", "Snapshot (MB)", "extract (s)", "of it snapshot (s)", "Bundle (MB)", "Replay", "Idle kernel")
    costs = ("Base CPU (s)", "Base wall (s)", "Intercept.", "Full cap.", "Cap. cost, CPU (s)")
    walls = ("Intercept., wall", "Full, wall", "Memory added (MiB)", "Runs")
    return "\n\n".join(
        (
            "### Extraction (the paper's Table 2)",
            table(("Workload", "Device", *sizes), second),
            "### Overhead (the paper's Tables 3 and 4)",
            table(("Workload", "Device", *costs, *walls), third),
            *_inner_loop(results),
        )
    )


def _inner_loop(results: dict[str, Row]) -> tuple[str, ...]:
    if LOOP not in results:
        return ()
    title = "### Inner loop (the paper's Table 6): an edit of llama.cpp's mmvq.cu, of two targets"
    return title, table(inner_loop.HEAD, inner_loop.lines(results[LOOP]["rows"]))


def write_document(text: str) -> None:
    document = DOCUMENT.read_text()
    head, rest = document.split(BEGIN, 1)
    DOCUMENT.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.split(END, 1)[1]}")


@contextmanager
def application(name: str, base: Path, gpu: bool) -> Iterator[DevContainer]:
    app = catalog.load(_ROOT).app(name)
    options = ("--device", "/dev/kfd", "--device", "/dev/dri") if gpu else ()
    work = base / name
    work.mkdir()
    with running(catalog.image_name("apps", app.name), app.suite, _ROOT, base, work, options=options) as container:
        if name == "llama":
            container.run(["python3", _ROOT / "tests/apps/tiny_llama.py", work], check=True)
        yield container


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    default = "gpu" if Path("/dev/kfd").exists() else ",".join(f"vgpu:{target}" for target in TARGETS)
    parser.add_argument("--devices", default=default, help=f"joined by commas; here {default}")
    apps = list(dict.fromkeys(workload.app for workload in WORKLOADS))
    parser.add_argument("--apps", default=",".join(apps))
    parser.add_argument("--runs", type=int, default=3, help="of each kind, after one that is not counted (1: none)")
    arguments = parser.parse_args()
    results: dict[str, Row] = json.loads(SAVED.read_text()) if SAVED.is_file() else {}
    with tempfile.TemporaryDirectory(prefix="kerncap-evaluation-") as name:
        for app in arguments.apps.split(","):
            with application(app, Path(name), arguments.devices == "gpu") as container:
                for number, (device, workload) in enumerate(
                    (device, workload) for device in arguments.devices.split(",") for workload in of_app(app)
                ):
                    folder = container.work / str(number)
                    folder.mkdir()
                    programs = Programs(container, device)
                    row = {"name": workload.name, "device": device} | extraction(programs, workload, folder)
                    row |= overhead(programs, workload, folder, arguments.runs)
                    results[f"{workload.name} {device}"] = row
                    SAVED.write_text(json.dumps(results, indent=1))
                    print(tables({"": row}), flush=True)
                if app == "llama" and arguments.devices != "gpu" and mmvq_project.fetched():
                    rows = inner_loop.measure(container, list(mmvq_project.TARGETS), max(arguments.runs, 1))
                    results[LOOP] = {"rows": rows}
                    SAVED.write_text(json.dumps(results, indent=1))
    write_document(tables(results))
    print(tables(results))
    good = all(row["replay"] == "faithful" and row["idle"] == "differs" for key, row in results.items() if key != LOOP)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
