"""Test vectors of typed buffer accesses for the native tests, computed by model/formats.py.

Usage: format_vectors.py > tests/native/data/isa_format_vectors.txt. A line:
    NAME GFX9 GFX11 DIRECTION BITS REGISTERS ELEMENT
NAME: data and number format; GFX9, GFX11: how those encode it (hex, `-` where they do not); DIRECTION: load or store;
BITS: 32 or 16 a component in registers; REGISTERS: components, hex, comma-separated, `nan` for any NaN;
ELEMENT: in memory, hex, lowest byte last; `-` for a value that the format does not hold: the store stops.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import edges
import softfloat as sf
from model import formats

NUMBER_9 = dict(zip(formats.NUMBERS, (0, 1, 2, 3, 4, 5, 7), strict=True))


def codes() -> Iterator[tuple[str, str, int, int | None]]:
    """Every format; gfx11 numbers them in this order, without the scaled forms of 10_10_10_2."""
    unified = 0
    for layout_number, layout in enumerate(formats.LAYOUTS, 1):
        for number in formats.NUMBERS:
            if not formats.exists(layout, number):
                continue
            on_gfx11 = not (layout == "10_10_10_2" and "SCALED" in number)
            unified += on_gfx11
            yield layout, number, layout_number | NUMBER_9[number] << 4, unified if on_gfx11 else None


def parts(width: int, number: str, chance: random.Random) -> int:
    top = 1 << (width - 1)
    if number == "FLOAT" and width in (16, 32):
        return chance.choice(edges.floats(sf.F16 if width == 16 else sf.F32))
    return chance.choice((0, 1, top - 1, top, top + 1, 2 * top - 1, chance.randrange(2 * top)))


def registers(layout: str, number: str, half: bool, count: int, chance: random.Random) -> list[int]:
    kind = sf.F16 if half else sf.F32
    if number in ("UINT", "SINT"):
        width = min(formats.widths(layout)[0], 16 if half else 32)
        small = chance.choice((0, 1, (1 << (width - 1)) - 1, chance.randrange(1 << (width - 1))))
        negative = number == "SINT" and chance.random() < 0.5
        every = [(-small if negative else small) & (0xFFFF if half else 0xFFFFFFFF)] * count
        return every if min(formats.widths(layout)) == 2 else [*every[1:], chance.choice((0, 1))]
    if number == "FLOAT":
        return [chance.choice(edges.floats(kind)) for _ in range(count)]
    scale = chance.choice((3, 255, 1023, 1000))
    return [
        sf.encode(kind, sf.Fraction(chance.randrange(-scale, scale + 8), scale)) if chance.random() < 0.7
        else chance.choice(edges.floats(kind)) for _ in range(count)
    ]  # fmt: skip


def text(components: list[int]) -> str:
    return ",".join("nan" if c == sf.NAN else f"{c:x}" for c in components)


def generate() -> Iterator[str]:
    for layout, number, gfx9, gfx11 in codes():
        chance = random.Random(f"{layout} {number}")
        name = f"{layout}_{number} {gfx9:x} {'-' if gfx11 is None else f'{gfx11:x}'}"
        for i in range(16):
            half, count = bool(i // 4 % 2), 1 + i % 4
            bits = 16 if half else 32
            element = formats.join(layout, [parts(w, number, chance) for w in formats.widths(layout)])
            yield f"{name} load {bits} {text(formats.load(layout, number, element, count, half))} {element:x}"
            given = registers(layout, number, half, count, chance)
            stored = formats.store(layout, number, given, half)
            if stored is None and number == "FLOAT" and formats.widths(layout)[0] >= 16:
                continue  # which NaN is stored is not stated
            yield f"{name} store {bits} {text(given)} {'-' if stored is None else f'{stored:x}'}"


def main() -> None:
    sys.stdout.write("# Written by tests/isa/format_vectors.py; do not edit.\n")
    sys.stdout.writelines(line + "\n" for line in generate())


if __name__ == "__main__":
    main()
