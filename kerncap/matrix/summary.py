"""All cells together: counts, the exit code, and the document that `kerncap matrix --json` prints.

In: results of cells. Out: Matrix. Called by the reports of this package and the commands matrix and bisect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerncap.errors import EXIT_DIFFERS, EXIT_OK
from kerncap.matrix.result import CellResult

# The worst comes first: ours, then what speaks against the bundle or the code, then what stood in the way.
_WORST_FIRST = (70, 4, 6, 8, 5, 7, 3, 2)


@dataclass(frozen=True)
class Axis:
    """One of the bundles or images, and what is known of it: shown beside its name."""

    name: str
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Matrix:
    """Results in the order of the cells. `expected`: what counts as good; empty: what `kerncap run` exits 0 for."""

    results: tuple[CellResult, ...]
    expected: frozenset[str] = frozenset()

    @property
    def good(self) -> tuple[CellResult, ...]:
        return tuple(result for result in self.results if result.is_good(self.expected))

    @property
    def bad(self) -> tuple[CellResult, ...]:
        """With a verdict that is not good."""
        return tuple(r for r in self.results if r.verdict is not None and not r.is_good(self.expected))

    @property
    def errors(self) -> tuple[CellResult, ...]:
        """Without a verdict, and that was not expected."""
        return tuple(r for r in self.results if r.verdict is None and not r.is_good(self.expected))

    @property
    def exit_code(self) -> int:
        """0 all good; 1 a bad verdict; else the class of the worst error."""
        if self.bad:
            return EXIT_DIFFERS
        codes = {result.exit_code for result in self.errors}
        return next((code for code in _WORST_FIRST if code in codes), max(codes, default=EXIT_OK))

    @property
    def counts(self) -> dict[str, int]:
        """How many cells came to which outcome, the most frequent first."""
        return dict(Counter(result.outcome for result in self.results).most_common())

    @property
    def bundles(self) -> tuple[Axis, ...]:
        """In the order in which they were named."""
        found: dict[str, Axis] = {}
        for cell in (result.cell for result in self.results):
            facts = {"digest": cell.digest, "kernel": cell.kernel, "target": cell.target}
            found.setdefault(cell.bundle, Axis(cell.bundle, {key: text for key, text in facts.items() if text}))
        return tuple(found.values())

    @property
    def images(self) -> tuple[Axis, ...]:
        found: dict[str, Axis] = {}
        for cell in (result.cell for result in self.results):
            facts = {"id": cell.image_id, "runtime": cell.runtime}
            found.setdefault(cell.image, Axis(cell.image, {key: text for key, text in facts.items() if text}))
        return tuple(found.values())

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(result.cell.device for result in self.results))

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "kerncap.matrix/1",
            "exit_code": self.exit_code,
            "expected": sorted(self.expected),
            "summary": {
                "cells": len(self.results),
                "good": len(self.good),
                "bad": len(self.bad),
                "errors": len(self.errors),
                "kept": sum(result.kept for result in self.results),
                "outcomes": self.counts,
            },
            "bundles": [{"name": axis.name, **axis.facts} for axis in self.bundles],
            "images": [{"name": axis.name, **axis.facts} for axis in self.images],
            "devices": list(self.devices),
            "cells": [{**r.to_json(), "good": r.is_good(self.expected)} for r in self.results],
        }
