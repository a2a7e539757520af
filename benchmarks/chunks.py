"""Speed of the capture's chunk writer and of the reader, and what a recapture sends, measured in one run.

`make bench` runs it. Data: what a GPU holds (fp16 weights, a KV cache that is mostly empty, a simulation's fp32 field,
indices, int8, small buffers), and noise that nothing compresses. Writer and reader are the tool library's own
(native/bundle/chunk_speed.cpp, in the tool chain image), on memory; the disk is measured by a plain write of the same
bytes. Recaptures are packed with `--base` and pushed to a real registry; what moved is what push says.
Usage: chunks.py [--mib N] [--suite S] [--folder DIR] [--memory DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / "tests" / "unit")]

from registry_server import PROGRAM, running_registry  # noqa: E402
from synthetic import capture_document, store, write_json  # noqa: E402

MIB = 1 << 20
THREADS = 2
# Bars.
LEAST_WRITE = 700e6
LEAST_OF_DISK = 0.9
LEAST_RESTORE = 3e9
MOST_CHANGED = 30e6
MOST_SHIFTED = 10e6
CHANGED_BYTES = 72 * MIB
SHIFT_BYTES = 78 * 512  # 39 KiB, as an allocator moves it


def mixed(folder: Path, mib: int) -> None:
    """What 2 GiB of a model and a simulation look like, `mib` of it in all; one file a region."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)

    def part(share: float) -> int:
        return int(mib * MIB * share) // 4096 * 4096

    def noise(count: int) -> Any:
        return rng.standard_normal(count, dtype=np.float32)

    (noise(part(0.5) // 2) * np.float32(0.02)).astype(np.float16).tofile(folder / "0-weights")
    cache = np.zeros(part(0.25) // 2, np.float16)
    used = len(cache) // 10
    cache[:used] = noise(used).astype(np.float16)
    cache.tofile(folder / "1-cache")
    field(rng, part(0.125) // 4).tofile(folder / "2-field")
    np.cumsum(rng.integers(0, 64, part(0.0625) // 4)).astype(np.int32).tofile(folder / "3-indices")
    np.clip(noise(part(0.03125)) * 20, -127, 127).astype(np.int8).tofile(folder / "4-int8")
    for i in range(60):
        rng.integers(0, 255, 4096 + 512 * i, dtype=np.uint8).tofile(folder / f"5-small-{i:02}")


def field(rng: np.random.Generator, count: int) -> Any:
    """fp32 of a simulation: a smooth field with noise in a few of its bits."""
    smooth = np.sin(np.arange(count, dtype=np.float32) * np.float32(1e-4))
    return (np.round(smooth * 4096 + rng.standard_normal(count, dtype=np.float32)) / 4096).astype(np.float32)


def change(before: Path, after: Path) -> None:
    """The same with 72 MiB changed: 8 MiB of the cache, 64 MiB of the field."""
    shutil.copytree(before, after, copy_function=os.link)
    rng = np.random.default_rng(2)
    for name, at, data in (
        ("1-cache", 4 * MIB, rng.standard_normal(4 * MIB, dtype=np.float32).astype(np.float16)),
        ("2-field", 16 * MIB, field(rng, 16 * MIB)),
    ):
        raw = bytearray((before / name).read_bytes())
        raw[at : at + data.nbytes] = data.tobytes()
        (after / name).unlink()
        (after / name).write_bytes(raw)


def shift(before: Path, after: Path) -> None:
    """A tensor of 256 MiB (or a quarter of the weights) lies 39 KiB further on in its region."""
    shutil.copytree(before, after, copy_function=os.link)
    raw = bytearray((before / "0-weights").read_bytes())
    size = min(256 * MIB, len(raw) // 4)
    at = 64 * 1024
    raw[at + SHIFT_BYTES : at + SHIFT_BYTES + size] = raw[at : at + size]
    (after / "0-weights").unlink()
    (after / "0-weights").write_bytes(raw)


class Native:
    """chunk_speed in the tool chain image."""

    def __init__(self, suite: str, folders: list[Path]) -> None:
        subprocess.run([str(_ROOT / "scripts/build-native"), suite, "--", "chunk_speed"], check=True, stdout=sys.stderr)
        self._command = ["docker", "run", "--rm", "--network", "none", "--user", f"{os.getuid()}:{os.getgid()}"]
        for folder in {_ROOT, *folders}:
            self._command += ["--volume", f"{folder}:{folder}"]
        self._command += [f"kerncap/toolchain:{suite}", str(_ROOT / "build/native" / suite / "chunk_speed")]

    def write(self, folder: Path, data: Path) -> dict[str, float]:
        remove(folder)
        folder.mkdir(parents=True)
        return self._run("write", folder, THREADS, 1, *sorted(data.iterdir()))

    def restore(self, folder: Path) -> dict[str, float]:
        return self._run("restore", folder, THREADS)

    def _run(self, *words: object) -> dict[str, float]:
        done = subprocess.run([*self._command, *map(str, words)], check=True, stdout=subprocess.PIPE)
        result: dict[str, float] = json.loads(done.stdout)
        return result


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def disk_rate(folder: Path, data: Path) -> float:
    """Bytes a second of a plain write and sync of what is in memory."""
    contents = [path.read_bytes() for path in sorted(data.iterdir())]
    start = time.monotonic()
    with (folder / "plain").open("wb") as file:
        for content in contents:
            file.write(content)
        file.flush()
        os.fdatasync(file.fileno())
    seconds = time.monotonic() - start
    (folder / "plain").unlink()
    return sum(map(len, contents)) / seconds


@contextmanager
def reproducer(capture: Path) -> Iterator[Path]:
    """What chunk_speed wrote, as a reproducer."""
    document = capture_document(store(capture, b"\x7fELF" + bytes(4000)))
    document |= {"write_set": None, "noise": []}
    write_json(capture / "capture.json", document)
    yield capture


def kerncap(*words: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "kerncap", *map(str, words), "--json"]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "KERNCAP_CACHE_LIMIT": "0"}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


class Report:
    def __init__(self) -> None:
        self.good = True

    def row(self, label: str, value: str, bar: str, good: bool) -> None:
        self.good = self.good and good
        print(f"{label:64}{value:>12}   {bar:22}{'ok' if good else 'out of bounds'}", flush=True)


def speeds(report: Report, native: Native, memory: Path, disk: Path) -> None:
    # The best: memory that the host of a virtual machine has to find first costs as much as the work.
    written = min((native.write(memory / "out", memory / "mixed") for _ in range(5)), key=lambda run: run["whole_s"])
    rate = written["raw_bytes"] / written["whole_s"]
    ratio = written["raw_bytes"] / written["stored_bytes"]
    held = written["raw_bytes"] / written["held_s"] / 1e6
    print(f"mixed data: {ratio:.2f} times smaller; an application would be held at {held:.0f} MB/s")
    label = "chunk writer, mixed, digests too, 2 threads"
    report.row(label, f"{rate / 1e6:.0f} MB/s", "at least 700", rate >= LEAST_WRITE)
    restored = max(run["raw_bytes"] / run["restore_s"] for run in (native.restore(memory / "out") for _ in range(3)))
    report.row("restore, 2 threads", f"{restored / 1e9:.2f} GB/s", "at least 3", restored >= LEAST_RESTORE)
    ratios = []
    for _ in range(3):
        noise = native.write(disk / "out", memory / "noise")
        ratios.append(noise["raw_bytes"] / noise["synced_s"] / disk_rate(disk, memory / "noise"))
        remove(disk / "out")
    best = max(ratios)
    report.row("chunk writer, noise, synced: of a plain write", f"{best:.2f}", "at least 0.9", best >= LEAST_OF_DISK)


def recaptures(report: Report, native: Native, memory: Path) -> None:
    if PROGRAM is None:
        print("recaptures: skipped, docker-registry is not installed")
        return
    with running_registry(memory / "registry") as host, reproducer(memory / "out") as base:
        kerncap("pack", base, "-o", f"oci:{memory}/base")
        kerncap("push", f"oci:{memory}/base", f"{host}/bench/chunks:base")
        for name, make, most in (("72 MiB changed", change, MOST_CHANGED), ("tensor shifted", shift, MOST_SHIFTED)):
            make(memory / "mixed", memory / "changed")
            native.write(memory / "again", memory / "changed")
            with reproducer(memory / "again") as again:
                kerncap("pack", again, "-o", f"oci:{memory}/delta", "--base", f"oci:{memory}/base")
            moved = kerncap("push", f"oci:{memory}/delta", f"{host}/bench/chunks:again")["moved_bytes"]
            label = f"{name}: push of pack --base"
            report.row(label, f"{moved / 1e6:.1f} MB", f"at most {most / 1e6:.0f}", moved <= most)
            for folder in ("changed", "again", "delta"):
                remove(memory / folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=2048, help="size of the data, default 2048")
    parser.add_argument("--suite", default="trixie", choices=("trixie", "sid"))
    parser.add_argument("--folder", type=Path, help="on the disk to measure, default a temporary folder")
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"), help="where data lies, default /dev/shm")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="kerncap-bench-", dir=arguments.folder) as disk,
        tempfile.TemporaryDirectory(prefix="kerncap-bench-", dir=arguments.memory) as memory,
    ):
        native = Native(arguments.suite, [Path(disk), Path(memory)])
        mixed(Path(memory) / "mixed", arguments.mib)
        (Path(memory) / "noise").mkdir()
        (Path(memory) / "noise" / "0").write_bytes(os.urandom(arguments.mib // 2 * MIB))
        report = Report()
        speeds(report, native, Path(memory), Path(disk))
        remove(Path(memory) / "noise")
        recaptures(report, native, Path(memory))
    return 0 if report.good else 1


if __name__ == "__main__":
    raise SystemExit(main())
