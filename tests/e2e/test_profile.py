"""`kerncap profile` and `extract --list` on real applications: what was counted and timed is what was dispatched."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

from vgpu_programs import Programs, passed
from workbench import Workbench

from kerncap.bundle.documents import validate

DEVICE = ("--device", "vgpu:gfx942")
PIPELINE = {"vector_scale", "bias_relu", "vector_add", "relu", "histogram"}
# HIP's own kernels: hipMemset, and in newer ones small copies.
OWN = "__amd_rocclr_"


def profile(workbench: Workbench, *argv: str | Path) -> tuple[dict[str, Any], str]:
    done = workbench.kerncap("profile", "--json", *argv)
    assert done.returncode == 0, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    validate(document, "printed", what="profile")
    return document, done.stderr


def test_every_dispatch_is_counted_and_timed(workbench: Workbench, tmp_path: Path) -> None:
    table = workbench.work / "kernels.csv"
    document, said = profile(workbench, *DEVICE, "--csv", table, "--", workbench.program("pipeline"))
    assert "EXIT-SUCCESS" in said
    assert "leaked" not in said  # by the runtime, of signals of the tool that are left when it shuts down
    assert (document["untimed"], document["processes"]) == (0, 1)
    kernels = {k["kernel"].split("(")[0]: k for k in document["kernels"]}
    assert document["calls"] == sum(k["calls"] for k in kernels.values())
    assert kernels[f"{OWN}fillBufferAligned"]["calls"] == 1
    kernels = {name: k for name, k in kernels.items() if not name.startswith(OWN)}
    assert set(kernels) == PIPELINE
    totals = [k["total_ns"] for k in document["kernels"]]
    assert totals == sorted(totals, reverse=True)
    for k in kernels.values():
        assert k["calls"] == k["timed"] == 20
        # The cost model: the same each time, give or take the clock's tick.
        assert 1000 <= k["min_ns"] <= k["mean_ns"] <= k["max_ns"] <= k["min_ns"] + 20
        assert k["total_ns"] == round(k["mean_ns"] * 20)
    assert abs(sum(k["share"] for k in document["kernels"]) - 1) < 1e-9
    assert document["total_ns"] == sum(k["total_ns"] for k in document["kernels"])
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [(r["Name"], int(r["TotalDurationNs"])) for r in rows] == [
        (k["kernel"], k["total_ns"]) for k in document["kernels"]
    ]
    again = workbench.kerncap("profile", "--import", table, "--json")
    assert json.loads(again.stdout)["total_ns"] == document["total_ns"]


def test_the_most_expensive_kernel_comes_first(workbench: Workbench) -> None:
    done = workbench.kerncap("profile", "-n", "2", *DEVICE, "--", workbench.program("pipeline"))
    assert done.returncode == 0, done.stderr
    first = re.search(r"^(\d+) dispatches of (\d+) kernels", done.stdout, re.MULTILINE)
    assert first, done.stdout
    assert int(first[1]) > 100
    assert f"and {int(first[2]) - 2} more kernels" in done.stdout
    assert "cost model" in done.stderr
    assert "kerncap extract" in done.stdout


def test_programs_that_wait_on_their_own_signals_run_as_without(programs: Programs, workbench: Workbench) -> None:
    """Time stamps, interrupts, callbacks and virtual memory through the signals of a plain HSA program."""
    sections = ("dispatch", "profiling", "interrupts", "virtual_memory", "scratch")
    alone = programs.run_hsa("gfx942", *sections)
    passed(alone)
    document, said = profile(workbench, *DEVICE, "--", programs.hsa, programs.kernels["gfx942"], *sections)
    assert "EXIT-SUCCESS" in said, said
    assert document["untimed"] == 0
    assert document["calls"] > 0


def test_hip_streams_events_and_graphs_run_as_without(programs: Programs, workbench: Workbench) -> None:
    document, said = profile(workbench, *DEVICE, "--", programs.hip)
    assert "EXIT-SUCCESS" in said, said
    assert document["untimed"] == 0


def test_what_a_selection_matches_is_listed_and_nothing_is_captured(workbench: Workbench) -> None:
    folder = workbench.work / "listed"
    folder.mkdir()
    argv = ("extract", "vector_*", "--list", "--json", *DEVICE, "--", workbench.program("pipeline"))
    done = workbench.kerncap(*argv, cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    validate(document, "printed", what="listing")
    assert (document["matched"], document["whole"]) == (40, True)
    assert document["dispatches"] > 100
    launches = {launch["kernel"].split("(")[0]: launch for launch in document["launches"]}
    assert set(launches) == {"vector_scale", "vector_add"}
    assert all(launch["grid"] == [1536, 1, 1] and launch["workgroup"] == [256, 1, 1] for launch in launches.values())
    assert (launches["vector_scale"]["first"], launches["vector_add"]["first"]) == (0, 1)
    assert launches["vector_add"]["dispatches"] == 20
    assert not any(folder.iterdir())


def test_a_geometry_that_never_came_is_answered_with_those_that_did(workbench: Workbench) -> None:
    argv = ("extract", "relu", "--match", "base", "--grid", "64", *DEVICE, "--", workbench.program("pipeline"))
    error = workbench.error(5, *argv)
    assert "of these 0 with grid 64x1x1" in error["stderr"]
    assert "grid 1536x1x1 workgroup 256x1x1" in error["stderr"]


def test_a_regular_expression_with_a_geometry(workbench: Workbench) -> None:
    out = workbench.work / "by-regex.kcap"
    argv = (
        "extract",
        "^(bias_)?relu",
        "--match",
        "regex",
        "--grid",
        "1536x1x1",
        "--workgroup",
        "256",
        "--launch-skip",
        "3",
    )
    done = workbench.kerncap(*argv, "-o", out, "--json", *DEVICE, "--", workbench.program("pipeline"))
    assert done.returncode == 0, done.stderr
    # bias_relu and relu take turns: the fourth of both together is the second relu.
    document = json.loads(done.stdout)
    assert (document["kernel"].split("(")[0], document["match_index"]) == ("relu", 3)


def test_dispatches_before_a_time_do_not_count(workbench: Workbench) -> None:
    argv = ("extract", "relu", "--after-ms", "3600000", *DEVICE, "--", workbench.program("pipeline"))
    error = workbench.error(5, *argv)
    assert "was dispatched 20 times, of these 0 from 3.6e+06 ms on" in error["stderr"]
    assert "--after-ms" in error["stderr"]
