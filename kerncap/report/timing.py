"""How long the dispatches took: a histogram, and each in its order.

In: nanoseconds. Out: a Timing, whose SVG holds numbers alone. Called by page.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

_BINS = 32
_MOST_BARS = 250
HEIGHT = 100


@dataclass(frozen=True)
class Timing:
    """`histogram` and `bars` are paths in a box of `HEIGHT`; of many, a bar is the slowest of some."""

    count: int
    least: int
    median: float
    p95: float
    most: int
    bins: int
    histogram: Markup
    fullest: int
    bars: Markup
    bar_count: int
    dispatches_a_bar: int


def timing(timing_ns: Sequence[int]) -> Timing | None:
    """None where nothing was timed."""
    if not timing_ns:
        return None
    ordered = sorted(timing_ns)
    least, most = ordered[0], ordered[-1]
    bins = min(_BINS, max(1, len(set(ordered))))
    counts = [0] * bins
    for value in ordered:
        counts[min(int((value - least) * bins / max(most - least, 1)), bins - 1)] += 1
    each = -(-len(timing_ns) // _MOST_BARS)
    tops = [max(timing_ns[at : at + each]) for at in range(0, len(timing_ns), each)]
    return Timing(
        count=len(timing_ns),
        least=least,
        median=statistics.median(ordered),
        p95=ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))],
        most=most,
        bins=bins,
        histogram=_bars(counts),
        fullest=max(counts),
        bars=_bars(tops),
        bar_count=len(tops),
        dispatches_a_bar=each,
    )


def _bars(values: Sequence[int]) -> Markup:
    """Bars of width 0.9 in steps of one, from the bottom up."""
    most = max(values) or 1
    heights = [value * HEIGHT / most for value in values]
    return Markup("".join(f"M{n} {HEIGHT}v-{h:.4g}h.9v{h:.4g}z" for n, h in enumerate(heights) if h > 0))
