"""Times of kernels: what the tool library measured, and what rocprofv3 wrote.

In: the `profile-<pid>.json` of every process, or a CSV file of rocprofv3. Out: a Profile, ranked by GPU time; CSV with
rocprofv3's own columns, so that whatever reads those reads this. Called by the profile workflow.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle.files import open_named
from kerncap.capture.tool import read_reports
from kerncap.errors import UsageError, typed

# Source: rocprofv3's kernel_stats.csv; the names of ROCm 6 and 7.
STATS_COLUMNS = ("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage", "MinNs", "MaxNs", "StdDev")
_TRACE_COLUMNS = ("Kernel_Name", "Start_Timestamp", "End_Timestamp")


@dataclass
class KernelTime:
    """Dispatches of one kernel, over all processes. Times in ns of the GPU's clock; `timed` of the `calls` have one.

    `squares_ns2` is the sum of (time - mean)^2.
    """

    name: str
    mangled: str
    calls: int = 0
    timed: int = 0
    total_ns: int = 0
    min_ns: int = 0
    max_ns: int = 0
    squares_ns2: float = 0.0

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.timed if self.timed else 0.0

    @property
    def stddev_ns(self) -> float:
        """Of the sample, as rocprofv3 gives it; 0 for fewer than two times."""
        return math.sqrt(max(0.0, self.squares_ns2) / (self.timed - 1)) if self.timed > 1 else 0.0

    def add(self, other: KernelTime) -> None:
        """Together with the times of another process. Source: Chan et al., pairwise update of variance."""
        if self.timed and other.timed:
            apart = other.mean_ns - self.mean_ns
            self.squares_ns2 += apart * apart * self.timed * other.timed / (self.timed + other.timed)
        self.squares_ns2 += other.squares_ns2
        if other.timed:
            self.min_ns = min(self.min_ns, other.min_ns) if self.timed else other.min_ns
            self.max_ns = max(self.max_ns, other.max_ns)
        self.calls += other.calls
        self.timed += other.timed
        self.total_ns += other.total_ns


@dataclass(frozen=True)
class Profile:
    """Kernels by total time, longest first. `untimed` dispatches were not done at the end, or left no time stamps.

    `cut_short` of the processes did not come to their end (a signal, `_exit`): their last dispatches may be missing.
    """

    kernels: tuple[KernelTime, ...]
    processes: int
    queues: int
    source: str
    cut_short: int = 0

    @property
    def total_ns(self) -> int:
        return sum(k.total_ns for k in self.kernels)

    @property
    def calls(self) -> int:
        return sum(k.calls for k in self.kernels)

    @property
    def untimed(self) -> int:
        return sum(k.calls - k.timed for k in self.kernels)

    def share(self, kernel: KernelTime) -> float:
        """0 to 1, of the time of all kernels."""
        return kernel.total_ns / self.total_ns if self.total_ns else 0.0

    def to_json(self, top: int | None = None) -> dict[str, Any]:
        return {
            "schema": "kerncap.profile/1",
            "source": self.source,
            "processes": self.processes,
            "queues": self.queues,
            "cut_short": self.cut_short,
            "kernel_count": len(self.kernels),
            "calls": self.calls,
            "untimed": self.untimed,
            "total_ns": self.total_ns,
            "kernels": [
                {
                    "kernel": k.name,
                    "mangled": k.mangled,
                    "calls": k.calls,
                    "timed": k.timed,
                    "total_ns": k.total_ns,
                    "mean_ns": k.mean_ns,
                    "min_ns": k.min_ns,
                    "max_ns": k.max_ns,
                    "stddev_ns": k.stddev_ns,
                    "share": self.share(k),
                }
                for k in self.kernels[:top]
            ],
        }

    def to_csv(self) -> str:
        """rocprofv3's kernel_stats.csv: all kernels, a header line, times in ns, shares in percent."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(STATS_COLUMNS)
        for k in self.kernels:
            percent = 100 * self.share(k)
            numbers = (k.calls, k.total_ns, round(k.mean_ns, 3), round(percent, 6), k.min_ns, k.max_ns)
            writer.writerow([k.name, *numbers, round(k.stddev_ns, 3)])
        return text.getvalue()


def read_profile(work_dir: Path, source: str) -> Profile:
    """What the processes of one application wrote."""
    parts = read_reports(work_dir, "profile")
    kernels: dict[str, KernelTime] = {}
    for part in parts:
        for k in part.get("kernels", ()):
            one = KernelTime(
                name=str(k["demangled"]),
                mangled=str(k["name"]),
                **{key: int(k[key]) for key in ("calls", "timed", "total_ns", "min_ns", "max_ns")},
                squares_ns2=float(k["squares_ns2"]),
            )
            kernels.setdefault(one.mangled, KernelTime(one.name, one.mangled)).add(one)
    queues = sum(int(part.get("queues", 0)) for part in parts)
    cut_short = sum(not part.get("whole") for part in parts)
    return Profile(_ranked(kernels.values()), len(parts), queues, source, cut_short)


def import_rocprof(path: Path) -> Profile:
    """Of rocprofv3's `*_kernel_stats.csv` or `*_kernel_trace.csv`.

    Raises: UsageError `usage.profile-import` when it is neither, or a line of it holds no numbers.
    """
    try:
        with io.TextIOWrapper(open_named(path), encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            columns = [name.strip() for name in reader.fieldnames or ()]
            reader.fieldnames = columns
            if set(STATS_COLUMNS[:3]) <= set(columns):
                kernels = _from_stats(path, reader)
            elif set(_TRACE_COLUMNS) <= set(columns):
                kernels = _from_trace(path, reader)
            else:
                raise _bad_import(path, f"no columns {', '.join(STATS_COLUMNS[:3])} or {', '.join(_TRACE_COLUMNS)}")
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}", code="usage.profile-import", hint=typed("ls", "-l", path)
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise _bad_import(path, str(error)) from None
    return Profile(_ranked(kernels), 0, 0, str(path))


def _ranked(kernels: Iterable[KernelTime]) -> tuple[KernelTime, ...]:
    return tuple(sorted(kernels, key=lambda k: (-k.total_ns, -k.calls, k.name)))


def _bad_import(path: Path, what: str) -> UsageError:
    hint = "rocprofv3 --kernel-trace --stats --output-format csv -- CMD  # makes kernel_stats.csv and kernel_trace.csv"
    return UsageError(f"{path} is no kernel table of rocprofv3: {what}", code="usage.profile-import", hint=hint)


def _number(path: Path, line: int, row: Mapping[str, str | None], column: str) -> float:
    try:
        value = float(row[column] or "")
    except (ValueError, KeyError, TypeError):
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise _bad_import(path, f"line {line} has no number in column {column}")
    return value


def _from_stats(path: Path, reader: csv.DictReader[str]) -> Sequence[KernelTime]:
    kernels = []
    for row in reader:
        line = reader.line_num
        name = row["Name"] or ""
        calls = int(_number(path, line, row, "Calls"))
        total = int(_number(path, line, row, "TotalDurationNs"))
        mean = total // calls if calls else 0
        optional = {c: _number(path, line, row, c) if row.get(c) else None for c in ("MinNs", "MaxNs", "StdDev")}
        least, most, deviation = optional["MinNs"], optional["MaxNs"], optional["StdDev"]
        kernels.append(
            KernelTime(
                name=name,
                mangled=name,
                calls=calls,
                timed=calls,
                total_ns=total,
                min_ns=mean if least is None else int(least),
                max_ns=mean if most is None else int(most),
                squares_ns2=(deviation or 0.0) ** 2 * max(0, calls - 1),
            )
        )
    return kernels


def _from_trace(path: Path, reader: csv.DictReader[str]) -> Sequence[KernelTime]:
    kernels: dict[str, KernelTime] = {}
    for row in reader:
        line = reader.line_num
        start, end = (int(_number(path, line, row, column)) for column in _TRACE_COLUMNS[1:])
        if end < start:
            raise _bad_import(path, f"line {line} ends before it starts")
        name = row["Kernel_Name"] or ""
        took = end - start
        one = KernelTime(name, name, calls=1, timed=1, total_ns=took, min_ns=took, max_ns=took)
        kernels.setdefault(name, KernelTime(name, name)).add(one)
    return list(kernels.values())
