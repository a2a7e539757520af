"""Speed and memory of pack, unpack, push, pull, inspect and verify, as ratios measured in one run.

`make bench` runs it. Each operation is a process of its own, so that its peak memory is seen. The measures, on the same
files in the same run: cp followed by a sync of the copies (kerncap syncs what it writes), sha256 of the files on all
cores (kerncap checks every digest) and curl. Of repeated runs the best counts, on both sides: other programs only ever
slow one down. Usage: run.py [--gib N] [--folder DIR] [--json FILE]
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / "tests" / "unit")]

from registry_server import PROGRAM, running_registry  # noqa: E402

MIB = 1 << 20
MEMORY_LIMIT_MIB = 256
CURL_RATIO = 0.7
ROUNDS = 7
DISK_RATIO = 0.7  # of the slower of cp and sha256: "at disk speed", with room for the noise of a shared disk

# What hashing the files alone takes: argv is the files; hashlib releases Python's lock.
_SHA256 = """
import hashlib, os, sys
from concurrent.futures import ThreadPoolExecutor
def check(path):
    with open(path, 'rb', buffering=0) as file:
        assert hashlib.file_digest(file, 'sha256').hexdigest() == os.path.basename(path)
with ThreadPoolExecutor(os.cpu_count()) as pool:
    list(pool.map(check, sys.argv[1:]))
"""


@dataclass(frozen=True)
class Run:
    seconds: float
    cpu_s: float
    peak_mib: float


def measure(argv: list[str]) -> Run:
    """Wall time and peak resident memory of one process; its failure is ours."""
    # Whoever pulls the same again would find it in the cache.
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "KERNCAP_CACHE_LIMIT": "0"}
    start = time.monotonic()
    pid = os.posix_spawnp(
        argv[0], argv, environment, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    )
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(argv)}: status {status}")
    return Run(time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def busy_s() -> float:
    """Seconds of all cores that went into any program until now. Source: proc(5), /proc/stat: user nice system."""
    ticks = Path("/proc/stat").read_text().split()[1:4]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def make(folder: Path, size: int) -> None:
    """In a process of its own: Linux counts the memory of a parent before exec as the child's."""
    code = f"from synthetic import *; make_reproducer(Path({str(folder)!r}), big_bytes={size})"
    environment = {**os.environ, "PYTHONPATH": str(_ROOT / "tests" / "unit")}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def kerncap(*args: str) -> Run:
    return measure([sys.executable, "-m", "kerncap", *args])


def best(runs: list[Run]) -> Run:
    least_s, least_cpu_s = min(run.seconds for run in runs), min(run.cpu_s for run in runs)
    return Run(least_s, least_cpu_s, max(run.peak_mib for run in runs))


def remove(*paths: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()


class Bench:
    def __init__(self, folder: Path, gib: float) -> None:
        self.folder = folder
        self.rows: list[dict[str, Any]] = []
        self.reproducer = folder / "reproducer"
        make(self.reproducer, int(gib * 1024) * MIB)
        blobs = list((self.reproducer / "capture/blobs/sha256").iterdir())
        self.blobs = sorted(blobs, key=lambda path: path.stat().st_size, reverse=True)
        self.total = sum(path.stat().st_size for path in blobs)
        subprocess.run(["sync"], check=True)

    def row(self, name: str, run: Run, references: dict[str, Run] | None = None, *, least: float = 0.0) -> None:
        """`least` is asked of the slowest of the references: nothing can be quicker than that."""
        ratios = {what: reference.seconds / run.seconds for what, reference in (references or {}).items()}
        slow = bool(ratios) and max(ratios.values()) < least
        fat = run.peak_mib > MEMORY_LIMIT_MIB
        self.rows.append(
            {
                "name": name,
                "seconds": round(run.seconds, 3),
                "cpu_s": round(run.cpu_s, 3),
                "mb_per_s": round(self.total / run.seconds / 1e6),
                "peak_mib": round(run.peak_mib, 1),
                "ratios": {what: round(ratio, 2) for what, ratio in ratios.items()},
                "least": least,
                "good": not slow and not fat,
            }
        )
        shown = "".join(f"  {ratio:5.2f} of {what}" for what, ratio in ratios.items())
        shown += f" (at least {least})" if ratios else ""
        mark = "slow" if slow else "too much memory" if fat else "ok"
        self.show(name, run, f"{run.peak_mib:8.0f} MiB{shown}  {mark}")

    def show(self, name: str, run: Run, more: str = "") -> None:
        speed = f"{run.seconds:8.2f} s{self.total / run.seconds / 1e6:8.0f} MB/s{run.cpu_s:8.2f} s of cores"
        print(f"{name:24}{speed}{more}", flush=True)

    def disk(self) -> Run:
        """A plain copy of the blobs, then a sync of the copies: what the disk gives."""
        target = self.folder / "copy"
        target.mkdir()
        script = 'cp "$@" && sync "${@: -1}"/* "${@: -1}"'
        run = measure(["bash", "-c", script, "copy", *map(str, self.blobs), str(target)])
        remove(target)
        return run

    def sha256(self) -> Run:
        return measure([sys.executable, "-c", _SHA256, *map(str, self.blobs)])

    def local(self) -> None:
        tar, layout, unpacked = self.folder / "b.kcap.tar", self.folder / "layout", self.folder / "unpacked"
        copies, hashes, packs, unpacks = [], [], [], []
        kerncap("pack", str(self.reproducer), "-o", str(tar))
        again = self.folder / "again.kcap.tar"
        for _ in range(ROUNDS):
            # Each output is removed before the next one is written: on a virtual machine, memory that the page cache
            # never used before is several times slower, whoever writes.
            copies.append(self.disk())
            packs.append(kerncap("pack", str(self.reproducer), "-o", str(again)))
            remove(again)
            unpacks.append(kerncap("unpack", str(tar), str(unpacked)))
            remove(unpacked)
            hashes.append(self.sha256())
        references = {"cp": best(copies), "sha256": best(hashes)}
        self.show("cp and sync", references["cp"])
        self.show("sha256, all cores", references["sha256"])
        self.row("pack to a tar", best(packs), references, least=DISK_RATIO)
        self.row("unpack a tar", best(unpacks), references, least=DISK_RATIO)
        self.row("pack to a layout (links)", kerncap("pack", str(self.reproducer), "-o", f"oci:{layout}"))
        self.row("inspect", kerncap("inspect", str(tar)))
        self.row("verify", kerncap("verify", str(tar)))
        self.row("verify --deep", kerncap("verify", str(tar), "--deep"))
        remove(layout)

    def wire(self) -> None:
        if PROGRAM is None:
            print("push and pull: skipped, docker-registry is not installed")
            return
        tar, pulled = self.folder / "b.kcap.tar", self.folder / "pulled.kcap.tar"
        with running_registry(self.folder / "registry") as host:
            reference = {"curl": self.curl_push(host)}
            run = kerncap("push", str(tar), f"{host}/bench/ours:v1")
            self.row("push", run, reference, least=CURL_RATIO)
            self.row("push again (skips all)", kerncap("push", str(tar), f"{host}/bench/ours:v2"))
            layout = self.folder / "pulled"
            curls, tars, layouts = [], [], []
            for _ in range(ROUNDS):
                curls.append(self.curl_pull(host))
                tars.append(kerncap("pull", f"{host}/bench/ours:v1", "-o", str(pulled)))
                remove(pulled)
                layouts.append(kerncap("pull", f"{host}/bench/ours:v1", "-o", f"oci:{layout}"))
                remove(layout)
            reference = {"curl": best(curls)}
            self.show("curl pull and sync", reference["curl"])
            self.row("pull to a tar", best(tars), reference, least=CURL_RATIO)
            self.row("pull to a layout", best(layouts), reference, least=CURL_RATIO)
            self.row("inspect a reference", kerncap("inspect", f"{host}/bench/ours:v1"))

    def curl_push(self, host: str) -> Run:
        """The same blobs by curl, one after the other: POST, then PUT from the file."""
        script = """
set -e
for blob in "$@"; do
  at=$(curl -sf -X POST -o /dev/null -D - "http://$HOST/v2/bench/curl/blobs/uploads/" |
    tr -d '\\r' | sed -n 's/^[Ll]ocation: //p')
  curl -sf -o /dev/null -T "$blob" -X PUT -H 'Content-Type: application/octet-stream' \\
    "$at&digest=sha256:$(basename "$blob")"
done"""
        run = measure(["env", f"HOST={host}", "bash", "-c", script, "push", *map(str, self.blobs)])
        self.show("curl push", run)
        return run

    def curl_pull(self, host: str) -> Run:
        """The same blobs by one curl process, to files, with sync as kerncap does it."""
        target = self.folder / "curl"
        target.mkdir()
        words = [
            f"url = http://{host}/v2/bench/curl/blobs/sha256:{b.name}\noutput = {target / b.name}" for b in self.blobs
        ]
        (self.folder / "curl.config").write_text("\n".join(words))
        script = f"curl -sf -K {self.folder / 'curl.config'} && sync {target}/* {target}"
        run = measure(["bash", "-c", script])
        remove(target)
        return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1.5, help="size of the bundle, default 1.5")
    parser.add_argument("--folder", type=Path, help="where to work, default a temporary folder")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kerncap-bench-", dir=arguments.folder) as folder:
        bench = Bench(Path(folder), arguments.gib)
        print(f"bundle of {bench.total / 1e6:.0f} MB in {len(bench.blobs)} blobs")
        start, busy, own = time.monotonic(), busy_s(), sum(os.times()[:4])
        bench.local()
        bench.wire()
        cores = (time.monotonic() - start) * (os.cpu_count() or 1)
        others = (busy_s() - busy - (sum(os.times()[:4]) - own)) / cores
    print(f"other programs used {max(others, 0):.0%} of the cores meanwhile: what hashes suffers more from it than cp")
    if arguments.json:
        arguments.json.write_text(json.dumps(bench.rows, indent=1) + "\n")
    bad = [row["name"] for row in bench.rows if not row["good"]]
    print("all within bounds" if not bad else f"out of bounds: {', '.join(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
