"""Constants and helpers that kernels of other modules use."""

import math

import triton
import triton.language as tl

# Computed where the module is imported: a reproducer has the value.
LOG2E = tl.constexpr(1 / math.log(2))
ROUND = tl.constexpr(0.5)


@triton.jit
def exp(x):
    return tl.exp2(x * LOG2E)


@triton.jit
def rounded(x):
    return tl.floor(x + ROUND)
