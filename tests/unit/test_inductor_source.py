"""Kernels of output_code.py as source: what is read, which configuration was launched, what is refused.

tests/triton/data/output_code-2.14.txt was written by the Inductor of torch 2.14.1 (TORCH_COMPILE_DEBUG=1), told that
its device is a gfx942; older forms are written here by hand as those releases write them.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from synthetic import make_reproducer, read_json, write_json

from kerncap.bundle import open_bundle
from kerncap.bundle.documents import validate
from kerncap.cli.main import run
from kerncap.errors import CompileError, HostError, KerncapError, UsageError
from kerncap.triton.configurations import parse_values
from kerncap.triton.inductor_configuration import Launched, configuration_of
from kerncap.triton.inductor_file import InductorKernel, kernel_named, read_kernels
from kerncap.triton.inductor_meta import meta_of
from kerncap.triton.pinned import load_pinned
from kerncap.workflows import inductor
from kerncap.workflows.inductor import InductorSource, compile_imported, import_source
from kerncap.workflows.recompile import Outcome, Sandbox

DATA = Path(__file__).resolve().parents[1] / "triton" / "data" / "output_code-2.14.txt"
GELU, SOFTMAX, NORM = "triton_poi_fused_gelu_0", "triton_per_fused__softmax_1", "triton_red_fused_native_layer_norm_3"


def real(name: str) -> InductorKernel:
    return kernel_named(read_kernels(DATA), name, DATA)


def written(path: Path, *sources: str, names: tuple[str, ...] = ()) -> Path:
    calls = [
        f"k{number} = async_compile.triton({name!r}, '''{source}''', device_str='cuda')"
        for number, (source, name) in enumerate(zip(sources, names or ("k",) * len(sources), strict=True))
    ]
    path.write_text("from torch._inductor.async_compile import AsyncCompile\n" + "\n".join(calls) + "\n")
    return path


def source(decorator: str, parameters: str = "in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr") -> str:
    return (
        "import triton\nimport triton.language as tl\n"
        "from torch._inductor.runtime import triton_helpers, triton_heuristics\n"
        f"@triton_heuristics.{decorator}\n@triton.jit\ndef k({parameters}):\n    pass\n"
    )


def pointwise(triton_meta: str, **more: str) -> str:
    words = "".join(f", {name}={value}" for name, value in more.items())
    return source(f"pointwise(size_hints=[2048], filename=__file__, triton_meta={triton_meta}{words})")


def one(tmp_path: Path, text: str) -> InductorKernel:
    (kernel,) = read_kernels(written(tmp_path / "output_code.py", text))
    return kernel


def refused(code: str, call: Any) -> KerncapError:
    with pytest.raises((CompileError, UsageError)) as error:
        call()
    assert error.value.code == code, error.value.message
    assert error.value.hint
    return error.value


def test_what_torch_wrote() -> None:
    kernels = {kernel.name: kernel for kernel in read_kernels(DATA)}
    assert {name: kernel.heuristic for name, kernel in kernels.items()} == {
        "user_scale": "user_autotune",
        GELU: "pointwise",
        SOFTMAX: "persistent_reduction",
        "triton_for_fused_2": "foreach",
        NORM: "reduction",
    }
    meta = meta_of(kernels[NORM])
    assert meta.runtime == [(f"in_ptr{i}", "*fp32") for i in range(3)] + [
        ("out_ptr2", "*fp32"),
        ("xnumel", "i32"),
        ("r0_numel", "i32"),
    ]
    assert meta.open == ("XBLOCK", "R0_BLOCK")
    assert meta.attributes[3] == [("tt.divisibility", 16), ("tt.pointer_range", 32)]


# As torch 2.5 (by place), 2.6 (AttrsDescriptor from a dictionary) and 2.7 on (by name, dictionaries) write the same.
SAME = [
    "{'signature': {0: '*fp32', 1: '*fp32', 2: 'i32'}, 'device': DeviceProperties(type='hip', index=0),"
    " 'constants': {}, 'configs': [AttrsDescriptor(divisible_by_16=(0, 1), equal_to_1=())]}",
    "{'signature': {0: '*fp32', 1: '*fp32', 2: 'i32'}, 'device': 0, 'device_type': 'hip', 'constants': {},"
    " 'configs': [instance_descriptor(divisible_by_16=(0, 1), equal_to_1=(), ids_of_folded_args=(),"
    " divisible_by_8=())]}",
    "{'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32'}, 'constants': {},"
    " 'configs': [AttrsDescriptor.from_dict({'arg_properties': {'tt.divisibility': (0, 1), 'tt.equal_to': ()},"
    " 'cls': 'AttrsDescriptor'})]}",
    "{'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {},"
    " 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]]}]}",
]


@pytest.mark.parametrize("text", SAME)
def test_each_release_says_the_same(tmp_path: Path, text: str) -> None:
    meta = meta_of(one(tmp_path, pointwise(text)))
    assert meta.signature == {"in_ptr0": "*fp32", "out_ptr0": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"}
    assert (meta.constants, meta.open) == ({}, ("XBLOCK",))
    assert meta.attributes == {0: [("tt.divisibility", 16)], 1: [("tt.divisibility", 16)]}


@pytest.mark.parametrize(
    "text",
    [
        "{'signature': {0: '*fp32', 1: '*fp32', 2: 'i32'}, 'constants': {2: 1},"
        " 'configs': [AttrsDescriptor(divisible_by_16=(0, 1, 2), equal_to_1=(2,))]}",
        "{'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'constexpr', 'XBLOCK': 'constexpr'},"
        " 'constants': {'xnumel': 1}, 'configs': [{}]}",
    ],
)
def test_an_argument_of_one_is_a_constant(tmp_path: Path, text: str) -> None:
    meta = meta_of(one(tmp_path, pointwise(text)))
    assert (meta.signature["xnumel"], meta.constants, meta.open) == ("constexpr", {"xnumel": 1}, ("XBLOCK",))
    assert 2 not in meta.attributes


def test_a_kernels_own_file_and_functions_of_a_module(tmp_path: Path) -> None:
    """What `kernel path:` names; and a wrapper that has its kernels as code."""
    path = tmp_path / "c123.py"
    path.write_text(pointwise(SAME[3]))
    assert [kernel.name for kernel in read_kernels(path)] == ["k"]


def test_a_key_need_not_be_the_kernels_name(tmp_path: Path) -> None:
    path = written(tmp_path / "o.py", pointwise(SAME[3]), names=("triton_",))
    assert kernel_named(read_kernels(path), "k", path).name == "k"


def test_which_kernel(tmp_path: Path) -> None:
    twice = written(tmp_path / "o.py", pointwise(SAME[3]), pointwise(SAME[3]))
    assert kernel_named(read_kernels(twice), "k", twice).name == "k"
    other = written(tmp_path / "o.py", pointwise(SAME[3]), pointwise(SAME[3]).replace("pass", "return"))
    assert (
        "2 different kernels k"
        in refused("compile.no-kernel", lambda: kernel_named(read_kernels(other), "k", other)).message
    )
    error = refused("compile.no-kernel", lambda: kernel_named(read_kernels(DATA), "j", DATA))
    assert GELU in error.message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"print('hello')\n",
        b"\xff\xfe\x00",
        b"\x00",
        b"def f(:\n",
        b"x = " + b"(" * 5000,
        b"x = " + b"-" * 200_000 + b"1\n",
        b"k = async_compile.triton('k', '''def f(:''')\n",
        b"k = async_compile.triton('k', 'x' * 3)\n",
        b"k = async_compile.triton()\n",
        pointwise("{" * 300 + "}" * 300).encode(),
    ],
)
def test_what_inductor_did_not_write(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "o.py"
    path.write_bytes(data)
    error = refused("compile.inductor-format", lambda: [meta_of(kernel) for kernel in read_kernels(path)])
    assert error.exit_code == 8
    assert len(error.message) < 600


@pytest.mark.parametrize(
    "text",
    [
        "f()",
        "7",
        "{}",
        "{'signature': {'q': '*fp32'}, 'configs': [{}]}",
        "{'signature': {9: '*fp32'}, 'configs': [{}]}",
        "{'signature': {-1: '*fp32'}, 'configs': [{}]}",
        "{'signature': [1], 'configs': [{}]}",
        "{'signature': {'in_ptr0': 7}, 'configs': [{}]}",
        "{'signature': {'in_ptr0': 'tensordesc<fp16[64, 64]>'}, 'configs': [{}]}",
        "{'signature': {'in_ptr0': '*fp32'}, 'constants': {'xnumel': f()}, 'configs': [{}]}",
        "{'signature': {'in_ptr0': '*fp32'}, 'configs': 3}",
        "{'signature': {'in_ptr0': '*fp32'}, 'configs': [{}, {}]}",
        "{'signature': {'in_ptr0': '*fp32'}, 'configs': [{(0,): [['tt.other', 16]]}]}",
        "{'signature': {'in_ptr0': '*fp32'}, 'configs': [{(0,): [['tt.divisibility', 8]]}]}",
        "{'signature': {'in_ptr0': '*fp32'}, 'configs': [{(77,): [['tt.divisibility', 16]]}]}",
        "{'signature': {'in_ptr0': '*fp32'}, 'configs': [AttrsDescriptor(other=(0,))]}",
        "{'signature': {'in_ptr0': '*fp32'}, 'configs': [Elsewhere(divisible_by_16=(0,))]}",
        "{'signature': {f(): '*fp32'}, 'configs': [{}]}",
    ],
)
def test_a_meta_that_is_not_known_stops_by_name(tmp_path: Path, text: str) -> None:
    refused("compile.inductor-format", lambda: meta_of(one(tmp_path, pointwise(text))))


def test_nothing_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    evil = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    path = tmp_path / "o.py"
    path.write_text(f"{evil}\n" + pointwise(f"{{'signature': {{'in_ptr0': {evil}}}, 'configs': [{{}}]}}"))
    refused("compile.inductor-format", lambda: [meta_of(kernel) for kernel in read_kernels(path)])
    assert not mark.exists()


# --- configurations ---------------------------------------------------------------------------------------------------


def launched(grid: int = 5, workgroup: int = 256, **numbers: int) -> Launched:
    return Launched((grid, 1, 1), (workgroup, 1, 1), numbers, 64)


def chosen(kernel: InductorKernel, text: str, at: Launched) -> tuple[dict[str, Any], dict[str, Any]]:
    values = parse_values(text) if text else {}
    found = configuration_of(kernel, meta_of(kernel), values, at)
    return found.constants, found.options


def test_what_was_typed_and_what_follows() -> None:
    constants, options = chosen(real(GELU), "XBLOCK=512,num_stages=1", launched(xnumel=2560))
    assert constants == {"XBLOCK": 512}
    assert options == {
        "num_warps": 4, "num_stages": 1, "debug": False, "sanitize_overflow": False, "enable_fp_fusion": True
    }  # fmt: skip
    _, options = chosen(real(GELU), "XBLOCK=512,num_stages=1,waves_per_eu=2,debug=True", launched(xnumel=2560))
    assert (options["waves_per_eu"], options["debug"]) == (2, True)
    _, options = chosen(real(GELU), "XBLOCK=512,num_stages=1,AMDGCN_USE_BUFFER_OPS=0", launched(xnumel=2560))
    assert options["AMDGCN_USE_BUFFER_OPS"] == "0"


@pytest.mark.parametrize(
    ("text", "at", "said", "hint"),
    [
        ("", launched(xnumel=2560), "which XBLOCK, num_stages torch chose", "XBLOCK=512,num_warps=4,num_stages=1"),
        ("num_stages=2", launched(10, 512, xnumel=2560), "which XBLOCK", "XBLOCK=256,num_warps=8,num_stages=2"),
        ("XBLOCK=256,num_stages=1", launched(xnumel=2560), "makes 10 programs of 2560 elements, not 5", "512"),
        ("XBLOCK=0,num_stages=1", launched(xnumel=2560), "XBLOCK=0 makes no programs", "512"),
        ("XBLOCK=512,num_warps=8,num_stages=1", launched(xnumel=2560), "num_warps=8 makes workgroups of 8 x 64", ""),
        ("YBLOCK=1", launched(xnumel=2560), "YBLOCK is neither a constant", ""),
    ],
)
def test_what_does_not_fit_the_launch(text: str, at: Launched, said: str, hint: str) -> None:
    error = refused("compile.configuration", lambda: chosen(real(GELU), text, at))
    assert said in error.message
    assert hint in error.hint


def test_a_kernel_of_the_users_has_its_configurations_in_the_file() -> None:
    kernel = real("user_scale")
    constants, options = chosen(kernel, "", launched(3, 512))
    assert (constants, options["num_warps"], options["num_stages"]) == ({"BLOCK": 512}, 8, 3)
    assert chosen(kernel, "", launched(6, 256))[0] == {"BLOCK": 256}
    assert chosen(kernel, "BLOCK=256", launched(6, 256))[0] == {"BLOCK": 256}
    for text, at in (("", launched(4, 512)), ("BLOCK=256", launched(3, 512)), ("BLOCK=128", launched(3, 512))):
        refused("compile.configuration", lambda text=text, at=at: chosen(kernel, text, at))


def test_several_that_fit_are_listed(tmp_path: Path) -> None:
    same = "'num_warps': 4, 'num_stages': 1"
    configs = f"[{{'kwargs': {{'XBLOCK': 64}}, {same}}}, {{'XBLOCK': 32, {same}}}]"
    kernel = one(tmp_path, source(f"user_autotune(configs={configs}, triton_meta={SAME[3]}, inductor_meta={{}})"))
    error = refused("compile.configuration", lambda: chosen(kernel, "", launched()))
    assert "2 of its configurations fit the launch (num_warps=4,XBLOCK=64," in error.message
    assert chosen(kernel, "XBLOCK=32", launched())[0] == {"XBLOCK": 32}


def test_what_the_file_fixes(tmp_path: Path) -> None:
    assert chosen(real("triton_for_fused_2"), "", launched(4, 512))[1]["num_stages"] == 1
    told = SAME[3].replace("'constants'", "'waves_per_eu': 2, 'constants'")
    parameters = "arg_A, out_ptr0"
    meta = told.replace("'in_ptr0'", "'arg_A'").replace(", 'xnumel': 'i32', 'XBLOCK': 'constexpr'", "")
    words = f"num_stages=2, num_warps=4, triton_meta={meta}, inductor_meta={{'is_hip': True}}"
    text = source(f"template({words})", parameters)
    constants, options = chosen(one(tmp_path, text), "", launched())
    assert constants == {}
    assert {name: options[name] for name in ("num_stages", "num_warps", "waves_per_eu", "debug")} == {
        "num_stages": 2, "num_warps": 4, "waves_per_eu": 2, "debug": False
    }  # fmt: skip
    config = "{'XBLOCK': 8, 'num_warps': 4, 'num_stages': 1}"
    fixed = f"fixed_config(config={config}, filename=__file__, triton_meta={SAME[3]})"
    assert chosen(one(tmp_path, source(fixed)), "", launched())[0] == {"XBLOCK": 8}


# --- into a reproducer ------------------------------------------------------------------------------------------------


def reproducer(folder: Path, name: str = GELU, *, grid: int = 5, last: int = 2560, sizes: tuple[int, ...] = ()) -> Path:
    """Captured without the shim: two pointers and a number, as the kernel takes them."""
    make_reproducer(folder, with_source=False)
    document = read_json(folder / "capture" / "capture.json")
    kinds = ("global_buffer", "global_buffer", "by_value")
    offsets = (0, 8, 16)
    document["kernel"] = {"name": name, "demangled": name, "symbol": f"{name}.kd"}
    document["dispatch"] |= {"grid": [grid * 256, 1, 1], "workgroup": [256, 1, 1]}
    document["environment"] = {"AMDGCN_USE_BUFFER_OPS": "0"}
    document["kernarg"] = {
        "size": 24,
        "bytes": struct.pack("<QQi", 0x7F1000000000, 0x7F2000000000, last).hex() + "00000000",
        "args": [
            {"offset": at, "size": size, "kind": kind, "name": None, "type": None}
            for at, size, kind in zip(offsets, sizes or (8, 8, 4), kinds, strict=True)
        ],
    }
    write_json(folder / "capture" / "capture.json", document)
    write_json(folder / "reproducer.json", {})
    return folder


VALUES = {"XBLOCK": 512, "num_stages": 1}


def test_a_capture_without_the_shim(tmp_path: Path) -> None:
    folder = reproducer(tmp_path / "r")
    imported = import_source(folder, InductorSource(DATA, VALUES))
    assert imported.files == ("src/kernel_variant.py",)
    assert imported.configuration["AMDGCN_USE_BUFFER_OPS"] == "0"
    pinned = load_pinned(folder)
    assert pinned is not None
    assert (pinned["entry"], pinned["triton"], pinned["main"]) == (GELU, "unknown", "src/kernel_variant.py")
    assert pinned["target"] == {"backend": "hip", "arch": "gfx942", "warp_size": 64}
    assert pinned["constants"] == [[[3], 512]]
    assert pinned["signature"][2:] == [["xnumel", "i32"], ["XBLOCK", "constexpr"]]
    assert pinned["launch"]["arguments"][2] == {"name": "xnumel", "type": "i32", "value": 2560, "tensor": None}
    assert pinned["launch"]["seen"] is False
    text = (folder / "src" / "kernel_variant.py").read_text()
    assert "torch" not in text
    assert "from triton.language.extra import libdevice" in text
    assert (folder / "reproducer.py").exists()
    assert "recompile . -o" in (folder / "Makefile").read_text()
    capture = open_bundle(folder).capture
    assert (capture.triton, [one.type for one in capture.kernarg.args]) == ("unknown", ["float*", "float*", "int"])
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_helpers_of_torch_are_carried_as_stand_ins(tmp_path: Path) -> None:
    text = pointwise(SAME[3]).replace("pass", "tl.store(out_ptr0, triton_helpers.div_floor_integer(7, xnumel))")
    folder = reproducer(tmp_path / "r", "k")
    path = written(tmp_path / "o.py", text)
    imported = import_source(folder, InductorSource(path, VALUES))
    assert imported.files == ("src/inductor_helpers.py", "src/kernel_variant.py")
    helpers = (folder / "src" / "inductor_helpers.py").read_text()
    assert "def div_floor_integer" in helpers
    assert "welford" not in helpers
    assert "import inductor_helpers as triton_helpers" in (folder / "src" / "kernel_variant.py").read_text()


@pytest.mark.parametrize("where", ["triton_helpers.sort_with_index(7)", "frexp(7)"])
def test_a_helper_that_nobody_wrote_anew_is_named(tmp_path: Path, where: str) -> None:
    text = pointwise(SAME[3]).replace("pass", where)
    text = "from torch._inductor.runtime.triton_helpers import frexp\n" + text
    folder = reproducer(tmp_path / "r", "k")
    path = written(tmp_path / "o.py", text)
    error = refused("compile.triton-source", lambda: import_source(folder, InductorSource(path, VALUES)))
    assert where.partition("(")[0].rpartition(".")[2] in error.message
    assert_untouched(folder)


def assert_untouched(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["capture", "reproducer.json"]
    assert open_bundle(folder).capture.triton is None


def test_a_kernel_that_is_nested_too_deeply(tmp_path: Path) -> None:
    text = pointwise(SAME[3]).replace("pass", "return " + "-" * 1500 + "1")
    folder = reproducer(tmp_path / "r", "k")
    path = written(tmp_path / "o.py", text)
    error = refused("compile.inductor-format", lambda: import_source(folder, InductorSource(path, VALUES)))
    assert "nested too deeply" in error.message
    assert_untouched(folder)


@pytest.mark.parametrize(
    ("name", "more", "code", "said"),
    [
        ("other_kernel", {}, "compile.no-kernel", "has no kernel other_kernel"),
        (SOFTMAX, {}, "compile.other-kernel", "it has 4 arguments, the captured kernel 3"),
        ("triton_for_fused_2", {}, "compile.other-kernel", "it has 4 arguments"),
        (GELU, {"sizes": (8, 8, 8)}, "compile.other-kernel", "xnumel is i32, the captured kernel has a number of 8"),
        (GELU, {"sizes": (8, 4, 4)}, "compile.other-kernel", "out_ptr0 is *fp32, the captured kernel has a pointer"),
        (GELU, {"grid": 7}, "compile.configuration", "not 7"),
    ],
)
def test_another_kernel_is_refused(tmp_path: Path, name: str, more: dict[str, Any], code: str, said: str) -> None:
    folder = reproducer(tmp_path / "r", name, **more)
    error = refused(code, lambda: import_source(folder, InductorSource(DATA, VALUES)))
    assert said in error.message
    assert_untouched(folder)


def test_what_has_source_or_is_no_reproducer(tmp_path: Path) -> None:
    folder = reproducer(tmp_path / "r")
    import_source(folder, InductorSource(DATA, VALUES))
    refused("usage.has-source", lambda: import_source(folder, InductorSource(DATA, VALUES)))
    with_source = make_reproducer(tmp_path / "s")
    refused("usage.has-source", lambda: import_source(with_source, InductorSource(DATA, VALUES)))
    sealed = tmp_path / "r.kcap.tar"
    assert run(["pack", str(folder), "-o", str(sealed)]) == 0
    refused("usage.not-a-reproducer", lambda: import_source(sealed, InductorSource(DATA, VALUES)))


def recorded(folder: Path, **change: Any) -> Path:
    """As if the shim had been there, and the source had not."""
    import_source(folder, InductorSource(DATA, VALUES, "3.6.0"))
    for path in (folder / "src").iterdir():
        path.unlink()
    (folder / "src").rmdir()
    document = read_json(folder / "triton.json")
    write_json(folder / "triton.json", document | {"entry": None, "main": None} | change)
    return folder


def test_what_the_shim_recorded_stays(tmp_path: Path) -> None:
    folder = recorded(reproducer(tmp_path / "r"))
    before = read_json(folder / "triton.json")
    refused("usage.config", lambda: import_source(folder, InductorSource(DATA, {"XBLOCK": 64})))
    imported = import_source(folder, InductorSource(DATA))
    assert imported.release == "3.6.0"
    assert (imported.configuration["XBLOCK"], imported.configuration["num_warps"]) == (512, 4)
    assert read_json(folder / "triton.json") == before | {"entry": GELU, "main": "src/kernel_variant.py"}


def test_a_file_of_another_run_is_refused(tmp_path: Path) -> None:
    folder = recorded(reproducer(tmp_path / "r"), signature=[["in_ptr0", "*fp16"], ["out_ptr0", "*fp32"], ["n", "i32"]])
    error = refused("compile.other-kernel", lambda: import_source(folder, InductorSource(DATA)))
    assert "launched was one that takes in_ptr0: *fp16" in error.message


@pytest.mark.parametrize(
    ("codes", "same", "release"),
    [((b"a", b"a"), True, "3.6.0"), ((b"a", b"b"), False, "unknown"), ((None, None), None, "unknown")],
)
def test_the_same_code_tells_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codes: tuple[Any, Any], same: bool | None, release: str
) -> None:
    folder = reproducer(tmp_path / "r")
    imported = import_source(folder, InductorSource(DATA, VALUES))
    left = iter(codes)
    monkeypatch.setattr(inductor, "machine_code", lambda path, scratch: next(left))
    outcome = Outcome(tmp_path / "made", "Triton 3.6.0", None)
    monkeypatch.setattr(inductor, "recompile_source", lambda *given, **more: outcome)
    compiled = compile_imported(imported, trust=True, sandbox=Sandbox())
    assert (compiled.same_code, compiled.release) == (same, release)
    assert open_bundle(folder).capture.triton == release
    assert read_json(folder / "triton.json")["triton"] == release


def test_without_triton_nothing_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*given: Any, **more: Any) -> None:
        raise HostError("no Triton", code="host.no-triton")

    monkeypatch.setattr(inductor, "recompile_source", none)
    imported = import_source(reproducer(tmp_path / "r"), InductorSource(DATA, VALUES))
    compiled = compile_imported(imported, trust=True, sandbox=Sandbox())
    assert (compiled.same_code, compiled.difference) == (None, "not compiled: no Triton")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = reproducer(tmp_path / "r")
    words = ["source", str(folder), str(DATA), "--no-compile", "--triton", "3.6.0", "--json"]
    assert run(words) == 8
    assert "XBLOCK=512" in json.loads(capsys.readouterr().out)["hint"]
    assert run([*words, "--config", "XBLOCK=512,num_stages=1"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="source")
    assert (document["schema"], document["triton"]) == ("kerncap.source-imported/1", "3.6.0")
    assert (document["configuration"]["XBLOCK"], document["same_code"]) == (512, None)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--config", "XBLOCK=4"], "usage.option-alone"),
        (["--triton-source", "nowhere.py"], "usage.source-file"),
        (["--triton-source", str(DATA), "--config", "XBLOCK"], "usage.config"),
    ],
)
def test_options_of_extract(words: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", "k", *words, "--json", "--device", "vgpu:gfx942", "--", sys.executable]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == code
