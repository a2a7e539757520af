"""Inputs of unknown type: what their bytes say, and which of them a perturbed run may change."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.capture import WriteSet
from kerncap.bundle.content import read_before
from kerncap.verdict.infer import element_kind, inferred_ranges
from kerncap.verdict.plan import PERTURBED, REFERENCE, guess_runs, make_plan, with_guess, without_guess


@pytest.fixture
def bundle(reproducer: Path) -> Bundle:
    return open_bundle(reproducer)


def integers(values: Sequence[int], code: str = "i") -> bytes:
    return struct.pack(f"<{len(values)}{code}", *values)


_NOISE = np.random.default_rng(1).normal(size=1000)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (_NOISE.astype("<f4").tobytes(), "f32"),
        (_NOISE.astype("<f8").tobytes(), "f64"),
        (_NOISE.astype("<f2").tobytes(), "bits16"),
        (np.arange(1, 100, dtype="<f4").tobytes(), "bits16"),
        # Half of each is 0: changed as two f32 they stay finite doubles of their size.
        (np.arange(1, 100, dtype="<f8").tobytes(), "f32"),
        (integers([5, 3, 9, 1, 7, 7, 2, 8]), "pair32"),
        (integers([-5, 3, -9, 1]), "pair32"),
        (integers([2048, 3000, 2050, 4000, 5000, 1024]), "pair32"),
        (integers([5, 3, 9, 1, 7], "q"), "pair64"),
        (integers([0, 4, 4, 9, 30, 31, 200, 201]), None),
        (integers([0, 4, 9, 30], "q"), None),
        (integers(range(3, 103)), "pair32"),
        (integers(range(3, 103), "q"), "pair64"),
        (integers(range(4)), None),
        (integers([7] * 16), None),
        (bytes(4096), None),
        (b"", None),
        (integers([0x7F1234567000, 0x7F1234568000], "Q"), None),
    ],
)
def test_element_kinds(bundle: Bundle, data: bytes, kind: str | None) -> None:
    assert element_kind(data, bundle.index) == kind


def test_data_with_an_address_of_captured_memory_are_left_alone(bundle: Bundle) -> None:
    inside = bundle.index.regions[0].va + 16
    assert element_kind(integers([5, 3, 9, 1, inside, 8], "Q"), bundle.index) is None


def test_ranges_are_those_that_were_read_cut_at_arguments(bundle: Bundle) -> None:
    first = replace(bundle.capture.kernarg.args[0], region=0, region_offset=0)
    kernarg = replace(bundle.capture.kernarg, args=(first, replace(first, offset=8, region_offset=400)))
    write_set = WriteSet("vgpu-trace", ((0, 0, 8),), ((0, 2, 798),))
    capture = replace(bundle.capture, kernarg=kernarg, write_set=write_set)
    asked: list[tuple[int, int, int]] = []

    def read(region: int, offset: int, length: int) -> bytes:
        asked.append((region, offset, length))
        return integers([9, 1, 4, 2] * 25) if offset < 400 else _NOISE.astype("<f4").tobytes()[:length]

    assert inferred_ranges(capture, bundle.index, read) == ((0, 8, 392, "pair32"), (0, 400, 400, "f32"))
    assert asked == [(0, 4, 396), (0, 400, 400)]
    assert inferred_ranges(replace(capture, write_set=None), bundle.index, read) == ()


def test_captured_bytes_can_be_read_in_part(bundle: Bundle) -> None:
    for number, region in enumerate(bundle.index.regions):
        whole = read_before(bundle, number, 0, region.size)
        assert len(whole) == region.size
        assert read_before(bundle, number, 5, 11) == whole[5:16]


def test_a_guess_is_replayed_apart_and_can_be_given_up(bundle: Bundle, tmp_path: Path) -> None:
    kernel = replace(bundle.capture.kernel, demangled="c_name")
    arguments = tuple(replace(a, type=None) for a in bundle.capture.kernarg.args)
    capture = replace(
        bundle.capture,
        kernel=kernel,
        kernarg=replace(bundle.capture.kernarg, args=arguments),
        write_set=WriteSet("vgpu-trace", ((0, 0, 8),), ((0, 0, 4000),)),
    )

    def read(region: int, offset: int, length: int) -> bytes:
        return integers([9, 1, 4, 2] * 2000)[:length]

    plan = make_plan(capture, bundle.index, tmp_path, hsaco=tmp_path / "v.hsaco", read_before=read)
    assert PERTURBED not in plan.names
    assert plan.guessed
    steps = guess_runs(plan, capture, tmp_path)
    (_, reference), (_, variant) = steps
    assert reference.hsaco is None
    assert reference.dump == variant.expect_dump
    assert reference.perturbed == variant.perturbed == plan.guessed
    assert with_guess(plan, steps).names[-2:] == (REFERENCE, PERTURBED)
    assert PERTURBED not in with_guess(plan, steps).not_judged
    given_up = without_guess(plan, "it faults")
    assert given_up.not_judged[PERTURBED] == "it faults"


def test_integers_beside_floats_are_guessed_with_them(bundle: Bundle, tmp_path: Path) -> None:
    floats = replace(bundle.capture.kernarg.args[0], type="float*", region=0, region_offset=0)
    integer = replace(floats, offset=8, type="int*", region_offset=400)
    capture = replace(
        bundle.capture,
        kernarg=replace(bundle.capture.kernarg, args=(floats, integer)),
        write_set=WriteSet("vgpu-trace", ((0, 900, 8),), ((0, 0, 800),)),
    )
    hsaco = tmp_path / "v.hsaco"

    def read(region: int, offset: int, length: int) -> bytes:
        assert offset >= 400, "what is known is not looked at"
        return integers([9, 1, 4, 2] * 25)

    plan = make_plan(capture, bundle.index, tmp_path, hsaco=hsaco, read_before=read)
    assert plan.guessed == ((0, 0, 400, "f32"), (0, 400, 400, "pair32"))
    assert PERTURBED not in plan.names
    given_up = without_guess(plan, "it faults")
    assert given_up.guessed == ((0, 0, 400, "f32"),)
    assert not without_guess(given_up, "it faults").guessed
    alone = make_plan(capture, bundle.index, tmp_path, hsaco=hsaco)
    assert PERTURBED in alone.names


def test_what_is_left_alone_is_said(bundle: Bundle, tmp_path: Path) -> None:
    arguments = tuple(replace(a, type=None) for a in bundle.capture.kernarg.args)
    capture = replace(
        bundle.capture,
        kernel=replace(bundle.capture.kernel, demangled="c_name"),
        kernarg=replace(bundle.capture.kernarg, args=arguments),
        write_set=WriteSet("vgpu-trace", ((0, 0, 8),), ((0, 0, 4000),)),
    )
    plan = make_plan(
        capture, bundle.index, tmp_path, hsaco=tmp_path / "v.hsaco", read_before=lambda region, offset, n: bytes(n)
    )
    assert not plan.guessed
    assert "left alone" in plan.not_judged[PERTURBED]
