"""Captures of the first dispatch that meets a condition. Which one that is, and why, is fixed in the program."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from captured_memory import CapturedMemory
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
