"""Paths of a compile, without a compiler: behind links, as written, out of the environment, with odd characters."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kerncap.errors import BundleError, CompileError
from kerncap.source import closure
from kerncap.source.arguments import from_environment, take_apart, with_includes_found
from kerncap.source.compiler import Compiler, environment, parse_depfile
from kerncap.source.database import Entry, load_database
from kerncap.source.overlay import View, inside, overlay, read_overlay
from kerncap.source.paths import as_found, as_looked_up
from kerncap.source.recompile import checked_arguments
from kerncap.source.written import Written, read_written


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """`a/link` leads to `b/deep`."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b" / "deep").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to("../b/deep")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "found", "looked_up"),
    [
        ("a/link/../x.h", "b/x.h", "a/x.h"),
        ("a/link/x.h", "a/link/x.h", "a/link/x.h"),
        ("a/link/./../../a//x.h", "a/x.h", "a/x.h"),
        ("a/../b/x.h", "b/x.h", "b/x.h"),
        ("a/link/../../a/link/../x.h", "b/x.h", "a/x.h"),
    ],
)
def test_a_folder_above_a_link(linked: Path, path: str, found: str, looked_up: str) -> None:
    place = linked / found
    place.parent.mkdir(exist_ok=True)
    place.write_text("")
    assert as_found(linked / path) == place
    assert os.path.samefile(as_found(linked / path), f"{linked}/{path}")
    assert as_looked_up(linked, path) == linked / looked_up


def test_a_database_in_a_folder_above_a_link(linked: Path) -> None:
    database = linked / "compile_commands.json"
    entry = {"directory": "a/link/..", "file": "../a/link/../k.hip", "command": "hipcc -c ../a/link/../k.hip"}
    database.write_text(json.dumps([entry]))
    (found,) = load_database(database)
    assert (found.cwd, found.file) == (linked / "b", linked / "b" / "k.hip")
    words = take_apart(found.words, found.cwd, found.file)
    assert words.main_written == "../a/link/../k.hip"
    assert words.main == linked / "a" / "k.hip"


def unit_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, read: str, *more: str, directory: Path | None = None
) -> tuple[closure.Unit, dict[str, Any]]:
    """The unit of `k.hip`, whose compile says that it read these; and what the compiler was called with."""
    called: dict[str, Any] = {}

    def compile_device(clang: str, arguments: Any, main: Any, target: str, out: Path, **options: Any) -> None:
        called.update(clang=clang, arguments=list(arguments), main=main, cwd=options["cwd"])
        out.write_bytes(b"")
        options["depfile"].write_text(f"kernel: k.hip {read}\n")

    def examine(path: str, target: str) -> Compiler:
        called["examined"] = path
        return Compiler("clang", "17.0.6", "", "", None)

    monkeypatch.setattr(closure.compilers, "compile_device", compile_device)
    monkeypatch.setattr(closure.compilers, "has_kernel", lambda out, mangled: True)
    monkeypatch.setattr(closure.compilers, "examine", examine)
    folder.mkdir(exist_ok=True)
    (folder / "k.hip").write_text("__global__ void k(int) {}")
    words = more if more and "clang++" in more[0] else ("clang++", *more)
    entry = Entry(folder / "k.hip", directory or folder, (*words, "-c", "k.hip"), None)
    return closure.find_unit([entry], closure.Wanted("_Z1ki", "k(int)", "gfx942"), folder), called


def carried(unit: closure.Unit, monkeypatch: pytest.MonkeyPatch, out: Path) -> Path:
    monkeypatch.setattr(closure, "find_unit", lambda *more: unit)
    monkeypatch.setattr(closure, "load_database", lambda path: [])
    monkeypatch.setattr(closure, "find_database", lambda *more: Path())
    out.mkdir()
    closure.carry_source(out, closure.Wanted("_Z1ki", "k(int)", "gfx942"), closure.SourceRequest(unit.cwd))
    return out


def test_the_file_that_the_system_found_is_carried(linked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (linked / "b" / "x.h").write_text("right")
    (linked / "a" / "x.h").write_text("wrong")
    with pytest.raises(CompileError) as caught:
        unit_of(linked / "a", monkeypatch, "link/../x.h x.h", "-Ilink/..")
    assert caught.value.code == "compile.ambiguous-path"
    assert str(linked / "b") in caught.value.hint
    unit, _ = unit_of(linked / "a", monkeypatch, "link/../x.h", "-Ilink/..")
    out = carried(unit, monkeypatch, linked / "out")
    assert (out / inside(linked / "a" / "x.h")).read_text() == "right"
    assert (out / inside(linked / "a" / "k.hip")).is_file()


def test_one_file_of_two_names_is_carried_once(linked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else `#pragma once` would not know it again."""
    (linked / "b" / "deep" / "x.h").write_text("#pragma once")
    unit, _ = unit_of(linked / "a", monkeypatch, "link/x.h ../b/deep/x.h")
    out = carried(unit, monkeypatch, linked / "out")
    names = [str(linked / "a" / "link" / "x.h"), str(linked / "b" / "deep" / "x.h")]
    files = read_overlay(out).files
    assert {files[name] for name in names} == {out / inside(linked / "b" / "deep" / "x.h")}
    assert [path.name for path in (out / "src").rglob("*") if path.is_file()].count("x.h") == 1
    # Somebody who puts a file there means it.
    added = out / inside(Path(names[0]))
    added.parent.mkdir(parents=True)
    added.write_text("")
    assert read_overlay(out).files[names[0]] == added


def test_the_compile_is_the_one_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths as they were, because `__FILE__` has them; absolute ones beside them for who needs those."""
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "pre.h").write_text("")
    words = ("-I", "inc", "-I../abs", "-isystem", "./sys", "-include", "pre.h", "-DX=a.h")
    unit, called = unit_of(tmp_path, monkeypatch, "inc/pre.h", *words)
    assert called["arguments"] == ["-Iinc", "-I../abs", "-isystem", "./sys", "-include", "pre.h", "-DX=a.h"]
    assert (called["main"], called["cwd"]) == ("k.hip", tmp_path)
    document = json.loads((carried(unit, monkeypatch, tmp_path / "out") / "compile.json").read_text())
    pre = tmp_path / "inc" / "pre.h"
    assert document["arguments"] == [
        *(f"-I{tmp_path}/inc", f"-I{tmp_path.parent}/abs"),
        *("-isystem", f"{tmp_path}/sys", "-include", str(pre), "-DX=a.h"),
    ]
    assert document["as_written"] == {"main": "k.hip", "arguments": called["arguments"]}
    written = read_written(document)
    view = read_overlay(tmp_path / "out")
    assert checked_arguments(document["arguments"], view, written.arguments) == [
        *("-I", "inc", "-include", "pre.h", "-DX=a.h")  # of the other folders nothing is carried
    ]


def test_include_files_beside_the_build_come_first(tmp_path: Path) -> None:
    (tmp_path / "pre.h").write_text("")
    (tmp_path / "inc").mkdir()
    words = take_apart(
        ["clang++", "-Iinc", "-include", "pre.h", "-include", "sub/two.h", "-c", "k.hip"], tmp_path, tmp_path / "k.hip"
    )
    found = with_includes_found(words, tmp_path, ["k.hip", "/usr/include/pre.h", "inc/sub/two.h", "other/sub/two.h"])
    assert found.kept == (f"-I{tmp_path}/inc", "-include", f"{tmp_path}/pre.h", "-include", f"{tmp_path}/inc/sub/two.h")
    assert found.written == ("-Iinc", "-include", "pre.h", "-include", "sub/two.h")


def test_search_paths_out_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand in no compile command, and are carried as the arguments that do the same."""
    variables = {"CPATH": "/one:two:", "CPLUS_INCLUDE_PATH": "/three", "C_INCLUDE_PATH": "/for-c"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CC_PRINT_HEADERS", "1")
    assert from_environment(variables) == ["-I", "/one", "-I", "two", "-I", ".", "-isystem", "/three"]
    assert from_environment({"CPATH": ""}) == []
    _, called = unit_of(tmp_path, monkeypatch, "", "-Iown")
    assert called["arguments"] == ["-Iown", "-I/one", "-Itwo", "-I.", "-isystem", "/three"]
    assert not {*variables, "CC_PRINT_HEADERS"} & set(environment())
    assert environment()["PATH"] == os.environ["PATH"]


def test_an_environment_that_cannot_be_carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCC_OVERRIDE_OPTIONS", "+-O0")
    with pytest.raises(CompileError, match="CCC_OVERRIDE_OPTIONS") as caught:
        unit_of(tmp_path, monkeypatch, "")
    assert (caught.value.code, caught.value.exit_code) == ("compile.environment", 8)
    assert caught.value.hint.startswith("unset CCC_OVERRIDE_OPTIONS")


@pytest.mark.parametrize("launcher", [(), ("../bin/ccache",)])
def test_a_relative_compiler_lies_where_the_build_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launcher: tuple[str, ...]
) -> None:
    words = take_apart([*launcher, "../bin/clang++", "-c", "k.hip"], tmp_path / "p", tmp_path / "p" / "k.hip")
    assert words.compiler == f"{tmp_path}/bin/clang++"
    _, called = unit_of(tmp_path / "p", monkeypatch, "", "./tools/clang++")
    assert called["examined"] == f"{tmp_path}/p/tools/clang++"
    words = take_apart(["clang++", "-c", "k.hip"], tmp_path, tmp_path / "k.hip")
    assert words.compiler == "clang++"  # looked for on the path


@pytest.mark.parametrize("odd", ["\u00a0", "\u2028", "\u3000", "\x85", "\x0b", "\x0c", "\t", "\r", "\x1c"])
def test_only_blanks_part_the_names_of_a_depfile(odd: str) -> None:
    """Clang escapes no other white space; Python takes all of these for it."""
    assert parse_depfile(f"kernel: a{odd}b.h \\\n  c\\ d{odd}.h\n") == [f"a{odd}b.h", f"c d{odd}.h"]


@pytest.mark.parametrize("odd", ["\u00a0", "\u2028", "\x85"])
def test_odd_white_space_in_a_name_is_read_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    (tmp_path / f"a{odd}b.h").write_text("")
    with pytest.raises(CompileError) as caught:
        unit_of(tmp_path, monkeypatch, f"a{odd}b.h")
    assert caught.value.code == "compile.file-name"
    assert repr(odd)[1:-1] in caught.value.message


def test_prefix_maps_of_the_project_are_kept(tmp_path: Path) -> None:
    words = ["clang++", "-ffile-prefix-map=/p=.", "-fmacro-prefix-map=a=b", "-fdebug-prefix-map=/q=/r", "-c", "k.hip"]
    found = take_apart(words, tmp_path, tmp_path / "k.hip")
    assert found.kept == ("-fmacro-prefix-map=/p=.", "-fmacro-prefix-map=a=b")


@pytest.mark.parametrize(
    ("main", "arguments", "maps"),
    [
        ("/p/src/k.hip", (), ["/b/p/src=/p/src", "/b/p/src/k.hip=/p/src/k.hip"]),
        ("k.hip", (), ["/b/p/src=.", "/b/p/src/k.hip=k.hip"]),
        ("../src/k.hip", (), ["/b/p/src=../src", "/b/p/src/k.hip=../src/k.hip"]),
        ("/p/src/k.hip", ("/p=.",), ["/b/p/src=./src", "/b/p/src/k.hip=./src/k.hip"]),
        ("/p/src/k.hip", ("/p/src/=",), ["/b/p/src=/p/src", "/b/p/src/=", "/b/p/src/k.hip=k.hip"]),
    ],
)
def test_the_main_file_is_named_as_it_was(main: str, arguments: tuple[str, ...], maps: list[str]) -> None:
    written = Written(Path("/p/build"), main, tuple(f"-fmacro-prefix-map={word}" for word in arguments))
    assert written.naming(Path("/b/p/src/k.hip"), Path("/b")) == [
        *("-Xclang", "-working-directory", "-Xclang", "/p/build", "-fdebug-compilation-dir=/b/p/build"),
        *("-fdebug-prefix-map=/=/b/", "-fdebug-prefix-map=/b/=/b/"),
        *(f"-fmacro-prefix-map={word}" for word in maps),
    ]


def test_what_a_compiler_says_names_the_files_to_edit() -> None:
    written = Written(Path("/p/build"), "../k.hip", ())
    files = {"/p/inc/x.h": Path("/b/src/root/p/inc/x.h")}
    said = (
        "In file included from /b/src/root/p/k.hip:3:\n"
        "In file included from ../inc/x.h:3:\n"
        "../inc/../inc/x.h:2:5: error: ../inc/x.h\nother.h:1:1: note: x\n  2 | a:1:\n"
    )
    assert written.shown(said, files) == (
        "In file included from /b/src/root/p/k.hip:3:\n"
        "In file included from /b/src/root/p/inc/x.h:3:\n"
        "/b/src/root/p/inc/x.h:2:5: error: ../inc/x.h\nother.h:1:1: note: x\n  2 | a:1:\n"
    )


def compile_json(**changes: Any) -> dict[str, Any]:
    return {
        "cwd": "/p/build",
        "main": "/p/k.hip",
        "arguments": ["-I/p/inc", "-include", "/p/inc/pre.h", "-isystem", "/s"],
        "as_written": {
            "main": "../k.hip",
            "arguments": ["-I../inc", "-include", "pre.h", "-isystem", "/s"],
        },
    } | changes


def test_as_written_of_a_bundle() -> None:
    written = read_written(compile_json())
    assert written == Written(Path("/p/build"), "../k.hip", ("-I../inc", "-include", "pre.h", "-isystem", "/s"))
    before = compile_json()
    del before["as_written"]
    assert read_written(before).arguments == tuple(before["arguments"])


@pytest.mark.parametrize(
    "changes",
    [
        {"cwd": "build"},
        {"cwd": "/p/../q"},
        {"cwd": 3},
        {"as_written": []},
        {"as_written": {"main": "../k.hip"}},
        {"as_written": {"main": None, "arguments": ["-I../inc", "-include", "pre.h", "-isystem", "/s"]}},
        {"as_written": {"main": "../l.hip", "arguments": ["-I../inc", "-include", "pre.h", "-isystem", "/s"]}},
        {"as_written": {"main": "../k.hip", "arguments": ["-I../inc", "-include", "pre.h", "-isystem"]}},
        {"as_written": {"main": "../k.hip", "arguments": ["-I/etc", "-include", "pre.h", "-isystem", "/s"]}},
        {"as_written": {"main": "../k.hip", "arguments": ["-I../inc", "-include", "/etc/passwd", "-isystem", "/s"]}},
        {"as_written": {"main": "../k.hip", "arguments": ["-I../inc", "-include", "../pre.h", "-isystem", "/s"]}},
        {"as_written": {"main": "../k.hip", "arguments": ["-I../inc", "-imacros", "pre.h", "-isystem", "/s"]}},
        {"as_written": {"main": "../k.hip", "arguments": ["-fplugin=/x", "-include", "pre.h", "-isystem", "/s"]}},
        {"as_written": {"main": "../k.hip", "arguments": ["-I../inc", "-include", "pre.h", "-isystem", "/t"]}},
        {"as_written": {"main": "../k.hip", "arguments": ["-I../inc", "-include", "pre.h", "-isystem", 3]}},
    ],
)
def test_as_written_of_a_hostile_bundle(changes: dict[str, Any]) -> None:
    with pytest.raises(BundleError) as caught:
        read_written(compile_json(**changes))
    assert caught.value.code == "bundle.malformed"


def view_of(folder: Path) -> View:
    path = Path("/p/k.hip")
    (folder / inside(path)).parent.mkdir(parents=True, exist_ok=True)
    (folder / inside(path)).write_text("")
    (folder / "vfs.yaml").write_text(json.dumps(overlay([path])))
    return read_overlay(folder)


def test_files_that_the_edit_loop_adds_are_seen(tmp_path: Path) -> None:
    assert checked_arguments(["-I/p/inc"], view_of(tmp_path)) == []
    added = tmp_path / inside(Path("/p/inc/new.h"))
    added.parent.mkdir()
    added.write_text("")
    (added.parent / ".#lock.h").symlink_to("nobody@nowhere")  # of an editor
    view = view_of(tmp_path)
    assert view.files["/p/inc/new.h"] == added
    assert "/p/inc/.#lock.h" not in view.files
    assert checked_arguments(["-I/p/inc"], view) == ["-I", "/p/inc"]


def test_what_would_be_waited_for_is_no_source(tmp_path: Path) -> None:
    view_of(tmp_path)
    os.mkfifo(tmp_path / inside(Path("/p/x.h")))
    with pytest.raises(BundleError) as caught:
        read_overlay(tmp_path)
    assert caught.value.code == "bundle.outside-path"
