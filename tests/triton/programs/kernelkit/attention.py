"""Flash attention, forward, tuned."""

import triton
import triton.language as tl

from . import numbers
from .numbers import exp as exponential


def configs():
    return [
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=1),
        triton.Config({"BM": 32, "BN": 64}, num_warps=2, num_stages=1),
    ]


@triton.jit
def masked(scores, column, length):
    return tl.where(column[None, :] < length, scores, float("-inf"))


@triton.autotune(configs=configs(), key=["length"])
@triton.heuristics({"EVEN": lambda arguments: arguments["length"] % 64 == 0})
@triton.jit
def attention(q, k, v, out, length, scale, DEPTH: tl.constexpr, EVEN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * length * DEPTH
    row, depth = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, DEPTH)
    query = tl.load(q + head + row[:, None] * DEPTH + depth[None, :], mask=row[:, None] < length, other=0.0)
    most = tl.full([BM], float("-inf"), dtype=tl.float32)
    weight = tl.zeros([BM], dtype=tl.float32)
    total = tl.zeros([BM, DEPTH], dtype=tl.float32)
    for start in range(0, length, BN):
        column = start + tl.arange(0, BN)
        keys = tl.load(k + head + column[None, :] * DEPTH + depth[:, None], mask=column[None, :] < length, other=0.0)
        scores = tl.dot(query, keys) * scale
        if not EVEN:
            scores = masked(scores, column, length)
        now = tl.maximum(most, tl.max(scores, 1))
        p = exponential(scores - now[:, None])
        before = numbers.exp(most - now)
        weight = weight * before + tl.sum(p, 1)
        values = tl.load(v + head + column[:, None] * DEPTH + depth[None, :], mask=column[:, None] < length, other=0.0)
        total = total * before[:, None] + tl.dot(p.to(values.dtype), values)
        most = now
    at = out + head + row[:, None] * DEPTH + depth[None, :]
    tl.store(at, (total / weight[:, None]).to(out.dtype.element_ty), mask=row[:, None] < length)
