"""Triton's records and what is made of them: the source that is cut out, the call, the document of a stranger.

The shim itself runs under a Triton of a few lines here; the real one does in tests/triton.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from crafted_records import DIGEST, loads, records

from kerncap.errors import BundleError, CompileError
from kerncap.triton.call import names_and_types
from kerncap.triton.described import call_lines, describe
from kerncap.triton.pinned import read_pinned
from kerncap.triton.records import read_records
from kerncap.triton.source import source_files

SHIM = Path(__file__).resolve().parents[2] / "kerncap" / "triton" / "shim"

MAIN = """
import os, torch
import triton
import triton.language as tl
from mathkit.helpers import scale as scaled
import mathkit.more

DEVICE = torch.device("cuda")
BLOCK = 128
SIZE = compute_size()
UNUSED = 7

def configs():
    return [triton.Config({"B": BLOCK})]

@triton.autotune(configs=configs(), key=["n"])
@triton.jit
def kernel(x, n, B: tl.constexpr):
    SIZE_HERE = n
    at = tl.arange(0, B)
    tl.store(x + at, scaled(tl.load(x + at)) + SIZE + mathkit.more.shift(at))

@triton.jit
def other(x):
    pass

def main():
    kernel[(1,)](torch.zeros(8), 8)
"""
HELPERS = "import triton\nfrom .more import FACTOR\n\n@triton.jit\ndef scale(v):\n    return v * FACTOR\n"
MORE = "import triton\nFACTOR = 3.0\nOTHER = 4\n\n@triton.jit\ndef shift(v):\n    return v + OTHER\n"


def test_what_a_kernel_needs_and_no_more() -> None:
    found = records(
        {"__main__": MAIN, "mathkit.helpers": HELPERS, "mathkit.more": MORE},
        ("__main__", "kernel"),
        {"__main__": {"SIZE": 4096}},
    )
    files, entry = source_files(found)
    assert entry == "kernel"
    assert set(files) == {
        "src/kernel_variant.py",
        "src/mathkit/__init__.py",
        "src/mathkit/helpers.py",
        "src/mathkit/more.py",
    }
    main = files["src/kernel_variant.py"]
    assert loads(main) == {"configs", "kernel"}
    assert '@triton.autotune(configs=configs(), key=["n"])\n@triton.jit\ndef kernel' in main
    assert "SIZE = 4096" in main  # a call computed it
    assert "BLOCK = 128" in main
    assert "from mathkit.helpers import scale as scaled" in main
    for gone in ("torch", "UNUSED", "DEVICE", "os", "def main"):
        assert gone not in main.replace("mathkit.more", "")
    assert "from mathkit.more import FACTOR" in files["src/mathkit/helpers.py"]
    assert "FACTOR = 3.0" in files["src/mathkit/more.py"]
    for text in files.values():
        compile(text, "source", "exec")


def test_a_kernel_inside_a_function_has_what_it_closed_over() -> None:
    inner = "    @triton.jit\n    def kernel(x, B: tl.constexpr):\n        tl.store(x, WIDTH + B)\n"
    text = f"import triton\nimport triton.language as tl\n\ndef make(WIDTH):\n{inner}    return kernel\n"
    found = records({"app": text}, ("app", "make.<locals>.kernel"), text=inner, values={}, local=["WIDTH"])
    found.functions[("app", "make.<locals>.kernel")]["values"] = {"WIDTH": {"float": (1.5).hex()}}
    files, entry = source_files(found)
    assert entry == "kernel"
    assert "WIDTH = 1.5" in files["src/kernel_variant.py"]
    assert "\n@triton.jit\ndef kernel" in files["src/kernel_variant.py"]
    assert "def make" not in files["src/kernel_variant.py"]


def test_decorators_of_frameworks_are_left_out() -> None:
    text = (
        "import triton\nfrom torch._inductor.runtime import triton_heuristics\n\n"
        "@triton_heuristics.pointwise(\n    size_hints={'x': 64},\n)\n@triton.jit\ndef triton_poi(x):\n    pass\n"
    )
    files, _ = source_files(records({"m": text}, ("m", "triton_poi")))
    main = files["src/kernel_variant.py"]
    assert "size_hints" not in main
    assert "Left out, a framework's: @triton_heuristics.pointwise" in main
    assert "torch" not in main


@pytest.mark.parametrize(
    ("text", "values", "said"),
    [
        ("import triton\nTABLE = make()\n@triton.jit\ndef k(x):\n    TABLE\n", {"TABLE": {"other": "<Table>"}}, None),
        ("import triton\nfrom elsewhere import f\n@triton.jit\ndef k(x):\n    f(x)\n", {}, "from elsewhere"),
        ("import triton\n@triton.jit\ndef k(x:\n", {}, "m.py"),
    ],
)
def test_what_cannot_be_carried_is_named(text: str, values: dict[str, Any], said: str | None) -> None:
    found = records({"m": text}, ("m", "k"), {"m": values})
    if said is None:  # what computed it is carried instead
        assert "TABLE = make()" in source_files(found)[0]["src/kernel_variant.py"]
        return
    with pytest.raises(CompileError) as error:
        source_files(found)
    assert error.value.code == "compile.triton-source"
    assert said in error.value.message


def test_names_and_types_of_arguments() -> None:
    pair = {"tuple": ["*kbf16", "i32"]}
    signature = [["x", "*fp32"], ["B", "constexpr"], ["pair", pair], ["q", "*fp8e4nv"], ["r", "*fp8e4b15"]]
    assert names_and_types(signature, [8, 8, 4, 8, 8]) == [
        ("x", "float*"),
        ("pair.0", "__bf16*"),
        ("pair.1", "int"),
        ("q", "__hip_fp8_e4m3*"),
        ("r", "fp8e4b15*"),
    ]


def pinned(**more: Any) -> dict[str, Any]:
    tensor = {"dtype": "torch.float32", "shape": [4, 8], "strides": [8, 1], "offset": 0}
    tried = [
        {"configuration": {"B": 128, "num_warps": 4}, "ms": {"float": (0.5).hex()}},
        {"configuration": {"B": 64, "num_warps": 2}, "ms": {"float": (0.25).hex()}},
        {"configuration": {"B": 32, "num_warps": 1}, "ms": None},
    ]
    document = {
        "schema": "kerncap.triton/1",
        "triton": "3.6.0",
        "python": "3.14.0",
        "kernel": "kernel",
        "function": ["m", "kernel"],
        "main": "src/kernel_variant.py",
        "entry": "kernel",
        "target": {"backend": "hip", "arch": "gfx942", "warp_size": 64},
        "arguments": ["x", "n", "B", "flag"],
        "signature": [["x", "*fp32"], ["n", "i32"], ["B", "constexpr"], ["flag", "constexpr"]],
        "constants": [[[2], 64], [[3], {"constexpr": True}]],
        "attributes": [[[0], [["tt.divisibility", 16]]]],
        "options": {"num_warps": 2, "num_stages": 3},
        "launch": {
            "grid": [7, 2, 1],
            "seen": True,
            "ambiguous": False,
            "arguments": [
                {"name": "x", "type": "*fp32", "value": 4096, "tensor": tensor},
                {"name": "n", "type": "i32", "value": 32, "tensor": None},
            ],
            "configuration": tried[1]["configuration"],
            "tried": tried,
            "heuristics": ["flag"],
            "trial": False,
        },
        "problems": [],
    }
    return {**document, **more}


def test_the_call_and_what_was_tried() -> None:
    assert call_lines(pinned()) == [
        "kernel[(7, 2)](",
        "    x=tensor(torch.float32, shape=(4, 8), strides=(8, 1), at 0x1000),",
        "    n=32,",
        "    B=64,",
        "    flag=True,",
        "    num_warps=2, num_stages=3)",
    ]
    said = describe(pinned()).splitlines()
    tried = said.index("configurations that were tried, fastest first")
    assert [line.split() for line in said[tried + 1 :]] == [
        ["*", "1", "0.25", "ms", "B=64,", "num_warps=2"],
        ["2", "0.5", "ms", "B=128,", "num_warps=4"],
        ["3", "not", "timed", "B=32,", "num_warps=1"],
    ]
    assert "from heuristics: flag" in said


@pytest.mark.parametrize(
    "change",
    [
        {"main": "/etc/passwd"},
        {"entry": "__import__('os').system('x')"},
        {"target": {"backend": "cuda", "arch": "sm_90", "warp_size": 32}},
        {"launch": {}},
        {"signature": "x"},
        {"schema": "kerncap.triton/2"},
    ],
)
def test_a_strangers_document_is_checked(change: dict[str, Any]) -> None:
    assert read_pinned(json.dumps(pinned()).encode(), what="triton.json")["kernel"] == "kernel"
    with pytest.raises(BundleError):
        read_pinned(json.dumps(pinned(**change)).encode(), what="triton.json")


# --- the shim, under a Triton of a few lines --------------------------------------------------------------------------

_TRITON = {
    "__init__.py": "__version__ = '3.6.0'\n",
    "compiler/__init__.py": "from .compiler import CompiledKernel\n",
    "compiler/compiler.py": """
import types
class CompiledKernel:
    def __init__(self, src, code):
        self.src, self.asm, self._run = src, {"hsaco": code}, None
        target = types.SimpleNamespace(backend="hip", arch="gfx942", warp_size=64)
        self.metadata = Metadata(name=src.fn.fn.__name__, num_warps=4, target=target)
    def _init_handles(self):
        if self._run is None:
            self._run = lambda *arguments: print("launched", *arguments[:3])
    @property
    def run(self):
        self._init_handles()
        return self._run
class Metadata(types.SimpleNamespace):
    def _asdict(self):
        return dict(vars(self))
""",
    "runtime/__init__.py": "",
    "runtime/jit.py": """
class JITFunction:
    def __init__(self, fn):
        self.fn, self.arg_names = fn, list(fn.__code__.co_varnames[:fn.__code__.co_argcount])
""",
    "runtime/autotuner.py": """
class Autotuner:
    def __init__(self, fn, configs, call):
        self.base_fn, self.configs, self.call = fn, configs, call
        self.arg_names, self.keys, self.cache = ["x", "n"], ["n"], {}
    def _bench(self, *args, config, **meta):
        self.call(config, *args)
        return [config.ms * args[1]]
    def run(self, *args):
        if args[1] not in self.cache:
            self.configs_timings = {c: self._bench(*args, config=c) for c in self.configs}
            self.cache[args[1]] = min(self.configs, key=lambda c: c.ms)
        self.best_config = self.cache[args[1]]
        self.call(self.best_config, *args)
class Heuristics:
    def run(self, *args, **kwargs):
        pass
""",
}
_APPLICATION = """
import triton
from triton.compiler import CompiledKernel
from triton.runtime.jit import JITFunction
from triton.runtime.autotuner import Autotuner
import types

FACTOR = 3

def kernel(x, n):
    return x * FACTOR

class Tensor:
    dtype, shape = "torch.float32", (4, 2)
    def data_ptr(self): return 4096
    def stride(self): return (2, 1)
    def storage_offset(self): return 0

class Config:
    def __init__(self, width, ms): self.width, self.ms = width, ms
    def all_kwargs(self): return {"W": self.width}

function = JITFunction(kernel)
source = types.SimpleNamespace(fn=function, signature={"x": "*fp32", "n": "i32"}, constants={}, attrs={})
compiled = CompiledKernel(source, b"code")
def call(config, x, n):
    compiled.run(2, 1, 1, None, None, None, None, None, None, x, n)
tuner = Autotuner(kernel, [Config(1, 0.5), Config(2, 0.25)], call)
tuner.run(Tensor(), 8)
tuner.run(Tensor(), 16)
tuner.run(Tensor(), 8)
tuner.run(Tensor(), 8)
print("site:", __import__("sitecustomize").WHOSE)
"""


@pytest.fixture
def application(tmp_path: Path) -> Path:
    for name, text in _TRITON.items():
        path = tmp_path / "lib" / "triton" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "lib" / "sitecustomize.py").write_text("WHOSE = 'the user'\n")
    (tmp_path / "app.py").write_text(_APPLICATION)
    (tmp_path / "records").mkdir()
    return tmp_path


def run_application(folder: Path, *, records: Path | None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("KERNCAP")}
    environment["PYTHONPATH"] = f"{SHIM}:{folder / 'lib'}"
    if records is not None:
        environment["KERNCAP_TRITON_RECORDS"] = str(records)
    argv = [sys.executable, folder / "app.py"]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60)


def test_the_shim_records_kernels_launches_and_tunings(application: Path) -> None:
    done = run_application(application, records=application / "records")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "launched 2 1 1\n" * 8 + "site: the user\n"
    code = "sha256:" + hashlib.sha256(b"code").hexdigest()
    found = read_records(application / "records", code)
    assert found is not None
    assert found.process["triton"] == "3.6.0"
    assert found.process["known"] is True
    assert (found.kernel["name"], found.kernel["options"]["num_warps"]) == ("kernel", 4)
    assert found.kernel["signature"] == [["x", "*fp32"], ["n", "i32"]]
    assert found.functions[("__main__", "kernel")]["values"] == {"FACTOR": 3}
    assert [launch["trial"] for launch in found.launches] == [True, True, False] * 2
    _, other = launches = [launch for launch in found.launches if not launch["trial"]]
    last = launches[0]  # the third and fourth call are the first again
    assert last["configuration"] == {"W": 2}
    assert last["arguments"][0]["tensor"] == {
        "va": 4096,
        "dtype": "torch.float32",
        "shape": [4, 2],
        "strides": [2, 1],
        "offset": 0,
    }
    tried = found.tunings[last["tuning"]]["tried"]
    assert [float.fromhex(one["ms"]["float"]) for one in tried] == [4, 2]
    tried = found.tunings[other["tuning"]]["tried"]
    assert [float.fromhex(one["ms"]["float"]) for one in tried] == [8, 4]
    assert read_records(application / "records", DIGEST) is None


_TORCH = {
    "__init__.py": "",
    "_inductor/__init__.py": "",
    "_inductor/runtime/__init__.py": "",
    "_inductor/runtime/static_triton_launcher.py": """
class StaticallyLaunchedTritonKernel:
    def __init__(self, kernel):
        self.name, self.cubin_raw = "kernel", kernel.asm["hsaco"]
    def load_kernel(self, device): self.cubin_raw = None
    def run(self, grid_x, grid_y, grid_z, stream, *args): print("launched", grid_x, len(args))
    def __getstate__(self): return dict(vars(self))
""",
    "_inductor/runtime/triton_heuristics.py": """
class CachingAutotuner:
    def __init__(self, fn, launchers): self.fn, self.launchers, self.cached = fn, launchers, None
    def bench(self, launcher, *args):
        launcher(*args)
        return launcher.config.ms
    def run(self, *args):
        if self.cached: return self.cached(*args)
        timings = {launcher: self.bench(launcher, *args) for launcher in self.launchers}
        self.launchers = [min(timings, key=timings.get)]
        self.launchers[0](*args)
        self.cached = self._build_fast_launcher(self.launchers[0]) or self.launchers[0]
    def _build_fast_launcher(self, launcher): return lambda *args: print("from C")
""",
}
_INDUCTOR = """
from torch._inductor.runtime import static_triton_launcher, triton_heuristics
import pickle

sent = pickle.loads(pickle.dumps(static_triton_launcher.StaticallyLaunchedTritonKernel(compiled)))  # of a worker
sent.load_kernel(0)
def launcher(config):
    def launch(*args): sent.run(4, 1, 1, 0, *args)
    launch.config = config
    return launch
kernel.__qualname__ = "kernel"
tuner = triton_heuristics.CachingAutotuner(kernel, [launcher(Config(1, 0.5)), launcher(Config(2, 0.25))])
tuner.run(Tensor(), 8)
tuner.run(Tensor(), 16)
"""


def test_inductors_own_launcher_and_tuner(application: Path) -> None:
    for name, text in _TORCH.items():
        path = application / "lib" / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    before = _APPLICATION.partition("def call(config")[0]
    (application / "app.py").write_text(before + _INDUCTOR)
    done = run_application(application, records=application / "records")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "launched 4 2\n" * 4)
    found = read_records(application / "records", "sha256:" + hashlib.sha256(b"code").hexdigest())
    assert found is not None
    assert [(one["trial"], one["arguments"][1], one["constants"]) for one in found.launches] == [
        (True, 8, False),
        (True, 8, False),
        (False, 8, False),
        (False, 16, False),
    ]
    assert [one["configuration"]["W"] for one in found.launches] == [1, 2, 2, 2]
    assert len(found.tunings[found.launches[-1]["tuning"]]["tried"]) == 2


def test_launches_of_another_process_than_the_one_that_compiled(tmp_path: Path) -> None:
    """A compile worker has the source, the process that sent it the work has the launches."""
    kernel = {"record": "kernel", "hsaco": DIGEST, "name": "k"}
    function = {"record": "function", "module": "m", "name": "k", "values": {}, "local": [], "text": "1"}
    launch = {"record": "launch", "hsaco": DIGEST, "grid": [1, 1, 1], "arguments": [], "tuning": "t"}
    tuning = {"record": "tuning", "id": "t", "tried": []}
    for number, lines in ((1, [kernel, tuning, launch]), (2, [function, kernel])):
        (tmp_path / f"triton-{number}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    found = read_records(tmp_path, DIGEST)
    assert found is not None
    assert (len(found.functions), len(found.launches), list(found.tunings)) == (1, 1, ["t"])


def test_a_launch_out_of_a_cache_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    launch = {"record": "launch", "hsaco": DIGEST, "grid": [1, 1, 1], "arguments": []}
    (tmp_path / "triton-1.jsonl").write_text(json.dumps(launch) + "\n")
    assert read_records(tmp_path, "sha256:" + "2" * 64) is None
    assert not caplog.records
    assert read_records(tmp_path, DIGEST) is None
    assert "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1" in caplog.text


def test_without_records_the_shim_only_makes_way(application: Path) -> None:
    done = run_application(application, records=None)
    assert (done.returncode, done.stderr) == (0, "")
    assert "site: the user" in done.stdout
    assert not any((application / "records").iterdir())


def test_the_shim_hides_nothing_and_imports_nothing_before_triton_comes(application: Path) -> None:
    """Else a module of the application's with the name of one of Python's would be Python's."""
    assert {path.name for path in SHIM.iterdir()} - {"__pycache__"} == {"sitecustomize.py", "_kerncap_triton"}
    (application / "inspect.py").write_text("WHOSE = 'the user'\n")
    (application / "app.py").write_text(
        "import sys\n"
        "early = {name.partition('.')[2] for name in sys.modules if name.startswith('_kerncap_triton.')}\n"
        "import inspect\n"
        "print(sorted(early), inspect.WHOSE, *({'json', 'ctypes', 'hashlib', 'triton'} & set(sys.modules)))\n"
        "import triton.compiler\n"
    )
    done = run_application(application, records=application / "records")
    assert (done.returncode, done.stdout) == (0, "['tool', 'watch'] the user\n")
    assert "kerncap: triton: triton.compiler.compiler of Triton 3.6.0: AttributeError" not in done.stderr


@pytest.mark.parametrize("path", sorted(SHIM.rglob("*.py")), ids=lambda path: path.stem)
def test_the_shim_is_read_by_the_oldest_python_that_triton_supports(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 9))


def test_a_shim_that_fails_says_so_and_does_no_harm(application: Path) -> None:
    """A release whose insides are others, and a folder that is gone."""
    path = application / "lib" / "triton" / "compiler" / "compiler.py"
    path.write_text(path.read_text().replace("_init_handles", "_load"))
    done = run_application(application, records=application / "records")
    assert done.returncode == 0
    assert "kerncap: triton: triton.compiler.compiler of Triton 3.6.0: AttributeError" in done.stderr
    done = run_application(application, records=application / "gone")
    assert done.returncode == 0
    assert "launched 2 1 1" in done.stdout


def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    lines = [{"record": "process", "triton": "3.9.0"}, {"record": "kernel", "hsaco": DIGEST, "name": "k"}]
    text = "\n".join(map(json.dumps, lines)) + '\n{"record": "launch", "hsaco": "sha2'
    (tmp_path / "triton-1.jsonl").write_text(text)
    found = read_records(tmp_path, DIGEST)
    assert found is not None
    assert (found.process["triton"], found.launches) == ("3.9.0", ())


def test_floats_are_compared_as_the_kernel_gets_them() -> None:
    from kerncap.triton.call import is_same

    (as_single,) = struct.unpack("<f", struct.pack("<f", 1e-5))
    assert is_same({"float": (1e-5).hex()}, "fp32", as_single)
    assert not is_same({"float": (2e-5).hex()}, "fp32", as_single)
    assert is_same(-1, "i32", -1)
    assert is_same(True, "i1", 1)
    assert not is_same(7, "i32", 8)
    assert is_same(None, "*fp32", 0)
    assert not is_same({"tensor": {"va": 1}}, "*fp32", 2)


# --- tensor descriptors, tuples, cells of notebooks -------------------------------------------------------------------


@pytest.mark.parametrize(("flags", "named"), [(0, []), (1, ["padding"]), (2, ["padding", "round_f32_to_tf32"])])
def test_a_descriptor_is_many_arguments(flags: int, named: list[str]) -> None:
    """As 3.4, 3.5 and 3.8 lay it out."""
    sizes = [4, 8, 8, 8, 8, 8, *[1] * flags, 4, 4, 8, 8, 8]
    found = names_and_types([["n", "i32"], ["a", "tensordesc<fp16[16, 64]>"], ["out", "*fp32"]], sizes)
    assert found == [
        ("n", "int"),
        ("a.base", "half*"),
        ("a.shape.0", "long"),
        ("a.shape.1", "long"),
        ("a.strides.0", "long"),
        ("a.strides.1", "long"),
        *[(f"a.{flag}", "bool") for flag in named],
        ("a.shape_again.0", "int"),
        ("a.shape_again.1", "int"),
        ("a.strides_again.0", "long"),
        ("a.strides_again.1", "long"),
        ("out", "float*"),
    ]


def test_a_descriptor_of_the_hardware_is_a_block_of_bytes() -> None:
    found = names_and_types([["a", "tensordesc<fp16[64]>"], ["n", "i32"]], [48, 4, 8, 4])
    assert [name for name, _ in found] == ["a.base", "a.shape_again.0", "a.strides_again.0", "n"]


@pytest.mark.parametrize("sizes", [[8, 8, 8, 1, 1, 1, 4, 8, 4], [8, 8, 8, 8, 4], [8, 8], [16]])
def test_an_unknown_layout_of_a_descriptor_gives_no_wrong_names(
    sizes: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    assert names_and_types([["n", "i32"], ["a", "tensordesc<fp32[8]>"], ["m", "i32"]], [4, *sizes]) == [("n", "int")]
    assert "arguments from a on have no names: tensordesc<fp32[8]>" in caplog.text


def test_descriptors_and_tuples_as_a_person_would_write_them() -> None:
    tensor = {"dtype": "torch.float16", "shape": [8], "strides": [1], "offset": 0}
    numbers = {"a.shape.0": 8, "a.strides.0": 1, "a.padding": 1, "a.shape_again.0": 8, "a.strides_again.0": 1}
    arguments = [{"name": "a.base", "type": "*fp16", "value": 4096, "tensor": tensor}]
    arguments += [{"name": name, "type": "i64", "value": value, "tensor": None} for name, value in numbers.items()]
    arguments += [{"name": "pair.1", "type": "i32", "value": 5, "tensor": None}]
    document = pinned(
        arguments=["a", "pair", "none", "one"],
        signature=[
            ["a", "tensordesc<fp16[4]>"],
            ["pair", {"tuple": ["constexpr", "i32"]}],
            ["none", "constexpr"],
            ["one", {"tuple": ["constexpr"]}],
        ],
        constants=[[[1, 0], {"tuple": [2]}], [[2], None], [[3, 0], {"float": (0.5).hex()}]],
    )
    document["launch"]["arguments"] = arguments
    assert call_lines(document)[1:5] == [
        "    a=TensorDescriptor(tensor(torch.float16, shape=(8,), strides=(1,), at 0x1000), shape=[8], strides=[1], "
        'block_shape=[4], padding="nan"),',
        "    pair=((2,), 5),",
        "    none=None,",
        "    one=(0.5,),",
    ]


def test_a_kernel_of_a_notebook_is_put_together_from_its_cells() -> None:
    helper = "@triton.jit\ndef helper(v):\n    return v * FACTOR\n"
    kernel = "@triton.jit\ndef kernel(x, B: tl.constexpr):\n    tl.store(x, helper(tl.load(x)))\n"
    triton_itself = {"triton": {"module": "triton"}}
    found = records(
        {"__main__": "import sys\nsys.exit(launch())\n"},
        ("__main__", "kernel"),
        text=kernel,
        apart=True,
        values={
            "tl": {"module": "triton.language"},
            "helper": {"function": ["__main__", "helper"]},
            **triton_itself,
        },
    )
    found.functions[("__main__", "helper")] = {
        "module": "__main__",
        "name": "helper",
        "text": helper,
        "apart": True,
        "local": [],
        "values": {"FACTOR": {"constexpr": 3}, **triton_itself},
    }
    files, _ = source_files(found)
    main = files["src/kernel_variant.py"]
    assert loads(main) == {"helper", "kernel"}
    assert "import triton.language as tl" in main
    assert "FACTOR = tl.constexpr(3)" in main
    assert "launch" not in main


def test_helpers_of_a_framework_are_carried_under_a_name_of_their_own() -> None:
    """In `src` a folder `torch` would stand in torch's way. What they take from Triton is imported from Triton."""
    place = "torch._inductor.runtime.triton_helpers"
    text = (
        "import triton\nimport triton.language as tl\n"
        "from torch._inductor.runtime import triton_helpers, triton_heuristics\n"
        f"from {place} import libdevice, math as tl_math\n"
        "@triton_heuristics.pointwise(size_hints={'x': 64})\n@triton.jit\n"
        "def k(x):\n    tl.store(x, tl_math.abs(triton_helpers.maximum(tl.load(x), 0)))\n"
    )
    main = "torch._inductor.runtime.compile_tasks.chash"
    values = {"triton_helpers": {"module": place}, "tl_math": {"module": "triton.language.math"}}
    found = records({main: text}, (main, "k"))
    found.functions[(main, "k")]["values"] = values
    helpers = {
        "maximum": ("@triton.jit\ndef maximum(a, b):\n    return log(tl.maximum(a, at_least(b)))\n", {}),
        "at_least": ("@triton.jit\ndef at_least(a):\n    return a + LEAST\n", {"LEAST": {"constexpr": 2}}),
        "other": ("@triton.jit\ndef other(a):\n    return a\n", {}),
    }
    common = {"tl": {"module": "triton.language"}, "triton": {"module": "triton"}}
    common["log"] = {"function": ["triton.language.standard", "_log2"]}
    for name, (helper, more) in helpers.items():
        found.functions[(place, name)] = {
            **{"module": place, "name": name, "text": helper, "apart": True, "local": []},
            "values": {**common, **more},
        }
    files, _ = source_files(found)
    variant = files["src/kernel_variant.py"]
    assert f"import from_{place} as triton_helpers" in variant
    assert "import triton.language.math as tl_math" in variant
    assert "import torch" not in variant
    assert "from torch" not in variant
    carried = files[f"src/from_{place.replace('.', '/')}.py"]
    assert loads(carried) == {"maximum", "at_least"}
    assert "from triton.language.standard import _log2 as log" in carried
    assert "LEAST = tl.constexpr(2)" in carried


def test_a_kernel_that_is_linked_with_a_library_of_the_users_is_not_carried() -> None:
    found = records({"m": "import triton\n@triton.jit\ndef k(x):\n    pass\n"}, ("m", "k"))
    own = ["ocml", "backends/amd/lib/ocml.bc"]
    found.kernel["options"] = {"extern_libs": {"list": [{"list": own}]}}
    assert source_files(found)[1] == "k"
    found.kernel["options"] = {"extern_libs": {"list": [{"list": own}, {"list": ["mine", "/home/me/mine.bc"]}]}}
    with pytest.raises(CompileError) as error:
        source_files(found)
    assert "linked with mine, which is not Triton's own: /home/me/mine.bc" in error.value.message


def test_the_source_is_what_it_was_when_the_kernel_was_compiled(tmp_path: Path) -> None:
    """A cell is run again with another text, under the same name."""
    function = {"record": "function", "module": "__main__", "name": "k", "values": {}, "local": [], "text": "1"}
    lines = [
        {"record": "process", "triton": "3.9.0"},
        function,
        {"record": "kernel", "hsaco": DIGEST, "name": "k"},
        {**function, "text": "2"},
        {"record": "kernel", "hsaco": "sha256:" + "2" * 64, "name": "k"},
    ]
    (tmp_path / "triton-1.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    for digest, text in ((DIGEST, "1"), ("sha256:" + "2" * 64, "2")):
        found = read_records(tmp_path, digest)
        assert found is not None
        assert found.functions[("__main__", "k")]["text"] == text
