"""What an error says of a kernel without source, by what its code object tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from kerncap import proc
from kerncap.errors import CompileError
from kerncap.source import debug_info
from kerncap.source.debug_info import Unit
from kerncap.source.trail import Trail, explained

_HINT = "the first hint"


def said(mangled: str, *units: Unit, source_dir: Path | None = None) -> tuple[str, str]:
    error = CompileError("not found", code="compile.kernel-not-found", hint=_HINT)
    told = explained(error, Trail(None, mangled, units), source_dir)
    assert told.code == error.code
    assert told.message.startswith("not found; ")
    return told.message, str(told.hint)


@pytest.mark.parametrize(
    ("mangled", "unit", "word"),
    [
        ("Cijk_Ailk_Bljk_SB_MT64x64x16_SN_1LDSB0", Unit(), "Tensile"),
        ("add_kernel", Unit(producer="triton", name="vector_add.py", comp_dir="/home/a"), "Triton kernel"),
        ("gemm", Unit(language="DW_LANG_Mips_Assembler", name="gemm.s", comp_dir="/b"), "assembled, from /b/gemm.s"),
        ("_Z1kPf", Unit(name="CompileSource3.hip", comp_dir="/tmp"), "hiprtc"),
        ("_Z1kPf", Unit(name="/nowhere/k.hip"), "/nowhere/k.hip, which is not on this machine"),
    ],
)
def test_kernels_that_no_source_folder_has(mangled: str, unit: Unit, word: str) -> None:
    message, hint = said(mangled, unit)
    assert word in message
    assert "without --source-dir" in hint


def test_source_that_lies_elsewhere(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "k.hip").touch()
    unit = Unit(name="../src/k.hip", comp_dir=str(project / "build"))
    message, hint = said("_Z1kPf", unit, source_dir=tmp_path / "other")
    assert f"its line tables name {project / 'src' / 'k.hip'}" in message
    assert hint.startswith(f"--source-dir {project / 'src'} ")
    (project / "CMakeLists.txt").touch()
    assert said("_Z1kPf", unit, source_dir=tmp_path / "other")[1].startswith(f"--source-dir {project} ")
    message, hint = said("_Z1kPf", unit, source_dir=project)
    assert "which the compile database has no command for" in message
    assert hint == _HINT


def test_compile_units_of_odd_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path may hold what Python takes for the end of a line; and `..` behind a symbolic link."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to("deep/er")
    name = "a\u2028b\x85c\x0b.hip"
    text = f"""0x0000000b: DW_TAG_compile_unit
              DW_AT_producer\t("clang version 17")
              DW_AT_name\t("../{name}")
              DW_AT_comp_dir\t("{tmp_path}/link")

0x0000002b: DW_TAG_compile_unit
              DW_AT_name\t("two.hip")
"""
    done = proc.Completed((), 0, text.encode(), b"", 0.0, False, False)
    monkeypatch.setattr(debug_info, "llvm_tool", lambda name: name)
    monkeypatch.setattr(debug_info.proc, "run", lambda *more, **options: done)
    first, second = debug_info.compile_units(tmp_path / "x")
    assert first.file == tmp_path / "deep" / name
    assert second.file == Path("two.hip")


def test_no_debug_information() -> None:
    message, hint = said("_Z1kPf")
    assert "no line tables" in message
    assert hint == _HINT
