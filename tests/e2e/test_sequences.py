"""Several dispatches of one queue captured as one: launched one by one, as a HIP graph, and what breaks a sequence."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from workbench import Workbench

TARGET = "gfx942"
DEVICE = ("--device", f"vgpu:{TARGET}")
CHAIN = ["stretch", "accumulate", "mix"]


def extract(workbench: Workbench, out: Path, mode: str, *options: str) -> Path:
    done = workbench.kerncap("extract", *options, "-o", out, *DEVICE, "--", workbench.program("sequence"), mode)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EXIT-SUCCESS" in done.stdout
    assert "faithful" in done.stdout, done.stdout
    return out


def kernels(workbench: Workbench, bundle: Path) -> list[str]:
    document = json.loads(workbench.kerncap("inspect", bundle, "--json").stdout)
    return [step["kernel"]["demangled"].partition("(")[0] for step in document["sequence"]]


def read(reproducer: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((reproducer / "capture" / "capture.json").read_text())
    return document


@pytest.fixture(scope="module")
def chain(workbench: Workbench) -> Path:
    """stretch, accumulate, mix with the state behind each."""
    out = workbench.work / "sequence-each.kcap"
    return extract(workbench, out, "stream", "--range", "stretch..mix", "--post", "each")


@pytest.mark.parametrize("mode", ["stream", "timed", "graph"])
def test_a_range_of_kernels(workbench: Workbench, tmp_path: Path, mode: str) -> None:
    """`timed` measures with events between them, whose packets have completion signals of the application's."""
    reproducer = extract(workbench, tmp_path / "range.kcap", mode, "--range", "stretch..mix")
    assert kernels(workbench, reproducer) == CHAIN
    capture = read(reproducer)
    assert capture["consistency"] == {"state": "consistent", "reasons": []}
    assert capture["sequence"]["states"] == "end"
    assert capture["timing"]["dispatch_ns"] > 0
    barriers = [barrier for step in capture["sequence"]["later"] for barrier in step["barriers_before"]]
    assert bool(barriers) == (mode == "timed")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # The dispatches of other kernels between them belong to it.
        (("stretch", "--dispatches", "0..1"), [*CHAIN, "stretch"]),
        # The first dispatch of this queue is fill.
        (("--dispatches", "1..3"), CHAIN),
        (("--range", "mix..mix"), ["mix", *CHAIN]),
    ],
)
def test_numbers_of_dispatches(
    workbench: Workbench, tmp_path: Path, options: tuple[str, ...], expected: list[str]
) -> None:
    assert kernels(workbench, extract(workbench, tmp_path / "some.kcap", "stream", *options)) == expected


def test_each_dispatch_alone(workbench: Workbench, chain: Path) -> None:
    whole = workbench.verdict("replay", chain, *DEVICE)
    alone = [workbench.verdict("replay", chain, "--only", str(number), *DEVICE) for number in range(3)]
    assert [verdict["verdict"] for verdict in (whole, *alone)] == ["faithful"] * 4
    assert [verdict["kernel"].partition("(")[0] for verdict in alone] == CHAIN
    assert whole["timing_ns"][0] >= sum(verdict["timing_ns"][0] for verdict in alone) * 0.5
    hsaco = workbench.variant("sequence", TARGET, "nothing")
    assert workbench.verdict("replay", chain, "--only", "0", "--hsaco", hsaco, *DEVICE)["verdict"] == "differs"
    # What the variant leaves out is another kernel's work.
    assert workbench.verdict("replay", chain, "--only", "1", "--hsaco", hsaco, *DEVICE)["verdict"] == "equivalent"


def test_another_kernel_or_another_order_differs(workbench: Workbench, chain: Path, tmp_path: Path) -> None:
    right = workbench.variant("sequence", TARGET, "wrong-constant").with_name("sequence-right.hsaco")
    argv = ["hipcc", f"--offload-arch={TARGET}", "--cuda-device-only", "--no-gpu-bundle-output", "-O1"]
    workbench.container.run([*argv, workbench.sources / "sequence.hip", "-o", right], check=True)
    assert workbench.verdict("validate", chain, "--hsaco", right, *DEVICE)["verdict"] == "equivalent"
    for variant in ("nothing", "wrong-constant"):
        hsaco = workbench.variant("sequence", TARGET, variant)
        verdict = workbench.verdict("validate", chain, "--hsaco", hsaco, "--kernel", "stretch", *DEVICE)
        assert verdict["verdict"] == "differs"
    swapped = tmp_path / "swapped.kcap"
    workbench.container.run(["cp", "-r", chain, swapped], check=True)
    capture = read(swapped)
    capture["sequence"]["later"].reverse()
    (swapped / "capture" / "capture.json").write_text(json.dumps(capture))
    assert workbench.verdict("replay", swapped, *DEVICE)["verdict"] == "differs"


def test_sealed_and_unpacked_again(workbench: Workbench, chain: Path, tmp_path: Path) -> None:
    sealed, again = tmp_path / "chain.kcap.tar", tmp_path / "again.kcap"
    for argv in (("pack", chain, "-o", sealed), ("verify", sealed, "--deep"), ("unpack", sealed, again)):
        done = workbench.kerncap(*argv)
        assert done.returncode == 0, done.stdout + done.stderr
    assert read(again)["sequence"] == read(chain)["sequence"]
    assert workbench.verdict("replay", sealed, *DEVICE)["verdict"] == "faithful"
    assert workbench.verdict("replay", sealed, "--only", "2", *DEVICE)["verdict"] == "faithful"


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("sync", "1 was there, none behind the first of 'mix', and then: the application submitted no more for 5 s"),
        ("copy", "a copy that the application starts waits for one of them"),
        ("event", "waits for work outside of its queue"),
        ("host", "the host does something between them that the next waits for"),
    ],
)
def test_what_is_no_sequence_is_refused_and_the_application_goes_on(
    workbench: Workbench, tmp_path: Path, mode: str, why: str
) -> None:
    out = tmp_path / "none.kcap"
    program = workbench.program("sequence")
    said = workbench.error(5, "extract", "--range", "stretch..mix", "-o", out, *DEVICE, "--", program, mode)
    assert "EXIT-SUCCESS" in said["stdout"]
    assert "capture.sequence-broken" in said["stderr"]
    assert why in said["stderr"]
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "hint", "there"),
    [
        (("--range", "stretch..nothing"), "--range 'stretch(int*, int)..mix(int*, int const*, int)'", CHAIN),
        # The second stretch is the last one.
        (("stretch", "--dispatches", "0..5"), "--dispatches 0..1", [*CHAIN, "stretch"]),
        (("--range", "mix..stretch", "--dispatch", "1"), "kerncap extract KERNEL --dispatch 1", []),
    ],
)
def test_the_hint_leads_to_what_was_there(
    workbench: Workbench, tmp_path: Path, options: tuple[str, ...], hint: str, there: list[str]
) -> None:
    out = tmp_path / "there.kcap"
    said = workbench.error(5, "extract", *options, "-o", out, *DEVICE, "--", workbench.program("sequence"), "stream")
    assert f"\nhint: {hint}  # " in said["stderr"], said["stderr"]
    kernel = options[:1] if not options[0].startswith("-") else ()
    if there:
        assert kernels(workbench, extract(workbench, out, "stream", *kernel, *shlex.split(hint))) == there


def test_only_needs_the_states_between(workbench: Workbench, tmp_path: Path) -> None:
    reproducer = extract(workbench, tmp_path / "end.kcap", "graph", "--range", "stretch..mix")
    assert "usage.no-states" in workbench.error(2, "replay", reproducer, "--only", "1", *DEVICE)["stderr"]
    assert "usage.check-sequence" in workbench.error(2, "replay", reproducer, "--check", "race", *DEVICE)["stderr"]


@pytest.mark.parametrize("states", ["end", "each"])
def test_a_dispatch_that_faults_in_the_middle(workbench: Workbench, tmp_path: Path, states: str) -> None:
    out = tmp_path / "fault.kcap"
    argv = ("extract", "--range", "stretch..mix", "--post", states, "-o", out, *DEVICE)
    done = workbench.kerncap(*argv, "--", workbench.program("sequence"), "fault")
    assert done.returncode == 0, done.stdout + done.stderr
    capture = read(out)
    assert capture["outcome"] == {"status": "fault", "fault_va": 0x7A5500000000, "step": 1}
    assert capture["sequence"]["states"] == "end"
    assert workbench.verdict("replay", out, *DEVICE)["verdict"] == "faithful"


def test_a_copy_that_the_runtime_does_with_a_kernel_is_a_dispatch(
    workbench: Workbench, suite: str, tmp_path: Path
) -> None:
    """HIP 5.7.1 gives every copy to a copy engine. The kernels of HIP 6.4.3 are for other features of the target."""
    out = tmp_path / "small.kcap"
    if suite == "trixie":
        program = workbench.program("sequence")
        argv = ("extract", "--range", "stretch..mix", "-o", out, *DEVICE, "--", program, "small")
        assert "a copy that the application starts" in workbench.error(5, *argv)["stderr"]
        return
    extract(workbench, out, "small", "--range", "stretch..mix")
    assert len(kernels(workbench, out)) > len(CHAIN)
    hsaco = workbench.variant("sequence", TARGET, "wrong-constant")
    said = workbench.error(2, "replay", out, "--hsaco", hsaco, *DEVICE)["stderr"]
    assert "usage.which-kernel" in said
    verdict = workbench.verdict("replay", out, "--hsaco", hsaco, "--kernel", "stretch", *DEVICE)
    assert verdict["verdict"] == "differs"
