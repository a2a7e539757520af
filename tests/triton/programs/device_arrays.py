"""Triton on HIP without torch: arrays of the device over libamdhip64, and a driver that needs nothing else.

In: numpy arrays. Out: Array, what Triton takes for a tensor (`data_ptr()`, `dtype`, `shape`, `stride()`, ...), and
`use()`, which makes Triton's own AMD driver the active one. Called by the Triton programs of the tests.
"""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]


def _library() -> str:
    named = os.environ.get("TRITON_LIBHIP_PATH")
    return named or str(next(Path("/usr/lib/x86_64-linux-gnu").glob("libamdhip64.so")))


hip = ctypes.CDLL(_library(), mode=ctypes.RTLD_GLOBAL)


def check(status: int, what: str) -> None:
    if status != 0:
        raise RuntimeError(f"{what}: HIP error {status}")


def synchronize() -> None:
    check(hip.hipDeviceSynchronize(), "hipDeviceSynchronize")


class DType:
    """Its name is as torch's: `torch.float16`."""

    def __init__(self, name: str, itemsize: int) -> None:
        self.name, self.itemsize = name, itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    __str__ = __repr__


DTYPES = {
    np.dtype(kind): DType(name, np.dtype(kind).itemsize)
    for kind, name in {
        np.float64: "float64",
        np.float32: "float32",
        np.float16: "float16",
        np.int64: "int64",
        np.int32: "int32",
        np.int16: "int16",
        np.int8: "int8",
        np.uint8: "uint8",
    }.items()
}
BFLOAT16 = DType("bfloat16", 2)


class Array:
    """Memory of the device with a shape. Strides count elements."""

    def __init__(self, values: Values, dtype: DType | None = None) -> None:
        values = np.ascontiguousarray(values)
        self._numpy = values.dtype
        self.dtype = dtype or DTYPES[values.dtype]
        self.shape = values.shape
        self._at = ctypes.c_void_p()
        check(hip.hipMalloc(ctypes.byref(self._at), ctypes.c_size_t(max(1, values.nbytes))), "hipMalloc")
        self._copy(self._at, values.ctypes.data_as(ctypes.c_void_p), values.nbytes, 1)

    def _copy(self, to: Any, source: Any, size: int, kind: int) -> None:
        check(hip.hipMemcpy(to, source, ctypes.c_size_t(size), kind), "hipMemcpy")

    def data_ptr(self) -> int:
        return int(self._at.value or 0)

    def stride(self, dim: int | None = None) -> Any:
        strides, step = [], 1
        for size in reversed(self.shape):
            strides.insert(0, step)
            step *= size
        return tuple(strides) if dim is None else strides[dim]

    def numel(self) -> int:
        return int(np.prod(self.shape))

    def element_size(self) -> int:
        return self.dtype.itemsize

    def storage_offset(self) -> int:
        return 0

    def numpy(self) -> Values:
        out = np.empty(self.shape, self._numpy)
        self._copy(out.ctypes.data_as(ctypes.c_void_p), self._at, out.nbytes, 2)
        return out

    def zero_(self) -> None:
        check(hip.hipMemset(self._at, 0, ctypes.c_size_t(self.numel() * self.dtype.itemsize)), "hipMemset")

    def clone(self) -> Array:
        return Array(self.numpy(), self.dtype)

    def copy_(self, other: Array) -> None:
        self._copy(self._at, other._at, self.numel() * self.dtype.itemsize, 3)


def use() -> None:
    """Makes HIP, through Triton's own AMD backend, what launches."""
    from triton.backends.amd import driver as amd
    from triton.runtime import driver

    class Driver(amd.HIPDriver):
        def __init__(self) -> None:
            self.utils = amd.HIPUtils()
            self.launcher_cls = amd.HIPLauncher

        @staticmethod
        def is_active() -> bool:
            return True

        def get_current_device(self) -> int:
            return 0

        def set_current_device(self, device: int) -> None:
            pass

        def get_current_stream(self, device: int) -> int:
            return 0

        def get_benchmarker(self) -> Any:
            return bench

    driver.set_active(Driver())


def bench(call: Any, quantiles: Any = None, **_: Any) -> Any:
    """What a call takes, in milliseconds, of a few."""
    took = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        synchronize()
        took.append(1e3 * (time.perf_counter() - start))
    return [sorted(took)[1]] * len(quantiles) if quantiles else sorted(took)[1]
