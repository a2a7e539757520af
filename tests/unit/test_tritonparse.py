"""Traces of tritonparse: which launch is meant, what is selected for it, and what becomes of files that are none.

The traces in tests/triton/data were written by tritonparse 0.6.0 in tests/triton/programs/traced.py, one of them then
rearranged by its `parse`; the texts of the compiler are left out of them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kerncap.cli.main import run
from kerncap.errors import CaptureError, KerncapError, UsageError
from kerncap.triton import trace_file
from kerncap.triton.trace import Trace
from kerncap.triton.trace_check import differences
from kerncap.triton.trace_file import TraceFile
from kerncap.triton.trace_launch import Launch
from kerncap.workflows.traced import check_captured, list_launches, select_traced, trace_and_line

DATA = Path(__file__).resolve().parents[1] / "triton" / "data"
RAW, PARSED = DATA / "traced.ndjson", DATA / "traced_mapped.ndjson.gz"


def event(**more: Any) -> dict[str, Any]:
    """A launch of `k[(4,)](n=7)`."""
    facts = {"name": "k", "hash": "h", "num_warps": 4, "warp_size": 64, "backend_name": "hip"} | more.pop("facts", {})
    return {
        "event_type": "launch",
        "pid": 1,
        "name": "k",
        "grid": [4],
        "compilation_metadata": facts,
        "extracted_args": {"x": {"type": "tensor", "shape": [7]}, "n": {"type": "int", "value": 7}},
        "stack": [],
    } | more


def written(path: Path, *events: Any, end: str = "\n") -> Path:
    path.write_text("\n".join(json.dumps(one) for one in events) + end)
    return path


def refused(call: Callable[[], Any]) -> KerncapError:
    with pytest.raises(UsageError) as error:
        call()
    assert error.value.hint
    return error.value


# (line in the raw trace, in the parsed one) of launches of vector_add: dispatch, grid, condition
ADDS = [
    (1, 1, 0, (1536, 1, 1), None),
    (3, 11, 0, (1536, 1, 1), None),  # the same number of workitems, in groups of 512
    (4, 2, 0, (3072, 1, 1), None),
    (9, 3, 1, (1536, 1, 1), None),
    (10, 4, 0, (1536, 1, 1), "arg[3]:i32==1400"),
    (11, 5, 2, (1536, 1, 1), "arg[3]:i32==1500"),
    (22, 6, 3, (1536, 1, 1), "arg[3]:i32==1500"),
]


@pytest.mark.parametrize(("raw", "parsed", "dispatch", "grid", "condition"), ADDS)
def test_a_launch_of_a_real_trace(
    raw: int, parsed: int, dispatch: int, grid: tuple[int, int, int], condition: str | None
) -> None:
    for text in (f"{RAW}:{raw}", f"{PARSED}:{parsed}"):
        traced = select_traced(text, None, None)
        selection = traced.selection
        assert (selection.kernel, selection.match, selection.dispatch) == ("vector_add", "mangled", dispatch)
        assert (selection.grid, selection.workgroup) == (grid, (512 if raw == 3 else 256, 1, 1))
        assert [one.text for one in selection.when] == ([condition] if condition else [])
        assert not selection.trials
        assert traced.uncertain == ()
        assert "vector_add[" in traced.text


def test_by_kernel_and_number() -> None:
    traced = select_traced(str(RAW), "dropout", 2)
    assert traced.launch.line == 8
    assert [one.text for one in traced.selection.when] == ["arg[4]:i32==12"]
    assert traced.selection.dispatch == 1
    assert select_traced(f"{RAW}:8", "dropout", None) == traced


def test_trials_of_the_autotuner_do_not_count_unless_one_is_meant() -> None:
    winner = select_traced(f"{RAW}:21", None, None)
    assert (winner.selection.dispatch, winner.selection.trials) == (1, False)
    trial = select_traced(f"{RAW}:14", None, None)
    assert (trial.selection.dispatch, trial.selection.trials) == (1, True)
    assert "autotuner" in trial.uncertain[0]


@pytest.mark.parametrize(
    ("line", "kernel", "number", "said"),
    [
        (None, None, None, "12 launches that are no trials: line 1: vector_add"),
        (None, "dropout", None, "3 launches that are no trials"),
        (None, "drop", None, "no launch of drop; it has vector_add (7), dropout (3), matmul (8)"),
        (None, "dropout", 3, "no launch 3 of dropout: 3 launches"),
        (0, None, None, "line 0 of"),
        (23, None, None, "no line 23"),
        (1, "dropout", None, "line 1 launches vector_add, not dropout"),
    ],
)
def test_which_is_not_there_or_not_the_only_one(
    line: int | None, kernel: str | None, number: int | None, said: str
) -> None:
    error = refused(lambda: select_traced(f"{RAW}" + ("" if line is None else f":{line}"), kernel, number))
    assert (error.code, error.exit_code) == ("usage.trace-launch", 2)
    assert said in error.message
    assert "kerncap launches" in error.hint


def test_the_only_launch_need_not_be_named(tmp_path: Path) -> None:
    trace = written(tmp_path / "t", event())
    assert select_traced(str(trace), None, None).launch.line == 0


@pytest.mark.parametrize("kernel", [None, "k"])
def test_a_number_is_of_a_kernel(kernel: str | None) -> None:
    text = str(RAW) if kernel is None else f"{RAW}:1"
    assert refused(lambda: select_traced(text, kernel, 0)).code == "usage.two-choices"


def test_a_colon_in_a_name(tmp_path: Path) -> None:
    (tmp_path / "t:3").touch()
    assert trace_and_line(f"{tmp_path}/t:3") == (tmp_path / "t:3", None)
    assert trace_and_line(f"{tmp_path}/t:4") == (tmp_path / "t", 4)
    assert trace_and_line("t:x") == (Path("t:x"), None)


def compressed(kind: str, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    compress = gzip.compress if kind.startswith("gzip") else zstandard.ZstdCompressor().compress
    return b"".join(map(compress, lines)) if kind.endswith("each") else compress(data)


# Of zstd in one frame the trace here is one block: cut short, nothing is left of it.
KINDS = ("gzip", "gzip-each", "zstd", "zstd-each")


@pytest.mark.parametrize("kind", KINDS)
def test_compressed(tmp_path: Path, kind: str) -> None:
    (tmp_path / "t").write_bytes(compressed(kind, RAW.read_bytes()))
    assert list(Trace(tmp_path / "t").launches()) == list(Trace(RAW).launches())


@pytest.mark.parametrize("kind", ["plain", "gzip", "gzip-each", "zstd-each"])
def test_a_trace_that_is_cut_short(tmp_path: Path, kind: str) -> None:
    whole = RAW.read_bytes() if kind == "plain" else compressed(kind, RAW.read_bytes())
    trace = tmp_path / "t"
    for size in (len(whole) - 40, len(whole) - len(whole) // 3):
        trace.write_bytes(whole[:size])
        file = TraceFile(trace)
        events = [number for number, _ in file.events()]
        assert events == list(range(len(events)))
        assert file.cut_short
        # What is there is there; what is not is said to be behind the cut.
        assert select_traced(f"{trace}:4", None, None).selection.dispatch == 0
        assert "incomplete" in select_traced(f"{trace}:4", None, None).uncertain[0]
        error = refused(lambda: select_traced(f"{trace}:22", None, None))
        assert "the trace is incomplete" in error.message
    # The end of the last line may be lacking, when all else is there.
    if kind == "plain":
        trace.write_bytes(whole.rstrip())
        assert len(list(Trace(trace).launches())) == 18


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"hello\n",
        b"[1, 2]\n",
        b'{"a": 1}\n',
        b'{"event_type": 3}\n',
        b"\x1f\x8bhello",
        b"\x28\xb5\x2f\xfdhello",
        b"\x7fELF\x02\x01\x01",
        b"[" * 200_000,
        b'{"event_type": "launch"',
        json.dumps(event()).encode() + b"\nhello\n" + json.dumps(event()).encode() + b"\n",
        b'{"event_type": "launch", "name": ' + b"9" * 5000 + b"}\n",
        gzip.compress(b'{"event_type": "autotune"}\n', mtime=0) + b"junk",
        compressed("zstd", RAW.read_bytes())[:-40],
    ],
)
def test_what_is_no_trace(tmp_path: Path, data: bytes) -> None:
    trace = tmp_path / "t"
    trace.write_bytes(data)
    error = refused(lambda: list_launches(trace, None))
    assert error.code == "usage.trace-format"
    assert len(error.message) < 600


@pytest.mark.parametrize(
    "change",
    [
        {"grid": []},
        {"grid": [1, 2, 3, 4]},
        {"grid": [-1]},
        {"grid": [1.5]},
        {"grid": [True]},
        {"grid": "6"},
        {"grid": [1 << 70]},
        {"name": None, "facts": {"name": None}},
        {"facts": {"name": "k" * 5000}},
        {"facts": {"num_warps": "4"}},
        {"facts": {"num_warps": 1 << 40}},
        {"facts": {"warp_size": -64}},
        {"pid": "1"},
        {"occurrence_id": [1]},
        {"extracted_args": [1]},
        {"extracted_args": {"x": 1}},
        {"extracted_args": {str(i): {} for i in range(5000)}},
        {"compilation_metadata": 7},
    ],
)
def test_a_launch_that_is_not_as_tritonparse_writes_it(tmp_path: Path, change: dict[str, Any]) -> None:
    trace = written(tmp_path / "t", event(), event(**change))
    error = refused(lambda: select_traced(f"{trace}:0", None, None))
    assert error.code == "usage.trace-format"
    assert "line 1" in error.message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"grid": [0]}, "empty grid"),
        ({"facts": {"backend_name": "cuda"}}, "compiled for cuda"),
        ({"extracted_args": {"_note": "argument extraction skipped during CUDA graph capture"}}, "into a graph"),
    ],
)
def test_a_launch_without_a_dispatch_of_its_own(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    trace = written(tmp_path / "t", event(**change))
    error = refused(lambda: select_traced(f"{trace}:0", None, None))
    assert (error.code, said in error.message) == ("usage.trace-launch", True)


def test_what_does_not_count(tmp_path: Path) -> None:
    """Other kernels, geometries and processes, empty grids, trials."""
    bench = [{"filename": "/x/triton/runtime/autotuner.py", "name": "_bench", "line": 1, "loc": ""}]
    inductor = [{"filename": "/x/torch/_inductor/runtime/triton_heuristics.py", "name": "bench"}]
    others = [
        event(name="j", facts={"name": "j"}),
        event(grid=[5]),
        event(facts={"num_warps": 8}),
        event(grid=[0]),
        event(stack=bench),
        event(stack=inductor),
        event(autotune_launch_type="benchmark"),
    ]
    trace = written(tmp_path / "t", event(), *others, event())
    traced = select_traced(f"{trace}:8", None, None)
    assert (traced.selection.dispatch, traced.uncertain) == (1, ())
    trace = written(tmp_path / "t", event(pid=2), event())
    traced = select_traced(f"{trace}:1", None, None)
    assert traced.selection.dispatch == 0
    assert "several processes" in traced.uncertain[0]


def test_what_makes_the_number_uncertain(tmp_path: Path) -> None:
    def reasons(*events: dict[str, Any]) -> str:
        return " ".join(select_traced(f"{written(tmp_path / 't', *events)}:1", None, None).uncertain)

    assert "a part of one" in reasons(event(occurrence_id=3), event(occurrence_id=5))
    assert reasons(event(occurrence_id=0), event(occurrence_id=1)) == ""
    grouped = {"event_type": "launch_diff"}
    assert "sorted by compilation" in reasons(event(), event(), grouped, event(facts={"hash": "other"}))
    assert reasons(event(), event(), grouped) == ""
    assert "grid was not traced" in reasons(event(compilation_metadata=None, grid=None), event())
    graph = {"_note": "argument extraction skipped during CUDA graph capture"}
    assert "into a graph" in reasons(event(extracted_args=graph), event())


def test_without_geometry_the_kernel_alone_is_counted(tmp_path: Path) -> None:
    """Launches of Inductor where its hook is off."""
    bare = {"event_type": "launch", "pid": 1, "name": "k"}
    trace = written(tmp_path / "t", bare, bare)
    traced = select_traced(f"{trace}:1", None, None)
    assert (traced.selection.grid, traced.selection.dispatch) == (None, 1)
    assert "does not tell its grid" in traced.uncertain[-1]


def test_an_argument_that_became_a_constant_has_no_place(tmp_path: Path) -> None:
    arguments = {"one": {"type": "int", "value": 1}, "n": {"type": "int", "value": 1 << 40}}
    compiled = {"event_type": "compilation", "payload": {"metadata": {"hash": "h", "src_constants": {"(0,)": 1}}}}
    before = event(extracted_args=arguments | {"n": {"type": "int", "value": 5}})
    trace = written(tmp_path / "t", compiled, before, event(extracted_args=arguments))
    assert [one.text for one in select_traced(f"{trace}:2", None, None).selection.when] == [f"arg[0]:i64=={1 << 40}"]
    # Of a tuple nobody knows how many arguments it is, and without the compilation nothing of constants.
    several = event(extracted_args=arguments | {"t": {"type": "tuple", "repr": "(1, 2)"}})
    for events in ([compiled, before, several], [compiled | {"payload": {}}, before, event(extracted_args=arguments)]):
        assert select_traced(f"{written(trace, *events)}:2", None, None).selection.when == ()


def test_a_line_without_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_file, "MOST_LINE_BYTES", 3 << 20)
    for data in (b" " * (8 << 20), gzip.compress(b" " * (64 << 20)), zstandard.compress(b" " * (64 << 20))):
        (tmp_path / "t").write_bytes(data)
        assert refused(lambda: list_launches(tmp_path / "t", None)).code == "usage.trace-limit"


def test_a_folder_says_what_is_in_it() -> None:
    error = refused(lambda: list_launches(DATA, None))
    assert (error.code, "traced.ndjson" in error.message) == ("usage.trace-format", True)


def pinned(**launch: Any) -> dict[str, Any]:
    tensor = {"dtype": "torch.float32", "shape": [30, 50], "strides": [50, 1], "offset": 0}
    arguments = [
        {"name": "x", "type": "*fp32", "value": 64, "tensor": tensor},
        {"name": "n", "type": "i32", "value": 1500, "tensor": None},
        {"name": "keep", "type": "fp32", "value": 0.10000000149011612, "tensor": None},
    ]
    return {"arguments": ["x", "n", "keep", "BLOCK"], "constants": [[[3], 256]], "launch": {"arguments": arguments}}


def traced_launch(**arguments: Any) -> Launch:
    known = {
        "x": {"type": "tensor", "dtype": "torch.float32", "shape": [30, 50], "stride": [50, 1]},
        "n": {"type": "int", "value": 1500},
        "keep": {"type": "float", "value": 0.1},
        "BLOCK": {"type": "int", "value": 256},
        "other": {"type": "NoneType", "repr": "None"},
    }
    return Launch(3, 0, "k", 1, (6, 1, 1), 4, 64, "hip", "h", False, False, None, known | arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, []),
        ({"n": {"type": "int", "value": 1400}}, ["n is 1500, 1400 in the trace"]),
        ({"keep": {"type": "float", "value": 0.2}}, ["keep is 0.10000000149011612, 0.2 in the trace"]),
        ({"BLOCK": {"type": "int", "value": 512}}, ["BLOCK is 256, 512 in the trace"]),
        (
            {"x": {"type": "tensor", "dtype": "torch.float32", "shape": [1500], "stride": [1]}},
            ["x has shape [30, 50], [1500] in the trace", "x has strides [50, 1], [1] in the trace"],
        ),
    ],
)
def test_what_was_captured_is_held_against_the_trace(arguments: dict[str, Any], said: list[str]) -> None:
    assert differences(traced_launch(**arguments), pinned()) == said


def test_another_launch_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_captured(tmp_path, traced_launch())  # of no Triton kernel, or recorded by nobody
    monkeypatch.setattr("kerncap.workflows.traced.load_pinned", lambda folder: pinned())
    check_captured(tmp_path, traced_launch())
    with pytest.raises(CaptureError) as error:
        check_captured(tmp_path, traced_launch(n={"type": "int", "value": 1400}))
    assert error.value.code == "capture.other-launch"
    assert "line 3 of the trace: n is 1500, 1400 in the trace" in error.value.message


def test_the_listing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["launches", str(RAW), "dropout"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[3].split()[:5] == ["8", "2", "dropout", "4x1x1", "256x1x1"]
    assert "keep=0.5, seed=12" in lines[3]
    assert run(["launches", str(PARSED)]) == 0
    assert capsys.readouterr().out.count("trial") == 6
    assert run(["launches", str(RAW), "nope"]) == 2
    assert "usage.trace-launch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--dispatch", "1"], "usage.two-choices"),
        (["--grid", "64"], "usage.two-choices"),
        (["--when", "nan"], "usage.two-choices"),
        (["--match", "glob"], "usage.two-choices"),
        (["--dispatches", "0..1"], "usage.two-choices"),
        (["--launch-id", "1"], "usage.two-choices"),
        (["--launch-id", "0", "--tritonparse", f"{RAW}:1"], "usage.two-choices"),
    ],
)
def test_one_way_to_say_which(words: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", "--tritonparse", str(RAW), *words, "--json", "--", "true"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == code


def test_a_launch_number_needs_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", "k", "--launch-id", "1", "--json", "--", "true"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "usage.option-alone"
