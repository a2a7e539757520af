"""Atomics: what the memory holds afterwards.

In: a name, the target, the cell before, the instruction's values. Out: the cell after, or None where it is left open.
Source: "AMD Instinct MI300 ISA" and "RDNA3 ISA", DS, FLAT and MUBUF instructions; that additions of f32 in memory flush
denormals on gfx90a and gfx1100: LLVM AMDGPUUsage, "atomicrmw".
"""

from __future__ import annotations

import re
from collections.abc import Callable

import softfloat as sf

from .core import M32, M64, signed

_Integer = Callable[[int, int, int], int]  # cell, value, width
_INTEGER: dict[str, _Integer] = {
    "add": lambda m, d, _: m + d,
    "sub": lambda m, d, _: m - d,
    "rsub": lambda m, d, _: d - m,
    "csub": lambda m, d, _: m - d if m >= d else 0,
    "inc": lambda m, d, _: 0 if m >= d else m + 1,
    "dec": lambda m, d, _: d if m == 0 or m > d else m - 1,
    "smin": lambda m, d, w: min(m, d, key=lambda x: signed(x, w)),
    "smax": lambda m, d, w: max(m, d, key=lambda x: signed(x, w)),
    "umin": lambda m, d, _: min(m, d),
    "umax": lambda m, d, _: max(m, d),
    "and": lambda m, d, _: m & d,
    "or": lambda m, d, _: m | d,
    "xor": lambda m, d, _: m ^ d,
    "swap": lambda _m, d, _w: d,
}
_FLUSHES = ("gfx90a", "gfx1100")
_SWAPS = ("swap", "wrxchg", "storexchg")
_COMPARES = ("cmpswap", "cmpst", "cmpstore")
_NAME = re.compile(
    r"(?:ds|(?:flat|global|buffer)_atomic)_(\w+?)(?:_rtn)?(?:_(x2|[uib]32|[uib]64|f32|f64|pk_add_f16))?\Z"
)


def cell_after(name: str, target: str, cell: int, values: list[int], kind: str) -> int | None:
    match = _NAME.match(name)
    if match is None:
        return None
    what, suffix = match.group(1), match.group(2) or ""
    if kind in ("f32", "f64"):
        in_memory = not name.startswith("ds_")
        return _float(what, sf.FORMATS[kind], cell, values, flushes=in_memory and kind == "f32" and target in _FLUSHES)
    if kind.startswith("pk"):
        return _pair(sf.FORMATS[kind[2:]], cell, values[0])
    width, mask = (64, M64) if kind == "b64" else (32, M32)
    if what in _COMPARES:
        new, expected = (values[1], values[0]) if what == "cmpst" else (values[0], values[1])
        return new if cell == expected else cell
    if what == "mskor":
        return (cell & ~values[0]) | values[1]
    if what == "wrap":
        return (cell - values[0] if cell >= values[0] else cell + values[1]) & mask
    if what in ("min", "max"):
        what = ("s" if suffix.startswith("i") else "u") + what
    function = _INTEGER.get("swap" if what in _SWAPS else what)
    return None if function is None else function(cell, values[0], width) & mask


def _float(what: str, f: sf.Format, cell: int, values: list[int], *, flushes: bool) -> int | None:
    operands = (cell, *values)
    if what == "add":
        ready = [sf.flush(f, x) for x in operands] if flushes else list(operands)
        total = sf.add(f, ready[0], ready[1])
        return total if total == sf.NAN or not flushes else sf.flush(f, total)
    # NaNs, denormals and zeros of both signs: the manuals do not say.
    if any(sf.is_nan(f, x) or sf.is_denormal(f, x) or sf.is_zero(f, x) for x in operands):
        return None
    if what in _COMPARES:
        new, expected = (values[1], values[0]) if what == "cmpst" else (values[0], values[1])
        return new if sf.order(f, cell) == sf.order(f, expected) else cell
    if what in ("min", "max"):
        return sf.extreme(f, cell, values[0], largest=what == "max")
    return None


def _pair(f: sf.Format, cell: int, value: int) -> int | None:
    halves = []
    for shift in (0, 16):
        a, b = cell >> shift & 0xFFFF, value >> shift & 0xFFFF
        total = sf.add(f, a, b)
        if total == sf.NAN or any(sf.is_denormal(f, x) for x in (a, b, total)):
            return None
        halves.append(total)
    return halves[0] | halves[1] << 16
