"""How an application may end around a capture: by itself, by a signal, by `--after stop`, by the time limit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from workbench import Workbench

DEVICE = ("--device", "vgpu:gfx942")


@pytest.fixture
def place(workbench: Workbench, request: pytest.FixtureRequest) -> Path:
    """An empty folder of this test, writable in the container."""
    folder = workbench.work / "places" / request.node.name.replace("/", "_")
    folder.mkdir(parents=True)
    return folder


def extract(workbench: Workbench, output: Path, *words: str, kernel: str = "target") -> list[str | Path]:
    """The command line; `words` before `--` are options, the last one is the program's."""
    *options, how = words
    return ["extract", kernel, "-o", output, *DEVICE, *options, "--", workbench.program("application_end"), how]


def test_stop_ends_a_short_program_at_the_captured_dispatch(workbench: Workbench, place: Path) -> None:
    done = workbench.kerncap(*extract(workbench, place / "x.kcap", "--after", "stop", "plain"))
    assert done.returncode == 0, done.stderr
    assert "beyond the target" not in done.stdout
    assert "EXIT-SUCCESS" not in done.stdout
    assert "the application exited with 0" in done.stderr
    assert workbench.verdict("replay", place / "x.kcap")["verdict"] == "faithful"


def test_stop_at_a_late_dispatch(workbench: Workbench, place: Path) -> None:
    argv = extract(workbench, place / "x.kcap", "--dispatch", "40", "--after", "stop", "--json", "many")
    done = workbench.kerncap(*argv)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["match_index"] == 40
    assert document["consistency"] == {"consistent": True, "reasons": []}
    assert document["self_check"]["verdict"] == "faithful"
    assert document["application"] == {"returncode": 0, "status": "exited with 0"}
    # What the application had printed before is not lost.
    assert "launched 0\n" in done.stderr
    assert "beyond the target" not in done.stderr


def test_stop_ends_an_application_that_is_exiting(workbench: Workbench, place: Path) -> None:
    done = workbench.kerncap(*extract(workbench, place / "x.kcap", "--after", "stop", "--propagate-exit", "exit"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("how", ["exit", "quick-exit"])
def test_an_application_that_exits_in_mid_capture_is_kept(workbench: Workbench, place: Path, how: str) -> None:
    for number in range(3):
        done = workbench.kerncap(*extract(workbench, place / f"{number}.kcap", "--propagate-exit", how))
        assert done.returncode == 7, done.stderr
        assert (place / f"{number}.kcap" / "capture" / "capture.json").is_file()


def test_an_application_that_exits_before_the_target(workbench: Workbench, place: Path) -> None:
    for _ in range(4):
        said = workbench.error(5, *extract(workbench, place / "x.kcap", "exit-before"))
        assert "exited with 7" in said["stderr"]
        assert "step(int*)" in said["stderr"]
    assert list(place.iterdir()) == []


def test_a_program_that_execs_in_mid_capture(workbench: Workbench, place: Path) -> None:
    done = workbench.kerncap(*extract(workbench, place / "x.kcap", "exec"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("EXIT-SUCCESS") == 1


def test_a_fault_before_the_target_is_named(workbench: Workbench, place: Path) -> None:
    said = workbench.error(5, *extract(workbench, place / "x.kcap", "fault-before"))
    assert "0x123456789000" in said["stderr"]
    assert "before the dispatch that was to be captured" in said["stderr"]
    assert "[capture.device-stopped]" in said["stderr"]
    assert list(place.iterdir()) == []


def test_a_fault_after_the_target_does_no_harm(workbench: Workbench, place: Path) -> None:
    done = workbench.kerncap(*extract(workbench, place / "x.kcap", "fault-after"))
    assert done.returncode == 0, done.stderr
    assert "SIGABRT" in done.stderr
    assert workbench.verdict("replay", place / "x.kcap")["verdict"] == "faithful"


@pytest.mark.parametrize(("kernel", "how"), [("target", "forever-before"), ("forever", "forever-after")])
def test_a_kernel_that_never_ends(workbench: Workbench, place: Path, kernel: str, how: str) -> None:
    said = workbench.error(5, *extract(workbench, place / "x.kcap", "--timeout", "6", how, kernel=kernel))
    assert "within 6 s" in said["stderr"] or "in time" in said["stderr"]
    assert "--timeout 24" in said["stderr"]
    assert list(place.iterdir()) == []


def test_a_capture_outlives_a_kernel_that_never_ends(workbench: Workbench, place: Path) -> None:
    for limit_s in ("8", "60"):  # a busy machine may need longer to get as far as the kernel
        done = workbench.kerncap(*extract(workbench, place / "x.kcap", "--timeout", limit_s, "forever-after"))
        if "its capture is whole" in done.stderr:
            break
        assert list(place.iterdir()) == []
    assert done.returncode == 0, done.stderr
    assert "its capture is whole" in done.stderr
    assert workbench.verdict("replay", place / "x.kcap")["verdict"] == "faithful"


@pytest.mark.parametrize(
    ("how", "status"), [("_exit", "exited with 7"), ("abort", "SIGABRT"), ("fault-after", "SIGABRT")]
)
def test_a_profile_of_an_application_that_runs_no_handlers(workbench: Workbench, how: str, status: str) -> None:
    done = workbench.kerncap("profile", "--json", *DEVICE, "--", workbench.program("application_end"), how)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    calls = {kernel["kernel"].split("(")[0]: kernel["calls"] for kernel in document["kernels"]}
    assert (calls["step"], calls["target"]) == (1, 1)
    assert document["cut_short"] == 1
    assert status in done.stderr
    said = workbench.kerncap("profile", *DEVICE, "--", workbench.program("application_end"), how)
    assert "1 process did not come to an end" in said.stderr


def test_an_application_that_leaves_no_word(workbench: Workbench, place: Path) -> None:
    """_exit before anything was captured: that is no application without a GPU in it."""
    said = workbench.error(5, *extract(workbench, place / "x.kcap", "plain-exit", kernel="none"))
    assert "[capture.no-word]" in said["stderr"]
    assert "hint: kerncap profile " in said["stderr"]
    assert "EXIT-SUCCESS" in said["stdout"]


def test_a_profile_says_that_it_ended_the_application(workbench: Workbench) -> None:
    argv = ("profile", "--json", "--timeout", "6", *DEVICE, "--", workbench.program("application_end"), "many")
    done = workbench.kerncap(*argv)
    assert done.returncode == 0, done.stderr
    assert "the application was ended after 6 s" in done.stderr
    assert json.loads(done.stdout)["calls"] > 100


def test_a_daemon_is_named(workbench: Workbench, place: Path) -> None:
    """Its command ends at once. It goes on, undisturbed and unasked, and no tool writes into its output."""
    output = place / "said"
    script = f"{workbench.program('application_end')} daemon > {output} 2>&1"
    said = workbench.error(5, "extract", "target", "-o", place / "x.kcap", *DEVICE, "--", "sh", "-c", script)
    assert "left 1 process behind" in said["stderr"]
    assert "[capture.left-behind]" in said["stderr"]
    assert not (place / "x.kcap").exists()
    said = workbench.error(5, "profile", *DEVICE, "--", "sh", "-c", script)
    assert "[capture.left-behind]" in said["stderr"]
    workbench.container.run(
        ["sh", "-c", f"timeout 60 sh -c 'until grep -q EXIT {output}; do sleep 0.1; done'"], check=True
    )
    assert "EXIT-SUCCESS" in output.read_text()
    assert "kerncap" not in output.read_text()


def test_a_runtime_that_was_not_given_the_tool(workbench: Workbench, place: Path) -> None:
    script = f"HSA_TOOLS_LIB= {workbench.program('application_end')} plain"
    said = workbench.error(5, "extract", "target", "-o", place / "x.kcap", *DEVICE, "--", "sh", "-c", script)
    assert "EXIT-SUCCESS" in said["stdout"]
    assert "or not with HSA_TOOLS_LIB as it was given" in said["stderr"]


def test_a_pattern_is_checked_before_anything_is_started(workbench: Workbench, place: Path) -> None:
    for more in (["target("], ["--range", "step..target("], ["target[", "--list"]):
        output = [] if "--list" in more else ["-o", place / "x.kcap"]
        said = workbench.error(2, "extract", *more, "--match", "regex", *output, *DEVICE, "--", "touch", place / "ran")
        assert "[usage.pattern]" in said["stderr"]
        assert "not a regular expression" in said["stderr"]
    assert list(place.iterdir()) == []
