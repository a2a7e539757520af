"""Captures of Triton programs, each made once: a container of an image with Triton, and kerncap in it.

Called by the tests beside it. A container runs this checkout's Python and native code.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from containers import DevContainer, running

from kerncap.runtime import catalog

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "triton" / "programs"

_CAPTURED: dict[tuple[Path, str, str], Path] = {}


def image_of(suite: str, release: str | None = None) -> str:
    """The image with this release on this suite; None: with the suite's own."""
    own = catalog.load().triton_of(suite)
    return catalog.image_name("triton", own.tag if release is None else own.of_release(release).tag)


@contextmanager
def triton_container(
    image: str, suite: str, factory: pytest.TempPathFactory, *, made_by: str = "make test-triton"
) -> Iterator[DevContainer]:
    """Skips where the image is not there; `made_by` makes it."""
    if subprocess.run(["docker", "image", "inspect", image], capture_output=True).returncode != 0:
        pytest.skip(f"no image {image}: {made_by}")
    base, work = factory.getbasetemp(), factory.mktemp(image.rpartition(":")[2])
    # Where buffer operations are on, Triton asks torch how big a tensor is.
    options = ["--entrypoint", "", "--env", "AMDGCN_USE_BUFFER_OPS=0", "--env", f"TRITON_CACHE_DIR={work}/cache"]
    with running(image, suite, ROOT, base, work, options=options) as container:
        yield container


def kerncap(box: DevContainer, *argv: str | os.PathLike[str], code: int = 0) -> str:
    done = box.run(["python3", "-m", "kerncap", *argv], timeout_s=900)
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def captured(box: DevContainer, kernel: str, target: str, *options: str) -> Path:
    """The reproducer of a kernel that programs/run.py launches."""
    key = (box.work, kernel + "".join(options), target)
    if key not in _CAPTURED:
        out = box.work / f"{kernel}-{target}{''.join(options)}.kcap"
        program = ["python3", PROGRAMS / "run.py", kernel]
        said = kerncap(box, "extract", kernel, *options, "-o", out, "--device", f"vgpu:{target}", "--", *program)
        assert "EXIT-SUCCESS" in said
        _CAPTURED[key] = out
    return _CAPTURED[key]


def verdict(box: DevContainer, command: str, bundle: Path, *argv: str | Path) -> str:
    done = box.run(["python3", "-m", "kerncap", command, bundle, *argv, "--json"], timeout_s=900)
    document: dict[str, Any] = json.loads(done.stdout)
    return str(document.get("verdict", document))


def recompiled(box: DevContainer, bundle: Path, candidate: Path, *options: str) -> dict[str, Any]:
    """What `kerncap recompile` of a sealed bundle says, in the sandbox, started from the host."""
    sealed = bundle.with_suffix(".kcap.tar")
    if not sealed.exists():
        kerncap(box, "pack", bundle, "-o", sealed)
    candidate.unlink(missing_ok=True)
    argv = [ROOT / ".venv/bin/python", "-m", "kerncap", "recompile", sealed, "-o", candidate, *options, "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made
