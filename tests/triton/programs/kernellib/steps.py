"""Helpers that kernels of other packages call."""

import triton


@triton.jit
def doubled(x):
    return x + x


@triton.jit(noinline=True)
def shifted(x, by):
    """Stays a function of its own in the code object."""
    return doubled(x) + by


@triton.jit
def area(shape):
    return shape[0] * shape[1]
