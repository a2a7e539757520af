"""Source closure without a compiler: arguments, database, text search, overlay, dependency output."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kerncap.errors import CompileError
from kerncap.names import base_name, near_names
from kerncap.source import closure
from kerncap.source.arguments import take_apart
from kerncap.source.compiler import Compiler, parse_depfile
from kerncap.source.database import Entry, find_database, load_database
from kerncap.source.find import candidates, defines, kernels_of
from kerncap.source.recompile import recompile


@pytest.mark.parametrize(
    ("demangled", "name"),
    [
        ("vector_add(float const*, int)", "vector_add"),
        ("void ns::(anonymous namespace)::k<float, (int)3>(float*)", "k"),
        ("void k<S<(3 > 2)> >(float*) [clone .kd]", "k"),
        ("_Z1kPf.kd", "_Z1kPf"),
        ("plain", "plain"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>",
            "vectorized_elementwise_kernel",
        ),
    ],
)
def test_base_names(demangled: str, name: str) -> None:
    assert base_name(demangled) == name


def test_near_names() -> None:
    names = ["vector_add(float*, int)", "vector_scale(float*)", "histogram(int*)"]
    assert near_names("vectoradd", names)[0] == "vector_add(float*, int)"
    assert near_names("histo", names) == ["histogram(int*)"]
    assert near_names("zzzzzz", names) == []


def test_arguments_are_sorted(tmp_path: Path) -> None:
    (tmp_path / "more.rsp").write_text("-DFROM_FILE='a b' -O3")
    command = (
        "ccache hipcc -c a.hip -o a.o -Iinc -I /abs -isystem sys -D X=1 -include pre.h -MD -MF a.d -fgpu-rdc @more.rsp"
    )
    words = command.replace("-fgpu-rdc ", "").split()
    words += ["--offload-arch=gfx90a", "--offload-arch=gfx942", "-std=c++17", "-ffast-math", "-mllvm", "-amdgpu-x=1"]
    found = take_apart(words, tmp_path, tmp_path / "a.hip")
    assert found.compiler == "hipcc"
    assert found.output == tmp_path / "a.o"
    assert found.kept == (
        f"-I{tmp_path}/inc",
        "-I/abs",
        "-isystem",
        f"{tmp_path}/sys",
        "-DX=1",
        "-include",
        f"{tmp_path}/pre.h",
        "-DFROM_FILE=a b",
        "-O3",
        "-std=c++17",
        "-ffast-math",
        "-mllvm",
        "-amdgpu-x=1",
    )
    with pytest.raises(CompileError, match="fgpu-rdc") as error:
        take_apart(command.split(), tmp_path, tmp_path / "a.hip")
    assert (error.value.code, error.value.exit_code) == ("compile.unsupported-argument", 8)


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("-fgpu-rdc", "relocatable device code"),
        ("-include-pch x.pch", "modules and precompiled headers"),
        ("-Xclang -include-pch -Xclang cmake_pch.hxx.pch", "modules and precompiled headers"),
        ("-fmodules", "modules and precompiled headers"),
        ("-fmodule-file=M=m.pcm", "modules and precompiled headers"),
        ("-fprebuilt-module-path=pcm", "modules and precompiled headers"),
        ("-fpch-instantiate-templates", "modules and precompiled headers"),
    ],
)
def test_what_cannot_be_carried_is_refused_by_name(tmp_path: Path, argument: str, why: str) -> None:
    words = ["hipcc", *argument.split(), "-c", "a.hip"]
    with pytest.raises(CompileError, match=f"{re.escape(argument.split()[-1])}.*: {why}|{why}") as error:
        take_apart(words, tmp_path, tmp_path / "a.hip")
    assert (error.value.code, error.value.exit_code) == ("compile.unsupported-argument", 8)
    assert "a build without that argument" in error.value.hint


def test_both_forms_of_the_database(tmp_path: Path) -> None:
    entries = [
        {"directory": str(tmp_path), "file": "a.hip", "command": "hipcc -DX='1 2' -c a.hip", "output": "a.o"},
        {"directory": "sub", "file": "b.hip", "arguments": ["hipcc", "-c", "b.hip"]},
    ]
    database = tmp_path / "compile_commands.json"
    database.write_text(json.dumps(entries))
    assert find_database(tmp_path, None) == database
    found = load_database(database)
    assert found[0].words == ("hipcc", "-DX=1 2", "-c", "a.hip")
    assert found[0].output == tmp_path / "a.o"
    assert found[1].file == tmp_path / "sub" / "b.hip"
    for bad in ("{", '[{"file": "x"}]', '[{"directory": "/", "file": "x", "command": ""}]', "3"):
        database.write_text(bad)
        with pytest.raises(CompileError):
            load_database(database)


_ODD: tuple[Any, ...] = (None, True, -1, 1.5, "", "\ud800", "a\0b", "'", "@a.hip", [], {}, [1], [None], ["\ud800"])


@pytest.mark.parametrize("member", ["directory", "file", "command", "arguments", "output", None])
def test_odd_values_in_a_database(tmp_path: Path, member: str | None) -> None:
    (tmp_path / "a.hip").write_bytes(b"__global__ void k(int) {}\xff")
    database = tmp_path / "compile_commands.json"
    refused = 0
    for value in _ODD:
        sound = {"directory": str(tmp_path), "file": "a.hip", "command": "hipcc -c a.hip"}
        database.write_text(json.dumps([sound | {member: value}] if member else value))
        try:
            found = candidates(load_database(database), "_Z1ki", "k(int)", tmp_path)
            for entry in (*found.known, *found.including):
                take_apart(entry.words, entry.cwd, entry.file)
        except CompileError:
            refused += 1
    assert refused > 1
    database.write_text("[" * 100_000)
    with pytest.raises(CompileError):
        load_database(database)


@pytest.mark.parametrize("name", [b"caf\xe9.h", b"a\\\\b.h", b"\x01.h"])
def test_a_file_whose_name_no_bundle_can_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: bytes) -> None:
    def compile_device(*args: Any, depfile: Path, **more: Any) -> None:
        args[4].write_bytes(b"")
        depfile.write_bytes(b"kernel: a.hip inc/" + name + b"\n")

    monkeypatch.setattr(closure.compilers, "compile_device", compile_device)
    monkeypatch.setattr(closure.compilers, "has_kernel", lambda out, mangled: True)
    monkeypatch.setattr(closure.compilers, "examine", lambda path, target: Compiler("clang", "17.0.6", "", "", None))
    (tmp_path / "a.hip").write_text("__global__ void k(int) {}")
    entry = Entry(tmp_path / "a.hip", tmp_path, ("clang++", "-c", "a.hip"), None)
    with pytest.raises(CompileError) as caught:
        closure.find_unit([entry], closure.Wanted("_Z1ki", "k(int)", "gfx942"), tmp_path)
    assert caught.value.code == "compile.file-name"
    assert caught.value.hint.startswith("mv ")


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k(int* x) { }",
        "template <int N>\n__global__\n__launch_bounds__(N * (2 + 1)) void\nk(int (*x)[N])\n{",
        '__global__ __attribute__((amdgpu_flat_work_group_size(1, 256))) void k(const char* s = "){;") {',
        'extern "C" __global__ void k() /* ( */ {',
        "template <class T> requires word<T> __global__ void k(T* x) {",
        "template <class T> __global__ void k(T* x) requires (word<T> && sizeof(T) == 4) {",
        "template <class T> __global__ void k(T* x) noexcept requires requires(T t) { t + 1; } {",
    ],
)
def test_definitions(text: str) -> None:
    assert defines(text, "k")


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k(int*);",
        "template <class T> __global__ void k(T* x) requires word<T>;",
        "// __global__ void k() {",
        "__global__ void kk() {",
        "void k() { __global__; }",
        "k() {",
    ],
)
def test_no_definitions(text: str) -> None:
    assert not defines(text, "k")


def test_kernels_of() -> None:
    text = "__global__ __launch_bounds__(256) void a(int) {}\n__global__ void b() {}\n__global__ void c(T);"
    assert kernels_of(text) == {"a", "b", "c"}


def test_candidates_by_object_then_text(tmp_path: Path) -> None:
    (tmp_path / "text.hip").write_text("__global__ void k(int* x) { }")
    (tmp_path / "object.hip").write_text("#define K k\n")
    (tmp_path / "object.o").write_bytes(b"\x7fELF\0_Z1kPi.kd\0")
    (tmp_path / "other.o").write_bytes(b"\x7fELF\0_Z1kPiS_\0")
    database = tmp_path / "compile_commands.json"
    names = ("text", "other", "object")
    database.write_text(
        json.dumps(
            [{"directory": str(tmp_path), "file": f"{n}.hip", "command": f"hipcc -c {n}.hip -o {n}.o"} for n in names]
        )
    )
    entries = load_database(database)
    found = candidates(entries, "_Z1kPi", "k(int*)", None)
    assert [e.file.name for e in found.known] == ["object.hip", "text.hip"]
    assert found.including == ()
    found = candidates(entries, "_Z1kPi", "k(int*)", None, {tmp_path / "other.hip"})
    assert [e.file.name for e in found.known] == ["other.hip", "object.hip", "text.hip"]
    with pytest.raises(CompileError) as error:
        candidates(entries, "_Z2kkPi", "kk(int*)", None)
    assert error.value.code == "compile.kernel-not-found"
    # As the tool library gives the name of a constrained template that nothing here demangles.
    found = candidates(entries, "_Z1kITk4wordiEvPT_", "k<...>", None)
    assert [e.file.name for e in found.known] == ["text.hip"]
    with pytest.raises(CompileError, match="cannot be demangled here") as error:
        candidates(entries, "_ZN1aMUlvE_1kEv", "_ZN1aMUlvE_1kEv", None)
    assert "object files" in error.value.message


def test_dependency_output() -> None:
    text = "kernel: a.hip \\\n  /usr/include/with\\ blank.h \\\n  dollar$$.h\n\nb.h:\n"
    assert parse_depfile(text) == ["a.hip", "/usr/include/with blank.h", "dollar$.h"]


def test_recompile_without_source(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as error:
        recompile(tmp_path, tmp_path / "v.hsaco", "_Z1kv")
    assert error.value.code == "compile.no-source"
