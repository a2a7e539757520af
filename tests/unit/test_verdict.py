"""The verdict: ranges, types, plans, typed comparison, classification, the write set from a trace."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic import RUN

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.capture import Capture, WriteSet
from kerncap.bundle.documents import validate
from kerncap.cli.verdict_text import print_verdict
from kerncap.errors import KerncapError, ReplayError
from kerncap.results import ReplayResult, Verdict, parse_replay_result, parse_verdict
from kerncap.verdict import types
from kerncap.verdict.classify import Subject, classify
from kerncap.verdict.compare import compare_dump, elements_agree
from kerncap.verdict.mismatches import open_dump
from kerncap.verdict.plan import CAPTURED, EXACT, PERTURBED, POISONED, REFERENCE, Plan, Tolerance, make_plan
from kerncap.verdict.ranges import intersect, normalise, subtract, total
from kerncap.verdict.values import values_of
from kerncap.verdict.write_set import read_trace

SUBJECT = Subject("sha256:" + "0" * 64, "vgpu:gfx942", None)


@pytest.fixture
def bundle(reproducer: Path) -> Bundle:
    return open_bundle(reproducer)


def test_ranges() -> None:
    a = normalise([[1, 0, 4], [0, 8, 8], [0, 0, 8], [1, 10, 0]])
    assert a == ((0, 0, 16), (1, 0, 4))
    assert total(a) == 20
    assert intersect(a, ((0, 4, 4), (0, 12, 100), (1, 3, 9))) == ((0, 4, 4), (0, 12, 4), (1, 3, 1))
    assert subtract(a, ((0, 4, 4), (0, 12, 100), (1, 0, 1))) == ((0, 0, 4), (0, 8, 4), (1, 1, 3))
    assert subtract(a, ()) == a
    assert subtract(((0, 5, 2),), ((0, 0, 100),)) == ()


@pytest.mark.parametrize(
    ("demangled", "expected"),
    [
        ("vector_add(float const*, float const*, float*, int)", ["float const*", "float const*", "float*", "int"]),
        ("void k<float, (int)3>(S<int, 2>*, void (*)(int)) [clone .kd]", ["S<int, 2>*", "void (*)(int)"]),
        ("advance()", []),
        ("advance(void)", []),
        ("extern_c_name", None),
    ],
)
def test_parameters(demangled: str, expected: list[str] | None) -> None:
    assert types.parameters(demangled) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("float const*", "f32"),
        ("double*", "f64"),
        ("_Float16*", "f16"),
        ("__hip_bfloat16 const*", "bf16"),
        ("HIP_vector_type<float, 4u>*", "f32"),
        ("float**", None),
        ("int*", "i32"),
        ("unsigned long long const*", "u64"),
        ("S*", None),
        ("float", None),
    ],
)
def test_element_types(name: str, expected: str | None) -> None:
    assert types.element_type(name) == expected


def test_typed_ranges_end_at_the_next_argument(bundle: Bundle) -> None:
    capture = bundle.capture
    first = replace(capture.kernarg.args[0], type=None)
    second = replace(first, offset=8, region_offset=4096)
    kernarg = replace(capture.kernarg, args=(first, second))
    kernel = replace(capture.kernel, demangled="k(float*, int*)")
    found = types.typed_ranges(replace(capture, kernarg=kernarg, kernel=kernel), [24098, 1 << 20, 64])
    assert found == ((0, 0, 4096, "f32"), (0, 4096, 20000, "i32"))
    assert types.float_ranges(found) == ((0, 0, 4096, "f32"),)
    same_place = replace(kernarg, args=(first, replace(second, region_offset=0)))
    assert types.typed_ranges(replace(capture, kernarg=same_place, kernel=kernel), [24096, 64, 64]) == ()


def with_write_set(capture: Capture, written: Any, read_first: Any) -> Capture:
    return replace(capture, write_set=WriteSet("vgpu-trace", written, read_first))


def test_plan_of_the_captured_code_object(bundle: Bundle, tmp_path: Path) -> None:
    plan = make_plan(bundle.capture, bundle.index, tmp_path, iterations=5)
    assert plan.names == (CAPTURED,)
    assert plan.runs[0].iterations == 5
    assert POISONED in plan.not_judged
    capture = with_write_set(bundle.capture, ((0, 0, 100),), ((0, 50, 50),))
    plan = make_plan(capture, bundle.index, tmp_path)
    assert plan.names == (CAPTURED, POISONED)
    assert plan.runs[1].poisoned == ((0, 0, 50),)


def test_plan_of_a_variant_is_judged_three_ways(bundle: Bundle, tmp_path: Path) -> None:
    capture = with_write_set(bundle.capture, ((0, 0, 100),), ((0, 49, 53),))
    hsaco = tmp_path / "v.hsaco"
    plan = make_plan(capture, bundle.index, tmp_path, hsaco=hsaco)
    assert plan.names == (CAPTURED, POISONED, REFERENCE, PERTURBED)
    assert [run.hsaco for run in plan.runs] == [hsaco, hsaco, None, hsaco]
    # whole floats inside of what was read: bytes 49..102 hold elements 13..24
    assert plan.runs[2].perturbed == ((0, 52, 48, "f32"),) == plan.runs[3].perturbed
    assert plan.runs[2].dump == plan.runs[3].expect_dump
    document = plan.runs[3].to_json()
    assert document["expect"]["kind"] == "dump"
    assert document["initial"]["kind"] == "perturbed"


def run_json(**changes: Any) -> dict[str, Any]:
    return RUN | changes


def result(*runs: dict[str, Any], **changes: Any) -> ReplayResult:
    document = {
        "schema": "kerncap.replay-result/1",
        "status": "ok",
        "error": None,
        "device": {"agent": "gfx942", "isa": "amdgcn-amd-amdhsa--gfx942", "product": "p"},
        "runs": list(runs),
        "duration_s": 0.5,
    }
    return parse_replay_result(document | changes)


MISMATCH = {"region": 0, "region_va": 4096, "offset": 8, "length": 4, "expected": "00000000", "actual": "01000000"}
WRONG = {"mismatch_bytes": 1, "mismatches": [MISMATCH]}


def judge(plan: Plan, capture: Capture, *runs: dict[str, Any]) -> Verdict:
    """Every verdict of these tests obeys the schema and survives the way through JSON."""
    for planned, run in zip(plan.runs, runs, strict=False):
        if planned.mismatch_dump is not None and not planned.mismatch_dump.exists():
            words = run["mismatches"]
            expected, actual = (b"".join(bytes.fromhex(word[key]) for word in words) for key in ("expected", "actual"))
            ranges = [[word["region"], word["offset"], 4, 4 * number] for number, word in enumerate(words)]
            write_dump(planned.mismatch_dump, ranges, expected, actual)
    verdict = classify(plan, result(*runs), capture, SUBJECT)
    document = json.loads(json.dumps(verdict.to_json()))
    validate(document, "verdict", what="verdict")
    assert parse_verdict(document) == verdict
    return verdict


def test_faithful_and_differs(bundle: Bundle, tmp_path: Path) -> None:
    plan = make_plan(bundle.capture, bundle.index, tmp_path)
    assert judge(plan, bundle.capture, run_json()).verdict == "faithful"
    verdict = judge(plan, bundle.capture, run_json(**WRONG))
    assert (verdict.verdict, verdict.passed) == ("differs", False)
    document = verdict.to_json()
    assert document["mismatches"][0]["region_va"] == 4096
    wanted = "verdict bundle kernel device changed_bytes written_bytes bytes_compared judged mismatches mismatch_bytes"
    assert set((wanted + " timing_ns duration_s").split()) <= set(document)
    json.dumps(document)


def test_comparing_nothing_is_an_error(bundle: Bundle, tmp_path: Path) -> None:
    plan = make_plan(bundle.capture, bundle.index, tmp_path)
    with pytest.raises(ReplayError) as error:
        judge(plan, bundle.capture, run_json(bytes_compared=0))
    assert error.value.code == "replay.nothing-compared"


def test_faults_and_failed_replays_are_errors(bundle: Bundle, tmp_path: Path) -> None:
    plan = make_plan(bundle.capture, bundle.index, tmp_path)
    with pytest.raises(ReplayError):
        judge(plan, bundle.capture, run_json(fault={"va": 64, "kind": "memory"}))
    with pytest.raises(ReplayError):
        judge(plan, bundle.capture)
    failed = result(run_json(), status="timeout", error={"code": "replay.timeout", "message": "m", "hint": None})
    with pytest.raises(ReplayError) as error:
        classify(plan, failed, bundle.capture, SUBJECT)
    assert error.value.code == "replay.timeout"


def test_a_captured_fault_is_judged_by_the_fault(bundle: Bundle, tmp_path: Path) -> None:
    capture = replace(bundle.capture, status="fault", fault_va=0x5010)
    error = {"code": "replay.memory-fault", "message": "m", "hint": None}

    def verdict(hsaco: Path | None, fault: int | None) -> tuple[str, bool]:
        plan = make_plan(capture, bundle.index, tmp_path, hsaco=hsaco)
        assert plan.names == (CAPTURED,)
        assert plan.runs[0].to_json()["expect"] is None
        if fault is None:
            found = classify(plan, result(run_json(bytes_compared=0)), capture, SUBJECT)
        else:
            run = run_json(bytes_compared=0, fault={"va": fault, "kind": "memory"})
            found = classify(plan, result(run, status="fault", error=error), capture, SUBJECT)
        validate(found.to_json(), "verdict", what="verdict")
        return found.verdict, found.passed

    assert verdict(None, 0x5F00) == ("faithful", True)
    assert verdict(None, 0x6000) == ("differs", False)
    assert verdict(tmp_path / "v", 0x5000) == ("equivalent", True)
    assert verdict(tmp_path / "v", None) == ("differs", False)
    plan = make_plan(capture, bundle.index, tmp_path)
    stopped = {"code": "vgpu.unimplemented-instruction", "message": "m", "hint": None}
    with pytest.raises(ReplayError):
        classify(plan, result(status="error", error=stopped), capture, SUBJECT)


def test_noise_beyond_the_recorded_one_does_not_pass(bundle: Bundle, tmp_path: Path) -> None:
    plan = make_plan(bundle.capture, bundle.index, tmp_path, iterations=2)
    noisy = run_json(iterations=2, iterations_agree=False, noise=[[0, 0, 8]])
    verdict = judge(plan, bundle.capture, noisy)
    assert (verdict.verdict, verdict.passed) == ("nondeterministic", False)
    recorded = replace(bundle.capture, noise=((0, 0, 16),))
    plan = make_plan(recorded, bundle.index, tmp_path, iterations=2)
    verdict = judge(plan, recorded, noisy)
    assert (verdict.verdict, verdict.passed) == ("nondeterministic", True)


def test_memory_that_was_not_captured_is_never_faithful(bundle: Bundle, tmp_path: Path) -> None:
    from kerncap.bundle.capture import Unreadable

    capture = replace(bundle.capture, unreadable=(Unreadable(4096, 4096, "permission"),))
    plan = make_plan(capture, bundle.index, tmp_path)
    verdict = judge(plan, capture, run_json())
    assert (verdict.verdict, verdict.passed) == ("differs", False)
    assert "whether the kernel uses it is not known" in verdict.reasons[0]


def test_memory_that_the_dispatch_did_not_touch_is_not_missed(bundle: Bundle, tmp_path: Path) -> None:
    from kerncap.bundle.capture import Unreadable

    plan = make_plan(bundle.capture, bundle.index, tmp_path)
    for touched, word in ((False, "faithful"), (True, "differs"), (None, "differs")):
        capture = replace(bundle.capture, unreadable=(Unreadable(4096, 4096, "permission", touched),))
        assert judge(plan, capture, run_json()).verdict == word


def test_a_variant_must_agree_in_every_state(bundle: Bundle, tmp_path: Path) -> None:
    capture = with_write_set(bundle.capture, ((0, 0, 100),), ((0, 48, 52),))
    plan = make_plan(capture, bundle.index, tmp_path, hsaco=tmp_path / "v.hsaco")
    right, reference = run_json(), run_json(bytes_compared=0)
    assert judge(plan, capture, right, right, reference, right).verdict == "equivalent"
    for wrong in range(3):
        runs = [run_json(**WRONG) if i == wrong else right for i in range(3)]
        verdict = judge(plan, capture, runs[0], runs[1], reference, runs[2])
        assert (verdict.verdict, verdict.passed) == ("differs", False)


def test_a_do_nothing_variant_that_only_the_captured_state_judges_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    kernarg = replace(bundle.capture.kernarg, args=())
    capture = replace(bundle.capture, write_set=None, kernarg=kernarg)
    plan = make_plan(capture, bundle.index, tmp_path, hsaco=tmp_path / "v.hsaco")
    assert plan.names == (CAPTURED,)
    with pytest.raises(KerncapError) as error:
        judge(plan, capture, run_json(changed_bytes=0))
    assert error.value.code == "replay.not-judged"
    assert judge(plan, capture, run_json(changed_bytes=0, **WRONG)).verdict == "differs"


def test_a_perturbed_state_that_changes_nothing_either_tells_nothing(bundle: Bundle, tmp_path: Path) -> None:
    capture = with_write_set(bundle.capture, ((0, 0, 100),), ((0, 0, 100),))
    plan = make_plan(capture, bundle.index, tmp_path, hsaco=tmp_path / "v.hsaco")
    assert plan.names == (CAPTURED, REFERENCE, PERTURBED)
    still = run_json(changed_bytes=0)
    with pytest.raises(KerncapError) as error:
        judge(plan, capture, still, run_json(changed_bytes=0, bytes_compared=0), still)
    assert error.value.code == "replay.not-judged"
    moved = run_json(changed_bytes=4, bytes_compared=0)
    assert judge(plan, capture, still, moved, run_json(changed_bytes=4)).verdict == "equivalent"


def write_dump(folder: Path, ranges: list[list[int]], expected: bytes, actual: bytes) -> Path:
    folder.mkdir()
    (folder / "mismatch.json").write_text(json.dumps({"schema": "kerncap.mismatch/1", "ranges": ranges}))
    (folder / "expected.bin").write_bytes(expected)
    (folder / "actual.bin").write_bytes(actual)
    return folder


def test_tolerance_applies_to_float_data_only(tmp_path: Path) -> None:
    want = np.array([1.0, 2.0], dtype="<f4").tobytes()
    got = np.array([1.0, 2.001], dtype="<f4").tobytes()
    wrong = sum(a != b for a, b in zip(want, got, strict=True))
    dump = open_dump(write_dump(tmp_path / "d", [[0, 8, 8, 0]], want, got))
    typed = ((0, 0, 64, "f32"),)
    loose = compare_dump(dump, typed, (), Tolerance(rtol=1e-3))
    assert (loose.left_bytes, loose.tolerated_bytes) == (0, wrong)
    assert compare_dump(dump, typed, (), Tolerance(rtol=1e-5)).left_bytes == wrong
    assert compare_dump(dump, (), (), Tolerance(rtol=1e-3)).left_bytes == wrong
    assert compare_dump(dump, (), ((0, 12, 4),), EXACT).noise_bytes == wrong
    with pytest.raises(ReplayError):
        compare_dump(open_dump(write_dump(tmp_path / "short", [[0, 0, 16, 0]], want, got)), typed, (), EXACT)


@pytest.mark.parametrize(
    ("expected", "actual", "agree"),
    [
        (1.0, 1.0, True),
        (0.0, -0.0, True),
        (np.inf, np.inf, True),
        (np.inf, -np.inf, False),
        (np.inf, 1e30, False),
        (1e30, np.inf, False),
        (np.nan, np.nan, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (100.0, 100.5, True),
        (100.0, 102.0, False),
    ],
)
def test_elements(expected: float, actual: float, agree: bool) -> None:
    tolerance = Tolerance(rtol=0.01)
    want, got = (np.array([value], dtype="<f8").tobytes() for value in (expected, actual))
    assert elements_agree(want, got, "f64", tolerance).tolist() == [agree]


def test_within_tolerance_verdict_and_its_cross_check(bundle: Bundle, tmp_path: Path) -> None:
    capture = replace(bundle.capture, write_set=None)
    plan = make_plan(capture, bundle.index, tmp_path, hsaco=tmp_path / "v", tolerance=Tolerance(rtol=1e-2))
    want, got = np.array([4.0, 0.0], dtype="<f4").tobytes(), np.array([4.001, 0.0], dtype="<f4").tobytes()
    wrong = sum(a != b for a, b in zip(want, got, strict=True))
    write_dump(plan.runs[0].mismatch_dump or tmp_path, [[0, 0, 8, 0]], want, got)
    right = run_json()
    # What a code object leaves that does nothing: here it would be noticed from the captured state.
    nothing = (run_json(mismatch_bytes=4), right)
    write_dump(plan.runs[3].mismatch_dump or tmp_path, [[0, 0, 4, 0]], want[:4], b"\1\1\1\1")
    verdict = judge(plan, capture, run_json(mismatch_bytes=wrong), run_json(bytes_compared=0), right, *nothing)
    assert (verdict.verdict, verdict.passed) == ("within-tolerance", True)
    assert not any("may pass" in reason for reason in verdict.reasons)
    with pytest.raises(ReplayError):
        judge(plan, capture, run_json(mismatch_bytes=wrong + 1), run_json(bytes_compared=0), right, *nothing)


def test_doing_nothing_within_the_tolerance_is_no_verdict(bundle: Bundle, tmp_path: Path) -> None:
    capture = with_write_set(bundle.capture, ((0, 0, 100),), ((0, 0, 100),))
    plan = make_plan(capture, bundle.index, tmp_path, hsaco=tmp_path / "v", tolerance=Tolerance(atol=1e-2))
    assert plan.names[3:] == ("nothing captured", "nothing perturbed")
    assert [run.dispatch for run in plan.runs] == [True, True, True, False, False]
    assert plan.runs[4].expect_dump == plan.runs[1].dump
    want, got = np.array([4.0, 0.0], dtype="<f4").tobytes(), np.array([4.001, 0.0], dtype="<f4").tobytes()
    for run in plan.runs[3:]:
        write_dump(run.mismatch_dump or tmp_path, [[0, 0, 8, 0]], want, got)
    small = run_json(mismatch_bytes=sum(a != b for a, b in zip(want, got, strict=True)))
    write_dump(plan.runs[0].mismatch_dump or tmp_path, [[0, 0, 8, 0]], want, got)
    with pytest.raises(ReplayError) as error:
        judge(plan, capture, small, run_json(bytes_compared=0), run_json(), small, small)
    assert error.value.code == "replay.not-judged"
    # What agrees to the bit is told by its bits.
    assert judge(plan, capture, run_json(), run_json(bytes_compared=0), run_json(), small, small).passed


def test_doing_nothing_within_recorded_noise_is_no_verdict(bundle: Bundle, tmp_path: Path) -> None:
    capture = replace(with_write_set(bundle.capture, ((0, 0, 8),), ()), noise=((0, 0, 8),))
    plan = make_plan(capture, bundle.index, tmp_path, hsaco=tmp_path / "v")
    assert plan.names == (CAPTURED, POISONED, "nothing captured", "nothing poisoned")
    for run in plan.runs:
        write_dump(run.mismatch_dump or tmp_path, [[0, 0, 8, 0]], bytes(8), b"\1" * 8)
    noisy = run_json(mismatch_bytes=8)
    with pytest.raises(ReplayError) as error:
        judge(plan, capture, noisy, noisy, noisy, noisy)
    assert error.value.code == "replay.not-judged"


def test_a_tolerance_that_hides_the_perturbation_is_said(bundle: Bundle, tmp_path: Path) -> None:
    capture = replace(bundle.capture, write_set=None)
    plan = make_plan(capture, bundle.index, tmp_path, hsaco=tmp_path / "v", tolerance=Tolerance(rtol=0.1))
    told = run_json(mismatch_bytes=8)
    for run in plan.runs[3:]:
        write_dump(run.mismatch_dump or tmp_path, [[0, 0, 8, 0]], bytes(8), b"\1" * 8)
    verdict = judge(plan, capture, run_json(), run_json(bytes_compared=0), run_json(), told, told)
    assert any("rtol 0.1 is no less than the change of perturbed inputs (0.0625)" in why for why in verdict.reasons)


def test_write_set_from_a_trace(bundle: Bundle, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    first, moved = bundle.index.regions[0].va, 0x7FFF00000000
    lines = [
        {"kernel_object": 1, "pid": 1, "dispatch": 0, "written": [[first, 8]], "read_first": []},
        {
            "kernel_object": 2,
            "pid": 1,
            "dispatch": 1,
            "written": [[first + 16, 8], [moved + 4, 4], [64, 32]],
            "read_first": [[first, 4]],
        },
    ]
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_trace(trace, (2,), bundle.index, [(2, moved)])
    assert found.written == ((0, 16, 8), (2, 4, 4))
    assert found.read_first == ((0, 0, 4),)
    assert found.outside_bytes == 32
    assert found.outside == ((64, 32),)
    assert found.touches(4095, 0)
    assert found.touches(80, 8)
    assert not found.touches(4096, 1 << 20)
    with pytest.raises(ReplayError):
        read_trace(trace, (3,), bundle.index, [])


def test_write_set_of_a_sequence(bundle: Bundle, tmp_path: Path) -> None:
    """What one dispatch read and an earlier one had stored is not read first."""
    trace = tmp_path / "trace"
    va = bundle.index.regions[0].va
    steps = [
        {"kernel_object": 1, "written": [[va, 8]], "read_first": [[va + 32, 4]]},
        {"kernel_object": 9, "written": [[va + 100, 4]], "read_first": []},
        {"kernel_object": 2, "written": [[va + 8, 8]], "read_first": [[va, 4], [va + 16, 4]]},
        {"kernel_object": 1, "written": [], "read_first": [[va + 8, 8], [va + 60, 4]]},
    ]
    trace.write_text("".join(json.dumps(step) + "\n" for step in steps))
    found = read_trace(trace, (1, 2, 1), bundle.index, [])
    assert found.written == ((0, 0, 16),)
    assert found.read_first == ((0, 16, 4), (0, 32, 4), (0, 60, 4))
    with pytest.raises(ReplayError, match="0x1"):
        read_trace(trace, (1, 2, 1, 1), bundle.index, [])


def test_a_result_of_another_schema_is_refused() -> None:
    with pytest.raises(ReplayError):
        parse_replay_result({"schema": "kerncap.replay-result/2"})
    with pytest.raises(ReplayError):
        parse_replay_result({"schema": "kerncap.replay-result/1", "status": "ok", "runs": [{}]})


def test_a_mismatch_names_its_argument_and_its_numbers(
    bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = bundle.capture.kernarg.args[0]
    assert first.region is not None
    assert first.region_offset is not None
    va = bundle.index.regions[first.region].va
    at = {"region": first.region, "region_va": va, "offset": first.region_offset + 8, "length": 4}
    plan = replace(
        make_plan(bundle.capture, bundle.index, tmp_path), shown=((first.region, first.region_offset, 16, "f32"),)
    )
    wrong = {"mismatch_bytes": 4, "mismatches": [{**at, "expected": "0000c03f", "actual": "cdcccc3d"}]}
    verdict = judge(plan, bundle.capture, run_json(**wrong))
    (found,) = verdict.mismatches
    assert (found.argument, found.type) == (first.name or f"argument at {first.offset}", "f32")
    print_verdict(verdict)
    said = capsys.readouterr().out
    name = first.name or f"argument at {first.offset}"
    assert [line.split() for line in said.splitlines() if line.lstrip().startswith(f"{name}[2]")] == [
        [*f"{name}[2]".split(), "region", str(first.region), "+", f"{at['offset']:#x}", "1.5", "0.100000001"]
    ]
    shutil.rmtree(plan.runs[0].mismatch_dump or tmp_path)
    beyond = {**at, "offset": first.region_offset + 14, "expected": "00000000", "actual": "01000000"}
    verdict = judge(plan, bundle.capture, run_json(mismatch_bytes=1, mismatches=[beyond]))
    assert verdict.mismatches[0].type is None
    assert (verdict.outputs[0].type, verdict.outputs[0].differing) == (None, 1)
    print_verdict(verdict)
    assert f"{name}, byte" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "kind", "numbers"),
    [
        ("000000000000f83f00", "f64", [1.5]),
        ("003c00c0", "f16", [1.0, -2.0]),
        ("803f20c0", "bf16", [1.0, -2.5]),
        ("feffffff", "i32", [-2]),
        ("feffffffffffffff", "u64", [(1 << 64) - 2]),
        ("80ff", "i8", [-128, -1]),
    ],
)
def test_values_of_whole_elements(data: str, kind: str, numbers: list[int | float]) -> None:
    assert values_of(bytes.fromhex(data), kind).tolist() == numbers
