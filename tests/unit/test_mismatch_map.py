"""Where mismatches lie: bins by address and by element, against counting one by one; bounded whatever there is."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_outputs import with_tensor, write_dump

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.dispatch import Tensor
from kerncap.results import MismatchMap
from kerncap.results.mismatch_map import MAX_GRID_SIDE, MAX_OUTPUTS, MAX_REGIONS, MAX_STRIP_BINS, parse_map
from kerncap.verdict.heat import Heat, is_grid, subscripts
from kerncap.verdict.outputs import index_of, output_differences
from kerncap.verdict.plan import EXACT, Tolerance
from kerncap.verdict.types import TypedRange

SPANS = ((0x7F0000000000, 1 << 40),) * 600


@pytest.fixture
def bundle(reproducer: Path) -> Bundle:
    return open_bundle(str(reproducer))


def everything(numbers: np.ndarray) -> np.ndarray:
    return np.ones(len(numbers), dtype=np.bool_)


@pytest.mark.parametrize("spread", [1, 3, 1000, 1 << 30])
def test_bytes_are_counted_where_they_lie(bundle: Bundle, spread: int) -> None:
    rng = np.random.default_rng(spread)
    places = np.unique(rng.integers(0, 5000, 3000)) * spread + 77
    beyond = rng.random(len(places)) < 0.5
    heat = Heat(SPANS)
    for at in range(0, len(places), 100):  # in pieces, as a dump is read
        heat.bytes(0, places[at : at + 100], beyond[at : at + 100])
    found = heat.result("captured", bundle.capture, complete=True)
    assert found is not None
    (one,) = found.regions
    assert one.bins.numbers[-1] < MAX_STRIP_BINS
    assert one.start <= places[0] < one.start + one.bin_bytes
    wanted = Counter(((places - one.start) // one.bin_bytes).tolist())
    assert dict(zip(one.bins.numbers, one.bins.counts, strict=True)) == wanted
    strict = Counter(((places[beyond] - one.start) // one.bin_bytes).tolist())
    assert {n: c for n, c in zip(one.bins.numbers, one.bins.beyond, strict=True) if c} == strict
    # No coarser than it must be.
    assert one.bin_bytes == 1 or (places[-1] - places[0]) // (one.bin_bytes // 2) >= MAX_STRIP_BINS - 1


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((6, 7), (7, 1)), ((200, 300), (301, 1)), ((3, 5, 80), (400, 80, 1)), ((70, 90), (1, 70)), ((4, 1, 9), (9, 9, 1))],
)
def test_elements_are_counted_by_their_subscripts(
    bundle: Bundle, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    tensor = Tensor("torch.float16", shape, strides, 0)
    assert is_grid(tensor)
    numbers = np.arange(0, 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)), 3)
    capture = with_tensor(bundle.capture, shape, strides)
    heat = Heat(SPANS)
    heat.elements((0, 16, 1 << 30, "f16"), tensor, numbers, everything(numbers))
    heat.bytes(0, numbers * 2 + 16, everything(numbers))
    found = heat.result("captured", capture, complete=True)
    assert found is not None
    (one,) = found.outputs
    assert max(one.bin_rows, one.bins_per_row) <= MAX_GRID_SIDE
    wanted: Counter[int] = Counter()
    outside = 0
    for number in numbers.tolist():
        index = index_of(tensor, number)
        if index is None:
            outside += 1
            continue
        row = int(np.ravel_multi_index(index[:-1], shape[:-1]))
        wanted[row // one.row_step * one.bins_per_row + index[-1] // one.column_step] += 1
    assert dict(zip(one.bins.numbers, one.bins.counts, strict=True)) == wanted
    assert (one.outside, one.shape, one.argument) == (outside, shape, "out")
    rows, columns, _ = subscripts(tensor, numbers)
    assert rows.max() < one.rows
    assert columns.max() < one.columns


@pytest.mark.parametrize("shape_strides", [((3,), (1,)), ((2, 3), (-3, 1)), ((0, 3), (3, 1)), ((1, 9), (9, 1))])
def test_what_is_no_grid_is_a_line(shape_strides: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    assert not is_grid(Tensor("torch.float16", *shape_strides, 0))


def test_it_comes_with_the_statistics_of_the_outputs(bundle: Bundle, tmp_path: Path) -> None:
    """A tensor of 2 x 3 in rows of 4: one element is beyond the tolerance, another is not, and a byte lies behind."""
    capture = with_tensor(bundle.capture, shape=(2, 3), strides=(4, 1))
    want = np.array([1, 2, 3, 0, 5, 6, 8, 0], dtype="<f2").tobytes()
    got = np.array([1, 2.001953125, 3, 0, 5, 6, 4, 0], dtype="<f2").tobytes()
    dump = write_dump(tmp_path / "dump", [(0, 16, want + b"\0", got + b"\1")])
    heat = Heat(SPANS)
    typed: tuple[TypedRange, ...] = ((0, 16, 16, "f16"),)
    output_differences("captured", dump, capture, typed, Tolerance(rtol=0.01), heat)
    found = heat.result("captured", capture, complete=True)
    assert found is not None
    (output,) = found.outputs
    assert (output.rows, output.columns, output.bins.numbers) == (2, 3, (1, 5))
    assert (output.bins.counts, output.bins.beyond) == ((1, 1), (0, 1))
    (region,) = found.regions
    assert (region.start, region.bin_bytes) == (18, 1)
    assert region.bins.numbers == (0, 11, 14)  # of 6.5e-4, of 8 against 4, and the byte
    assert region.bins.beyond == (0, 1, 1)
    assert parse_map(json.loads(json.dumps(found.to_json()))) == found


def test_where_nothing_differs_there_is_no_map(bundle: Bundle) -> None:
    assert Heat(SPANS).result("captured", bundle.capture, complete=True) is None


def test_many_regions_and_outputs_are_bounded(bundle: Bundle) -> None:
    """The fullest are described, the others counted."""
    heat = Heat(SPANS)
    for region in range(500):
        numbers = np.arange(1 + region % 100)
        heat.elements((region, 0, 4096, "i8"), None, numbers, everything(numbers))
        heat.bytes(region, numbers, everything(numbers))
    found = heat.result("captured", bundle.capture, complete=False)
    assert found is not None
    assert (len(found.regions), found.more_regions) == (MAX_REGIONS, 500 - MAX_REGIONS)
    assert (len(found.outputs), found.more_outputs) == (MAX_OUTPUTS, 500 - MAX_OUTPUTS)
    assert min(sum(one.bins.counts) for one in found.outputs) >= 98
    assert not found.complete
    assert len(json.dumps(found.to_json())) < 100_000


def found_map(bundle: Bundle) -> MismatchMap:
    numbers = np.arange(40)
    heat = Heat(SPANS)
    capture = with_tensor(bundle.capture, (8, 8), (8, 1))
    heat.elements((0, 16, 128, "f16"), Tensor("torch.float16", (8, 8), (8, 1), 0), numbers, everything(numbers))
    heat.bytes(0, numbers, everything(numbers))
    found = heat.result("captured", capture, complete=True)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "changes",
    [
        {"bins": [1, 0]},
        {"bins": [0, 64]},
        {"bins": [0, -1]},
        {"counts": [1]},
        {"bins": [0, 1.5]},
        {"row_step": 0},
        {"rows": 1 << 20, "columns": 1 << 20},
        {"rows": 1 << 64},
    ],
)
def test_a_map_of_a_stranger_is_checked(bundle: Bundle, changes: dict[str, Any]) -> None:
    document = found_map(bundle).to_json()
    document["outputs"][0] |= {"bins": [0, 1], "counts": [1, 1], "beyond": [1, 1], **changes}
    with pytest.raises(ValueError, match=r"bin|count|grid"):
        parse_map(document)


def test_a_map_of_too_many_regions_is_refused(bundle: Bundle) -> None:
    found = found_map(bundle)
    with pytest.raises(ValueError, match="more regions"):
        parse_map(replace(found, regions=found.regions * 17).to_json())


def test_exact_comparison_has_nothing_that_is_allowed(bundle: Bundle, tmp_path: Path) -> None:
    capture = with_tensor(bundle.capture)
    dump = write_dump(tmp_path / "dump", [(0, 16, bytes(64), b"\1" * 64)])
    heat = Heat(SPANS)
    output_differences("captured", dump, capture, ((0, 16, 64, "f16"),), EXACT, heat)
    found = heat.result("captured", capture, complete=True)
    assert found is not None
    assert found.regions[0].bins.counts == found.regions[0].bins.beyond
    assert found.outputs[0].bins.counts == found.outputs[0].bins.beyond
