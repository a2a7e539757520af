"""What `kerncap loop` watches, without a device."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kerncap.errors import CompileError, ReplayError, UsageError
from kerncap.workflows.code import CodeFacts, changes
from kerncap.workflows.loop import POLL_S, Judging, Round, rounds, watched_source


class Verdicts:
    """A session whose verdict is the variant's text."""

    def __init__(self) -> None:
        self.seen: list[str | None] = []

    def evaluate(self, hsaco: Path | None = None, **options: Any) -> Any:
        text = hsaco.read_text() if hsaco else None
        self.seen.append(text)
        if text == "faults":
            raise ReplayError("it faults", code="replay.memory-fault")

        class Verdict:
            verdict, timing_ns, exit_code = text, (100, 200, 300) if text is None else (50,), 0

        return Verdict()

    def code(self, hsaco: Path | None = None) -> CodeFacts:
        vgprs = len(hsaco.read_text()) if hsaco else 5
        return CodeFacts("gfx942", 64, {"vgprs": vgprs, "sgprs": 16}, {"valu": 3}, ("v_nop",))


def edits(path: Path, *texts: str) -> threading.Thread:
    def write() -> None:
        for text in texts:
            time.sleep(4 * POLL_S)
            path.write_text(text)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def some(session: Any, watched: Path, compile_to: Any, number: int) -> list[Round]:
    found = []
    for one in rounds(session, watched, compile_to, Judging()):
        found.append(one)
        if len(found) == number:
            return found
    raise AssertionError


def test_each_save_of_a_source_is_compiled_and_judged(tmp_path: Path) -> None:
    header = tmp_path / "src" / "deep" / "k.hpp"
    header.parent.mkdir(parents=True)
    header.write_text("first")

    def compile_to(out: Path) -> str | None:
        if header.read_text() == "broken":
            raise CompileError("k.hpp:1: no", code="compile.failed")
        out.write_text(header.read_text())
        return None

    session = Verdicts()
    thread = edits(header, "second", "broken", "faults", "fifth")
    found = some(session, tmp_path / "src", compile_to, 5)
    thread.join()
    assert session.seen == [None, "first", "second", "faults", "fifth"]
    assert [one.changed for one in found] == [(), *[(header,)] * 4]
    assert [one.error.code if one.error else None for one in found] == [
        None,
        None,
        "compile.failed",
        "replay.memory-fault",
        None,
    ]
    assert [one.speed_ratio for one in found] == [4.0, 4.0, None, None, 4.0]
    assert found[2].judge_s is None
    assert [one.code_changes for one in found] == [(), ("VGPRs 5 to 6",), (), (), ()]
    assert [one.exit_code for one in found] == [0, 0, 8, ReplayError("", code="replay.memory-fault").exit_code, 0]


def test_a_code_object_that_something_else_makes(tmp_path: Path) -> None:
    variant = tmp_path / "v.hsaco"
    session = Verdicts()
    thread = edits(variant, "one", "two")  # there is none at the beginning
    found = some(session, variant, None, 2)
    thread.join()
    assert session.seen == [None, "one", "two"]
    assert all(one.compile_s is None for one in found)


def test_what_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        watched_source(tmp_path / "b.kcap.tar")
    assert error.value.code == "usage.not-a-reproducer"
    with pytest.raises(CompileError) as no_source:
        watched_source(tmp_path)
    assert no_source.value.code == "compile.no-source"
    (tmp_path / "compile.json").write_text("{}")
    assert watched_source(tmp_path) == tmp_path / "src"


def test_what_changed_in_the_code() -> None:
    def facts(vgprs: int, target: str = "gfx942", wave_size: int = 64, sgprs: int = 16, **mix: int) -> CodeFacts:
        return CodeFacts(target, wave_size, {"vgprs": vgprs, "sgprs": sgprs, "lds_bytes": 0}, mix, (str(mix),))

    assert changes(facts(64, valu=4), facts(65, valu=4, lds=1)) == [
        "VGPRs 64 to 65",
        "waves/SIMD 8 to 7",
        "lds 0 to 1",
    ]
    assert changes(facts(8, valu=1), facts(8, valu=1)) == []
    # Source: LLVM's "; Occupancy:" of kernels with so many registers.
    assert [facts(v).waves_per_simd for v in (1, 64, 72, 80, 96, 128, 168, 256, 512)] == [8, 8, 7, 6, 5, 4, 3, 2, 1]
    assert [facts(v, "gfx1100", 32).waves_per_simd for v in (96, 97, 120, 128, 192, 256)] == [16, 12, 12, 10, 8, 5]
    assert facts(8, sgprs=102).waves_per_simd == 7
