"""Launches one kernel of kernelkit on arrays of the device and checks what came of it.

Usage: run.py NAME. Prints EXIT-SUCCESS when numpy agrees. Called by test_triton_capture.py, under kerncap.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import triton
from device_arrays import Array, synchronize, use
from kernelkit import attention, elementwise, forms, products

RANDOM = np.random.default_rng(11)
Values = np.ndarray[Any, Any]


def normal(*shape: int, kind: Any = np.float32) -> Values:
    return RANDOM.normal(size=shape).astype(kind)


def whole(*shape: int, kind: Any = np.float32) -> Values:
    """Numbers whose sums of products are exact in any order."""
    return RANDOM.integers(-4, 4, shape, endpoint=True).astype(kind)


def close(got: Values, want: Values, bound: float) -> bool:
    return bool((np.abs(got - want) <= bound * np.maximum(1, np.abs(want))).all())


def vector_add() -> bool:
    n = 1500
    x, y, out = normal(n), normal(n), Array(np.zeros(n, np.float32))
    elementwise.vector_add[(triton.cdiv(n, 256),)](Array(x), Array(y), out, n, BLOCK=256)
    return bool((out.numpy() == x + y).all())


def relu() -> bool:
    x, bias = normal(40, 64), normal(64)
    data = Array(x)
    elementwise.triton_poi_fused_relu_0[(triton.cdiv(x.size, 512),)](data, Array(bias), x.size, XBLOCK=512, num_warps=4)
    return bool((data.numpy() == np.maximum(0, x + bias)).all())


def softmax() -> bool:
    x = normal(5, 700)
    out = Array(np.zeros_like(x))
    elementwise.softmax[(5,)](Array(x), out, 700, BLOCK=1024)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return close(out.numpy(), e / e.sum(1, keepdims=True), 1e-6)


def layernorm() -> bool:
    x, weight, bias = normal(6, 430, kind=np.float16), normal(430), normal(430)
    out = Array(np.zeros_like(x))
    elementwise.layernorm[(6,)](Array(x), Array(weight), Array(bias), out, 430, 1e-5, BLOCK=512)
    v = x.astype(np.float64)
    centred = v - v.mean(1, keepdims=True)
    return close(out.numpy(), centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight + bias, 2e-3)


def matmul() -> bool:
    m, n, k = 70, 48, 100
    a, b = whole(m, k, kind=np.float16), whole(k, n, kind=np.float16)
    out = Array(np.zeros((m, n), np.float32))
    grid = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)  # noqa: E731
    for _ in range(2):
        products.matmul[grid](Array(a), Array(b), out, m, n, k)
    return bool((out.numpy() == a.astype(np.float32) @ b.astype(np.float32)).all())


def flash_attention() -> bool:
    heads, length, depth = 2, 100, 64
    q, k, v = (normal(heads, length, depth, kind=np.float16) for _ in range(3))
    out = Array(np.zeros_like(q))
    grid = lambda meta: (triton.cdiv(length, meta["BM"]), heads)  # noqa: E731
    attention.attention[grid](Array(q), Array(k), Array(v), out, length, 1 / 8, DEPTH=depth)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 8
    p = np.exp(scores - scores.max(2, keepdims=True))
    return close(out.numpy(), p / p.sum(2, keepdims=True) @ v.astype(np.float64), 4e-3)


def experts() -> bool:
    tokens, depth, width, count = 12, 32, 96, 4
    x, choice = whole(tokens, depth, kind=np.float16), RANDOM.integers(0, count, tokens).astype(np.int32)
    matrices = [whole(depth, width, kind=np.float16) for _ in range(count)]
    held = [Array(matrix) for matrix in matrices]
    pointers = Array(np.array([one.data_ptr() for one in held], np.int64))
    out = Array(np.zeros((tokens, width), np.float32))
    products.experts[(tokens, 2)](Array(x), pointers, Array(choice), out, width, BLOCK=64, D=depth)
    want = [np.maximum(0, x[t].astype(np.float32) @ matrices[choice[t]].astype(np.float32)) for t in range(tokens)]
    return bool((out.numpy() == np.array(want)).all())


def dropout() -> bool:
    n, keep = 2000, 0.75
    x, out = normal(n) + 10, Array(np.zeros(n, np.float32))
    elementwise.dropout[(triton.cdiv(n, 512),)](Array(x), out, n, keep, 1234, BLOCK=512)
    got = out.numpy()
    return bool(((got == 0) | (np.abs(got - x / keep) < 1e-4)).all()) and 0.7 < float((got != 0).mean()) < 0.8


def quantise() -> bool:
    x = whole(4, 400, kind=np.float16)
    x[:, 0] = 127
    out, scales = Array(np.zeros((4, 400), np.int8)), Array(np.zeros(4, np.float32))
    elementwise.quantise[(4,)](Array(x), out, scales, 400, BLOCK=512)
    return bool((out.numpy() == x.astype(np.int8)).all() and (scales.numpy() == 1).all())


def histogram() -> bool:
    x, bins = RANDOM.integers(0, 64, 1000).astype(np.int32), Array(np.zeros(64, np.int32))
    elementwise.histogram[(4,)](Array(x), bins, 1000, BLOCK=256)
    return bool((bins.numpy() == np.bincount(x, minlength=64)).all())


def described() -> bool:
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, out = normal(50, 96, kind=np.float16), Array(np.zeros((50, 96), np.float16))
    source = TensorDescriptor(Array(x), [50, 96], [96, 1], [16, 64])
    forms.described[(4, 2)](source, TensorDescriptor.from_tensor(out, [16, 64]), 2.0, BM=16, BN=64)
    return bool((out.numpy() == x * 2).all())


def described_matmul() -> bool:
    m, n, k = 70, 48, 96
    a, b = whole(m, k, kind=np.float16), whole(k, n, kind=np.float16)
    out = Array(np.zeros((m, n), np.float32))
    forms.described_matmul[(3, 2)](Array(a), Array(b), out, m, n, k, BM=32, BN=32, BK=32, num_warps=2)
    return bool((out.numpy() == a.astype(np.float32) @ b.astype(np.float32)).all())


def formed() -> bool:
    x, out = whole(1000), Array(np.zeros(1000, np.float32))
    pair = (Array(x), 3.0, triton.language.constexpr(2), None)
    forms.formed[(4,)](n=1000, by=1, out=out, bias=None, pair=pair, SHAPE=(4, 64))
    return bool((out.numpy() == x * np.float32(3) + 1).all())


def helped() -> bool:
    x, out = normal(1000), Array(np.zeros(1000, np.float32))
    forms.helped[(4,)](Array(x), out, 1000, BLOCK=256)  # 2 * 1000 + 1, and a tile of 4 * 64
    return close(out.numpy(), np.exp(x.astype(np.float64)) + 2 * x + 2001 + 256, 1e-6)


CASES: dict[str, Callable[[], bool]] = {
    "vector_add": vector_add,
    "triton_poi_fused_relu_0": relu,
    "softmax": softmax,
    "layernorm": layernorm,
    "matmul": matmul,
    "attention": flash_attention,
    "experts": experts,
    "dropout": dropout,
    "quantise": quantise,
    "histogram": histogram,
    "described": described,
    "described_matmul": described_matmul,
    "formed": formed,
    "helped": helped,
}


def child(name: str) -> None:
    """In a process of its own."""
    use()
    sys.exit(0 if CASES[name]() else 1)


def compiled() -> bool:
    """As torch's Inductor does it: compile a source for the current target, launch what came of it."""
    from triton.compiler import ASTSource
    from triton.runtime import driver

    use()
    x, bias = normal(40, 64), normal(64)
    data, added = Array(x), Array(bias)
    function = elementwise.triton_poi_fused_relu_0
    source = ASTSource(
        fn=function,
        signature={"in_out_ptr0": "*fp32", "in_ptr0": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"},
        constexprs={(3,): 512},
        attrs={(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]},
    )
    kernel = triton.compile(source, target=driver.active.get_current_target(), options={"num_warps": 4})
    kernel[(triton.cdiv(x.size, 512), 1, 1)](data, added, x.size, 512)
    synchronize()
    return bool((data.numpy() == np.maximum(0, x + bias)).all())


def from_ir(folder: str) -> bool:
    """A kernel compiled from the text of its intermediate representation."""
    from triton.runtime import driver

    use()
    n = 1500
    x, y, out = normal(n), normal(n), Array(np.zeros(n, np.float32))
    arrays = Array(x), Array(y), out
    written = elementwise.vector_add.warmup(*arrays, n, BLOCK=256, grid=(1,))
    path = os.path.join(folder, "from_ir.ttir")
    with open(path, "w") as file:
        file.write(written.asm["ttir"].replace("vector_add", "from_ir"))
    kernel = triton.compile(path, target=driver.active.get_current_target())
    kernel[(triton.cdiv(n, 256), 1, 1)](*arrays, n)
    synchronize()
    return bool((out.numpy() == x + y).all())


def main() -> int:
    use()
    right = CASES[sys.argv[1]]()
    synchronize()
    print("EXIT-SUCCESS" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
