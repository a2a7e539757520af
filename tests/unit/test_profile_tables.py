"""Kernel times: put together from processes, written as rocprofv3 writes them, read from its files."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from kerncap.capture.profile import KernelTime, import_rocprof, read_profile
from kerncap.cli.profile import following_line
from kerncap.errors import UsageError

# Source: rocprofv3 --kernel-trace --stats --output-format csv, ROCm 6.4: kernel_stats.csv and kernel_trace.csv.
STATS = """"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"
"void scale<float, 4>(float*, int)",4,1000,250.000000,25.00,100,400,129.099445
"add(float*)",2,3000,1500.000000,75.00,1400,1600,141.421356
"""
TRACE = """"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",\
"Start_Timestamp","End_Timestamp","LDS_Block_Size","Grid_Size_X"
"KERNEL_DISPATCH","Agent 4",1,0,77,1,15,"add(float*)",1000,2400,0,64
"KERNEL_DISPATCH","Agent 4",1,0,77,2,16,"scale(float*)",3000,3100,0,64
"KERNEL_DISPATCH","Agent 4",1,0,77,3,15,"add(float*)",5000,6600,0,64
"""


def times_of(*values: int) -> KernelTime:
    whole = KernelTime("k()", "_Z1kv")
    for value in values:
        whole.add(KernelTime("k()", "_Z1kv", calls=1, timed=1, total_ns=value, min_ns=value, max_ns=value))
    return whole


def part(pid: int, *kernels: KernelTime, whole: bool = True) -> str:
    listed = [
        {
            "name": k.mangled,
            "demangled": k.name,
            **{key: getattr(k, key) for key in ("calls", "timed", "total_ns", "min_ns", "max_ns", "squares_ns2")},
        }
        for k in kernels
    ]
    counts = {"pid": pid, "queues": 2, "dispatches": 9, "whole": whole}
    return json.dumps({"schema": "kerncap.profile-part/1", **counts, "kernels": listed})


def test_times_of_several_processes_are_those_of_all_their_dispatches(tmp_path: Path) -> None:
    first, second = (100, 250, 90), (4000, 10)
    (tmp_path / "profile-1.json").write_text(part(1, times_of(*first)))
    (tmp_path / "profile-2.json").write_text(part(2, times_of(*second)))
    (tmp_path / "profile-3.json").write_text("{ cut short")
    found = read_profile(tmp_path, "libkerncap")
    assert (found.processes, found.queues, found.calls, found.untimed) == (2, 4, 5, 0)
    [kernel] = found.kernels
    everything = [*first, *second]
    assert (kernel.total_ns, kernel.min_ns, kernel.max_ns) == (sum(everything), min(everything), max(everything))
    assert kernel.mean_ns == statistics.mean(everything)
    assert kernel.stddev_ns == pytest.approx(statistics.stdev(everything))
    assert found.share(kernel) == 1.0


def test_processes_that_did_not_come_to_their_end(tmp_path: Path) -> None:
    (tmp_path / "profile-1.json").write_text(part(1, times_of(5)))
    (tmp_path / "profile-2.json").write_text(part(2, times_of(7), whole=False))
    found = read_profile(tmp_path, "libkerncap")
    assert (found.processes, found.calls, found.cut_short) == (2, 2, 1)


def test_a_process_that_timed_nothing_changes_no_minimum() -> None:
    whole = times_of(70, 80)
    whole.add(KernelTime("k()", "_Z1kv", calls=3))
    assert (whole.calls, whole.timed, whole.min_ns, whole.mean_ns) == (5, 2, 70, 75.0)
    late = KernelTime("k()", "_Z1kv", calls=3)
    late.add(times_of(70, 80))
    assert (late.calls, late.timed, late.min_ns, late.max_ns) == (5, 2, 70, 80)
    assert late.stddev_ns == pytest.approx(statistics.stdev([70, 80]))


def test_no_kernels_have_no_share(tmp_path: Path) -> None:
    (tmp_path / "profile-1.json").write_text(part(1, KernelTime("k()", "_Z1kv", calls=1)))
    found = read_profile(tmp_path, "libkerncap")
    assert found.untimed == 1
    assert found.share(found.kernels[0]) == 0.0
    assert found.kernels[0].stddev_ns == 0.0


def test_rocprofs_statistics(tmp_path: Path) -> None:
    path = tmp_path / "kernel_stats.csv"
    path.write_text(STATS)
    found = import_rocprof(path)
    add, scale = found.kernels
    assert (add.name, add.calls, add.total_ns, add.min_ns, add.max_ns) == ("add(float*)", 2, 3000, 1400, 1600)
    assert add.stddev_ns == pytest.approx(141.421356)
    assert found.share(add) == 0.75
    assert scale.mean_ns == 250
    path.write_text(found.to_csv())
    again = import_rocprof(path)
    assert [(k.name, k.total_ns) for k in again.kernels] == [(k.name, k.total_ns) for k in found.kernels]
    assert again.to_csv() == found.to_csv()


def test_rocprofs_trace(tmp_path: Path) -> None:
    path = tmp_path / "kernel_trace.csv"
    path.write_text(TRACE)
    add, scale = import_rocprof(path).kernels
    assert (add.calls, add.total_ns, add.min_ns, add.max_ns) == (2, 3000, 1400, 1600)
    assert add.stddev_ns == pytest.approx(141.42135623)
    assert (scale.calls, scale.total_ns) == (1, 100)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no columns"),
        ("a,b,c\n1,2,3\n", "no columns"),
        ("Name,Calls,TotalDurationNs\nk,many,3\n", "line 2 has no number in column Calls"),
        ("Name,Calls,TotalDurationNs\nk,1\n", "line 2 has no number in column TotalDurationNs"),
        ("Name,Calls,TotalDurationNs\nk,1,-5\n", "line 2 has no number in column TotalDurationNs"),
        ("Kernel_Name,Start_Timestamp,End_Timestamp\nk,9,3\n", "line 2 ends before it starts"),
    ],
)
def test_what_is_no_table_of_rocprof(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=what) as error:
        import_rocprof(path)
    assert error.value.code == "usage.profile-import"
    assert error.value.hint


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00Name")
    for path in (tmp_path / "missing.csv", tmp_path / "binary.csv"):
        with pytest.raises(UsageError) as error:
            import_rocprof(path)
        assert error.value.code == "usage.profile-import"


def test_the_next_line_captures_on_the_same_device(tmp_path: Path) -> None:
    (tmp_path / "kernel_stats.csv").write_text(STATS)
    found = import_rocprof(tmp_path / "kernel_stats.csv")
    line = following_line(found, "vgpu:gfx942", ("./my app", "-n"))
    assert line == "kerncap extract 'add(float*)' --device vgpu:gfx942 -- './my app' -n"
    assert following_line(found, None, ()) is None
