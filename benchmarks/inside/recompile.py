"""Times the bare compiler and `kerncap recompile --trust` on one source, in turn. Called by benchmarks/source.py.

Usage: recompile.py REPRODUCER ROUNDS, in the dev image, where the original files are.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kerncap.source import compiler


def main() -> None:
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    document = json.loads((folder / "compile.json").read_text())
    clang = compiler.find_clang(compiler.major_version(document["compiler"]["version"]), document["target"])
    source, cwd = Path(document["main"]), Path(document["cwd"])
    bare, ours = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as work:
            started = time.monotonic()
            out = Path(work, "bare.hsaco")
            compiler.compile_device(clang.path, document["arguments"], source, document["target"], out, cwd=cwd)
            bare.append(time.monotonic() - started)
            started = time.monotonic()
            command = [sys.executable, "-m", "kerncap", "recompile", folder, "-o", f"{work}/ours.hsaco", "--trust"]
            subprocess.run(command, check=True, stdout=sys.stderr)
            ours.append(time.monotonic() - started)
    print(json.dumps({"bare_s": statistics.median(bare), "recompile_s": statistics.median(ours)}))


main()
