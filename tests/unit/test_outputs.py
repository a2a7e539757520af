"""What differs in the outputs of a kernel: float formats, distances, elements of a dump, places in a tensor."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.capture import Capture
from kerncap.bundle.dispatch import Tensor
from kerncap.results import OutputDifference
from kerncap.verdict.compare import compare_dump, elements_agree
from kerncap.verdict.mismatches import Dump, open_dump, pieces_of, positions_of
from kerncap.verdict.outputs import index_of, output_differences
from kerncap.verdict.plan import EXACT, Tolerance
from kerncap.verdict.types import SHOWN_BYTES, TypedRange
from kerncap.verdict.values import NO_ULP, absolute_difference, ulp_distance, values_of

REFERENCE = {
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
}


@pytest.mark.parametrize("kind", REFERENCE)
def test_every_pattern_has_its_value(kind: str) -> None:
    size = SHOWN_BYTES[kind]
    data = np.arange(1 << (8 * size), dtype=f"<u{size}").tobytes()
    with np.errstate(invalid="ignore"):
        wanted = np.frombuffer(data, dtype=REFERENCE[kind]).astype(np.float64)
    found = values_of(data, kind)
    assert np.array_equal(found, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(found[~np.isnan(found)]), np.signbit(wanted[~np.isnan(wanted)]))


@pytest.mark.parametrize("kind", REFERENCE)
def test_neighbours_are_one_apart(kind: str) -> None:
    """All values in ascending order: the distance of each from the smallest is its rank."""
    size = SHOWN_BYTES[kind]
    data = np.arange(1 << (8 * size), dtype=f"<u{size}")
    values = values_of(data.tobytes(), kind)
    data, values = data[~np.isnan(values)], values[~np.isnan(values)]
    order = np.argsort(values, kind="stable")
    ranks = np.concatenate(([0], np.cumsum(np.diff(values[order]) > 0)))
    least = np.repeat(data[order][:1], len(order))
    assert np.array_equal(ulp_distance(least.tobytes(), data[order].tobytes(), kind), ranks)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_distances_of_wide_floats(kind: str) -> None:
    float_type, most = (np.float32, 0x7F7FFFFF) if kind == "f32" else (np.float64, 0x7FEFFFFFFFFFFFFF)
    pairs: list[tuple[float, float, int]] = [
        (1.0, float(np.nextafter(float_type(1), float_type(2))), 1),
        (0.0, -0.0, 0),
        (float(np.finfo(float_type).smallest_subnormal), -float(np.finfo(float_type).smallest_subnormal), 2),
        (float(np.finfo(float_type).max), np.inf, 1),
        (float(np.finfo(float_type).max), -float(np.finfo(float_type).max), 2 * most),
        (np.nan, np.nan, 0),
        (np.nan, 1.0, int(NO_ULP)),
    ]
    for a, b, distance in pairs:
        want, got = (np.array([value], dtype=float_type).tobytes() for value in (a, b))
        assert ulp_distance(want, got, kind).tolist() == [distance] == ulp_distance(got, want, kind).tolist()


def test_differences_of_integers_do_not_overflow() -> None:
    for kind, low, high in (("i8", -128, 127), ("i64", -(1 << 63), (1 << 63) - 1), ("u64", 0, (1 << 64) - 1)):
        data = np.array([low, high], dtype=f"<{kind[0]}{SHOWN_BYTES[kind]}")
        assert absolute_difference(data, data[::-1]).tolist() == [high - low] * 2


@pytest.mark.parametrize(("steps", "ulp", "agree"), [(3, 3, True), (4, 3, False), (0, 0, True)])
def test_a_tolerance_in_steps(steps: int, ulp: int, agree: bool) -> None:
    bits = np.array([0x3C00], dtype="<u2")
    moved = (bits + steps).astype("<u2")
    assert elements_agree(bits.tobytes(), moved.tobytes(), "f16", Tolerance(ulp=ulp)).tolist() == [agree]


def test_a_step_does_not_lead_to_infinity_or_nan() -> None:
    largest, infinity, nan = (np.array([bits], dtype="<u2").tobytes() for bits in (0x7BFF, 0x7C00, 0x7E00))
    loose = Tolerance(ulp=1 << 62)
    assert not elements_agree(largest, infinity, "f16", loose).any()
    assert not elements_agree(largest, nan, "f16", loose).any()
    assert elements_agree(nan, nan, "f16", loose).all()


def write_dump(folder: Path, ranges: list[tuple[int, int, bytes, bytes]]) -> Dump:
    """(region, offset, expected, actual)."""
    folder.mkdir(parents=True)
    listing, at = [], 0
    for region, offset, expected, _ in ranges:
        listing.append([region, offset, len(expected), at])
        at += len(expected)
    document = {"schema": "kerncap.mismatch/1", "complete": True, "ranges": listing}
    (folder / "mismatch.json").write_text(json.dumps(document))
    (folder / "expected.bin").write_bytes(b"".join(one[2] for one in ranges))
    (folder / "actual.bin").write_bytes(b"".join(one[3] for one in ranges))
    return open_dump(folder)


@pytest.fixture
def bundle(reproducer: Path) -> Bundle:
    return open_bundle(str(reproducer))


def with_tensor(capture: Capture, shape: tuple[int, ...] | None = None, strides: tuple[int, ...] = ()) -> Capture:
    """Its first argument alone, named `out`, at region 0 + 16."""
    first = replace(
        capture.kernarg.args[0],
        name="out",
        region=0,
        region_offset=16,
        tensor=None if shape is None else Tensor("torch.float16", shape, strides, 0),
    )
    return replace(capture, kernarg=replace(capture.kernarg, args=(first,)), write_set=None, noise=())


F16: tuple[TypedRange, ...] = ((0, 16, 64, "f16"),)


def halves(*values: float) -> bytes:
    return np.array(values, dtype="<f2").tobytes()


def differences(
    capture: Capture, tmp_path: Path, expected: bytes, actual: bytes, offset: int = 16, tolerance: Tolerance = EXACT
) -> tuple[OutputDifference, ...]:
    dump = write_dump(tmp_path / "dump", [(0, offset, expected, actual)])
    return output_differences("captured", dump, capture, F16, tolerance)


def test_an_output_is_measured_by_its_elements(bundle: Bundle, tmp_path: Path) -> None:
    """A tensor of 2 x 3 in rows of 4: elements 1 and 6 differ, one of them by more than is allowed."""
    capture = with_tensor(bundle.capture, shape=(2, 3), strides=(4, 1))
    want = halves(1, 2, 3, 0, 5, 6, 8, 0)
    got = halves(1, 2.001953125, 3, 0, 5, 6, 4, 0)
    (found,) = differences(capture, tmp_path, want, got, tolerance=Tolerance(rtol=0.01))
    assert (found.argument, found.type, found.shape, found.elements) == ("out", "f16", (2, 3), 6)
    assert (found.differing, found.beyond, found.max_abs, found.max_rel, found.max_ulp) == (2, 1, 4.0, 0.5, 1024)
    assert [(one.index, one.offset, one.expected, one.actual) for one in found.first] == [((1, 2), 28, "8", "4")]
    (loose,) = differences(capture, tmp_path / "loose", want, got, tolerance=Tolerance(rtol=1))
    assert [(one.index, one.actual) for one in loose.first] == [((0, 1), "2.002"), ((1, 2), "4")]


def test_special_values_are_counted_on_both_sides(bundle: Bundle, tmp_path: Path) -> None:
    want = halves(1, np.nan, np.inf, 4, np.nan, -np.inf)
    got = halves(np.nan, 2, 3, np.inf, np.nan, np.inf)
    (found,) = differences(with_tensor(bundle.capture), tmp_path, want, got)
    assert (found.differing, found.nan, found.inf) == (5, (1, 1), (2, 2))
    assert (found.max_abs, found.max_rel) == (None, None)  # no pair of finite values
    assert [one.index for one in found.first] == [(0,), (1,), (2,), (3,)]


def test_what_lies_outside_of_the_tensor_has_no_place_in_it(bundle: Bundle, tmp_path: Path) -> None:
    capture = with_tensor(bundle.capture, shape=(2, 3), strides=(4, 1))
    (found,) = differences(capture, tmp_path, halves(0, 0), halves(1, 1), offset=16 + 2 * 3)
    assert [one.index for one in found.first] == [None, (1, 0)]


def test_bytes_of_no_known_type_are_counted_as_bytes(bundle: Bundle, tmp_path: Path) -> None:
    (of_type, rest) = differences(
        with_tensor(bundle.capture), tmp_path, bytes(72), b"\1" * 4 + bytes(60) + b"\2" * 8, offset=16
    )
    assert (of_type.type, of_type.differing) == ("f16", 2)
    assert (rest.type, rest.offset, rest.differing, rest.beyond) == (None, 80, 8, 8)
    assert (rest.first[0].expected, rest.first[0].actual) == ("00", "02")


def test_noise_is_no_difference(bundle: Bundle, tmp_path: Path) -> None:
    capture = replace(with_tensor(bundle.capture), noise=((0, 16, 4),))
    (found,) = differences(capture, tmp_path, bytes(8), b"\1" * 8)
    assert [one.index for one in found.first] == [(2,), (3,)]


@pytest.mark.parametrize(
    ("shape", "strides", "element", "index"),
    [
        ((2, 3, 4), (12, 4, 1), 23, (1, 2, 3)),
        ((4, 3), (1, 4), 6, (2, 1)),  # columns first
        ((5, 3), (0, 1), 2, (0, 2)),  # broadcast
        ((), (), 0, ()),
        ((), (), 1, None),
        ((2, 3), (4, 1), 3, None),  # between rows
        ((2, 3), (4, 1), 8, None),  # behind the last
        ((3,), (-1,), 0, None),
        ((0, 3), (3, 1), 0, None),
        ((1, 7), (1000, 1), 6, (0, 6)),
    ],
)
def test_places_in_a_tensor(
    shape: tuple[int, ...], strides: tuple[int, ...], element: int, index: tuple[int, ...] | None
) -> None:
    assert index_of(Tensor("torch.float32", shape, strides, 0), element) == index


def test_elements_across_many_small_ranges(tmp_path: Path) -> None:
    """As if one by one: whole elements wherever ranges begin and end, of typed data that lies at an odd place."""
    rng = np.random.default_rng(7)
    before = rng.integers(0, 256, 40_000, dtype=np.uint8)
    after = np.where(rng.random(40_000) < 0.4, before ^ 1, before)
    ranges, at = [], 0
    while at < len(before) - 64:
        length = int(rng.integers(1, 40))
        ranges.append((0, at, before[at : at + length].tobytes(), after[at : at + length].tobytes()))
        at += length + int(rng.integers(0, 9))
    dump = write_dump(tmp_path / "dump", ranges)
    typed = (0, 1001, 20_004, "f32")
    slow = set()
    for _, start, data, _ in ranges:
        for offset in range(start, start + len(data) - 3):
            if typed[1] <= offset <= typed[1] + typed[2] - 4 and (offset - typed[1]) % 4 == 0:
                slow.add(offset)
    joined = {start + len(data) for _, start, data, _ in ranges} & {start for _, start, _, _ in ranges}
    found = {int(piece.offsets[p[0]]) for piece in pieces_of(dump) for p in positions_of(piece, typed)}
    # Ranges that touch are one: they have the elements between them, too.
    assert slow <= found
    assert all(any(offset < end < offset + 4 for end in joined) for offset in found - slow)
    assert compare_dump(dump, (typed,), (), EXACT).left_bytes == sum(
        int(np.sum(np.frombuffer(want, np.uint8) != np.frombuffer(got, np.uint8))) for _, _, want, got in ranges
    )
