"""Runs several cells at a time on this machine, and keeps what each came to as soon as it is known.

In: cells, a runner, a state. Out: results in the order of the cells; events while it goes on. Called by the commands
matrix and bisect. An interrupt ends the containers and leaves what is finished in the state.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from kerncap.matrix import Cell, CellResult, not_run
from kerncap.matrix.state import State
from kerncap.runtime import containers

_GIB = 1 << 30
# A replay's own memory beside the bundle's: Python, the HSA runtime, the virtual GPU's tables.
_AROUND_BYTES = _GIB
# The captured memory, what a run makes of it, and what it is compared with.
_COPIES = 3
_TICK_S = 0.5
_MAX_JOBS = 256


class Runner(Protocol):
    """What runs a cell: containers here, a stand-in in tests."""

    def prepare(self, cell: Cell, say: Callable[[str], None]) -> None: ...

    def run(self, cell: Cell) -> CellResult | None: ...

    def cancel(self) -> None: ...


@dataclass(frozen=True)
class Event:
    """What just happened: `result` is there when a cell is done; `running` are those that go on."""

    done: int
    total: int
    running: tuple[Cell, ...]
    result: CellResult | None = None
    text: str | None = None


Listener = Callable[[Event], None]


def default_jobs(raw_bytes: int) -> int:
    """As many as there are cores for, and memory: `raw_bytes` is the biggest bundle's memory."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(cores, memory // (_AROUND_BYTES + _COPIES * raw_bytes), _MAX_JOBS))


def memory_of_each(jobs: int) -> int:
    """Bytes of each container's limit, so that all of them together leave the host what it needs."""
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 0.8) // jobs


def run_cells(
    cells: Sequence[Cell], runner: Runner, state: State, *, jobs: int, listener: Listener = lambda event: None
) -> list[CellResult]:
    """One result a cell; what the state has is not run again. Raises: KeyboardInterrupt, OSError of the state."""
    results: dict[str, CellResult] = {}
    waiting: list[Cell] = []
    for cell in cells:
        kept = state.kept(cell)
        if kept is not None:
            results[cell.id] = kept
        elif cell.error is not None:
            results[cell.id] = not_run(cell, cell.error)
        else:
            waiting.append(cell)
    for number, result in enumerate(list(results.values()), 1):
        listener(Event(number, len(cells), (), result))
    if waiting:
        _Pool(runner, state, results, len(cells), listener).run(waiting, jobs)
    return [results[cell.id] for cell in cells]


def judge_with(runner: Runner, state: State) -> Callable[[Cell], CellResult]:
    """One cell after another, for a search that decides by each which is next."""

    def judge(cell: Cell) -> CellResult:
        return run_cells([cell], runner, state, jobs=1)[0]

    return judge


class _Pool:
    def __init__(
        self, runner: Runner, state: State, results: dict[str, CellResult], total: int, listener: Listener
    ) -> None:
        self._runner = runner
        self._state = state
        self._results = results
        self._total = total
        self._listener = listener
        self._running: dict[Future[CellResult | None], Cell] = {}

    def run(self, waiting: list[Cell], jobs: int) -> None:
        executor = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="cell")
        try:
            while waiting or self._running:
                self._start(executor, waiting, jobs)
                done, _ = wait(self._running, timeout=_TICK_S, return_when=FIRST_COMPLETED)
                for future in done:
                    self._finish(future)
                if not done:
                    self._say(None)
        except BaseException:
            self._runner.cancel()
            raise
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
            self._keep_the_rest()

    def _start(self, executor: ThreadPoolExecutor, waiting: list[Cell], jobs: int) -> None:
        """In order, but cells that share a GPU one after another: they would spoil each other's times and memory."""
        busy = {_gpu_of(cell) for cell in self._running.values()} - {None}
        for cell in list(waiting):
            if len(self._running) >= jobs:
                return
            if _gpu_of(cell) in busy:
                continue
            waiting.remove(cell)
            self._runner.prepare(cell, lambda text: self._say(None, text))
            self._running[executor.submit(self._runner.run, cell)] = cell
            busy |= {_gpu_of(cell)} - {None}
            self._say(None)

    def _finish(self, future: Future[CellResult | None]) -> None:
        del self._running[future]
        result = future.result()
        if result is not None:
            self._state.add(result)
            self._results[result.cell.id] = result
            self._say(result)

    def _keep_the_rest(self) -> None:
        """Of an interrupt: what was finished at that moment is not lost."""
        for future in list(self._running):
            if future.done() and not future.cancelled() and future.exception() is None:
                self._finish(future)

    def _say(self, result: CellResult | None, text: str | None = None) -> None:
        running = tuple(self._running.values())
        self._listener(Event(len(self._results), self._total, running, result, text))


def _gpu_of(cell: Cell) -> str | None:
    """What a cell has for itself: without a number it is the first GPU."""
    if cell.device.startswith("gpu"):
        return "gpu:0" if cell.device == "gpu" else cell.device
    return "gpu:0" if cell.device == "auto" and containers.gpu_present() else None
