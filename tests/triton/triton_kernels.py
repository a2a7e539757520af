"""Kernels in Triton, compiled ahead of time with neither torch nor a GPU.

In: a folder and a gfx target. Out: for each kernel a code object and a JSON file with what its launch needs, in a
folder of that target. A process of its own for each target: Triton 3.6 keeps things of the first for the next.
Runs on the host with Triton on PYTHONPATH (`make test-triton`); test_triton.py calls it and runs the results:

    PYTHONPATH=build/triton python3 tests/triton/triton_kernels.py OUT gfx942
"""

import json
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

sys.path.insert(0, str(Path(__file__).resolve().parent / "programs"))
from kernelkit.elementwise import histogram, layernorm, quantise, softmax
from kernelkit.elementwise import vector_add as add


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    tiles = tl.cdiv(n, BN)
    row = tl.program_id(0) // tiles * BM + tl.arange(0, BM)
    column = tl.program_id(0) % tiles * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    left = a + row[:, None] * k + depth[None, :]
    right = b + depth[:, None] * n + column[None, :]
    total = tl.zeros((BM, BN), dtype=SUM)
    for done in range(0, k, BK):
        inside = depth < k - done
        p = tl.load(left, mask=(row[:, None] < m) & inside[None, :], other=0)
        q = tl.load(right, mask=inside[:, None] & (column[None, :] < n), other=0)
        total = tl.dot(p, q, total, out_dtype=SUM)
        left += BK
        right += BK * n
    out = c + row[:, None] * n + column[None, :]
    tl.store(out, total.to(c.dtype.element_ty), mask=(row[:, None] < m) & (column[None, :] < n))


@triton.jit
def attention(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, DEPTH: tl.constexpr):
    """Flash attention, forward: keys and values in blocks, the softmax corrected as they come."""
    head = tl.program_id(1) * length * DEPTH
    row, depth = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, DEPTH)
    query = tl.load(q + head + row[:, None] * DEPTH + depth[None, :], mask=row[:, None] < length, other=0.0)
    most = tl.full([BM], -float("inf"), dtype=tl.float32)
    weight = tl.zeros([BM], dtype=tl.float32)
    total = tl.zeros([BM, DEPTH], dtype=tl.float32)
    for start in range(0, length, BN):
        column = start + tl.arange(0, BN)
        keys = tl.load(k + head + column[None, :] * DEPTH + depth[:, None], mask=column[None, :] < length, other=0.0)
        scores = tl.where(column[None, :] < length, tl.dot(query, keys) * scale, -float("inf"))
        now = tl.maximum(most, tl.max(scores, 1))
        p = tl.exp(scores - now[:, None])
        before = tl.exp(most - now)
        weight = weight * before + tl.sum(p, 1)
        values = tl.load(v + head + column[:, None] * DEPTH + depth[None, :], mask=column[:, None] < length, other=0.0)
        total = total * before[:, None] + tl.dot(p.to(values.dtype), values)
        most = now
    at = out + head + row[:, None] * DEPTH + depth[None, :]
    tl.store(at, (total / weight[:, None]).to(out.dtype.element_ty), mask=row[:, None] < length)


@triton.jit
def transpose(x, out, m, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row[:, None] * n + column[None, :], mask=(row[:, None] < m) & (column[None, :] < n))
    tl.store(out + column[:, None] * m + row[None, :], tl.trans(v), mask=(column[:, None] < n) & (row[None, :] < m))


@triton.jit
def row_sums(x, out, m, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS, BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = (row[:, None] < m) & (column[None, :] < n)
        total += tl.load(x + row[:, None] * n + column[None, :], mask=mask, other=0.0)
    tl.store(out + row, tl.sum(total, 1), mask=row < m)


@triton.jit
def trigonometry(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=1.0)
    tl.store(out + at, tl.sin(v) + tl.cos(v) + tl.log(tl.abs(v) + 1) + tl.sqrt(tl.abs(v)), mask=at < n)


@triton.jit
def prefix_sums(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=0)
    tl.store(out + row * columns + at, tl.cumsum(v, axis=0), mask=at < columns)


@triton.jit
def convert(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(out + at, v.to(out.dtype.element_ty), mask=at < n)


MATMUL = {"BM": 32, "BN": 32, "BK": 32, "SUM": tl.float32}
# Name: kernel, types of the arguments in order, constants, options.
KERNELS = {
    "add_f32": (add, ["*fp32", "*fp32", "*fp32", "i32"], {"BLOCK": 1024}, {}),
    "add_bf16": (add, ["*bf16", "*bf16", "*bf16", "i32"], {"BLOCK": 512}, {}),
    "add_i64": (add, ["*i64", "*i64", "*i64", "i32"], {"BLOCK": 256}, {}),
    "softmax_f32": (softmax, ["*fp32", "*fp32", "i32"], {"BLOCK": 1024}, {"num_warps": 8}),
    "softmax_f16": (softmax, ["*fp16", "*fp16", "i32"], {"BLOCK": 512}, {}),
    "matmul_f16": (matmul, ["*fp16", "*fp16", "*fp32", "i32", "i32", "i32"], MATMUL, {"num_warps": 2}),
    "matmul_f16_64": (
        matmul,
        ["*fp16", "*fp16", "*fp16", "i32", "i32", "i32"],
        {**MATMUL, "BM": 64, "BN": 64, "BK": 64},
        {},
    ),
    "matmul_bf16": (matmul, ["*bf16", "*bf16", "*fp32", "i32", "i32", "i32"], {**MATMUL, "BM": 64}, {"num_stages": 2}),
    "matmul_f32": (matmul, ["*fp32", "*fp32", "*fp32", "i32", "i32", "i32"], MATMUL, {}),
    "matmul_i8": (matmul, ["*i8", "*i8", "*i32", "i32", "i32", "i32"], {**MATMUL, "SUM": tl.int32}, {}),
    "layernorm": (layernorm, ["*fp16", "*fp32", "*fp32", "*fp16", "i32", "fp32"], {"BLOCK": 512}, {}),
    "attention": (
        attention,
        ["*fp16", "*fp16", "*fp16", "*fp16", "i32", "fp32"],
        {"BM": 64, "BN": 32, "DEPTH": 64},
        {},
    ),
    "transpose": (transpose, ["*fp32", "*fp32", "i32", "i32"], {"BLOCK": 32}, {}),
    "row_sums": (row_sums, ["*fp32", "*fp32", "i32", "i32"], {"ROWS": 8, "BLOCK": 128}, {}),
    "quantise": (quantise, ["*fp16", "*i8", "*fp32", "i32"], {"BLOCK": 512}, {}),
    "trigonometry": (trigonometry, ["*fp32", "*fp32", "i32"], {"BLOCK": 512}, {}),
    "histogram": (histogram, ["*i32", "*i32", "i32"], {"BLOCK": 256}, {}),
    "fp8_e4b8": (convert, ["*fp32", "*fp8e4b8", "i32"], {"BLOCK": 256}, {}),
    "fp8_e5b16": (convert, ["*fp32", "*fp8e5b16", "i32"], {"BLOCK": 256}, {}),
    "fp8_e4nv": (convert, ["*fp16", "*fp8e4nv", "i32"], {"BLOCK": 256}, {}),
    "fp8_e5": (convert, ["*fp32", "*fp8e5", "i32"], {"BLOCK": 256}, {}),
    "prefix_sums": (prefix_sums, ["*i32", "*i32", "i32"], {"BLOCK": 512}, {}),
}


def build(name: str, target: str, out: Path, aligned: bool) -> None:
    function, types, constants, options = KERNELS[name]
    names = function.arg_names
    signature = dict(zip(names, types + ["constexpr"] * len(constants), strict=True))
    attributes = {}
    if aligned:  # what a launch would find out of its arguments: 16-byte alignment, buffers below 2 GiB
        for n, t in enumerate(types):
            if t.startswith("*"):
                attributes[(n,)] = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
    source = ASTSource(
        fn=function,
        signature=signature,
        constexprs={(names.index(key),): value for key, value in constants.items()},
        attrs=attributes,
    )
    wave = 64 if target.startswith("gfx9") else 32
    kernel = triton.compile(source, target=GPUTarget("hip", target, wave), options=options)
    stem = out / target / (name if aligned else f"{name}.unaligned")
    stem.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{stem}.hsaco").write_bytes(kernel.asm["hsaco"])
    launch = {"kernel": kernel.metadata.name, "lds": kernel.metadata.shared, "items": kernel.metadata.num_warps * wave}
    Path(f"{stem}.json").write_text(json.dumps(launch))


def main() -> None:
    out, target = Path(sys.argv[1]), sys.argv[2]
    for name in sys.argv[3:] or KERNELS:
        for aligned in (True, False) if name.startswith(("add", "matmul_f16", "softmax")) else (True,):
            build(name, target, out, aligned)


if __name__ == "__main__":
    main()
