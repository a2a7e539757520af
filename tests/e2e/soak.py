"""`--soak N`: the tests marked `soak` N times in a row, every second round while other processes keep the machine busy.

In: what pytest collected. Out: the same tests, round after round; the first failure ends the run (`make test-soak`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

TARGET = "gfx942"
# As many as there are processors: the tests get half of the machine at most, at moments that they do not choose.
_SPIN = "while True: pass"


@contextmanager
def load() -> Iterator[None]:
    """Processes that never sleep."""
    spinners = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def repeated(metafunc: pytest.Metafunc) -> bool:
    return any(marker.name == "soak" for marker in metafunc.definition.iter_markers())


def chosen(item: pytest.Item) -> bool:
    """Of the targets one; all tests that name none."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return item.get_closest_marker("soak") is not None and parameters.get("target", TARGET) == TARGET
