"""Peak memory at the format's limits: an index as big as a reader accepts, 393,216 chunks, stays under 512 MiB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from craft import sound_parts
from synthetic import region, sha256

from kerncap.bundle import limits

_ROOT = Path(__file__).resolve().parents[2]
# VmHWM counts this process alone; ru_maxrss also what its parent had before exec.
_PROGRAM = """
import sys
from kerncap.cli.main import run
code = run(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(code, int(peak.split()[1]) >> 10, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def biggest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many chunks and ranges as are allowed, or as fit into an index of 64 MiB."""
    parts = sound_parts()
    size = 4096
    template = {"l": size, "k": "zstd", "b": 0, "o": 100, "n": 50}
    chunks = [template | {"h": sha256(str(i).encode())} for i in range(limits.MAX_CHUNKS)]
    ranges = [[0, size * i, 8] for i in range(limits.MAX_RANGES)]
    parts.index["regions"] = [region(0x7F0000000000, size * len(chunks), chunks, [])]
    parts.capture["write_set"] = {"source": "vgpu-trace", "written": ranges, "read_first": ranges}
    return parts.write_tar(tmp_path_factory.mktemp("biggest") / "b.kcap.tar")


_MOST_MIB = 512


def _peak_mib(*args: str) -> int:
    command = [sys.executable, "-c", _PROGRAM, *args]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=600, check=True)
    code, peak = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return int(peak)


def test_the_biggest_index(biggest: Path, tmp_path: Path) -> None:
    assert _peak_mib("inspect", str(biggest)) < _MOST_MIB
    assert _peak_mib("verify", str(biggest)) < _MOST_MIB
    assert _peak_mib("pull", str(biggest), "-o", str(tmp_path / "copy.kcap.tar")) < _MOST_MIB
    assert _peak_mib("unpack", str(biggest), str(tmp_path / "open")) < _MOST_MIB
    assert _peak_mib("pack", str(tmp_path / "open"), "-o", f"oci:{tmp_path}/sealed") < _MOST_MIB
