"""What a person types to say which dispatch is meant."""

from __future__ import annotations

import math

import pytest

from kerncap.capture.selection import Selection, dims_text, parse_dims
from kerncap.errors import UsageError


@pytest.mark.parametrize(
    ("text", "dims"),
    [("1024", (1024, 1, 1)), ("64x2", (64, 2, 1)), ("64,2,3", (64, 2, 3)), (" 7x1x1 ", (7, 1, 1)), (None, None)],
)
def test_dimensions(text: str | None, dims: tuple[int, int, int] | None) -> None:
    assert parse_dims("--grid", text) == dims


@pytest.mark.parametrize("text", ["", "x", "0", "64x0", "-1", "1x2x3x4", "64 2", "1e3", "٣", str(1 << 32), 5000 * "1"])
def test_what_is_no_dimension(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_dims("--grid", text)
    assert error.value.code == "usage.number"
    assert error.value.hint == "--grid 1024x1x1"


def test_what_the_control_file_says() -> None:
    wanted = Selection("k", "glob", 3, (64, 2, 1), None, 1.5)
    assert wanted.control() == {
        "kernel": "k",
        "match": "glob",
        "dispatch": 3,
        "grid": [64, 2, 1],
        "workgroup": None,
        "after_ms": 1.5,
        "when": [],
        "budget_bytes": None,
        "trials": False,
    }
    assert wanted.accepts((64, 2, 1), (8, 8, 8))
    assert not wanted.accepts((64, 1, 1), (8, 8, 8))
    assert wanted.geometry == " with grid 64x2x1"
    assert dims_text((1, 2, 3)) == "1x2x3"
    assert Selection("k").geometry == ""


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"match": "fuzzy"}, "usage.match"),
        ({"dispatch": -1}, "usage.number"),
        ({"dispatch": 1 << 63}, "usage.number"),
        ({"after_ms": -0.5}, "usage.number"),
        ({"budget_bytes": 0}, "usage.number"),
        ({"budget_bytes": 1 << 63}, "usage.number"),
        ({"after_ms": math.nan}, "usage.number"),
        ({"after_ms": math.inf}, "usage.number"),
    ],
)
def test_what_no_tool_library_understands(more: dict[str, object], code: str) -> None:
    with pytest.raises(UsageError) as error:
        Selection("k", **more)  # type: ignore[arg-type]
    assert error.value.code == code
    assert error.value.hint
