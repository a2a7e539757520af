"""Matrix products."""

import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=2),
        triton.Config({"BM": 64, "BN": 32, "BK": 32}, num_warps=4),
    ],
    key=["m", "n", "k"],
    reset_to_zero=["c"],
)
@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles = tl.cdiv(n, BN)
    row = tl.program_id(0) // tiles * BM + tl.arange(0, BM)
    column = tl.program_id(0) % tiles * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    left = a + row[:, None] * k + depth[None, :]
    right = b + depth[:, None] * n + column[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for done in range(0, k, BK):
        inside = depth < k - done
        p = tl.load(left, mask=(row[:, None] < m) & inside[None, :], other=0.0)
        q = tl.load(right, mask=inside[:, None] & (column[None, :] < n), other=0.0)
        total = tl.dot(p, q, total)
        left += BK
        right += BK * n
    out = c + row[:, None] * n + column[None, :]
    tl.store(out, total.to(c.dtype.element_ty), mask=(row[:, None] < m) & (column[None, :] < n))


@triton.jit
def experts(x, weights, choice, out, width, BLOCK: tl.constexpr, D: tl.constexpr):
    """Each token goes to its expert, whose weights (D x width) lie behind a pointer in memory."""
    token = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    expert = tl.load(choice + token)
    matrix = tl.load(weights + expert).to(tl.pointer_type(tl.float16))
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for row in range(D):
        value = tl.load(x + token * D + row).to(tl.float32)
        total += value * tl.load(matrix + row * width + at, mask=at < width, other=0.0).to(tl.float32)
    tl.store(out + token * width + at, tl.maximum(total, 0.0), mask=at < width)
