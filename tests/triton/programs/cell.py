"""A kernel whose text is in no file, as in a notebook's cell: once more under the same name, with another text.

Usage: cell.py MODULE. Prints EXIT-SUCCESS when numpy agrees. Called by test_triton_arguments.py, under kerncap.
"""

from __future__ import annotations

import linecache
import sys
from typing import Any

import numpy as np
from device_arrays import Array, synchronize, use

CELL = """
import triton
import triton.language as tl
FACTOR = tl.constexpr(3)
@triton.jit
def scaled(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) * FACTOR, mask=at < n)
"""


def run_cell(number: int, text: str, space: dict[str, Any]) -> bool:
    name = f"<cell {number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # as IPython does
    exec(compile(text, name, "exec"), space)
    x, out = np.arange(1000, dtype=np.float32), Array(np.zeros(1000, np.float32))
    space["scaled"][(4,)](Array(x), out, 1000, B=256)
    synchronize()
    return bool((out.numpy() == x * space["FACTOR"].value).all())


def main() -> int:
    use()
    space: dict[str, Any] = {"__name__": sys.argv[1]}
    other = CELL.replace("(3)", "(5)").replace("* FACTOR", "* FACTOR + 0")
    right = run_cell(1, CELL, space) and run_cell(2, other, space)
    print("EXIT-SUCCESS" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
