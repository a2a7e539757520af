"""Captures that cannot be: each has its exit code, a message with a hint, and leaves nothing under a final name."""

from __future__ import annotations

from pathlib import Path

import pytest
from containers import UNKNOWN_TARGETS
from workbench import Workbench

DEVICE = ("--device", "vgpu:gfx942")


def nothing_left(folder: Path) -> bool:
    return sorted(p.name for p in folder.iterdir()) == []


@pytest.fixture
def place(workbench: Workbench, request: pytest.FixtureRequest) -> Path:
    """An empty folder of this test, writable in the container."""
    folder = workbench.work / "places" / request.node.name.replace("/", "_")
    folder.mkdir(parents=True)
    return folder


def test_a_kernel_that_matches_nothing(workbench: Workbench, place: Path) -> None:
    program = workbench.program("pipeline")
    said = workbench.error(5, "extract", "vektor_add", "-o", place / "x.kcap", *DEVICE, "--", program)
    assert "vector_add(float const*, float const*, float*, int)" in said["stderr"]
    assert "100 dispatches" in said["stderr"] or "dispatches" in said["stderr"]
    assert "EXIT-SUCCESS" in said["stdout"]
    assert nothing_left(place)


def test_a_dispatch_that_is_never_reached(workbench: Workbench, place: Path) -> None:
    program = workbench.program("pipeline")
    argv = ["extract", "relu", "--dispatch", "20", "-o", place / "x.kcap", *DEVICE, "--", program]
    said = workbench.error(5, *argv)
    assert "20 times" in said["stderr"]
    assert nothing_left(place)


def test_a_target_that_the_runtimes_do_not_know(workbench: Workbench, place: Path) -> None:
    """trixie's HSA runtime leaves the GPU out; sid's has it, and its HIP does not."""
    program = workbench.program("vector_add")

    def said_on(exit_code: int, target: str) -> str:
        argv = ["extract", "vector_add", "-o", place / "x.kcap", "--device", f"vgpu:{target}", "--", program]
        return str(workbench.error(exit_code, *argv)["stderr"])

    if workbench.container.suite == "trixie":
        for target in sorted(UNKNOWN_TARGETS["trixie"]):
            said = said_on(3, target)
            assert f"it does not know the virtual GPU's target {target}" in said
            assert "gfx950: ROCm 6.4, gfx1201: ROCm 6.2; suite sid" in said
    else:
        said = said_on(5, "gfx950")
        assert "gfx950 needs an HSA runtime of ROCm 6.4 or newer (suite sid), and HIP 7" in said
    assert nothing_left(place)


@pytest.mark.parametrize("how", ["abort", "kill"])
def test_an_application_that_dies_in_mid_capture(workbench: Workbench, place: Path, how: str) -> None:
    program = workbench.program("big_buffer")
    said = workbench.error(5, "extract", "touch", "-o", place / "x.kcap", *DEVICE, "--", program, "256", how)
    assert {"abort": "SIGABRT", "kill": "SIGKILL"}[how] in said["stderr"]
    assert nothing_left(place)


@pytest.mark.parametrize("options", ["", "--when slower-than=1ns --budget 1000000000"])
def test_a_full_disk(workbench: Workbench, options: str) -> None:
    """Of stored memory, and of what is held before a dispatch that may meet a condition."""
    program = workbench.program("big_buffer")
    # /dev/shm of the container stands for a small disk: fill all of it but 24 MiB, then capture 64 MiB of noise there.
    script = (
        "set -e; d=/dev/shm/small; mkdir -p $d; free=$(df --output=avail -B1 /dev/shm | tail -1);"
        " fallocate -l $((free - 25165824)) /dev/shm/filler; set +e;"
        f" python3 -m kerncap extract touch -o $d/x.kcap --device vgpu:gfx942 {options} -- {program} 64; code=$?;"
        " rm /dev/shm/filler; ls -A $d; rm -r $d; exit $code"
    )
    done = workbench.container.run(["sh", "-c", script])
    assert done.returncode == 3, f"{done.stdout}\n{done.stderr}"
    assert "hint: -o DIR" in done.stderr
    assert "No space left on device [host.disk-full]" in done.stderr
    assert "kcap" not in done.stdout
    assert "EXIT-SUCCESS" in done.stdout


def test_an_existing_directory_is_not_overwritten(workbench: Workbench, place: Path) -> None:
    program = workbench.program("vector_add")
    (place / "x.kcap").mkdir()
    workbench.error(2, "extract", "vector_add", "-o", place / "x.kcap", *DEVICE, "--", program)
    assert list((place / "x.kcap").iterdir()) == []


def test_no_device(workbench: Workbench, place: Path) -> None:
    said = workbench.error(3, "extract", "vector_add", "-o", place / "x.kcap", "--", workbench.program("vector_add"))
    assert "vgpu:" in said["stderr"]
    assert nothing_left(place)


def test_an_application_without_a_gpu_in_it(workbench: Workbench, place: Path) -> None:
    workbench.error(5, "extract", "vector_add", "-o", place / "x.kcap", *DEVICE, "--", "true")
    assert nothing_left(place)


def test_an_application_that_does_not_exist(workbench: Workbench, place: Path) -> None:
    workbench.error(3, "extract", "vector_add", "-o", place / "x.kcap", *DEVICE, "--", "/no/such/program")
    assert nothing_left(place)


def test_the_applications_status_passes_on_request(workbench: Workbench, place: Path) -> None:
    program = workbench.program("vector_add")
    script = f"{program}; exit 7"
    argv = ["extract", "vector_add", "-o", place / "x.kcap", *DEVICE, "--propagate-exit", "--", "sh", "-c", script]
    done = workbench.kerncap(*argv)
    assert done.returncode == 7, done.stderr
    assert (place / "x.kcap" / "capture" / "capture.json").is_file()
