"""A stranger's compile.json and vfs.yaml: what may reach a compiler; the rest is the bundle's fault (exit 4)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kerncap.errors import BundleError, CompileError
from kerncap.source.allowed import first_refused
from kerncap.source.overlay import inside, overlay, read_overlay
from kerncap.source.recompile import checked_arguments, recompile

REFUSED = [
    ["-fplugin=/tmp/x.so"],
    ["-fpass-plugin=/tmp/x.so"],
    ["-fplugin-arg-x-y=z"],
    ["-Xclang", "-load"],
    ["-Xclang", "-fplugin=x"],
    ["-Xclang", "-fmodule-map-file=/x"],
    ["-Xclang", "-ftime-trace=x"],
    ["-mllvm", "-load=/tmp/x.so"],
    ["-mllvm", "-load-pass-plugin=x"],
    ["-mllvm", "-amdgpu-dump=/etc/passwd"],
    ["-mllvm", "-amdgpu-dump=passwd"],
    ["-mllvm", "-inliner-interactive-channel-base=channel"],
    ["-mllvm", "-info-output-file=x"],
    ["-mllvm", "-print-after-all"],
    ["-mllvm=-load=/tmp/x.so"],
    ["@/tmp/args"],
    ["-Wl,-T,/tmp/x"],
    ["-Wp,-MD,/tmp/x"],
    ["-Wa,-I/tmp"],
    ["-o", "/etc/passwd"],
    ["-o/etc/passwd"],
    ["--output=/etc/passwd"],
    ["-Irelative"],
    ["-I/a/../etc"],
    ["-I"],
    ["-I", "-load"],
    ["-include", "../x.h"],
    ["-include-pch", "/x.pch"],
    ["-include"],
    ["-specs=/tmp/x"],
    ["--specs=/tmp/x"],
    ["-B/tmp"],
    ["-B", "/tmp"],
    ["-wrapper", "/bin/sh"],
    ["--config=/tmp/x"],
    ["--config", "/tmp/x"],
    ["--sysroot=/"],
    ["-isysroot", "/"],
    ["-resource-dir=/x"],
    ["-ccc-install-dir", "/x"],
    ["/etc/passwd"],
    ["-"],
    [""],
    ["-fprofile-use=/tmp/x"],
    ["-fprofile-generate"],
    ["-fprofile-instr-generate=x"],
    ["--coverage"],
    ["-ivfsoverlay", "/tmp/x"],
    ["-vfsoverlay", "/tmp/x"],
    ["-fmodules"],
    ["-fmodule-map-file=/x"],
    ["-fmodule-file=/x"],
    ["-Xarch_device", "-O2"],
    ["-Xlinker", "x"],
    ["-Xassembler", "x"],
    ["-Xpreprocessor", "x"],
    ["-fdump-record-layouts"],
    ["--gcc-toolchain=/tmp"],
    ["--gcc-install-dir=/tmp"],
    ["-MF", "/tmp/x"],
    ["-MD"],
    ["-save-temps"],
    ["-save-temps=obj"],
    ["--save-temps"],
    ["--serialize-diagnostics", "/tmp/x"],
    ["-serialize-diagnostics", "/tmp/x"],
    ["-ftime-trace"],
    ["-ftime-trace=x"],
    ["-fsave-optimization-record"],
    ["-foptimization-record-file=x"],
    ["-fproc-stat-report=x"],
    ["-fcrash-diagnostics-dir=x"],
    ["-fsanitize-ignorelist=x"],
    ["-frandomize-layout-seed-file=x"],
    ["-fthinlto-index=x"],
    ["-fuse-ld=x"],
    ["-fno-integrated-as"],
    ["-fno-integrated-cc1"],
    ["-fopenmp-targets=nvptx64"],
    ["-gsplit-dwarf"],
    ["-gmodules"],
    ["-gen-reproducer"],
    ["-mlink-builtin-bitcode"],
    ["-mthin-link-bitcode=x"],
    ["--rocm-path=/tmp"],
    ["--hip-path=/tmp"],
    ["--rocm-device-lib-path=/tmp"],
    ["--offload-arch=gfx90a"],
    ["-target", "x86_64"],
    ["-x", "ir"],
    ["-E"],
    ["-###"],
    ["-DX=1\0"],
    ["-funknown-to-this-list"],
    ["-O2\n-o/x"],
]


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_arguments_of_a_stranger_are_refused_by_name(words: list[str]) -> None:
    refused = first_refused(["-O2", *words])
    assert refused is not None
    assert repr(words[0])[1:-1] in str(refused)


PROJECTS = """-O3 -DNDEBUG -D__HIP_PLATFORM_AMD__=1 -DF(x)=x -UX -std=gnu++20 -g -ggdb3 -gline-tables-only -gdwarf-4
    -Wall -Wextra -Wno-error=unused -Werror -pedantic -pthread -ffast-math -fno-exceptions -fno-rtti -fvisibility=hidden
    -fvisibility-inlines-hidden -ffp-contract=fast -fgpu-flush-denormals-to-zero -fno-gpu-rdc -munsafe-fp-atomics
    -mcumode -mno-wavefrontsize64 -mcode-object-version=5 -march=native -mavx2 -msse4.2 -m64 -ftemplate-depth=1024
    -fno-offload-uniform-block -fno-strict-aliasing -funroll-loops -fopenmp -fsanitize=undefined,address
    --gpu-max-threads-per-block=1024 -fhip-new-launch-api -ffunction-sections -fno-math-errno -fno-builtin-memcpy
    -mllvm -amdgpu-early-inline-all=true -mllvm -amdgpu-function-calls=false -mllvm --lsr-drop-solution=1
    -mllvm -enable-post-misched=0 -mllvm -amdgpu-coerce-illegal-types=1 -mllvm -unroll-threshold-x=3
    -mllvm -greedy-reverse-local-assignment=1 -mllvm -amdgpu-sched-strategy=max-ilp -Xclang -fnative-half-type
    -Xclang -fallow-half-arguments-and-returns -I/a/b -isystem /c -include /d/e.h"""


def test_arguments_of_projects_are_allowed() -> None:
    assert first_refused(PROJECTS.split()) is None


CARRIED = [Path("/home/x/a.hip"), Path("/home/x/inc/pre.h"), Path("/usr/include/c.h")]


def reproducer(folder: Path, *, arguments: list[str] | None = None) -> Path:
    for path in CARRIED:
        real = folder / inside(path)
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_text("")
    (folder / "vfs.yaml").write_text(json.dumps(overlay(CARRIED)))
    document = {
        "schema": "kerncap.compile/1",
        "main": "/home/x/a.hip",
        "arguments": arguments or ["-O2"],
        "target": "gfx942:sramecc+:xnack-",
        "compiler": {"version": "clang version 17.0.6"},
    }
    (folder / "compile.json").write_text(json.dumps(document))
    return folder


def refusal(folder: Path) -> BundleError:
    with pytest.raises(BundleError) as error:
        recompile(folder, folder / "v.hsaco", "_Z1kv")
    assert error.value.exit_code == 4
    assert error.value.hint
    return error.value


def test_a_refused_argument_is_the_bundles_fault(tmp_path: Path) -> None:
    error = refusal(reproducer(tmp_path, arguments=["-O2", "-fplugin=/x.so"]))
    assert error.code == "bundle.unsupported-argument"
    assert "'-fplugin=/x.so': compiler plugins" in error.message


@pytest.mark.parametrize("option", ["-include", "-imacros"])
def test_a_file_that_is_not_carried_is_outside(tmp_path: Path, option: str) -> None:
    error = refusal(reproducer(tmp_path, arguments=[option, "/etc/passwd"]))
    assert error.code == "bundle.outside-path"
    assert "/etc/passwd" in error.message


def test_only_folders_of_carried_files_are_searched(tmp_path: Path) -> None:
    view = read_overlay(reproducer(tmp_path))
    words = ["-I/etc", "-I/home/x/inc", "-isystem", "/root", "-isystem", "/usr", "-iquote", "/home/y", "-O2"]
    kept = ["-I/home/x/inc", "-isystem", "/usr", "-include", "/home/x/inc/pre.h", "-O2"]
    assert checked_arguments([*words[:-1], "-include", "/home/x/inc/pre.h", "-O2"], view) == [
        *("-I", "/home/x/inc"),
        *kept[1:],
    ]


@pytest.mark.parametrize("text", ["{}", "[]", "{", "3", '{"schema": "kerncap.compile/1"}', "[" * 100_000])
def test_malformed_documents(tmp_path: Path, text: str) -> None:
    for name in ("compile.json", "vfs.yaml"):
        folder = reproducer(tmp_path / name)
        (folder / name).write_text(text)
        assert refusal(folder).code.startswith("bundle.")


@pytest.mark.parametrize("main", ["relative.hip", "/a/../../etc/passwd", "//home/x/a.hip", "/home/x/a.hip\0"])
def test_hostile_main_file(tmp_path: Path, main: str) -> None:
    folder = reproducer(tmp_path)
    document = json.loads((folder / "compile.json").read_text())
    (folder / "compile.json").write_text(json.dumps(document | {"main": main}))
    assert refusal(folder).code == "bundle.malformed"


@pytest.mark.parametrize(
    "change", [{"arguments": ["-DX=\ud800"]}, {"arguments": ["-I/\ud800"]}, {"main": "/\ud800"}, {"note": ["\udcff"]}]
)
def test_half_characters_are_no_text(tmp_path: Path, change: dict[str, Any]) -> None:
    """No path and no argument could be made of them."""
    folder = reproducer(tmp_path)
    document = json.loads((folder / "compile.json").read_text())
    (folder / "compile.json").write_text(json.dumps(document | change))
    assert refusal(folder).code == "bundle.malformed"


def test_a_main_file_longer_than_a_name_can_be(tmp_path: Path) -> None:
    folder = reproducer(tmp_path)
    document = json.loads((folder / "compile.json").read_text())
    (folder / "compile.json").write_text(json.dumps(document | {"main": "/" + "a" * 5000}))
    with pytest.raises(CompileError) as caught:
        recompile(folder, folder / "v.hsaco", "_Z1kv")
    assert caught.value.code == "compile.no-source"


@pytest.mark.parametrize("target", ["gfx942 -fplugin=x", "gfx942:xnack", "gfx942\n", "native", "gfx9+0", "gfx٩"])
def test_hostile_target(tmp_path: Path, target: str) -> None:
    folder = reproducer(tmp_path)
    document = json.loads((folder / "compile.json").read_text())
    (folder / "compile.json").write_text(json.dumps(document | {"target": target}))
    assert refusal(folder).code == "bundle.malformed"


Edit = Callable[[dict[str, Any]], object]


def entry(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["roots"][0]["contents"][0]
    return found


EDITS: dict[str, Edit] = {
    "absolute": lambda d: entry(d).update({"external-contents": "/etc/passwd"}),
    "dots": lambda d: entry(d).update({"external-contents": "src/../../x"}),
    "dots at the end": lambda d: entry(d).update({"external-contents": "src/root/.."}),
    "no source": lambda d: entry(d).update({"external-contents": "capture/capture.json"}),
    "backslash": lambda d: entry(d).update({"external-contents": "src\\..\\..\\x"}),
    "remap": lambda d: d["roots"].append({"name": "/x", "type": "directory-remap", "external-contents": "src"}),
    "remap inside": lambda d: entry(d).update({"type": "directory-remap"}),
    "relative name": lambda d: d["roots"][0].update({"name": "etc"}),
    "dots in a name": lambda d: entry(d).update({"name": "../x"}),
    "not relative": lambda d: d.update({"overlay-relative": "false"}),
    "overlay-relative missing": lambda d: d.pop("overlay-relative"),
    "working directory": lambda d: d.update({"root-relative": "cwd"}),
    "fallback": lambda d: d.update({"redirecting-with": "fallback"}),
    "unknown member": lambda d: entry(d).update({"x": 1}),
    "deep": lambda d: d.update({"roots": [nested(200)]}),
    "no name": lambda d: entry(d).pop("name"),
    "no list": lambda d: d.update({"roots": {}}),
}


def nested(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {"name": "x", "type": "directory", "contents": []}
    for _ in range(depth):
        node = {"name": "x", "type": "directory", "contents": [node]}
    return node | {"name": "/x"}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_hostile_overlays(tmp_path: Path, edit: Edit) -> None:
    folder = reproducer(tmp_path)
    document = copy.deepcopy(overlay(CARRIED))
    edit(document)
    (folder / "vfs.yaml").write_text(json.dumps(document))
    assert refusal(folder).code in ("bundle.hostile-overlay", "bundle.malformed")


def test_links_out_of_the_bundle(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for name, victim in (("file", CARRIED[1]), ("main", CARRIED[0])):
        folder = reproducer(tmp_path / name)
        (folder / inside(victim)).unlink()
        (folder / inside(victim)).symlink_to(secret)
        assert refusal(folder).code == "bundle.outside-path"
    folder = reproducer(tmp_path / "folder")
    (folder / "src" / "root" / "home").rename(tmp_path / "home")
    (folder / "src" / "root" / "home").symlink_to(tmp_path / "home")
    assert refusal(folder).code == "bundle.outside-path"


def test_the_compiler_gets_the_overlay_written_anew(tmp_path: Path) -> None:
    folder = reproducer(tmp_path)
    root, cwd = folder / "src" / "root", Path("/build")
    document = read_overlay(folder).document(root, cwd)
    shown = {
        f"{top['name']}/{file['name']}": file["external-contents"]
        for top in document["roots"]
        for file in top["contents"]
    }
    real = {str(path): str(folder / inside(path)) for path in CARRIED}
    assert shown == real | {path: path for path in real.values()}
    assert str(inside(CARRIED[2])) == "src/root/usr/include/c.h"
    assert {"name": "/build", "type": "directory", "contents": []} in document["roots"]
    assert document["use-external-names"] == "false"
