"""Bisection of a list of images by what a stand-in says each comes to."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from matrix_cells import FakeRunner, cell

from kerncap.bundle.documents import validate
from kerncap.errors import KerncapError, UsageError
from kerncap.matrix import Cell
from kerncap.matrix.state import State, open_state
from kerncap.runtime.image_facts import version_key
from kerncap.workflows.matrix import Bisection, Step, bisect, image_range, judge_with

GOOD, BAD, SKIP = "faithful", "differs", "host.docker"


def cells(count: int) -> list[Cell]:
    return [cell(image=str(number)) for number in range(count)]


def search(outcomes: list[str], state: State | None = None) -> tuple[Bisection, FakeRunner, list[Step]]:
    runner = FakeRunner({str(number): word for number, word in enumerate(outcomes)})
    steps: list[Step] = []
    found = bisect(cells(len(outcomes)), judge_with(runner, state or State(None)), steps.append)
    if len(outcomes) < 9:  # it takes a while
        validate(found.to_json(), "printed", what="bisection")
    return found, runner, steps


@pytest.mark.parametrize("count", [2, 3, 4, 9, 33])
def test_every_place_is_found(count: int) -> None:
    for first in range(1, count):
        found, runner, steps = search([GOOD] * first + [BAD] * (count - first))
        assert (found.first_bad.cell.image, found.last_good.cell.image) == (str(first), str(first - 1))
        assert found.conclusive
        assert found.exit_code == 0
        assert len(runner.ran) == len(set(runner.ran)) <= 2 + math.ceil(math.log2(count))
        assert [step.result.cell.image for step in steps[:2]] == ["0", str(count - 1)]
        assert steps[-1].left == 0


def test_what_has_no_verdict_is_skipped() -> None:
    found, _, _ = search([GOOD, GOOD, SKIP, GOOD, GOOD, BAD, BAD, SKIP, BAD])
    assert found.conclusive
    assert found.first_bad.cell.image == "5"
    found, runner, steps = search([GOOD, GOOD, SKIP, SKIP, SKIP, BAD, BAD])
    assert (found.last_good.cell.image, found.first_bad.cell.image) == ("1", "5")
    assert [one.cell.image for one in found.skipped] == ["2", "3", "4"]
    assert found.to_json()["remaining"] == ["2", "3", "4", "5"]
    assert found.exit_code == 1
    assert {step.mark for step in steps} == {"good", "bad", "skip"}
    assert len(set(runner.ran)) == len(runner.ran)
    found, _, _ = search([GOOD, SKIP, BAD])
    assert found.to_json()["remaining"] == ["1", "2"]


def test_any_other_verdict_is_a_change() -> None:
    found, _, _ = search([BAD, BAD, "nondeterministic", GOOD, GOOD])
    assert found.first_bad.outcome == "nondeterministic"


def test_ends_that_do_not_differ_or_have_no_verdict() -> None:
    with pytest.raises(UsageError) as caught:
        search([GOOD, BAD, GOOD])
    assert caught.value.code == "usage.bisect"
    for outcomes, end in (([SKIP, GOOD, BAD], "--good 0"), ([GOOD, GOOD, SKIP], "--bad 2")):
        with pytest.raises(KerncapError) as other:
            search(outcomes)
        assert other.value.code == SKIP
        assert other.value.message.startswith(end)


def test_the_range_of_a_list() -> None:
    assert image_range(["a", "b", "c", "d"], "b", "d") == ["b", "c", "d"]
    assert image_range(["a", "b", "c", "d"], "c", "a") == ["c", "b", "a"]
    assert image_range(["b", "c"], "a", "d") == ["a", "b", "c", "d"]
    assert image_range(["a", "b", "b", "c"], "a", "c") == ["a", "b", "c"]
    assert image_range([], "a", "b") == ["a", "b"]
    assert image_range(["a", "b"], "x", "b") == ["x", "a", "b"]
    assert image_range(["a", "b"], "a", "x") == ["a", "b", "x"]
    assert image_range(["a", "b"], "b", "x") == ["b", "x"]
    with pytest.raises(UsageError):
        image_range(["a"], "a", "a")


def test_it_goes_on(tmp_path: Path) -> None:
    outcomes = [GOOD] * 5 + [BAD] * 4
    with open_state(tmp_path / "s.json", resume=False) as state:
        first, _, _ = search(outcomes, state)
    with open_state(tmp_path / "s.json", resume=True) as state:
        again, runner, steps = search(outcomes, state)
    assert runner.ran == []
    assert all(step.result.kept for step in steps)
    assert again.first_bad.cell.image == first.first_bad.cell.image == "5"
    assert again.first_bad.cell.line == "docker run 5"


def test_versions_are_ordered_as_numbers() -> None:
    texts = ["HSA runtime 6.1.2, HIP 5.7.1", "HSA runtime 6.4.3", "HSA runtime 6.10", "ROCm 7.0 on Ubuntu"]
    shuffled = [texts[2], texts[0], texts[3], texts[1]]
    assert sorted(shuffled, key=version_key) == texts
    assert version_key(None) == version_key("whatever") == ()
