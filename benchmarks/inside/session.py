"""Times what a save costs in a session: compile and verdict. Called by benchmarks/source.py.

Usage: session.py REPRODUCER ROUNDS, in the dev image. The first verdict loads the bundle; the others are what counts.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from kerncap import Session
from kerncap.workflows.recompile import recompile_here


def main() -> None:
    folder, rounds = sys.argv[1], int(sys.argv[2])
    compiled, judged = [], []
    with Session(folder, device="vgpu:gfx942", timeout_s=600) as session, tempfile.TemporaryDirectory() as work:
        started = time.monotonic()
        session.evaluate()
        first = time.monotonic() - started
        for i in range(rounds):
            started = time.monotonic()
            hsaco = recompile_here(folder, Path(work, f"{i}.hsaco")).output
            compiled.append(time.monotonic() - started)
            started = time.monotonic()
            verdict = session.evaluate(hsaco)
            judged.append(time.monotonic() - started)
            assert verdict.verdict == "equivalent", verdict
    medians = {"compile_s": statistics.median(compiled), "judge_s": statistics.median(judged)}
    print(json.dumps({"first_s": first, **medians}))


main()
