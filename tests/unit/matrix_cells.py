"""Cells and results for tests of the matrix, and a stand-in for what runs them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kerncap.errors import KerncapError, error_from_code
from kerncap.matrix import Cell, CellResult, Judging, judged, not_run
from kerncap.results import ElementDifference, Judgement, OutputDifference, Verdict

DIGEST = "sha256:" + "a" * 64
IMAGE_ID = "sha256:" + "b" * 64
VERDICTS = ("faithful", "equivalent", "within-tolerance", "differs", "nondeterministic")
GOOD_VERDICTS = frozenset(VERDICTS[:3])
# A code of every class that a container or this machine may report.
ERRORS = {
    "usage.image": 2,
    "host.no-image": 3,
    "host.no-gpu": 3,
    "host.wrong-gpu": 3,
    "bundle.digest-mismatch": 4,
    "trust.unsigned": 4,
    "capture.empty": 5,
    "replay.timeout": 6,
    "vgpu.unimplemented": 6,
    "transport.unreachable": 7,
    "compile.failed": 8,
    "internal.unexpected": 70,
}


def cell(bundle: str = "a.kcap.tar", image: str = "runtime:1", device: str = "vgpu:gfx942", **more: Any) -> Cell:
    known = {"digest": DIGEST, "image_id": IMAGE_ID, "judging": Judging(), "kernel": "scale(float*, int)"} | more
    return Cell(bundle=bundle, image=image, device=device, target="gfx942", **known)


def verdict(word: str, *, bundle: str | None = DIGEST, timing_ns: tuple[int, ...] = (1100, 1000, 1300)) -> Verdict:
    good = word in GOOD_VERDICTS
    first = ElementDifference(4, (0, 1), "1.0", "2.0")
    output = OutputDifference("captured", "out", 0, 0, "f32", (4, 4), 16, 3, 3, 1.0, 0.5, 7, (0, 1), (0, 0), (first,))
    return Verdict(
        verdict=word,
        passed=good,
        bundle=bundle,
        kernel="scale(float*, int)",
        device="vgpu:gfx942",
        hsaco=None,
        changed_bytes=64,
        written_bytes=64,
        bytes_compared=4096,
        judgements=(Judgement("captured", good, False, 0 if good else 12),),
        not_judged={},
        mismatches=(),
        mismatch_bytes=0 if good else 12,
        iterations=3,
        noise_bytes=0,
        timing_ns=timing_ns,
        duration_s=0.5,
        reasons=() if good else ("bytes differ",),
        outputs=() if good else (output,),
    )


def error(code: str, message: str = "it went wrong") -> KerncapError:
    return error_from_code(code, message, "kerncap doctor")


def result(outcome: str, of: Cell | None = None, **more: Any) -> CellResult:
    """A verdict's word, or an error's code."""
    of = of or cell()
    if outcome in VERDICTS:
        printed = json.dumps(verdict(outcome, bundle=of.digest, **more).to_json()).encode()
        return judged(of, printed, duration_s=2.0, finished="2026-01-01T00:00:00+00:00")
    return not_run(of, error(outcome), duration_s=0.5, finished="2026-01-01T00:00:00+00:00")


class FakeRunner:
    """Says what `outcomes` has for an image, or for everything `faithful`; remembers what it ran.

    `before`: called in the cell's thread before it is done.
    """

    def __init__(
        self, outcomes: Mapping[str, str] | None = None, before: Callable[[Cell], None] = lambda cell: None
    ) -> None:
        self.outcomes = dict(outcomes or {})
        self.before = before
        self.ran: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self.cancelled = threading.Event()
        self._lock = threading.Lock()

    def prepare(self, of: Cell, say: Callable[[str], None]) -> None:
        pass

    def run(self, of: Cell) -> CellResult | None:
        with self._lock:
            self.ran.append(of.id)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            self.before(of)
            if self.cancelled.is_set():
                return None
            done = result(self.outcomes.get(of.image, "faithful"), of)
            return replace(done, cell=replace(of, line=f"docker run {of.image}"))
        finally:
            with self._lock:
                self.at_once -= 1

    def cancel(self) -> None:
        self.cancelled.set()
