"""Kernels that take their arguments in less common forms."""

import kernellib.steps
import triton
import triton.language as tl
from kernellib.steps import shifted
from triton.language.extra import libdevice

TILE = tl.constexpr((4, 64))


@triton.jit
def described(source, target, scale, BM: tl.constexpr, BN: tl.constexpr):
    """Host-side tensor descriptors."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([row, column], (source.load([row, column]) * scale).to(tl.float16))


@triton.jit
def described_matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Tensor descriptors that the kernel makes."""
    left = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[k, n], strides=[n, 1], block_shape=[BK, BN])
    out = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, k, BK):
        total = tl.dot(left.load([row, at]), right.load([at, column]), total)
    out.store([row, column], total)


@triton.jit(do_not_specialize=["n", "by"])
def formed(pair, bias, out, n, by, SHAPE: tl.constexpr):
    """A tuple with an array, a number, a constant and None; an argument that is None; a tuple of constants."""
    at = tl.program_id(0) * SHAPE[0] * SHAPE[1] + tl.arange(0, SHAPE[0] * SHAPE[1])
    v = tl.load(pair[0] + at, mask=at < n) * pair[1]
    if bias is not None:
        v += tl.load(bias + at, mask=at < n)
    tl.store(out + at, v + by, mask=at < n)


@triton.jit
def helped(x, out, n, BLOCK: tl.constexpr):
    """Helpers of a library, one of them not inlined, and a function of the device library."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tile = kernellib.steps.area(TILE)
    tl.store(out + at, libdevice.exp(v) + kernellib.steps.doubled(v) + shifted(n, 1) + tile, mask=at < n)
