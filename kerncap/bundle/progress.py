"""How far long work has come: what is told, and a counter for work that several threads share.

Called by whatever moves or reads the bytes of a bundle; the command line draws a bar from it.
"""

from __future__ import annotations

import threading
from typing import Protocol


class ProgressCall(Protocol):
    """Told from any thread how many bytes are done."""

    def __call__(self, done: int, total: int) -> None: ...


def no_progress(done: int, total: int) -> None:
    pass


class Meter:
    """Adds up what several threads did; one of them tells at a time."""

    def __init__(self, progress: ProgressCall, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            self._done += count
            self._progress(self._done, self._total)
