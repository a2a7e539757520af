"""Captures of the first dispatch that meets a condition. Which one that is, and why, is fixed in the program."""

from __future__ import annotations

import json
import math
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from captured_memory import CapturedMemory
from on_demand import ask_server
from workbench import Workbench

DEVICE = ("--device", "vgpu:gfx942")
COUNT = 1000


def armed(workbench: Workbench, name: str, kernel: str, mode: str, *options: str) -> tuple[Path, dict[str, Any], Any]:
    """The reproducer, what extract printed, capture.json. The application came to its end as it does alone."""
    out = workbench.work / f"armed-{name}.kcap"
    argv = ["extract", kernel, "-o", out, *DEVICE, *options, "--json", "--", workbench.program("armed"), mode]
    done = workbench.kerncap(*argv)
    assert done.returncode == 0, done.stderr
    assert "EXIT-SUCCESS" in done.stderr
    return out, json.loads(done.stdout), json.loads((out / "capture" / "capture.json").read_text())


def refused(workbench: Workbench, kernel: str, mode: str, *options: str) -> str:
    out = workbench.work / "armed-refused.kcap"
    said = workbench.error(5, "extract", kernel, "-o", out, *DEVICE, *options, "--", workbench.program("armed"), mode)
    assert "EXIT-SUCCESS" in said["stdout"]
    assert not out.exists()
    return str(said["stderr"])


def floats(out: Path, count: int = COUNT, form: str = "f") -> tuple[list[float], list[float]]:
    """What the first argument pointed to, before and after."""
    memory = CapturedMemory(out / "capture")
    argument = memory.capture["kernarg"]["args"][0]
    start, size = argument["region_offset"], count * struct.calcsize(form)
    before, after = (data[start : start + size] for data in memory.region(argument["region"]))
    return list(struct.unpack(f"<{count}{form}", before)), list(struct.unpack(f"<{count}{form}", after))


@pytest.mark.parametrize(
    ("condition", "dispatch", "round_", "value"),
    [("arg[3]>7", 0, 8, 8), ("arg[3]>=7", 2, 9, 9), ("arg[4]==0", 0, 12, 0), ("arg[4]:f32<0.5", 1, 17, 0)],
)
def test_an_argument_by_its_value(workbench: Workbench, condition: str, dispatch: int, round_: int, value: int) -> None:
    name = f"argument-{round_}"
    out, document, capture = armed(workbench, name, "grow", "numbers", "--when", condition, "--dispatch", str(dispatch))
    argument = condition[4]
    assert capture["trigger"] == {"predicate": condition, "argument": f"argument {argument}", "value": value}
    assert document["trigger"] == capture["trigger"]
    assert capture["dispatch"]["match_index"] == round_
    before, after = floats(out, form="fe"[round_ % 2])
    assert before[1] == 1 + round_ // 2
    if value:
        assert after[1] == before[1] + 1
    inspected = workbench.kerncap("inspect", out)
    assert f"{condition} (argument {argument} is {value})" in inspected.stdout, inspected.stdout + inspected.stderr


def test_a_pointer_compares_as_an_address(workbench: Workbench) -> None:
    _, _, capture = armed(workbench, "pointer", "grow", "numbers", "--when", "arg[0]==1", "--when", "arg[0]>0x1000")
    assert capture["trigger"]["predicate"] == "arg[0]>0x1000"
    assert capture["trigger"]["value"] == int.from_bytes(bytes.fromhex(capture["kernarg"]["bytes"])[:8], "little")
    assert capture["dispatch"]["match_index"] == 0


def test_no_argument_meets_it(workbench: Workbench) -> None:
    said = refused(workbench, "grow", "numbers", "--when", "arg[3]>1000", "--when", "arg[4]<0")
    assert "of 20 dispatches of 'grow' that were looked at, none met arg[3]>1000 or arg[4]<0" in said
    assert "closest was arg[3]>1000: 19, arg[4]<0: 0" in said
    said = refused(workbench, "grow", "numbers", "--when", "arg[3]>17", "--dispatch", "2")
    assert "2 met arg[3]>17, so that --dispatch 2 was never reached" in said
    assert "hint: --dispatch 1" in said


def test_an_argument_that_is_not_there_or_of_unknown_type(workbench: Workbench) -> None:
    said = refused(workbench, "grow", "numbers", "--when", "arg[n]>3")
    assert "arg[n]>3: there is no such argument; arguments of void grow<float>(" in said
    assert "0: (float*), 1: (int const*), 2: (int), 3: (int), 4: (float) [capture.predicate]" in said
    said = refused(workbench, "grow_plain", "numbers", "--when", "arg[1]>3")
    assert "it is not known which number argument 1 is; arguments of grow_plain: 0: (8 bytes of unknown type)" in said
    _, _, capture = armed(workbench, "plain", "grow_plain", "numbers", "--when", "arg[1]:i32==1000", "--dispatch", "3")
    assert capture["dispatch"]["match_index"] == 3
    assert workbench.verdict("replay", workbench.work / "armed-plain.kcap", *DEVICE)["verdict"] == "faithful"


@pytest.mark.parametrize("condition", ["slower-than=2x", "slower-than=50us"])
def test_a_dispatch_that_is_slower_than_others(workbench: Workbench, condition: str) -> None:
    out, _, capture = armed(workbench, condition[-2:], "spin", "slow", "--when", condition)
    trigger = capture["trigger"]
    assert trigger["predicate"] == condition
    assert trigger["dispatch_ns"] == capture["timing"]["dispatch_ns"] > 50_000
    assert trigger["candidates"] == 15
    if condition.endswith("x"):
        assert 0 < trigger["median_ns"] * 2 < trigger["dispatch_ns"]
    assert capture["dispatch"]["match_index"] == 14
    # The state before it, not that before the first.
    value = 0
    for round_ in range(14):
        for i in range(400 + round_):
            value = (value * 3 + i) & 0xFFFFFFFF
    before, _ = CapturedMemory(out / "capture").integers(0, 64)
    assert before[0] & 0xFFFFFFFF == value
    assert workbench.verdict("replay", out, *DEVICE)["verdict"] == "faithful"


def test_no_dispatch_is_that_slow(workbench: Workbench) -> None:
    said = refused(workbench, "spin", "slow", "--when", "slower-than=1000x", "--when", "fault")
    assert "of 20 dispatches of 'spin' that were looked at, none met slower-than=1000x or fault" in said
    found = re.search(r"closest was slower-than=1000x: ([0-9.e+]+)x;", said)
    assert found, said
    assert 2 < float(found[1]) < 1000


def test_a_dispatch_that_faults(workbench: Workbench) -> None:
    out = workbench.work / "armed-fault.kcap"
    argv = ["extract", "grow", "-o", out, *DEVICE, "--when", "fault", "--", workbench.program("armed"), "fault"]
    done = workbench.kerncap(*argv)
    assert done.returncode == 0, done.stderr
    assert "Memory access fault" in done.stderr
    memory = CapturedMemory(out / "capture")
    assert memory.capture["outcome"] == {"status": "fault", "fault_va": 0x123456789000}
    assert memory.capture["trigger"] == {"predicate": "fault", "first_va": 0x123456789000, "candidates": 10}
    assert memory.capture["dispatch"]["match_index"] == 9
    assert workbench.verdict("replay", out)["verdict"] == "faithful"
    hsaco = workbench.variant("armed", "gfx942", "nothing")
    assert workbench.verdict("validate", out, "--hsaco", hsaco)["verdict"] == "differs"


def test_a_fault_that_is_no_condition(workbench: Workbench) -> None:
    out = workbench.work / "armed-other.kcap"
    argv = [
        "extract",
        "grow",
        "-o",
        out,
        *DEVICE,
        "--when",
        "slower-than=9x",
        "--",
        workbench.program("armed"),
        "fault",
    ]
    said = workbench.error(5, *argv)["stderr"]
    assert "ended with a memory fault, which is none of the conditions; the virtual GPU had stopped" in said
    assert "hint: --when fault" in said
    assert not out.exists()


@pytest.mark.parametrize(
    ("condition", "dispatch", "round_", "type_", "count"),
    [("nan", 0, 12, "f32", 1), ("nan", 1, 17, "f16", 1), ("inf", 0, 12, "f32", 999), ("inf", 1, 17, "f16", 999)],
)
def test_numbers_that_become_nan_or_infinite(
    workbench: Workbench, condition: str, dispatch: int, round_: int, type_: str, count: int
) -> None:
    name = f"{condition}-{dispatch}"
    out, _, capture = armed(workbench, name, "grow", "numbers", "--when", condition, "--dispatch", str(dispatch))
    pointer = int.from_bytes(bytes.fromhex(capture["kernarg"]["bytes"])[:8], "little")
    assert capture["trigger"] == {
        "predicate": condition,
        "argument": "argument 0",
        "type": type_,
        "count": count,
        "first_va": pointer + (0 if condition == "nan" else struct.calcsize("f" if type_ == "f32" else "e")),
        "candidates": round_ + 1,
    }
    assert capture["dispatch"]["match_index"] == round_
    assert capture["consistency"] == {"state": "consistent", "reasons": []}
    before, after = floats(out, form="f" if type_ == "f32" else "e")
    assert before[:2] == [0, 1 + round_ // 2]
    assert math.isnan(after[0])
    assert math.isinf(after[1])
    assert workbench.verdict("replay", out, *DEVICE)["verdict"] == "faithful"
    hsaco = workbench.variant("armed", "gfx942", "nothing")
    assert workbench.verdict("validate", out, "--hsaco", hsaco, *DEVICE)["verdict"] == "differs"


def test_pointers_of_unknown_type(workbench: Workbench) -> None:
    said = refused(workbench, "grow_plain", "numbers", "--when", "nan")
    assert "no argument of grow_plain is known to point to floats that it may store" in said
    assert "hint: --when nan:f32" in said
    # Pointers that are known to lead to something else are no floats, whatever those of unknown type lead to.
    for condition in ("nan", "nan:f32"):
        said = refused(workbench, "spin", "slow", "--when", condition)
        assert "no argument of spin(" in said
        assert "hint: --when slower-than=2x" in said
    _, _, capture = armed(workbench, "plain-nan", "grow_plain", "numbers", "--when", "nan:f32", "--when", "inf:f64")
    assert capture["dispatch"]["match_index"] == 3
    assert capture["trigger"]["count"] == 1


def test_any_of_several_and_streams_that_wait(workbench: Workbench) -> None:
    """Candidates in two queues, and a third that waits for both: nothing is torn, nothing waits for ever."""
    conditions = ("--when", "inf", "--when", "nan", "--when", "arg[3]==13", "--when", "slower-than=100x")
    out, _, capture = armed(workbench, "streams", "grow", "streams", *conditions)
    assert capture["trigger"]["predicate"] in {"inf", "arg[3]==13"}
    assert capture["dispatch"]["match_index"] in {12, 13}
    assert capture["consistency"] == {"state": "consistent", "reasons": []}
    assert workbench.verdict("replay", out, *DEVICE)["verdict"] == "faithful"


def test_the_application_is_ended_at_it(workbench: Workbench) -> None:
    out = workbench.work / "armed-stop.kcap"
    argv = ["extract", "grow", "-o", out, *DEVICE, "--when", "nan", "--after", "stop", "--json"]
    done = workbench.kerncap(*argv, "--", workbench.program("armed"), "numbers")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["application"]["returncode"] == 0
    assert document["match_index"] == 12
    assert "EXIT-SUCCESS" not in done.stderr


def test_a_budget_that_is_too_small(workbench: Workbench) -> None:
    said = refused(workbench, "grow", "numbers", "--when", "nan", "--budget", "5000")
    assert "[capture.budget]" in said
    assert "and at most 5000 may be held" in said


_ON_DEMAND = """
ask never tick --when slower-than=1000x --timeout 3 -o never.kcap
ask argument tick --when 'arg[1]==1000' --self-check 0 -o argument.kcap
ask slow tock --when slower-than=1ns --dispatch 3 --self-check 0 -o slow.kcap
"""


def test_on_demand(workbench: Workbench) -> None:
    work = workbench.work / "armed-attach"
    said = ask_server(workbench, work, _ON_DEMAND)
    codes = {name: code for name, (code, _, _) in said.items()}
    assert codes == {"server": 0, "never": 5, "argument": 0, "slow": 0}, said
    assert "EXIT-SUCCESS" in said["server"][1]
    never = said["never"][2]
    assert re.search(r"of [0-9]+ dispatches of 'tick' that were looked at, none met slower-than=1000x", never)
    slow = json.loads((work / "slow.kcap" / "capture" / "capture.json").read_text())
    assert (slow["dispatch"]["match_index"], slow["trigger"]["candidates"]) == (3, 4)
