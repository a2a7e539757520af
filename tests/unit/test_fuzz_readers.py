"""Readers of a stranger's bytes: the corpus of tests/fuzz_readers, and many inputs that are made up here.

`make fuzz-readers` goes on from there with atheris, for as long as one likes.
"""

from __future__ import annotations

import random
import sys
import tracemalloc
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[1] / "fuzz_readers"
sys.path.insert(0, str(FUZZ))

from readers import READERS, read  # noqa: E402

CORPUS = sorted((FUZZ / "corpus").glob("*/*"))
assert CORPUS, "the corpus is there"
SEEDS = 120
_MOST_BYTES = 96 << 20


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_corpus(path: Path) -> None:
    read(path.parent.name, path.read_bytes())


@pytest.mark.parametrize("reader", READERS)
def test_made_up_inputs(reader: str) -> None:
    """Refused or read, in bounded memory; not all in one way, so that the inputs are not all nonsense."""
    draw = random.Random(f"{reader} 20261201")
    outcomes: dict[str | None, int] = {}
    tracemalloc.start()
    try:
        for _ in range(SEEDS):
            outcome = read(reader, draw.randbytes(draw.randrange(200)))
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < _MOST_BYTES
    assert sum(outcomes.values()) == SEEDS
    assert len(outcomes) > 1, outcomes
