"""kerncap-replay while blobs are still on their way: it dispatches as soon as what memory held before is there.

The virtual GPU's trace file says when a dispatch has run.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from containers import DevContainer
from handmade import HandmadeCapture, run
from test_replay import TARGET, Bench, C, N, Replayed, vector_add


@pytest.fixture(scope="module")
def bench(dev_container: DevContainer) -> Bench:
    return Bench(dev_container)


@dataclass
class Apart:
    """A capture whose memory behind the dispatch lies in a blob of its own; the blob of one state is held back."""

    request: dict[str, Any]
    held: Path
    away: Path
    marker: Path
    lock: int

    def bring(self) -> None:
        os.rename(self.away, self.held)

    def give_up(self) -> None:
        os.close(self.lock)


def apart(bench: Bench, held_back: str) -> Apart:
    capture = vector_add(bench)
    folder = capture.folder
    index = json.loads((folder / "index.json").read_text())
    whole = (folder / "blobs" / "sha256" / index["blobs"][0]["digest"][7:]).read_bytes()
    frames = b""
    for region in index["regions"]:
        for chunk in region["post"]:
            if chunk["k"] == "zstd":
                stored = whole[chunk["o"] : chunk["o"] + chunk["n"]]
                chunk.update(b=1, o=len(frames))
                frames += stored
    assert frames
    digest = _store(capture, frames)
    index["blobs"].append({"digest": digest, "size": len(frames)})
    (folder / "index.json").write_text(json.dumps(index))
    held = Path(capture.blobs[index["blobs"][0 if held_back == "before" else 1]["digest"]]["path"])
    away = held.with_suffix(".part")
    held.rename(away)
    marker = folder / "arriving"
    lock = os.open(marker, os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return Apart(capture.request([run()], arriving=str(marker)), held, away, marker, lock)


def _store(capture: HandmadeCapture, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    path = capture.folder / "blobs" / "sha256" / digest
    path.write_bytes(data)
    capture.blobs["sha256:" + digest] = {"path": str(path), "offset": 0, "size": len(data)}
    return "sha256:" + digest


def replay(bench: Bench, given: Apart, meanwhile: Callable[[Path], None]) -> Replayed:
    """`meanwhile` gets the trace file's path, in this thread."""
    folder = bench.folder()
    trace = folder / "trace.jsonl"
    (folder / "request.json").write_text(json.dumps(given.request))
    done: list[Any] = []

    def start() -> None:
        argv = [bench.container.native_dir / "kerncap-replay", folder / "request.json", folder / "result.json"]
        env = {"LD_PRELOAD": str(bench.container.native_dir / "libkerncap-vgpu.so")}
        env["KERNCAP_VGPU"] = f"{TARGET},trace={trace}"
        done.append(bench.container.run(argv, env=env, timeout_s=240))

    thread = threading.Thread(target=start)
    thread.start()
    try:
        meanwhile(trace)
    except BaseException:
        given.give_up()
        raise
    finally:
        thread.join()
    result = json.loads((folder / "result.json").read_text())
    return Replayed(done[0].returncode, result, done[0].stderr)


def _has_run(trace: Path) -> bool:
    """Whether a dispatch stored into the result's region: the runtime's own kernels copy elsewhere."""
    lines = trace.read_bytes().split(b"\n")[:-1] if trace.exists() else []
    return any(C <= start < C + 4 * N for line in lines for start, *_ in json.loads(line)["written"])


def test_the_dispatch_does_not_wait_for_what_it_is_compared_with(bench: Bench) -> None:
    given = apart(bench, "after")

    def bring_once_dispatched(trace: Path) -> None:
        deadline = time.monotonic() + 200
        while not _has_run(trace):
            assert time.monotonic() < deadline, "nothing was dispatched before the bundle was complete"
            time.sleep(0.02)
        assert not given.held.exists()
        given.bring()

    replayed = replay(bench, given, bring_once_dispatched)
    assert (replayed.exit_code, replayed["mismatch_bytes"]) == (0, 0), replayed.stderr
    assert replayed["changed_bytes"] > 0
    given.give_up()


def test_it_waits_for_what_the_kernel_may_read(bench: Bench) -> None:
    given = apart(bench, "before")

    def bring_later(trace: Path) -> None:
        time.sleep(4)
        assert not _has_run(trace)
        given.bring()

    replayed = replay(bench, given, bring_later)
    assert (replayed.exit_code, replayed["mismatch_bytes"]) == (0, 0), replayed.stderr
    given.give_up()


@pytest.mark.parametrize("held_back", ["before", "after"])
def test_it_does_not_wait_for_what_nobody_brings(bench: Bench, held_back: str) -> None:
    given = apart(bench, held_back)

    def give_up(trace: Path) -> None:
        time.sleep(1)
        given.give_up()

    replayed = replay(bench, given, give_up)
    assert replayed.exit_code == 4
    assert replayed.result["error"]["code"] == "bundle.missing-blob"
