"""push and pull of a bundle of 2 GB against curl with one file of that size, their memory, and what a kill -9 costs.

`make bench` runs it. Everything is measured in one run on one docker-registry on loopback; of repeated runs the best
counts, on both sides. A pull checks every digest and syncs what it wrote, so that curl's file is synced, too. Each
kerncap is a process of its own, whose peak memory is seen. Usage: transport.py [--gib N] [--folder DIR] [--rounds N]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from run import MIB, PROGRAM, Run, best, kerncap, make, measure, remove, running_registry

_ROOT = Path(__file__).resolve().parents[1]
PUSH_RATIO = 0.75  # of the time of curl's PUT, at most
PULL_RATIO = 1.6  # of that of curl's GET
MEMORY_LIMIT_MIB = 128
THREADS = 4
BLOB_BYTES = 64 * MIB

_PUT = """
set -e
at=$(curl -sf -X POST -o /dev/null -D - "http://$HOST/v2/bench/curl/blobs/uploads/" |
  tr -d '\\r' | sed -n 's/^[Ll]ocation: //p')
curl -sf -o /dev/null -T "$1" -X PUT -H 'Content-Type: application/octet-stream' "$at&digest=sha256:$DIGEST"
"""
_GET = 'curl -sf -o "$1" "http://$HOST/v2/bench/curl/blobs/sha256:$DIGEST" && sync "$1"'


class Bench:
    def __init__(self, folder: Path, gib: float, rounds: int) -> None:
        self.folder, self.rounds = folder, rounds
        self.tar, self.out = folder / "b.kcap.tar", folder / "out.kcap.tar"
        make(folder / "reproducer", int(gib * 1024) * MIB)
        kerncap("pack", str(folder / "reproducer"), "-o", str(self.tar))
        remove(folder / "reproducer")
        self.size = self.tar.stat().st_size
        self.digest = subprocess.run(["sha256sum", self.tar], check=True, capture_output=True, text=True).stdout[:64]
        self.bad: list[str] = []
        subprocess.run(["sync"], check=True)

    def show(self, name: str, run: Run, good: bool = True, more: str = "") -> None:
        speed = f"{run.seconds:8.2f} s{self.size / run.seconds / 1e6:8.0f} MB/s"
        print(f"{name:16}{speed}{run.cpu_s:7.2f} s of cores{run.peak_mib:6.0f} MiB{more}", flush=True)
        if not good:
            self.bad.append(name)

    def speed(self) -> None:
        puts, pushes, gets, pulls = [], [], [], []
        with running_registry(self.folder / "registry") as host:
            environment = [f"HOST={host}", f"DIGEST={self.digest}"]

            def put() -> Run:
                return measure(["env", *environment, "bash", "-c", _PUT, "put", str(self.tar)])

            def push() -> Run:
                return kerncap("push", str(self.tar), f"{host}/bench/ours:v1")

            for _ in range(self.rounds):
                for runs, send in ((puts, put), (pushes, push)):
                    # What the other has stored is removed first: on a virtual machine, memory that the page cache never
                    # used before is several times slower, whoever writes.
                    remove(self.folder / "registry" / "data")
                    os.sync()
                    runs.append(send())
            put()
            os.sync()  # what one has written must not be waited for by the other
            for _ in range(self.rounds):
                got = self.folder / "got"
                gets.append(measure(["env", *environment, "bash", "-c", _GET, "get", str(got)]))
                remove(got)
                pulls.append(kerncap("pull", f"{host}/bench/ours:v1", "-o", str(self.out)))
                remove(self.out)
        remove(self.folder / "registry")
        self.compare("push", best(pushes), "curl PUT", best(puts), PUSH_RATIO)
        self.compare("pull, verified", best(pulls), "curl GET", best(gets), PULL_RATIO)

    def compare(self, name: str, ours: Run, other: str, theirs: Run, most: float) -> None:
        self.show(other, theirs)
        ratio = ours.seconds / theirs.seconds
        good = ratio <= most and ours.peak_mib < MEMORY_LIMIT_MIB
        mark = "ok" if good else "slow" if ratio > most else "too much memory"
        limits = f"at most {most}, and {MEMORY_LIMIT_MIB} MiB"
        self.show(name, ours, good, f"  {ratio:.2f} of its time ({limits}): {mark}")

    def kills(self) -> None:
        """What was moved before a kill -9 in the middle and has to be moved again."""
        with running_registry(self.folder / "killed") as host:
            store, partial = self.folder / "killed" / "data", self.folder / f".{self.out.name}.partial"
            self.kill(["push", str(self.tar), f"{host}/bench/killed:v1"], lambda: _bytes_below(store))
            self.kill(["pull", f"{host}/bench/killed:v1", "-o", str(self.out)], lambda: _bytes_below(partial))
        remove(self.folder / "killed", self.out)

    def kill(self, words: list[str], arrived: Callable[[], int]) -> None:
        argv = [sys.executable, "-m", "kerncap", *words, "--json"]
        environment = {**os.environ, "PYTHONPATH": str(_ROOT), "KERNCAP_CACHE_LIMIT": "0"}
        with subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL) as process:
            while arrived() < self.size // 2 and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        if process.returncode != -signal.SIGKILL:
            raise SystemExit(f"{words[0]} was over before it could be killed")
        there = arrived()
        done = subprocess.run(argv, env=environment, check=True, capture_output=True, text=True)
        again = max(json.loads(done.stdout)["moved_bytes"] - (self.size - there), 0)
        most = THREADS * BLOB_BYTES
        good = again <= most
        said = f"{again / MIB:.0f} MiB moved again (at most {most // MIB}): {'ok' if good else 'too much'}"
        print(f"{words[0]}, killed at {there / self.size:.0%}: {said}", flush=True)
        if not good:
            self.bad.append(f"{words[0]} killed")


def _bytes_below(place: Path) -> int:
    """That were written, holes not counted; files may be renamed meanwhile."""
    paths = [place] if place.is_file() else [Path(at, name) for at, _, names in os.walk(place) for name in names]
    total = 0
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            total += min(status.st_size, status.st_blocks * 512)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=2.0, help="size of the bundle, default 2")
    parser.add_argument("--folder", type=Path, help="where to work, default a temporary folder")
    parser.add_argument("--rounds", type=int, default=5, help="how often, default 5")
    arguments = parser.parse_args()
    if PROGRAM is None:
        print("skipped: docker-registry is not installed")
        return 0
    with tempfile.TemporaryDirectory(prefix="kerncap-bench-", dir=arguments.folder) as folder:
        bench = Bench(Path(folder), arguments.gib, arguments.rounds)
        print(f"bundle of {bench.size / 1e6:.0f} MB")
        bench.speed()
        bench.kills()
    print("all within bounds" if not bench.bad else f"out of bounds: {', '.join(bench.bad)}")
    return 1 if bench.bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
