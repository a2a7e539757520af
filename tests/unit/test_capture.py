"""Running an application: what becomes of each way in which it can end.

A shell script stands in for the application and writes what the tool library would; the e2e tests run the real one.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from kerncap.bundle.seal import allowed_environment
from kerncap.capture.application import Captured, Order, no_match, process_folders, run_application
from kerncap.capture.listing import read_listing
from kerncap.capture.seal import add_facts, add_self_check
from kerncap.capture.selection import Selection, select_dispatches, select_range
from kerncap.capture.tool import describe_status
from kerncap.errors import CaptureError, HostError, KerncapError
from kerncap.native import Device, NativeFiles, Stop, read_stops
from kerncap.workflows.extract import Request, extract

WORK = 'W=$(dirname "$KERNCAP_CAPTURE_CONTROL")\n'
SEEN = {
    "schema": "kerncap.seen/1",
    "pid": 1,
    "queues": 3,
    "dispatches": 41200,
    "kernels": [
        {"name": "_Z10vector_addPf", "demangled": "vector_add(float*)", "dispatches": 41199, "matched": False},
        {"name": "_Z5scalePf", "demangled": "scale(float*)", "dispatches": 1, "matched": False},
    ],
    "launches": [
        {
            "name": "_Z10vector_addPf",
            "demangled": "vector_add(float*)",
            "grid": [1024, 1, 1],
            "workgroup": [256, 1, 1],
            "dispatches": 41000,
            "first": 0,
        },
        {
            "name": "_Z10vector_addPf",
            "demangled": "vector_add(float*)",
            "grid": [64, 2, 1],
            "workgroup": [64, 1, 1],
            "dispatches": 199,
            "first": 7,
        },
    ],
    "launches_whole": True,
}


@pytest.fixture
def files(tmp_path: Path) -> NativeFiles:
    folder = tmp_path / "native"
    folder.mkdir()
    # LD_PRELOAD of an empty file only makes the loader complain, so the device is `gpu` here.
    (folder / "libkerncap.so").touch()
    return NativeFiles(folder)


def run(
    tmp_path: Path,
    files: NativeFiles,
    script: str,
    kernel: str = "vector_add",
    timeout_s: float = 20.0,
    device: Device | None = None,
    **selection: object,
) -> Captured:
    work = tmp_path / "work"
    work.mkdir()
    wanted = Selection(kernel, **selection)  # type: ignore[arg-type]
    order = Order(wanted, ("sh", "-c", WORK + script), device or Device("gpu"), timeout_s=timeout_s)
    (captured,) = run_application(order, work, files, on_stdout=lambda _: None)
    return captured


def failure(tmp_path: Path, files: NativeFiles, script: str, **more: object) -> KerncapError:
    with pytest.raises(KerncapError) as error:
        run(tmp_path, files, script, **more)  # type: ignore[arg-type]
    assert error.value.hint
    return error.value


def test_a_capture_counts_whatever_the_application_returns(tmp_path: Path, files: NativeFiles) -> None:
    script = (
        'mkdir $W/capture; echo {} > $W/capture/capture.json; grep -q "libkerncap.so" <<E\n$HSA_TOOLS_LIB\nE\nexit 7'
    )
    captured = run(tmp_path, files, script)
    assert captured.returncode == 7
    assert captured.application_status == "exited with 7"
    control = json.loads((tmp_path / "work" / "control.json").read_text())
    assert control["kernel"] == "vector_add"
    assert control["work_dir"] == str(tmp_path / "work")


def test_no_match_lists_near_names(tmp_path: Path, files: NativeFiles) -> None:
    error = failure(tmp_path, files, f"cat > $W/seen-1.json <<E\n{json.dumps(SEEN)}\nE", kernel="vektor_add")
    assert (error.code, error.exit_code) == ("capture.no-match", 5)
    assert "vector_add(float*)" in error.message
    assert "41200 dispatches" in error.message
    assert "scale" not in error.message


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("(anonymous namespace)::vector_add(float*)", "vectoradd"),
        ("void vector_add<float, 3>(float*, float const*)", "vector_add<float,3>"),
        ("ns::vector_add(float*)", "vector_ad"),
    ],
)
def test_the_hint_names_a_kernel_by_what_matches_it(tmp_path: Path, files: NativeFiles, name: str, typed: str) -> None:
    seen = json.loads(json.dumps(SEEN))
    seen["kernels"] = [{"name": "_Z1x", "demangled": name, "dispatches": 1, "matched": False}]
    error = failure(tmp_path, files, f"cat > $W/seen-1.json <<E\n{json.dumps(seen)}\nE", kernel=typed)
    assert shlex.split(str(error.hint))[:3] == ["kerncap", "extract", name]


def test_a_dispatch_number_that_no_process_reaches(tmp_path: Path, files: NativeFiles) -> None:
    """Each counts its own, and one process id may have been two programs."""
    seen = json.loads(json.dumps(SEEN))
    seen["kernels"][0]["matched"] = True
    script = "".join(f"cat > $W/seen-{name}.json <<E\n{json.dumps(seen)}\nE\n" for name in ("1", "1-2"))
    error = failure(tmp_path, files, script, dispatch=50000)
    assert str(error.hint).startswith("--dispatch 41198 ")
    assert "was dispatched 82398 times, in one process at most 41199 times" in error.message


def test_a_dispatch_number_that_is_never_reached(tmp_path: Path, files: NativeFiles) -> None:
    seen = json.loads(json.dumps(SEEN))
    seen["kernels"][0]["matched"] = True
    error = failure(tmp_path, files, f"cat > $W/seen-1.json <<E\n{json.dumps(seen)}\nE", dispatch=50000)
    assert error.code == "capture.no-such-dispatch"
    assert "41198" in str(error.hint)


def test_triton_that_interprets_its_kernels_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "seen-1.json").write_text(json.dumps(SEEN))
    order = Order(Selection("softmax"), ("sh", "-c", "true"), Device("gpu"))
    assert "TRITON_INTERPRET" not in no_match(order, read_listing(tmp_path), "exited with 0").message
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert "TRITON_INTERPRET is set" in no_match(order, read_listing(tmp_path), "exited with 0").message


def test_trials_of_an_autotuner_that_were_all(tmp_path: Path) -> None:
    seen = json.loads(json.dumps(SEEN))
    seen["kernels"][0] |= {"matched": True, "trials": seen["kernels"][0]["dispatches"]}
    seen["launches"] = []
    (tmp_path / "seen-1.json").write_text(json.dumps(seen))
    order = Order(Selection("vector_add"), ("sh", "-c", "true"), Device("gpu"))
    error = no_match(order, read_listing(tmp_path), "exited with 1")
    assert "; 41199 were made while an autotuner timed it, and do not count" in error.message
    assert error.hint == "kerncap extract vector_add --device gpu:0 --trials -- sh -c true"


@pytest.mark.parametrize(
    ("selection", "said", "hint"),
    [
        (
            select_dispatches("50000..50002", "vector_add", "end"),
            "'vector_add' was dispatched 41199 times, so that number 50000, the first of the sequence,",
            "--dispatches 41196..41198",
        ),
        (
            select_dispatches("50000..50002", "vector_add", "end", grid=(64, 2, 1)),
            "was dispatched 41199 times, of these 199 with grid 64x2x1, so that number 50000",
            "--dispatches 196..198",
        ),
        (
            select_dispatches("50000..50002", "*", "end"),
            "no queue had a dispatch of number 50000: 41200 dispatches in 3 queues",
            "kerncap extract '*' --device gpu:0 --list -- sh -c ",
        ),
        (
            select_range("vector_add..scale", "end", dispatch=41199),
            "so that number 41199, the first of the sequence, was never reached",
            "--dispatch 41198  # or any from 0 on",
        ),
    ],
)
def test_a_sequence_whose_first_dispatch_never_came(tmp_path: Path, selection: Selection, said: str, hint: str) -> None:
    seen = json.loads(json.dumps(SEEN))
    seen["kernels"][0]["matched"] = True
    (tmp_path / "seen-1.json").write_text(json.dumps(seen))
    error = no_match(Order(selection, ("sh", "-c", "true"), Device("gpu")), read_listing(tmp_path), "exited with 0")
    assert error.code == "capture.no-such-dispatch"
    assert said in error.message
    assert str(error.hint).startswith(hint)


@pytest.mark.parametrize(
    ("selection", "hint"),
    [
        (select_range("vektor_add..scale", "end"), "--range 'vector_add(float*)..scale'"),
        (select_dispatches("3..5", "vektor_add", "end"), "'vector_add(float*)' --dispatches 3..5"),
    ],
)
def test_the_hint_of_a_mistyped_kernel_is_about_the_same_sequence(
    tmp_path: Path, selection: Selection, hint: str
) -> None:
    (tmp_path / "seen-1.json").write_text(json.dumps(SEEN))
    error = no_match(Order(selection, ("./app",), Device("gpu")), read_listing(tmp_path), "exited with 0")
    assert error.code == "capture.no-match"
    assert error.hint == f"kerncap extract {hint} --device gpu:0 -- ./app"


def test_an_application_that_ends_early(tmp_path: Path, files: NativeFiles) -> None:
    """Of one that a signal ended nobody knows what it dispatched."""
    error = failure(tmp_path, files, "kill -9 $$")
    assert "the application was killed by SIGKILL before anything was captured" in error.message
    seen = json.dumps({**SEEN, "kernels": [], "launches": [], "dispatches": 0})
    (tmp_path / "work" / "control.json").unlink()
    (tmp_path / "work").rmdir()
    error = failure(tmp_path, files, f"cat > $W/seen-1.json <<E\n{seen}\nE\nexit 3")
    assert "the application exited with 3 before it dispatched a kernel" in error.message
    assert error.code == "capture.application-died"


def test_one_dispatch_and_one_queue(tmp_path: Path) -> None:
    seen = {**SEEN, "queues": 1, "dispatches": 1, "kernels": [], "launches": []}
    (tmp_path / "seen-1.json").write_text(json.dumps(seen))
    error = no_match(Order(Selection("k"), ("./app",), Device("gpu")), read_listing(tmp_path), "exited with 0")
    assert "in 1 queue and 1 dispatch;" in error.message


def test_a_geometry_that_never_came(tmp_path: Path, files: NativeFiles) -> None:
    seen = json.loads(json.dumps(SEEN))
    seen["kernels"][0]["matched"] = True
    error = failure(tmp_path, files, f"cat > $W/seen-1.json <<E\n{json.dumps(seen)}\nE", grid=(8, 1, 1))
    assert error.code == "capture.no-such-dispatch"
    assert "of these 0 with grid 8x1x1" in error.message
    assert "grid 1024x1x1 workgroup 256x1x1, grid 64x2x1 workgroup 64x1x1" in error.message
    assert "--list" in str(error.hint)


def test_a_dispatch_number_beyond_those_with_the_geometry(tmp_path: Path, files: NativeFiles) -> None:
    seen = json.loads(json.dumps(SEEN))
    seen["kernels"][0]["matched"] = True
    script = f"cat > $W/seen-1.json <<E\n{json.dumps(seen)}\nE"
    error = failure(tmp_path, files, script, workgroup=(64, 1, 1), dispatch=199)
    assert "of these 199 with workgroup 64x1x1" in error.message
    assert "198" in str(error.hint)


def test_death_in_mid_capture(tmp_path: Path, files: NativeFiles) -> None:
    error = failure(tmp_path, files, "mkdir $W/capture.partial; touch $W/claim; kill -KILL $$")
    assert (error.code, error.exit_code) == ("capture.application-died", 5)
    assert "SIGKILL" in error.message


def test_an_end_in_mid_capture_by_its_own_will(tmp_path: Path, files: NativeFiles) -> None:
    """`_exit` waits for nobody; an application that is kept at the dispatch cannot get there."""
    error = failure(tmp_path, files, "mkdir $W/capture.partial; touch $W/claim; exit 0")
    assert error.code == "capture.application-died"
    assert "--after stop" in str(error.hint)


@pytest.mark.parametrize(("target", "release"), [("gfx950", "6.4"), ("gfx1201", "6.2")])
def test_a_target_that_the_runtimes_may_not_know(tmp_path: Path, files: NativeFiles, target: str, release: str) -> None:
    (files.directory / "libkerncap-vgpu.so").touch()
    error = failure(tmp_path, files, "exit 3", device=Device("vgpu", target))
    assert f"{target} needs an HSA runtime of ROCm {release} or newer" in error.message
    assert "exit 3" in str(error.hint)


def test_death_before_any_kernel(tmp_path: Path, files: NativeFiles) -> None:
    assert failure(tmp_path, files, "exit 3").code == "capture.application-died"


def test_an_application_without_gpu_work(tmp_path: Path, files: NativeFiles) -> None:
    assert failure(tmp_path, files, "exit 0").code == "capture.no-runtime"


def test_an_application_that_left_no_word(tmp_path: Path, files: NativeFiles) -> None:
    """It ended by _exit, say: what it did is not known, not even that it did nothing."""
    error = failure(tmp_path, files, """echo '{"schema": "kerncap.loaded/1", "pid": 9}' > $W/loaded-9.json; exit 0""")
    assert error.code == "capture.no-word"
    assert "1 process (9) used the HSA runtime and ended by _exit" in error.message
    assert str(error.hint).startswith("kerncap profile --device ")


def test_the_time_limit(tmp_path: Path, files: NativeFiles) -> None:
    assert failure(tmp_path, files, "sleep 30", timeout_s=0.5).code == "capture.timeout"


def test_the_tool_librarys_own_error_comes_first(tmp_path: Path, files: NativeFiles) -> None:
    text = json.dumps({"schema": "kerncap.error/1", "code": "host.disk-full", "message": "no space", "hint": "df -h ."})
    error = failure(tmp_path, files, f"touch $W/claim; cat > $W/error-9.json <<E\n{text}\nE\nexit 1")
    assert isinstance(error, HostError)
    assert error.code == "host.disk-full"


def test_statuses() -> None:
    assert describe_status(0) == "exited with 0"
    assert describe_status(-11) == "was killed by SIGSEGV"


def test_the_environment_is_kept_by_allow_list_only() -> None:
    environment = {"HSA_XNACK": "1", "HIP_VISIBLE_DEVICES": "0", "PATH": "/bin", "AMD_TOKEN": "x", "HSA_TOOLS_LIB": "y"}
    assert allowed_environment(environment) == {"HSA_XNACK": "1", "HIP_VISIBLE_DEVICES": "0"}
    assert allowed_environment({"HIP_API_KEY": "x", "GPU_PASSWORD": "x", "ROCR_AUTH_HEADER": "x"}) == {}


def test_sealing_adds_and_keeps(reproducer: Path) -> None:
    capture = reproducer / "capture"
    before = json.loads((capture / "capture.json").read_text())
    add_facts(capture, device_class="vgpu", command=["./app"], environment={"HSA_XNACK": "1", "SECRET": "2"})
    add_self_check(capture, {"iterations": 2}, None, [(0, 1, 2)])
    after = json.loads((capture / "capture.json").read_text())
    assert after["environment"] == {"HSA_XNACK": "1"}
    assert after["noise"] == [[0, 1, 2]]
    assert after["write_set"] is None
    assert after["kernel"] == before["kernel"]
    assert sorted(p.name for p in capture.iterdir()) == ["blobs", "capture.json", "index.json"]


def test_capture_error_class() -> None:
    assert CaptureError("m", code="capture.x").exit_code == 5


def test_the_virtual_gpus_reason_is_part_of_the_failure(
    tmp_path: Path, files: NativeFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Stop("vgpu.unimplemented-instruction", "gfx942: v_new_op at pc 0x10 words 1 2")
    monkeypatch.setattr("kerncap.capture.application.native.read_stops", lambda path: [stop])
    error = failure(tmp_path, files, "touch $W/claim; exit 2")
    assert (error.code, error.exit_code) == ("capture.device-stopped", 5)
    assert "exited with 2" in error.message
    assert "v_new_op at pc 0x10 words 1 2 [vgpu.unimplemented-instruction]" in error.message
    assert "--device gpu" in str(error.hint)


def test_stop_lines_are_read_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "stops"
    assert read_stops(path) == []
    path.write_bytes(b"kerncap-vgpu: vgpu.page-fault: store to 0x10\nkerncap-vgpu: vgpu.bad-dispatch: \xff\n")
    assert [stop.code for stop in read_stops(path)] == ["vgpu.page-fault", "vgpu.bad-dispatch"]


def test_a_kernel_that_is_there_and_never_dispatched_is_named(tmp_path: Path, files: NativeFiles) -> None:
    idle = {"name": "_Z4idlePf", "demangled": "idle(float*)", "dispatches": 0, "matched": True}
    seen = {**SEEN, "kernels": [*SEEN["kernels"], idle]}  # type: ignore[misc]
    error = failure(tmp_path, files, f"cat > $W/seen-1.json <<E\n{json.dumps(seen)}\nE", kernel="idle")
    assert error.code == "capture.no-match"
    assert "loaded idle(float*) and never dispatched it" in error.message


def test_an_output_whose_path_is_not_utf8(tmp_path: Path, files: NativeFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application is not even started: the library is told of its folder in JSON."""
    monkeypatch.setenv("KERNCAP_NATIVE_DIR", str(files.directory))
    order = Order(Selection("k"), ("touch", str(tmp_path / "started")), Device("gpu"))
    with pytest.raises(HostError) as caught:
        extract(Request(order, tmp_path / os.fsdecode(b"caf\xe9")))
    assert (caught.value.code, caught.value.hint) == ("host.path-not-utf8", "-o NAME")
    assert not (tmp_path / "started").exists()
    assert not any(b"caf" in os.fsencode(path) for path in tmp_path.iterdir())


RANKED = 'for n in 0 1; do mkdir -p $W/rank-$n/capture; done; echo "{}" > $W/rank-1/capture/capture.json; '


def test_every_rank_has_its_own_capture(tmp_path: Path, files: NativeFiles, caplog: pytest.LogCaptureFixture) -> None:
    """Those that have none are named."""
    work = tmp_path / "work"
    work.mkdir()
    failed = json.dumps({"code": "capture.hsa", "message": "no luck"})
    script = f"{WORK}{RANKED}echo '{failed}' > $W/rank-0/error-7.json"
    order = Order(Selection("vector_add"), ("sh", "-c", script), Device("gpu"), ranks="all")
    found = run_application(order, work, files, on_stdout=lambda _: None)
    assert [captured.directory for captured in found] == [work / "rank-1" / "capture"]
    assert "rank-0: not captured: no luck" in caplog.text
    control = json.loads((work / "control.json").read_text())
    assert control["ranks"] == "all"


def test_ranks_are_in_order(tmp_path: Path) -> None:
    for name in ("pid-5", "rank-10", "rank-9", "other", "pid-33"):
        (tmp_path / name).mkdir()
    assert [path.name for path in process_folders(tmp_path)] == ["rank-9", "rank-10", "pid-5", "pid-33"]


def test_a_rank_that_is_not_there(tmp_path: Path, files: NativeFiles) -> None:
    work = tmp_path / "work"
    work.mkdir()
    seen = json.dumps({**SEEN, "rank": 4})
    script = f"{WORK}cat > $W/seen-1.json << 'EOF'\n{seen}\nEOF\n"
    order = Order(Selection("vector_add"), ("sh", "-c", script), Device("gpu"), ranks="3")
    with pytest.raises(KerncapError) as error:
        run_application(order, work, files, on_stdout=lambda _: None)
    assert error.value.code == "capture.no-such-rank"
    assert "rank 3; ranks that used the HSA runtime: 4" in error.value.message
    assert json.loads((work / "control.json").read_text())["ranks"] == 3
