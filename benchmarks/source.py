"""Speed of the way from source to verdict, beside the bare compiler, in one run.

`make bench` runs it. Three figures, each with its bar:
- what finding a kernel's translation unit among 2,000 takes beyond the compile that lists its dependencies, where
  object files tell and where only text does: at most 2 s;
- what `kerncap recompile` takes beyond the bare compiler on the same source: at most 0.7 s;
- what a session takes from a save to the verdict on a 1 GiB bundle beyond the compile: at most 1 s.
Everything runs in a suite's dev image; the sandbox's container is not part of it (`--trust`).
Usage: source.py [--suite S] [--units N] [--mib N] [--rounds N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / "tests")]

from containers import DevContainer, running  # noqa: E402

from kerncap.runtime import catalog  # noqa: E402

TARGET = "gfx942"
MOST_FINDING_S = 2.0
MOST_RECOMPILE_S = 0.7
MOST_VERDICT_S = 1.0
_TIMEOUT_S = 3600.0


def inside(container: DevContainer, script: str, *argv: str | Path) -> dict[str, Any]:
    """The JSON document that a script of benchmarks/inside prints last."""
    command = ["python3", _ROOT / "benchmarks" / "inside" / script, *argv]
    said = container.run(command, check=True, timeout_s=_TIMEOUT_S).stdout
    document: dict[str, Any] = json.loads(said.splitlines()[-1])
    return document


def captured(container: DevContainer, folder: Path, mib: int, data: str = "narrow") -> Path:
    """A reproducer of this size, with source."""
    source = _ROOT / "tests" / "programs" / "big_buffer.hip"
    words = ["hipcc", f"--offload-arch={TARGET}", "-O2", "-c", str(source), "-o", str(folder / "big_buffer.o")]
    database = [{"directory": str(folder), "file": str(source), "arguments": words}]
    (folder / "compile_commands.json").write_text(json.dumps(database))
    container.run([*words[:3], source, "-o", folder / "big_buffer"], check=True)
    out = folder / f"big-{mib}.kcap"
    argv = ["python3", "-m", "kerncap", "extract", "touch", "-o", out, "--device", f"vgpu:{TARGET}"]
    argv += ["--source-dir", folder, "--self-check", "0", "--", folder / "big_buffer", str(mib), data]
    container.run(argv, check=True, timeout_s=_TIMEOUT_S)
    return out


def report(what: str, seconds: float, bar: float, beside: str) -> bool:
    right = seconds <= bar
    print(f"{what:44} {seconds:7.2f} s  (at most {bar:g} s)  {beside}" + ("" if right else "  MISSED"), flush=True)
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="trixie")
    parser.add_argument("--units", type=int, default=2000)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as work:
        image, folder = catalog.image_name("dev", options.suite), Path(work)
        with running(image, options.suite, _ROOT, folder, folder) as container:
            return measure(container, folder, options)


def measure(container: DevContainer, folder: Path, options: argparse.Namespace) -> int:
    right = True
    for how in ("objects", "text"):
        found = inside(container, "find_unit.py", folder / how, str(options.units), how)
        what = f"finding 1 of {options.units} units by {how}"
        right &= report(what, found["finding_s"], MOST_FINDING_S, f"compiler {found['compile_s']:.2f} s")
    for mib in sorted({1, options.mib}):
        reproducer = captured(container, folder, mib)
        if mib == 1:
            took = inside(container, "recompile.py", reproducer, str(options.rounds))
            beyond = took["recompile_s"] - took["bare_s"]
            beside = f"compiler {took['bare_s']:.2f} s"
            right &= report("recompile beyond the bare compiler", beyond, MOST_RECOMPILE_S, beside)
        took = inside(container, "session.py", reproducer, str(options.rounds))
        beside = f"compile {took['compile_s']:.2f} s, first verdict {took['first_s']:.2f} s"
        right &= report(f"save to verdict beyond the compile, {mib} MiB", took["judge_s"], MOST_VERDICT_S, beside)
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
