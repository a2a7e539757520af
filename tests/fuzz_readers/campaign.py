"""Coverage-guided fuzzing of the readers with atheris, one reader after the other: `make fuzz-readers`.

Usage: campaign.py [--seconds N] [--keep FOLDER] [READER...]. Each reader runs N seconds from the corpus and what FOLDER
holds of earlier campaigns. An input that breaks a reader lies in FOLDER afterwards (crash-*); its place is the corpus.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--keep", type=Path, default=HERE.parents[1] / "build" / "fuzz-readers")
    parser.add_argument("readers", nargs="*", metavar="READER", help="of readers.py; none: all of them")
    if sys.argv[1:2] == ["--inside"]:
        fuzz(sys.argv[2], sys.argv[3:])
    arguments = parser.parse_args()
    from readers import READERS  # later: inside, it is imported to be watched

    failed = []
    for name in arguments.readers or READERS:
        folder = arguments.keep / name
        folder.mkdir(parents=True, exist_ok=True)
        corpus = HERE / "corpus" / name
        argv = [sys.executable, __file__, "--inside", name, f"-max_total_time={arguments.seconds}", "-max_len=600"]
        argv += [
            "-timeout=20",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
            f"-artifact_prefix={folder}/",
            str(folder),
        ]
        argv += [str(corpus)] if corpus.is_dir() else []
        done = subprocess.run(argv, stderr=subprocess.PIPE, text=True)
        executed = [line for line in done.stderr.splitlines() if "number_of_executed_units" in line]
        print(f"{name}: {executed[0].split()[-1] if executed else '?'} inputs, exit {done.returncode}", flush=True)
        if done.returncode != 0:
            failed.append(name)
            print(done.stderr[-3000:], flush=True)
    return 1 if failed else 0


def fuzz(name: str, arguments: list[str]) -> None:
    import atheris

    with atheris.instrument_imports(include=["kerncap"]):
        from readers import read
    atheris.Setup([sys.argv[0], *arguments], lambda data: read(name, data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
