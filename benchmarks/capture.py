"""Speed of a capture's snapshot, as a ratio to the disk and to `zstd -1` with two threads, measured in one run.

`make bench` runs it after run.py. The application runs in the dev image on the virtual GPU, as in the tests; the
references run on the host on the very bytes that were captured. Usage: capture.py [--mib N] [--suite S] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import zstandard

_ROOT = Path(__file__).resolve().parents[1]
LEAST_RATIO = 0.5
TARGET = "gfx942"


def capture(folder: Path, suite: str, mib: int) -> dict[str, Any]:
    """`timing` of capture.json: raw_bytes, stored_bytes, snapshot_s."""
    namespace = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
    native = _ROOT / "build" / "native" / suite
    compile_ = f"hipcc --offload-arch={TARGET} -O2 {_ROOT}/tests/programs/big_buffer.hip -o {folder}/big_buffer"
    extract = (
        f"python3 -m kerncap extract touch -o {folder}/captured --self-check 0 --device vgpu:{TARGET}"
        f" -- {folder}/big_buffer {mib}"
    )
    command = ["docker", "run", "--rm", "--network", "none", "--user", f"{os.getuid()}:{os.getgid()}"]
    command += ["--volume", f"{_ROOT}:{_ROOT}:ro", "--volume", f"{folder}:{folder}", "--env", f"PYTHONPATH={_ROOT}"]
    command += ["--env", f"KERNCAP_NATIVE_DIR={native}", "--env", f"HOME={folder}", f"{namespace}/dev:{suite}"]
    subprocess.run([*command, "sh", "-ec", f"{compile_}\n{extract}"], check=True, stdout=subprocess.DEVNULL)
    timing: dict[str, Any] = json.loads((folder / "captured/capture/capture.json").read_text())["timing"]
    return timing


def raw_chunks(folder: Path) -> list[bytes]:
    """The captured pre-state again, as raw bytes: what the references work on."""
    index = json.loads((folder / "captured/capture/index.json").read_text())
    store = folder / "captured/capture/blobs/sha256"
    out = []
    for region in index["regions"]:
        for chunk in region["pre"]:
            if chunk["k"] == "zstd":
                blob = store / index["blobs"][chunk["b"]]["digest"].removeprefix("sha256:")
                with blob.open("rb") as file:
                    file.seek(chunk["o"])
                    frame = file.read(chunk["n"])
                out.append(zstandard.ZstdDecompressor().decompress(frame, max_output_size=chunk["l"]))
    return out


def zstd_rate(chunks: list[bytes]) -> float:
    """Raw bytes a second of zstd level 1 with two threads (the tool's own multi-threaded mode)."""
    start = time.monotonic()
    compressor = zstandard.ZstdCompressor(level=1, threads=2).compressobj()
    for chunk in chunks:
        compressor.compress(chunk)
    compressor.flush()
    return sum(map(len, chunks)) / (time.monotonic() - start)


def disk_rate(folder: Path, chunks: list[bytes]) -> float:
    """Bytes a second written and synced to the disk that the capture was written to."""
    start = time.monotonic()
    with (folder / "plain").open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return sum(map(len, chunks)) / (time.monotonic() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of the captured buffer, default 1024")
    parser.add_argument("--suite", default="trixie", choices=("trixie", "sid"))
    parser.add_argument("--folder", type=Path, help="where to work, default a temporary folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kerncap-bench-", dir=arguments.folder) as name:
        folder = Path(name)
        timing = capture(folder, arguments.suite, arguments.mib)
        chunks = raw_chunks(folder)
        zstd, disk = zstd_rate(chunks), disk_rate(folder, chunks)
    rate = timing["raw_bytes"] / timing["snapshot_s"]
    limit = min(zstd, disk)
    ratio = rate / limit
    for label, value in (("snapshot", rate), ("zstd -1, 2 threads", zstd), ("disk, synced", disk)):
        print(f"{label:24}{value / 1e6:8.0f} MB/s")
    good = ratio >= LEAST_RATIO
    print(f"{'ratio':24}{ratio:8.2f}      (at least {LEAST_RATIO})  {'ok' if good else 'slow'}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
