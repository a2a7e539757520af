"""Random programs, compiled for the virtual GPU and for the host, leave the same bits (tests/fuzz). Fixed seeds."""

from __future__ import annotations

import os

import pytest
from containers import DevContainer, known_targets

from kerncap.native import VGPU_TARGETS


def campaign(container: DevContainer, *argv: str, timeout_s: float) -> str:
    script = container.root / "tests" / "fuzz" / "campaign.py"
    command: list[str | os.PathLike[str]] = ["python3", "-B", script, "--native", container.native_dir, *argv]
    done = container.run(command, timeout_s=timeout_s)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def targets(container: DevContainer) -> int:
    """How many a campaign takes by itself."""
    return len(known_targets(container.suite, VGPU_TARGETS))


def test_a_few_random_programs(dev_container: DevContainer) -> None:
    """Every target; the levels take turns."""
    said = campaign(dev_container, "--seeds", "1:7", "--reduce", "60", timeout_s=600)
    assert f"campaign: {6 * targets(dev_container)} programs run, 0 failed" in said


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_many_random_programs_at_every_level(dev_container: DevContainer) -> None:
    """Some minutes; `make fuzz` is for hours."""
    said = campaign(dev_container, "--seeds", "1:9", "--all-levels", "--reduce", "120", timeout_s=3500)
    assert f"campaign: {8 * 6 * targets(dev_container)} programs run, 0 failed" in said


def test_a_difference_is_found_and_reduced(dev_container: DevContainer) -> None:
    """The campaign can fail: a host that counts bits wrongly is noticed, and what is printed is a short program."""
    script = dev_container.root / "tests" / "fuzz" / "campaign.py"
    argv = [
        "--seeds",
        "2:6",
        "--targets",
        "gfx942",
        "--levels",
        "O1",
        "--reduce",
        "60",
        "--host-define",
        "FUZZ_WRONG_HOST",
    ]
    command: list[str | os.PathLike[str]] = ["python3", "-B", script, "--native", dev_container.native_dir, *argv]
    done = dev_container.run(command, timeout_s=600)
    assert done.returncode == 1, f"{done.stdout}\n{done.stderr}"
    assert "gfx942 O1" in done.stdout
    assert "code.hsaco differs" in done.stdout
    assert "--- reduced program" in done.stdout
