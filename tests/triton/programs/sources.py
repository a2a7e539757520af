"""Kernels whose source stands in less common ways: bound more than once, in a class, made by functions, decorated.

Usage: sources.py NAME. Prints EXIT-SUCCESS. Called by test_triton_sources.py, under kerncap.
"""

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import triton
import triton.language as tl
from device_arrays import Array, synchronize, use
from registry import WIDTH, register
from registry import tl as same_tl

use()
N, B = 500, 256
STEP = 2
STEP = STEP * 4
STEP += 1
STEPS = tl.constexpr(STEP)
MORE = tl.constexpr(2)
TEXT = "a separator that ends no line for Python: \u2028"
COUNT = len(os.listdir(os.path.dirname(__file__)))
COUNTED = tl.constexpr(COUNT)


@triton.jit
def doubled(v):
    return v * 2


earlier = doubled


@triton.jit
def doubled(v):
    return v * 3


@triton.jit
def squared(v):
    return v * v


@triton.jit
def bound_often(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, earlier(tl.load(x + at, mask=at < n)) * STEPS + MORE + COUNTED, mask=at < n)


def jitted_later(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 5, mask=at < n)


jitted_later = triton.jit(jitted_later)
jitted_later = triton.autotune([triton.Config({"B": 256})], key=["n"])(jitted_later)


class Operations:
    @staticmethod
    @triton.jit
    def of_a_class(x, out, n, B: tl.constexpr):
        at = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + at, tl.load(x + at, mask=at < n) + 6, mask=at < n)


@register("name")
@triton.jit
def registered(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + same_tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) + WIDTH, mask=at < n)


def make(act, by, configs):
    @triton.autotune(configs=configs, key=["n"])
    @triton.jit
    def made(x, out, n, B: tl.constexpr):
        at = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + at, act(tl.load(x + at, mask=at < n)) * by, mask=at < n)

    return made


def configurations():
    if triton.runtime.driver.active.get_current_target().backend != "hip":
        return []
    return [triton.Config({"B": 256}, num_warps=warps) for warps in (2, 4)]


@triton.autotune(configs=configurations(), key=["n"])
@triton.jit
def asks_for_the_target(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 7, mask=at < n)


@triton.autotune(configs=[triton.Config({}, num_warps=warps) for warps in (2, 4)], key=["n"])
@triton.jit
def given_a_function(x, out, n, F: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, F(tl.load(x + at, mask=at < n)), mask=at < n)


class Holder:
    def __init__(self, kernel):
        self.about = {"kernel": "held"}
        self.kernel = kernel

    def __getitem__(self, grid):
        return self.kernel[grid]


@Holder
@triton.jit
def held(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 8, mask=at < n)


PLAIN = 5


@triton.jit
def plain_global(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) + PLAIN, mask=at < n)


def with_plain_globals() -> None:
    triton.knobs.compilation.allow_non_constexpr_globals = True
    plain_global[(2,)](X, OUT, N, B=B)


class Scaled(NamedTuple):
    data: Any
    by: Any


@triton.jit
def named_tuple(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x.data + at, mask=at < n) * x.by, mask=at < n)


X, OUT = Array(np.arange(N, dtype=np.float32)), Array(np.zeros(N, np.float32))


def edited() -> None:
    """The file is another one when the kernel is compiled than when it was imported."""
    path = Path(os.environ["HOME"], "edited_module.py")
    text = (
        "import triton\nimport triton.language as tl\nBY = tl.constexpr(3)\n\n\n@triton.jit\n"
        "def edited(x, out, n, B: tl.constexpr):\n    at = tl.program_id(0) * B + tl.arange(0, B)\n"
        "    tl.store(out + at, tl.load(x + at, mask=at < n) * BY, mask=at < n)\n"
    )
    path.write_text(f"# -*- coding: latin-1 -*-\n# caf\xe9\n{text}", encoding="latin-1")
    sys.path.insert(0, str(path.parent))
    import edited_module

    path.write_text("\n\n" + text.replace("(3)", "(4)").replace("* BY", "* BY + 1"))
    edited_module.edited[(2,)](X, OUT, N, B=B)


def both_made() -> None:
    """Two kernels of one factory, with one name and one text."""
    for act, by in ((doubled, tl.constexpr(2)), (squared, tl.constexpr(3))):
        make(act, by, [triton.Config({"B": B})])[(2,)](X, OUT, N)


CASES = {
    "bound_often": lambda: bound_often[(2,)](X, OUT, N, B=B),
    "jitted_later": lambda: jitted_later[(2,)](X, OUT, N),
    "of_a_class": lambda: Operations.of_a_class[(2,)](X, OUT, N, B=B),
    "registered": lambda: registered[(2,)](X, OUT, N, B=B),
    "made": both_made,
    "asks_for_the_target": lambda: asks_for_the_target[(2,)](X, OUT, N),
    "given_a_function": lambda: given_a_function[(2,)](X, OUT, N, F=squared, B=B),
    "held": lambda: held[(2,)](X, OUT, N, B=B),
    "plain_global": with_plain_globals,
    "named_tuple": lambda: named_tuple[(2,)](Scaled(X, 3.0), OUT, N, B=B),
    "edited": edited,
}
if __name__ == "__main__":
    for CASE in [sys.argv[1]]:  # a name of the module, bound by a loop too
        CASES[CASE]()
    synchronize()
    print("EXIT-SUCCESS")
