"""One dispatch of a sequence as a bundle of its own, and which dispatches of a sequence were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.content import read_after, read_before
from kerncap.bundle.step import step_bundle
from kerncap.bundle.verify import verify
from kerncap.capture.selection import select_dispatches, select_range
from kerncap.cli.main import run
from kerncap.errors import UsageError
from kerncap.workflows.replay import replaced_kernel

_VALID = Path(__file__).resolve().parents[2] / "bundle_spec" / "conformance" / "valid"
BEFORE, AFTER = bytes(range(256)) * 16, bytes(reversed(range(256))) * 16


def sequence(name: str = "sequence-with-every-state") -> Bundle:
    """scale, scale, add: the second of them changes region 0; region 2 is a variable of the third one's code object."""
    return open_bundle(_VALID / f"{name}.kcap.tar")


def test_every_dispatch_has_its_own_state() -> None:
    bundle = sequence()
    states = [(BEFORE, BEFORE), (BEFORE, AFTER), (AFTER, AFTER)]
    for number, (before, after) in enumerate(states):
        alone = step_bundle(bundle, number)
        assert alone.capture.sequence is None
        assert alone.capture.kernel == bundle.capture.steps[number].kernel
        assert alone.capture.code_object == bundle.capture.steps[number].code_object
        assert (read_before(alone, 0, 0, 4096), read_after(alone, 0, 0, 4096)) == (before, after)
        assert len(alone.index.regions[0].post) == (1 if before != after else 0)
        assert alone.manifest_digest == bundle.manifest_digest


def test_a_variable_of_another_code_object_is_memory() -> None:
    bundle = sequence()
    kinds = [[region.kind for region in step_bundle(bundle, number).index.regions] for number in range(3)]
    assert kinds == [["pool", "variable", "pool"]] * 2 + [["pool", "pool", "variable"]]
    assert all(region.step == 0 for region in step_bundle(bundle, 2).index.regions)


@pytest.mark.parametrize(
    ("name", "number", "code"),
    [
        ("minimal", 0, "usage.no-sequence"),
        ("sequence", 0, "usage.no-states"),
        ("sequence-with-every-state", 3, "usage.number"),
        ("sequence-with-every-state", -1, "usage.number"),
    ],
)
def test_which_dispatch_is_refused(name: str, number: int, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        step_bundle(sequence(name), number)
    assert (refused.value.code, bool(refused.value.hint)) == (code, True)


def test_sealed_with_both_code_objects() -> None:
    bundle = sequence()
    assert bundle.config is not None
    assert bundle.config.requires == ("sequence",)
    assert bundle.manifest is not None
    assert len(bundle.manifest.hsacos) == 2
    assert verify(bundle, deep=True).problems == ()


def test_whose_code_object_a_variant_replaces() -> None:
    capture = sequence().capture
    assert replaced_kernel(capture, "add") == replaced_kernel(capture, "add(float*, int)") == "_Z3addPfi"
    for named, code in ((None, "usage.which-kernel"), ("mul", "usage.no-such-kernel")):
        with pytest.raises(UsageError) as refused:
            replaced_kernel(capture, named)
        assert (refused.value.code, refused.value.hint) == (code, "--kernel scale")
    assert replaced_kernel(sequence("minimal").capture, None) is None


def test_what_the_control_file_says_of_a_sequence() -> None:
    control = select_dispatches("3..5", "scale", "each", match="base").control()
    assert (control["kernel"], control["dispatch"]) == ("scale", 3)
    expected = {"count": 3, "last_kernel": None, "last_match": "base", "per_queue": False, "states": "each"}
    assert control["sequence"] == expected
    assert select_dispatches("0..1", "*", "end").control()["sequence"]["per_queue"] is True
    control = select_range("a::f..b::g", "end", dispatch=2).control()
    assert (control["kernel"], control["dispatch"], control["sequence"]["last_kernel"]) == ("a::f", 2, "b::g")


@pytest.mark.parametrize(
    ("text", "more", "code"),
    [
        ("3", {}, "usage.dispatches"),
        ("3..3", {}, "usage.dispatches"),
        ("5..3", {}, "usage.dispatches"),
        ("0..1024", {}, "usage.dispatches"),
        ("-1..3", {}, "usage.dispatches"),
        ("0..1", {"grid": (64, 1, 1)}, "usage.dispatches"),
    ],
)
def test_no_numbers_of_dispatches(text: str, more: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as refused:
        select_dispatches(text, "*", "end", **more)
    assert refused.value.code == code


@pytest.mark.parametrize("text", ["a", "a..", "..b", ""])
def test_no_range(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        select_range(text, "end")
    assert refused.value.code == "usage.range"
    with pytest.raises(UsageError) as refused:
        select_range("a..b", "some")
    assert refused.value.code == "usage.post"


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("--range", "a", "--", "./app", "--range"), "usage.range"),
        (("--dispatches", "3..3", "--device", "vgpu:gfx942", "--", "./app"), "usage.dispatches"),
        (("scale", "--range", "a..b", "--", "./app"), "usage.two-choices"),
        (("scale", "--dispatches", "0..1", "--dispatch", "4", "--", "./app"), "usage.two-choices"),
        (("--range", "a..b", "--when", "arg[0]>1", "--", "./app"), "usage.two-choices"),
        (("--range", "a..b", "--budget", "4096", "--", "./app"), "usage.option-alone"),
        (("--dispatches", "0..1", "--match", "glob", "--", "./app"), "usage.dispatches"),
        (("scale", "--post", "each", "--", "./app"), "usage.option-alone"),
        (("scale", "--post", "end", "--", "./app"), "usage.option-alone"),
        (("scale", "--budget", "4096", "--", "./app"), "usage.option-alone"),
        (("scale", "--ranks", 5000 * "1", "--", "./app"), "usage.ranks"),
        (("scale", "--budget", "4096", "--when", "arg[0]>1", "--", "./app"), "usage.option-alone"),
        # Without these options KERNEL must stand there.
        (("--device", "vgpu:gfx942", "--", "./app"), "usage.no-kernel"),
        (("--post", "each", "--", "./app", "--size", "3"), "usage.no-kernel"),
    ],
)
def test_the_kernel_may_be_left_out(argv: tuple[str, ...], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", *argv]) == 2
    said = capsys.readouterr().err
    assert code in said
    assert "hint: " in said


def test_help_before_the_application(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", "--help", "--", "./app"]) == 0
    assert "--dispatches A..B" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        ("trigger", "1", "scale", "--budget", "4096"),
        ("replay", "scale.kcap", "--kernel", "scale"),
        ("validate", "scale.kcap", "--kernel", "scale"),
        ("run", "scale.kcap", "--kernel", "scale"),
    ],
)
def test_options_that_say_something_of_another_one(argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(list(argv)) == 2
    said = capsys.readouterr().err
    assert "usage.option-alone" in said
    assert "hint: --" in said
