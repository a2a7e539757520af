"""The paper's Table 6 again: an edit of a kernel in its project against the same edit in its reproducer.

In: a container of the image `llama` with mul_mat_vec_q's project (tests/apps/mmvq_project.py). Out: a row for each
target. Called by evaluation.py. The project: its file compiled for all its targets, linked, the program run. The
reproducer: `kerncap recompile` on this machine's sandbox, and `kerncap replay` of the variant; or both in one session
(`kerncap.Session`), whose memory stays on the device. Wall times, each the median of several edits.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mmvq_project
from containers import DevContainer
from mmvq_project import Project

_ROOT = Path(__file__).resolve().parents[1]
Row = dict[str, Any]

# In the container: one load, then a verdict for each of argv[3:].
_SESSION = """
import json, sys, time
from kerncap import Session
took = []
with Session(sys.argv[1], device=sys.argv[2]) as session:
    session.evaluate()
    for hsaco in sys.argv[3:]:
        started = time.monotonic()
        assert session.evaluate(hsaco, iterations=1).verdict == "equivalent"
        took.append(time.monotonic() - started)
print(json.dumps(took))
"""


def timed(action: Callable[[], object]) -> float:
    started = time.monotonic()
    action()
    return time.monotonic() - started


def measure(container: DevContainer, targets: list[str], rounds: int) -> list[Row]:
    project = mmvq_project.make(container)
    return [_row(container, project, target, rounds) for target in targets]


def _row(container: DevContainer, project: Project, target: str, rounds: int) -> Row:
    device = ("--device", f"vgpu:{target}")
    made = container.work / f"loop-{target}.kcap"
    kerncap = ("python3", "-m", "kerncap")
    source = ("--source-dir", project.source, "--compile-db", project.database)
    argv = [*kerncap, "extract", "mul_mat_vec_q", "-o", made, *device, *source, "--", project.program]
    container.run(argv, check=True, timeout_s=900)
    carried = made / "src" / "root" / str(project.kernel_file).lstrip("/")
    device_environment = {
        "KERNCAP_VGPU": target,
        "LD_PRELOAD": str(container.native_dir / "libkerncap-vgpu.so"),
    }
    times: dict[str, list[float]] = {"build": [], "run": [], "recompile": [], "replay": []}
    variants = []
    for number in range(rounds):
        # New code, so that no cache of the compiler's results has it.
        edit = f"\n__device__ int edit_{target}_{number}(int x) {{ return x + {number}; }}\n"
        for file in (project.kernel_file, carried):
            file.write_text(file.read_text() + edit)
        times["build"].append(timed(lambda: mmvq_project.rebuild(container, project)))
        program = ["bash", "-c", '"$@"', "-", project.program]
        times["run"].append(timed(lambda argv=program: container.run(argv, env=device_environment, check=True)))
        variant = made.with_suffix(f".{number}.hsaco")
        times["recompile"].append(timed(lambda out=variant: _recompile(made, out)))
        replay = [*kerncap, "replay", made, "--hsaco", variant, *device]
        times["replay"].append(timed(lambda argv=replay: container.run(argv, check=True)))
        variants.append(variant)
    said = container.run(["python3", "-c", _SESSION, made, device[1], *variants], check=True, timeout_s=900)
    row: Row = {what: statistics.median(took) for what, took in times.items()}
    return row | {"target": target, "session": statistics.median(json.loads(said.stdout)), "rounds": rounds}


def _recompile(bundle: Path, output: Path) -> None:
    command = [sys.executable, "-m", "kerncap", "recompile", str(bundle), "-o", str(output)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(_ROOT)})


def lines(rows: list[Row]) -> list[tuple[str, ...]]:
    """The table's rows; sums and ratios are of what is shown."""
    out = []
    for row in rows:
        project, kerncap = row["build"] + row["run"], row["recompile"] + row["replay"]
        warm = row["recompile"] + row["session"]
        seconds = (row["build"], row["run"], row["recompile"], row["replay"], row["session"])
        ratios = (f"{project / kerncap:.1f}x", f"{project / warm:.1f}x")
        out.append((f"vgpu:{row['target']}", *(f"{value:.1f}" for value in seconds), *ratios))
    return out


HEAD = (
    "Device",
    "Project: build (s)",
    "run (s)",
    "Kerncap: recompile (s)",
    "replay (s)",
    "verdict in a session (s)",
    "Speed-up, replay",
    "Speed-up, session",
)
