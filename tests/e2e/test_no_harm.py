"""What a tool library might break in an application: each way once captured and once with nothing to capture.

The applications (tests/programs/no_harm.hip) check their own results; one that hangs runs into the time limit.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from captured_memory import CapturedMemory
from workbench import Workbench

TARGET = "gfx942"
DEVICE = ("--device", f"vgpu:{TARGET}")
# By name: kernel, dispatch, the reason that its state has for being best-effort, and whether a replay can end: a
# kernel that waits for another one waits for ever when it is alone.
WAYS = {
    "later-kernel": ("wait_then_target", 0, "other queues were let go", False),
    "later-store": ("wait_then_target", 0, None, False),
    "later-bystander": ("target", 0, "did not come to rest in time", True),
    "threads": ("target", 3, None, True),
    "signals": ("target", 0, None, True),
    "no-device-memory": ("target", 0, None, True),
    "spawn": ("target", 0, None, True),
    "library": ("plugin_target", 2, None, True),
}


def arguments(workbench: Workbench, way: str) -> list[str | Path]:
    program = workbench.program("no_harm")
    if way != "library":
        return [program, way]
    plugin = workbench.work / "plugin.so"
    if not plugin.exists():
        source = workbench.sources / "no_harm.hip"
        argv = ["hipcc", f"--offload-arch={TARGET}", "-O2", "-shared", "-fPIC", "-DPLUGIN", source, "-o", plugin]
        workbench.container.run(argv, check=True)
    return [program, way, plugin]


@pytest.mark.parametrize("way", WAYS)
def test_captured(workbench: Workbench, way: str) -> None:
    kernel, dispatch, reason, replays = WAYS[way]
    out = workbench.work / f"no-harm-{way}.kcap"
    argv = ["extract", kernel, "-o", out, *DEVICE, "--dispatch", str(dispatch), "--timeout", "120"]
    done = workbench.kerncap(*argv, "--self-check", "0", "--propagate-exit", "--", *arguments(workbench, way))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    memory = CapturedMemory(out / "capture")
    assert memory.integers(0, 64) == ([16] * 64, [48] * 64)
    reasons = memory.capture["consistency"]["reasons"]
    assert len(reasons) == (0 if reason is None else 1)
    assert reason is None or reason in reasons[0]
    if replays:
        assert workbench.verdict("replay", out)["verdict"] == "faithful"


@pytest.mark.parametrize("way", WAYS)
def test_nothing_to_capture(workbench: Workbench, way: str) -> None:
    argv = ["extract", "no_such_kernel", "-o", workbench.work / "none.kcap", *DEVICE, "--timeout", "60", "--"]
    said = workbench.error(5, *argv, *arguments(workbench, way))
    assert "EXIT-SUCCESS" in said["stdout"]
    assert "the application exited with 0" in said["stderr"]
    assert "capture.no-match" in said["stderr"]


def hsa_arguments(workbench: Workbench, way: str) -> list[str | Path]:
    """A program on the plain HSA runtime: no_harm_hsa.cpp, with kernels of vgpu_hsa_kernels.hip."""
    program, code = workbench.work / "no_harm_hsa", workbench.work / "no_harm_hsa.hsaco"
    if not program.exists():
        kernels = workbench.sources / "vgpu_hsa_kernels.hip"
        argv = ["hipcc", f"--offload-arch={TARGET}", "-O2", "--cuda-device-only", "--no-gpu-bundle-output"]
        workbench.container.run([*argv, kernels, "-o", code], check=True)
        argv = ["g++", "-std=c++20", workbench.sources / "no_harm_hsa.cpp", "-o", program, "-lhsa-runtime64"]
        workbench.container.run(argv, check=True)
    return [program, code, way]


# By name: kernel, dispatch, and whether a replay can end: nobody says anything to the kernel that waits for the host.
HSA_WAYS = {
    "barrier_first": ("fill", "1", True),
    "failed_before": ("fill", "2", True),
    "fails_behind": ("fill", "2", True),
    "fails_meanwhile": ("fill_later", "0", False),
    "cooperative": ("fill", "1", True),
}


@pytest.mark.parametrize("way", HSA_WAYS)
def test_packets_and_errors_below_hip(workbench: Workbench, way: str) -> None:
    """A queue that failed is at rest: it neither delays the capture nor makes its state doubtful."""
    kernel, dispatch, replays = HSA_WAYS[way]
    out = workbench.work / f"no-harm-hsa-{way}.kcap"
    argv = ["extract", kernel, "-o", out, *DEVICE, "--dispatch", dispatch, "--self-check", "2" if replays else "0"]
    done = workbench.kerncap(*argv, "--propagate-exit", "--", *hsa_arguments(workbench, way))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    memory = CapturedMemory(out / "capture")
    assert memory.integers(0, 64) == ([16] * 64, [48] * 64)
    if replays:
        assert memory.capture["consistency"]["reasons"] == []
        assert workbench.verdict("replay", out)["verdict"] == "faithful"


def test_a_candidate_that_fails(workbench: Workbench) -> None:
    """Of those that are held until it is known which is meant: the others go on, and the application with them."""
    out = workbench.work / "no-harm-candidate.kcap"
    argv = ["extract", "*", "-o", out, *DEVICE, "--when", "slower-than=100000x", "--timeout", "30"]
    said = workbench.error(5, *argv, "--", *hsa_arguments(workbench, "failed_before"))
    assert "EXIT-SUCCESS" in said["stdout"]
    assert "HSA_STATUS_ERROR_EXCEPTION" in said["stderr"]
    assert not out.exists()


def test_an_end_that_runs_no_handlers(workbench: Workbench) -> None:
    """_exit: neither hsa_shut_down nor atexit; the dispatch had ended, so the capture had been taken."""
    out = workbench.work / "no-harm-plain.kcap"
    argv = ["extract", "target", "-o", out, *DEVICE, "--after", "stop", "--", *arguments(workbench, "plain")]
    done = workbench.kerncap(*argv)
    assert done.returncode == 0, done.stderr
    assert workbench.verdict("replay", out)["verdict"] == "faithful"


def test_two_processes_match_at_once(workbench: Workbench) -> None:
    """One of them captures, both are right."""
    program = workbench.program("no_harm")
    script = f"{program} threads & first=$!; {program} threads; second=$?; wait $first && exit $second"
    out = workbench.work / "no-harm-two.kcap"
    done = workbench.kerncap("extract", "target", "-o", out, *DEVICE, "--propagate-exit", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("EXIT-SUCCESS") == 2
    assert workbench.verdict("replay", out)["verdict"] == "faithful"


def test_no_memory_for_the_tool(workbench: Workbench) -> None:
    out = workbench.work / "no-harm-memory.kcap"
    said = workbench.error(3, "extract", "target", "-o", out, *DEVICE, "--", *arguments(workbench, "no-host-memory"))
    assert "EXIT-SUCCESS" in said["stdout"]
    assert "[host.memory]" in said["stderr"]
    assert not out.exists()


def test_no_descriptor_for_the_tool(workbench: Workbench) -> None:
    """Not even to say so in a file."""
    out = workbench.work / "no-harm-descriptors.kcap"
    said = workbench.error(3, "extract", "target", "-o", out, *DEVICE, "--", *arguments(workbench, "no-descriptors"))
    assert "EXIT-SUCCESS" in said["stdout"]
    assert "[host.descriptors]" in said["stderr"]
    assert "ulimit -n" in said["stderr"]
    assert not out.exists()


def test_no_device_memory_for_the_tool(workbench: Workbench) -> None:
    """Sealed all the same, with what could not be waited for named."""
    out = workbench.work / "no-harm-full.kcap"
    argv = [
        "extract",
        "target",
        "-o",
        out,
        "--device",
        f"vgpu:{TARGET},vram=256",
        "--propagate-exit",
        "--self-check",
        "0",
    ]
    done = workbench.kerncap(*argv, "--", *arguments(workbench, "full-device-memory"))
    assert done.returncode == 0, done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    memory = CapturedMemory(out / "capture")
    assert memory.integers(0, 64) == ([16] * 64, [48] * 64)
    assert memory.capture["consistency"]["reasons"] == ["GPU 0 has no memory left to wait for its copies with"]


RANKS = r"""
program=$1
for rank in 0 1 2; do
  OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=3 "$program" threads & pids="$pids $!"
done
status=0
for pid in $pids; do wait $pid || status=1; done
exit $status
"""


def ranks(workbench: Workbench, out: Path, *options: str) -> list[str | Path]:
    program = workbench.program("no_harm")
    return ["extract", "target", "-o", out, *DEVICE, *options, "--", "bash", "-c", RANKS, "-", program]


def test_every_rank(workbench: Workbench) -> None:
    out = workbench.work / "ranks-all.kcap"
    done = workbench.kerncap(*ranks(workbench, out, "--ranks", "all", "--json"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "kerncap.extracted-ranks/1"
    assert [one["rank"] for one in document["captures"]] == [0, 1, 2]
    assert [one["directory"] for one in document["captures"]] == [str(out / f"rank-{rank}") for rank in range(3)]
    assert sorted(path.name for path in out.iterdir()) == ["rank-0", "rank-1", "rank-2"]
    for one in document["captures"]:
        assert one["self_check"]["verdict"] == "faithful"
        shown = json.loads(workbench.kerncap("inspect", one["directory"], "--json").stdout)
        assert shown["rank"] == one["rank"]
    text = workbench.kerncap("inspect", out / "rank-2").stdout
    assert [line.split()[1] for line in text.splitlines() if line.startswith("rank")] == ["2"]


def test_one_rank(workbench: Workbench) -> None:
    out = workbench.work / "ranks-one.kcap"
    done = workbench.kerncap(*ranks(workbench, out, "--ranks", "1", "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rank"] == 1
    said = workbench.error(5, *ranks(workbench, workbench.work / "ranks-none.kcap", "--ranks", "7"))
    assert "no process had rank 7" in said["stderr"]
    assert "0, 1, 2" in said["stderr"]
    assert "capture.no-such-rank" in said["stderr"]
    workbench.error(2, *ranks(workbench, workbench.work / "ranks-none.kcap", "--ranks", "some"))
    assert not (workbench.work / "ranks-none.kcap").exists()


def test_the_first_rank_that_comes(workbench: Workbench) -> None:
    out = workbench.work / "ranks-first.kcap"
    done = workbench.kerncap(*ranks(workbench, out, "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rank"] in (0, 1, 2)
    assert done.stderr.count("EXIT-SUCCESS") == 3


def test_processes_without_a_rank(workbench: Workbench) -> None:
    out = workbench.work / "ranks-pids.kcap"
    script = '"$1" threads & "$1" threads; status=$?; wait $! && exit $status'
    argv = ["extract", "target", "-o", out, *DEVICE, "--ranks", "all", "--json", "--", "bash", "-c", script, "-"]
    done = workbench.kerncap(*argv, workbench.program("no_harm"))
    assert done.returncode == 0, done.stderr
    captures = json.loads(done.stdout)["captures"]
    assert [one["rank"] for one in captures] == [None, None]
    assert all(Path(one["directory"]).name.startswith("pid-") for one in captures)
