"""Edge-case inputs of each operand type: zeros, ones, extremes, denormals, infinities, NaNs, patterns.

In: an operand type of the instruction tables. Out: bits. Called by vectors.py and kernels.py.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import softfloat as sf

INTEGER_32 = (
    0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 2, 31, 32, 0x0000FFFF, 0xFFFF0000, 0x00FFFFFF, 0x00800000, 0x12345678,
    0xAAAAAAAA, 0x55555555, 0x80000001, 0x00010001, 0x7F80FF01, 0x0C0D0E0F, 0x00000100,
)  # fmt: skip
INTEGER_64 = (
    0, 1, (1 << 64) - 1, (1 << 63) - 1, 1 << 63, 0xFFFFFFFF, 1 << 32, 0x123456789ABCDEF0, 0xAAAAAAAA55555555,
    0x8000000000000001, 0x00000000FFFFFFFE, 0xFFFFFFFF00000000, 1 << 31, 63,
)  # fmt: skip
INTEGER_16 = (0, 1, 0xFFFF, 0x7FFF, 0x8000, 2, 15, 16, 0xFF, 0x100, 0x1234, 0xAAAA, 0x5555, 0x8001)


def floats(f: sf.Format) -> tuple[int, ...]:
    """Ordered so that a prefix already holds one of each class."""
    one = f.bias << f.mantissa_bits
    positive = (
        0, one, one + (1 << (f.mantissa_bits - 1)), 1, (1 << f.mantissa_bits) - 1, 1 << f.mantissa_bits, f.infinity - 1,
        f.infinity, f.infinity | f.quiet_bit, f.infinity | 1,
        one + (3 << f.mantissa_bits) + (1 << (f.mantissa_bits - 3)),
        one - (1 << f.mantissa_bits), one + 1, one - 1, one - (2 << f.mantissa_bits) + 5,
        one + (f.mantissa_bits << f.mantissa_bits) + 1,
    )  # fmt: skip
    return tuple(itertools.chain.from_iterable((p, p | f.sign_bit) for p in positive))


def values(kind: str) -> tuple[int, ...]:
    """Edge cases of an operand type (b32, f16, pkf16, ...)."""
    if kind in ("f16", "f32", "f64"):
        return floats(sf.FORMATS[kind])
    if kind in ("pkf16",):
        half = floats(sf.F16)
        return tuple(half[i] | half[(i * 7 + 3) % len(half)] << 16 for i in range(len(half)))
    if kind == "pkf32":
        single = floats(sf.F32)
        return tuple(single[i] | single[(i * 5 + 1) % len(single)] << 32 for i in range(len(single)))
    if kind in ("b64", "u64", "i64", "pk32"):
        return INTEGER_64
    if kind in ("u16", "i16", "b16"):
        return INTEGER_16
    return INTEGER_32


def tuples(kinds: Sequence[str], count: int, seed: str) -> Iterator[tuple[int, ...]]:
    """`count` combinations of edge cases: each value alone with ones like it, then pairs and triples at random."""
    lists = [values(kind) for kind in kinds]
    longest = max(map(len, lists))
    everything = (
        list(itertools.islice(itertools.product(*lists), 40000)) if len(lists) > 1 else [(v,) for v in lists[0]]
    )
    if len(everything) <= count:
        yield from everything
        return
    chance = random.Random(seed)
    diagonal = [tuple(values_of[i % len(values_of)] for values_of in lists) for i in range(longest)]
    yield from itertools.islice(diagonal, count // 2)
    for _ in range(count - min(count // 2, len(diagonal))):
        yield tuple(chance.choice(values_of) for values_of in lists)
