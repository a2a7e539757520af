"""The checked-in vectors are what the model says, and the model's arithmetic is the host's where numpy has it."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import edges
import format_vectors
import model
import numpy as np
import pytest
import softfloat as sf
import vectors

_VECTORS = Path(__file__).resolve().parents[1] / "native" / "data" / "isa_vectors.txt"


def test_vectors_are_what_the_model_says() -> None:
    names = set()
    for line in _VECTORS.read_text().splitlines():
        if line.startswith("#"):
            continue
        vector = vectors.parse(line)
        names.add(vector.name)
        define = model.find(vector.name)
        assert define is not None, line
        a = vector.sources
        result = define(
            model.DEFAULT, [a[0], a[2], a[1]] if "mk_" in vector.name else list(a), vector.old, vector.carry
        )
        assert result == model.Result(vector.dst, vector.bit), line
    assert len(names) > 550


def test_format_vectors_are_what_the_model_says() -> None:
    lines = (_VECTORS.parent / "isa_format_vectors.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == list(format_vectors.generate())


@pytest.mark.parametrize(
    ("kind", "real", "bits"),
    [("f16", np.float16, np.uint16), ("f32", np.float32, np.uint32), ("f64", np.float64, np.uint64)],
)
def test_softfloat_agrees_with_the_host(kind: str, real: type, bits: type) -> None:
    f = sf.FORMATS[kind]
    values = edges.floats(f)
    with np.errstate(all="ignore"):
        for a, b in itertools.product(values, values):
            x, y = (np.array([v], dtype=bits).view(real) for v in (a, b))
            for ours, host in ((sf.add(f, a, b), x + y), (sf.mul(f, a, b), x * y)):
                got = int(host.view(bits)[0])
                assert ours == got or (ours == sf.NAN and sf.is_nan(f, got)), (hex(a), hex(b))


def test_rounding_modes() -> None:
    one, third = 0x3F800000, sf.encode(sf.F32, Fraction(1, 3))
    assert third == 0x3EAAAAAB
    tiny = 1
    assert [sf.add(sf.F32, one, tiny, mode) - one for mode in range(4)] == [0, 1, 0, 0]
    assert sf.mul(sf.F32, 0x7F7FFFFF, 0x7F7FFFFF, 3) == 0x7F7FFFFF
    assert sf.fma(sf.F32, one, one, sf.neg(sf.F32, one), 2) == 0x80000000
