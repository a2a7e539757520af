"""What a person types after --when, and what is said when nothing met it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kerncap.capture.application import Order, no_match
from kerncap.capture.conditions import parse_conditions
from kerncap.capture.listing import read_listing
from kerncap.capture.selection import Selection
from kerncap.errors import UsageError
from kerncap.native import Device
from kerncap.verdict.types import F8_FORMATS, SHOWN_BYTES, element_type

_NATIVE = Path(__file__).resolve().parents[2] / "native" / "intercept"


def test_number_types_are_those_of_the_tool_library() -> None:
    """Names and sizes, and what C++ spellings mean: said here for the verdict, there for the condition."""
    source = (_NATIVE / "argument_types.cpp").read_text()
    rows = re.findall(r'\{NumberType::(\w+), "(\w+)", (\d)\}', source)
    # Floats of 8 bits are for the verdict alone.
    known = {kind: size for kind, size in SHOWN_BYTES.items() if kind not in F8_FORMATS}
    assert {word: int(size) for _, word, size in rows} == known
    words = {name: word for name, word, _ in rows}
    spelled = {text: words[name] for text, name in re.findall(r'\{"([^"]+)", NumberType::(\w+)\}', source)}
    here = {text: kind for text in spelled if (kind := element_type(f"{text}*")) is not None}
    assert len(here) > 20
    assert here == {text: spelled[text] for text in here}
    for kind in known:
        assert parse_conditions([f"arg[0]:{kind}>1"])[0].facts["type"] == kind


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("arg[3]>1000", {"kind": "argument", "argument": 3, "type": None, "compare": ">", "value": 1000}),
        (" arg[ n ] <= -0.5 ", {"kind": "argument", "argument": "n", "type": None, "compare": "<=", "value": -0.5}),
        ("arg[0]:u16==0xFFff", {"kind": "argument", "argument": 0, "type": "u16", "compare": "==", "value": 65535}),
        (
            "arg[p]!=18446744073709551615",
            {"kind": "argument", "argument": "p", "type": None, "compare": "!=", "value": (1 << 64) - 1},
        ),
        ("fault", {"kind": "fault"}),
        ("nan", {"kind": "nan", "type": None}),
        ("inf:bf16", {"kind": "inf", "type": "bf16"}),
        ("slower-than=2x", {"kind": "slower", "ratio": 2.0, "ns": None}),
        ("slower-than=1.25x", {"kind": "slower", "ratio": 1.25, "ns": None}),
        ("slower-than=3ms", {"kind": "slower", "ratio": None, "ns": 3_000_000}),
        ("slower-than=0.3us", {"kind": "slower", "ratio": None, "ns": 300}),
        ("arg[1]<1e3", {"kind": "argument", "argument": 1, "type": None, "compare": "<", "value": 1000.0}),
    ],
)
def test_conditions(text: str, facts: dict[str, Any]) -> None:
    (condition,) = parse_conditions([text])
    assert condition.control() == {"text": text.strip(), **facts}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "later",
        "arg[3]",
        "arg[-1]>1",
        "arg[+1]>1",
        "arg[]>1",
        "arg[3]=1",
        "arg[3]>",
        "arg[3]>x",
        "arg[3]>nan",
        "arg[3]>1e999",
        "arg[3]:f8>1",
        "arg[3]>18446744073709551616",
        "arg[3]<-9223372036854775809",
        "arg[3]>1 2",
        "faults",
        "nan:i32",
        "inf:",
        "slower-than",
        "slower-than=2",
        "slower-than=0x",
        "slower-than=-1ms",
        "slower-than=2 x",
        "slower-than=18446744074s",
        "arg[18446744073709551616]>1",
    ],
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_conditions([text])
    assert error.value.code == "usage.when"
    assert repr(text) in error.value.message
    assert error.value.hint


@pytest.mark.parametrize("text", ["arg[{}]>1", "arg[3]>{}", "slower-than={}s", "slower-than={}x"])
def test_more_digits_than_anybody_reads(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_conditions([text.format(5000 * "1")])
    assert error.value.code == "usage.when"
    assert len(error.value.message) < 200


def test_not_too_many() -> None:
    assert len(parse_conditions(["arg[0]>1"] * 64)) == 64
    with pytest.raises(UsageError):
        parse_conditions(["arg[0]>1"] * 65)


def seen(when: dict[str, Any]) -> dict[str, Any]:
    launch = {
        "name": "k",
        "demangled": "k(int)",
        "grid": [8, 1, 1],
        "workgroup": [8, 1, 1],
        "dispatches": 20,
        "first": 0,
    }
    return {
        "pid": 7,
        "queues": 1,
        "dispatches": 20,
        "kernels": [{"name": "k", "demangled": "k(int)", "dispatches": 20, "matched": True}],
        "launches": [launch],
        "launches_whole": True,
        "when": when,
    }


@pytest.mark.parametrize(
    ("dispatch", "met", "said", "hint"),
    [
        (0, 0, "none met arg[0]>1000 or arg[1]==2; ", "--when"),
        (
            5,
            3,
            "3 met arg[0]>1000 or arg[1]==2, so that --dispatch 5",
            "--dispatch 2",
        ),
    ],
)
def test_when_nothing_met_it(tmp_path: Path, dispatch: int, met: int, said: str, hint: str) -> None:
    closest = [
        {"predicate": "arg[0]>1000", "value": 900, "unit": ""},
        {"predicate": "arg[1]==2", "value": None, "unit": ""},
        {"predicate": "slower-than=2x", "value": 1.23456, "unit": "x"},
    ]
    document = seen({"candidates": 20, "met": met, "missed": 4, "closest": closest})
    (tmp_path / "seen-7.json").write_text(json.dumps(document))
    selection = Selection("k", dispatch=dispatch, when=parse_conditions(["arg[0]>1000", "arg[1]==2"]))
    order = Order(selection, ("./app",), Device("vgpu", target="gfx942"))
    error = no_match(order, read_listing(tmp_path), "exited with 0")
    assert (error.code, error.exit_code) == ("capture.no-such-dispatch", 5)
    assert error.message.startswith(f"of 20 dispatches of 'k' that were looked at, {said}")
    closest = "closest was arg[0]>1000: 900, slower-than=2x: 1.23x; "
    assert f"4 more could not be looked at; {closest}the application exited with 0" in error.message
    assert error.hint is not None
    assert hint in error.hint
