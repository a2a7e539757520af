"""Kernels over rows and elements."""

import triton
import triton.language as tl

from kernelkit.numbers import rounded


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def triton_poi_fused_relu_0(in_out_ptr0, in_ptr0, xnumel, XBLOCK: tl.constexpr):
    """As torch's Inductor writes it: bias and ReLU, in place."""
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_out_ptr0 + xindex, xmask)
    tmp1 = tl.load(in_ptr0 + xindex % 64, xmask, eviction_policy="evict_last")
    tmp2 = tl.full([1], 0, tl.int32)
    tl.store(in_out_ptr0 + xindex, tl.maximum(tmp2, tmp0 + tmp1), xmask)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def layernorm(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    v = tl.load(x + row * columns + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / columns
    centred = tl.where(mask, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    y = centred * scale * tl.load(weight + at, mask=mask) + tl.load(bias + at, mask=mask)
    tl.store(out + row * columns + at, y.to(out.dtype.element_ty), mask=mask)


@triton.jit
def dropout(x, out, n, keep, seed, BLOCK: tl.constexpr):
    """Which elements stay follows from Philox alone."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    stays = tl.rand(seed, at) < keep
    tl.store(out + at, tl.where(stays, tl.load(x + at, mask=mask) / keep, 0.0), mask=mask)


@triton.jit
def quantise(x, out, scales, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    v = tl.load(x + row * columns + at, mask=mask, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(v), axis=0) / 127.0
    tl.store(out + row * columns + at, rounded(v / scale).to(tl.int8), mask=mask)
    tl.store(scales + row, scale)


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)
