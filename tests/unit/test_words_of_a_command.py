"""Words before clang sorts them: launchers, response files as clang reads them, other spellings, other inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kerncap.errors import CompileError
from kerncap.source.arguments import take_apart
from kerncap.source.words import split_response, usual_spellings, without_launcher


@pytest.mark.parametrize(
    "before",
    [
        "ccache",
        "ccache debug=true sloppiness=time_macros",
        "/usr/bin/sccache distcc",
        "env CCACHE_DIR=/x LC_ALL=C ccache",
        "/usr/bin/cmake -E env CCACHE_SLOPPINESS=x -- /usr/bin/ccache",
        "cmake -E time",
        "time nice -n 5",
        "nice -19",
        "nice",
    ],
)
def test_launchers_are_left_out(tmp_path: Path, before: str) -> None:
    words = [*before.split(), "hipcc", "-c", "a.hip"]
    assert without_launcher(words, tmp_path) == ["hipcc", "-c", "a.hip"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("env CPATH=/x hipcc -c a.hip", "CPATH"),
        ("cmake -E env ROCM_PATH=/x hipcc -c a.hip", "ROCM_PATH"),
        ("env -i hipcc -c a.hip", "'-i' before the compiler"),
        ("mylauncher hipcc -c a.hip", "'mylauncher', a launcher that kerncap does not know, before 'hipcc'"),
        ("mylauncher --flag -- /opt/rocm/bin/clang++-17 -c a.hip", "a launcher"),
        ("env CCACHE_DIR=/x", "names no compiler"),
    ],
)
def test_what_goes_before_a_compiler_is_refused_by_name(tmp_path: Path, command: str, why: str) -> None:
    with pytest.raises(CompileError) as caught:
        without_launcher(command.split(), tmp_path)
    assert caught.value.code == "compile.launcher"
    assert why in caught.value.message


def test_a_compiler_of_another_name_is_none_of_them(tmp_path: Path) -> None:
    for words in (["my-clang", "-c", "a.hip"], ["c++", "-I", "clang", "-c", "clang"], ["ccache"]):
        assert without_launcher(words, tmp_path) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a  b\r\nc\t", ["a", "b", "c"]),
        (r"""'-DS=\'q' "-DT=\$x" -DU=a\ b\"c'd e'""", ["-DS='q", "-DT=$x", '-DU=a b"cd e']),
        ("'open end", ["open end"]),
        ("", []),
        ("'a\nb' # no comment", ["a\nb", "#", "no", "comment"]),
    ],
)
def test_response_files_are_read_as_clang_does(text: str, words: list[str]) -> None:
    assert split_response(text) == words


def test_spellings_with_two_dashes() -> None:
    command = "--std=c++17 --define-macro X=1 --define-macro=Y --include-directory=i --include=p.h --imacros q.h"
    assert list(usual_spellings(f"{command} --optimize=3 --output=a.o --offload-arch=gfx942".split())) == [
        *("-std=c++17", "-DX=1", "-DY", "-Ii", "-include", "p.h", "-imacros", "q.h", "-O3", "-o", "a.o"),
        "--offload-arch=gfx942",
    ]


def test_other_inputs_of_one_command_are_left_out(tmp_path: Path) -> None:
    command = "hipcc -O2 a.hip b.cpp dir/c.o liba.a libb.so.1.2 -o app"
    words = take_apart(command.split(), tmp_path, tmp_path / "a.hip")
    assert words.kept == ("-O2",)
    assert words.output == tmp_path / "app"
    with pytest.raises(CompileError, match=r"kernel\.bc"):
        take_apart(["hipcc", "a.hip", "kernel.bc"], tmp_path, tmp_path / "a.hip")
