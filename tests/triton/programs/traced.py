"""Launches kernels with several grids, scalars and shapes, some of them alike; traces of tritonparse are made of it.

Usage: traced.py [FOLDER]. With FOLDER tritonparse writes its trace there, and the arrays are torch's, in memory of the
host that the GPU reaches; without it neither is needed. Prints EXIT-SUCCESS. Called by test_tritonparse.py under
kerncap; the traces in tests/data were written by it.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import device_arrays
import numpy as np
import triton
from device_arrays import Array, check, synchronize, use
from kernelkit import elementwise, products

RANDOM = np.random.default_rng(5)
Values = np.ndarray[Any, Any]


def torch_array(values: Values) -> Any:
    """A tensor of torch's on the CPU, in pinned memory: its `data_ptr()` is the GPU's address as well."""
    import torch

    at = ctypes.c_void_p()
    check(device_arrays._hip.hipHostMalloc(ctypes.byref(at), ctypes.c_size_t(values.nbytes), 0), "hipHostMalloc")
    memory = (ctypes.c_char * values.nbytes).from_address(int(at.value or 0))
    held = np.frombuffer(memory, values.dtype).reshape(values.shape)
    held[...] = values
    return torch.from_numpy(held)


def launches(array: Any) -> None:
    def normal(*shape: int) -> Any:
        return array(RANDOM.normal(size=shape).astype(np.float32))

    def add(n: int, block: int, *shape: int, warps: int = 4) -> None:
        x, y, out = (normal(*(shape or (n,))) for _ in range(3))
        elementwise.vector_add[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block, num_warps=warps)

    add(1500, 256)
    add(1500, 512, warps=8)
    add(3000, 256)
    x, out = normal(2000), normal(2000)
    for seed, keep in ((11, 0.75), (12, 0.75), (12, 0.5)):
        elementwise.dropout[(4,)](x, out, 2000, keep, seed, BLOCK=512)
    add(1500, 256)
    add(1400, 256)  # the grid of the first
    add(1500, 256, 30, 50)  # differs from the first in its shape alone
    m, n, k = 70, 48, 100
    a, b = (array(RANDOM.integers(-4, 4, shape).astype(np.float16)) for shape in ((m, k), (k, n)))
    for _ in range(2):
        total = array(np.zeros((m, n), np.float32))
        products.matmul[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)](a, b, total, m, n, k)
    add(1500, 256)


def main() -> int:
    use()
    if len(sys.argv) > 1:
        import tritonparse.structured_logging as tritonparse

        tritonparse.init(sys.argv[1], enable_trace_launch=True)
        launches(torch_array)
    else:
        launches(Array)
    synchronize()
    print("EXIT-SUCCESS")
    return 0


if __name__ == "__main__":
    sys.exit(main())
