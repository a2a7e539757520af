"""Speed of a capture's snapshot, as ratios to memory, disk and `zstd -1 -T2` onto the disk, measured in one run.

`make bench` runs it after run.py. The application runs in the dev image on the virtual GPU, as in the tests, with data
that does not compress and with data that does. The references work on the very bytes that were captured: a copy in
memory and a synced copy on the disk (what nothing that stores memory can beat), and zstd's own two threads whose output
goes to the disk as well. Captures and references take turns; of each the median counts.
Usage: capture.py [--mib N] [--rounds N] [--suite S] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zstandard

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT)]

from kerncap.bundle.shuffle import unshuffle  # noqa: E402

TARGET = "gfx942"
DATA = ("noise", "narrow")
# Bars.
LEAST_RATIO = 0.8
MOST_BOTH = 1.3
MOST_ADDED_MIB = 256

# In the container: one run of the application, with the control file of argv[1] where it is not empty.
_RUN = """
import json, os, resource, subprocess, sys
tool = {"HSA_TOOLS_LIB": os.environ["KERNCAP_NATIVE_DIR"] + "/libkerncap.so", "KERNCAP_CAPTURE_CONTROL": sys.argv[1]}
alone = {"KERNCAP_VGPU": "gfx942", "LD_PRELOAD": os.environ["KERNCAP_NATIVE_DIR"] + "/libkerncap-vgpu.so"}
environment = {**os.environ, **alone, **(tool if sys.argv[1] else {})}
subprocess.run(sys.argv[2:], env=environment, check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


class Application:
    """A container with the application, which captures into the folder."""

    def __init__(self, folder: Path, suite: str, mib: int) -> None:
        self.folder, self.mib = folder, mib
        namespace = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
        command = ["docker", "run", "--detach", "--rm", "--init", "--network", "none"]
        command += ["--user", f"{os.getuid()}:{os.getgid()}", "--shm-size", "1g"]
        command += ["--volume", f"{_ROOT}:{_ROOT}:ro", "--volume", f"{folder}:{folder}", "--env", f"HOME={folder}"]
        command += ["--env", f"KERNCAP_NATIVE_DIR={_ROOT}/build/native/{suite}", "--workdir", str(folder)]
        command += [f"{namespace}/dev:{suite}", "sleep", "infinity"]
        self.container = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        source = _ROOT / "tests/programs/big_buffer.hip"
        self._run("hipcc", f"--offload-arch={TARGET}", "-O2", str(source), "-o", "big_buffer")

    def _run(self, *argv: str) -> str:
        command = ["docker", "exec", self.container, *argv]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def alone(self, data: str) -> float:
        """Peak memory in MiB."""
        return float(self._run("python3", "-c", _RUN, "", "./big_buffer", str(self.mib), data))

    def capture(self, data: str, zstd_level: int) -> dict[str, Any]:
        """`timing` of capture.json, and `peak_mib`."""
        work = self.folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        control = {"schema": "kerncap.capture-control/1", "work_dir": str(work), "kernel": "touch"}
        (work / "control.json").write_text(json.dumps({**control, "zstd_level": zstd_level}))
        argv = ("python3", "-c", _RUN, str(work / "control.json"), "./big_buffer", str(self.mib), data)
        peak = float(self._run(*argv))
        timing: dict[str, Any] = json.loads((work / "capture/capture.json").read_text())["timing"]
        return {**timing, "peak_mib": peak}

    def raw_chunks(self) -> list[bytes]:
        """The pre-state that was captured last, as raw bytes."""
        index = json.loads((self.folder / "work/capture/index.json").read_text())
        store = self.folder / "work/capture/blobs/sha256"
        out = []
        for chunk in (chunk for region in index["regions"] for chunk in region["pre"] if chunk["k"] == "zstd"):
            with (store / index["blobs"][chunk["b"]]["digest"].removeprefix("sha256:")).open("rb") as file:
                file.seek(chunk["o"])
                frame = file.read(chunk["n"])
            data = zstandard.ZstdDecompressor().decompress(frame, max_output_size=chunk["l"])
            out.append(unshuffle(data, chunk.get("w", 1)))
        return out

    def close(self) -> None:
        subprocess.run(["docker", "rm", "--force", self.container], stdout=subprocess.DEVNULL)


def rate(work: Callable[[list[bytes]], None], chunks: list[bytes]) -> float:
    """Raw bytes a second."""
    start = time.monotonic()
    work(chunks)
    return sum(map(len, chunks)) / (time.monotonic() - start)


def compress_synced(path: Path) -> Callable[[list[bytes]], None]:
    def write(chunks: list[bytes]) -> None:
        compressor = zstandard.ZstdCompressor(level=1, threads=2).compressobj()
        with path.open("wb") as file:
            for chunk in chunks:
                file.write(compressor.compress(chunk))
            file.write(compressor.flush())
            file.flush()
            os.fsync(file.fileno())

    return write


def copy(chunks: list[bytes]) -> None:
    target = bytearray(max(map(len, chunks)))
    for chunk in chunks:
        target[: len(chunk)] = chunk


def write_synced(path: Path) -> Callable[[list[bytes]], None]:
    def write(chunks: list[bytes]) -> None:
        with path.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())

    return write


def measure(application: Application, data: str, rounds: int) -> dict[str, float]:
    """Medians: raw bytes a second of each thing, what both states took to what one takes, memory added."""
    seen: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        seen.setdefault(name, []).append(value)

    for _ in range(rounds):
        alone = application.alone(data)
        for name, level in (("stored", 0), ("compressed", 1)):
            timing = application.capture(data, level)
            one = timing["snapshot_s"] - timing["post_s"]
            chunks = application.raw_chunks()
            note(name, sum(map(len, chunks)) / one)
            note(f"{name}, both to one", timing["snapshot_s"] / one)
            note("memory added", timing["peak_mib"] - alone)
        note("memory", rate(copy, chunks))
        note("disk", rate(write_synced(application.folder / "plain"), chunks))
        note("zstd", rate(compress_synced(application.folder / "compressed"), chunks))
        del chunks
    return {name: statistics.median(values) for name, values in seen.items()}


def report(label: str, value: str, bar: str, good: bool) -> bool:
    print(f"{label:58}{value:>12}   {bar:26}{'ok' if good else 'slow'}")
    return good


def judge(data: str, found: dict[str, float]) -> bool:
    print(f"{data}, MB/s: " + ", ".join(f"{name} {found[name] / 1e6:.0f}" for name in ("memory", "disk", "zstd")))
    limits = {"stored": min(found["memory"], found["disk"]), "compressed": min(found["zstd"], found["memory"])}
    verdicts = []
    for name, limit in limits.items():
        ratio = found[name] / limit
        against = "the slower of memory and disk" if name == "stored" else "zstd -1, 2 threads"
        text = f"{data}, {name}, {found[name] / 1e6:.0f} MB/s: of {against}"
        verdicts.append(report(text, f"{ratio:.2f}", f"at least {LEAST_RATIO}", ratio >= LEAST_RATIO))
        both = found[f"{name}, both to one"]
        verdicts.append(
            report(f"{data}, {name}: both states to one", f"{both:.2f}", f"at most {MOST_BOTH}", both <= MOST_BOTH)
        )
    added = found["memory added"]
    bar = f"at most {MOST_ADDED_MIB} MiB"
    verdicts.append(report(f"{data}: memory added", f"{added:.0f} MiB", bar, added <= MOST_ADDED_MIB))
    return all(verdicts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of the captured buffer, default 1024")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--suite", default="trixie", choices=("trixie", "sid"))
    parser.add_argument("--folder", type=Path, help="where to work, default a temporary folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kerncap-bench-", dir=arguments.folder) as name:
        application = Application(Path(name), arguments.suite, arguments.mib)
        try:
            verdicts = [judge(data, measure(application, data, arguments.rounds)) for data in DATA]
        finally:
            application.close()
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
