"""Ends containers that other threads wait for. In: one call of `cancel`. Out: every running one is removed, and none
begins. Called by running.py and by who runs several at a time (the matrix workflow).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from kerncap.errors import ReplayError

_log = logging.getLogger(__name__)


class Cancellation:
    """Shared by the containers of one command. Safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._ends: dict[str, Callable[[], None]] = {}

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        """All that run are ended when this returns, but for one that the engine is creating at this very moment, which
        its own thread removes."""
        with self._lock:
            self._cancelled = True
            ends = list(self._ends.values())
        for end in ends:
            try:
                end()
            except Exception as error:  # of one of them: the others are ended all the same
                _log.warning("a container could not be removed: %s", error)

    def watch(self, container_id: str, end: Callable[[], None]) -> None:
        """From before the container is created. Raises: as check."""
        with self._lock:
            self._ends[container_id] = end
        self.check()

    def forget(self, container_id: str) -> None:
        with self._lock:
            self._ends.pop(container_id, None)

    def check(self) -> None:
        """Raises: ReplayError `replay.cancelled`."""
        if self._cancelled:
            raise ReplayError("cancelled before it was done", code="replay.cancelled")
