"""What a strict verdict on a big bundle takes, beside reading that bundle once, in one run.

`make bench` runs it. The bundle is captured from an application in a suite's dev image, on the virtual GPU, with data
that does not compress: its kernel touches little, so that the verdict's time is that of the memory. `validate` restores
all of it, replays, and compares all of it with the post-state, byte for byte. The reference is `verify --deep`, which
reads everything once and checks all digests; a plain read of the file by `cat` is shown beside. Neither has the file in
the page cache when it begins. Of repeated runs the best counts, on both sides.

Both suites are judged: HSA runtime 6.1.2, of trixie, takes host memory of the same size when it reserves device
addresses, which a later one does not.
Usage: verdict.py [--suite S]... [--mib N] [--rounds N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from source import TARGET, captured

_ROOT = Path(__file__).resolve().parents[1]

from containers import DevContainer, running  # noqa: E402  # source.py has made it known

from kerncap.runtime import catalog  # noqa: E402

MOST_RATIO = 1.5
_TIMEOUT_S = 3600.0


def cold(path: Path) -> None:
    """Nothing of it in the page cache."""
    with path.open("rb") as file:
        os.fdatasync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def quickest(work: Callable[[], object], bundle: Path, rounds: int) -> float:
    """Seconds of the best of some runs."""
    took = []
    for _ in range(rounds):
        cold(bundle)
        begun = time.monotonic()
        work()
        took.append(time.monotonic() - begun)
    return min(took)


def measure(container: DevContainer, folder: Path, mib: int, rounds: int) -> bool:
    reproducer, bundle = captured(container, folder, mib, "noise"), folder / "big.kcap.tar"

    def run(*argv: str | Path) -> str:
        said: str = container.run(argv, check=True, timeout_s=_TIMEOUT_S).stdout
        return said

    def judge() -> None:
        argv = ("validate", bundle, "--device", f"vgpu:{TARGET}", "--iterations", "1", "--json")
        verdict = json.loads(run(*kerncap, *argv))["verdict"]
        assert verdict == "faithful", verdict

    kerncap = ("python3", "-m", "kerncap")
    run(*kerncap, "pack", reproducer, "-o", bundle)
    size = bundle.stat().st_size
    plain = quickest(lambda: run("sh", "-c", 'cat "$1" > /dev/null', "sh", bundle), bundle, rounds)
    once = quickest(lambda: run(*kerncap, "verify", bundle, "--deep"), bundle, rounds)
    judged = quickest(judge, bundle, rounds)
    good = judged <= MOST_RATIO * once
    for name, seconds in (("cat", plain), ("verify --deep", once), ("validate", judged)):
        print(f"{name:16}{seconds:8.2f} s{size / seconds / 1e6:8.0f} MB/s", flush=True)
    mark = "ok" if good else "slow"
    ratio = f"{judged / once:.2f} of reading it once (at most {MOST_RATIO})"
    print(f"{container.suite}: strict verdict on {size / 1e6:.0f} MB: {ratio}: {mark}", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="append", help="repeatable; both by default")
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    options = parser.parse_args()
    good = True
    for suite in options.suite or ("trixie", "sid"):
        with tempfile.TemporaryDirectory(dir=options.folder) as work:
            folder = Path(work)
            with running(catalog.image_name("dev", suite), suite, _ROOT, folder, folder) as container:
                good &= measure(container, folder, options.mib, options.rounds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
