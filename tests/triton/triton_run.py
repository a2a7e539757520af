"""Runs Triton's code objects through HIP and compares with numpy.

In: a folder that triton_kernels.py made, one to write to, and `as-built` or `without-preload` (see
tests/matrix/preload.py). Out: "NAME: right" or "NAME: WRONG: why" for each code object; exit status 1 if one was wrong.
Runs in a dev image, with the virtual GPU preloaded; called by test_triton.py.
"""

import ctypes
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "matrix"))
from preload import without_preload

Array = np.ndarray[Any, Any]
Launch = tuple[tuple[int, int], Sequence[Any]]


def check(status: int, what: str) -> None:
    if status != 0:
        raise RuntimeError(f"{what}: HIP error {status}")


class Hip:
    """What of libamdhip64 a launch takes."""

    def __init__(self) -> None:
        found = sorted(Path("/usr/lib/x86_64-linux-gnu").glob("libamdhip64.so.[0-9]"))
        self._hip = ctypes.CDLL(str(found[-1]))
        self._buffers: list[tuple[ctypes.c_void_p, Array]] = []

    def upload(self, values: Array) -> ctypes.c_void_p:
        at = ctypes.c_void_p()
        check(self._hip.hipMalloc(ctypes.byref(at), ctypes.c_size_t(values.nbytes)), "hipMalloc")
        check(
            self._hip.hipMemcpy(at, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes), 1),
            "hipMemcpy",
        )
        self._buffers.append((at, values))
        return at

    def run(self, code: Path, launch: dict[str, Any], grid: tuple[int, int], arguments: Sequence[Any]) -> None:
        """Arrays are uploaded, and hold afterwards what the kernel left."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        check(self._hip.hipModuleLoad(ctypes.byref(module), str(code).encode()), "hipModuleLoad")
        check(
            self._hip.hipModuleGetFunction(ctypes.byref(function), module, launch["kernel"].encode()),
            "hipModuleGetFunction",
        )
        values = [self.upload(a) if isinstance(a, np.ndarray) else a for a in arguments]
        # Newer versions end with two pointers to scratch memory of their own; these kernels need none.
        values += [ctypes.c_void_p(), ctypes.c_void_p()]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        sizes = [ctypes.c_uint(n) for n in (*grid, 1, launch["items"], 1, 1, launch["lds"])]
        check(self._hip.hipModuleLaunchKernel(function, *sizes, None, pointers, None), "hipModuleLaunchKernel")
        check(self._hip.hipDeviceSynchronize(), "hipDeviceSynchronize")
        for at, array in self._buffers:
            check(
                self._hip.hipMemcpy(array.ctypes.data_as(ctypes.c_void_p), at, ctypes.c_size_t(array.nbytes), 2),
                "hipMemcpy",
            )
            check(self._hip.hipFree(at), "hipFree")
        self._buffers.clear()
        check(self._hip.hipModuleUnload(module), "hipModuleUnload")


RANDOM = np.random.default_rng(7)
i32, f32 = ctypes.c_int32, ctypes.c_float


def whole(shape: int | tuple[int, ...], kind: Any, most: int = 8) -> Array:
    """Numbers whose sums of products are exact in any order."""
    return RANDOM.integers(-most, most, shape, endpoint=True).astype(kind)


def bf16(values: Array) -> Array:
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def add(kind: Any, block: int) -> tuple[Launch, Callable[[], str]]:
    n = 1500
    x, y, out = whole(n, kind, 1000), whole(n, kind, 1000), np.zeros(n, kind)
    return ((-(-n // block), 1), [x, y, out, i32(n)]), lambda: same(out, x + y)


def add_bf16() -> tuple[Launch, Callable[[], str]]:
    n = 1500
    x, y, out = bf16(RANDOM.normal(size=n)), bf16(RANDOM.normal(size=n)), np.zeros(n, np.uint16)
    return ((-(-n // 512), 1), [x, y, out, i32(n)]), lambda: same(out, bf16(from_bf16(x) + from_bf16(y)))


def softmax(kind: Any, columns: int, bound: float) -> tuple[Launch, Callable[[], str]]:
    x = RANDOM.normal(size=(5, columns)).astype(kind)
    out = np.zeros_like(x)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return ((5, 1), [x, out, i32(columns)]), lambda: close(out, e / e.sum(1, keepdims=True), bound)


def matmul(kind: Any, result: Any, rows: int, columns: int, tall: int, wide: int) -> tuple[Launch, Callable[[], str]]:
    depth = 100
    a, b = whole((rows, depth), np.float32), whole((depth, columns), np.float32)
    out = np.zeros((rows, columns), result)
    convert = bf16 if kind == "bf16" else lambda v: v.astype(kind)
    grid = (-(-rows // tall) * -(-columns // wide), 1)
    return (grid, [convert(a), convert(b), out, i32(rows), i32(columns), i32(depth)]), lambda: same(
        out, (a @ b).astype(result)
    )


def layernorm() -> tuple[Launch, Callable[[], str]]:
    columns = 430
    x = RANDOM.normal(size=(6, columns)).astype(np.float16)
    weight, bias = (RANDOM.normal(size=columns).astype(np.float32) for _ in range(2))
    out = np.zeros_like(x)
    v = x.astype(np.float64)
    centred = v - v.mean(1, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight + bias
    return ((6, 1), [x, weight, bias, out, i32(columns), f32(1e-5)]), lambda: close(out, want, 2e-3)


def attention() -> tuple[Launch, Callable[[], str]]:
    heads, length, depth = 2, 100, 64
    q, k, v = (RANDOM.normal(size=(heads, length, depth)).astype(np.float16) for _ in range(3))
    out = np.zeros_like(q)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 8
    p = np.exp(scores - scores.max(2, keepdims=True))
    want = p / p.sum(2, keepdims=True) @ v.astype(np.float64)
    return ((-(-length // 64), heads), [q, k, v, out, i32(length), f32(1 / 8)]), lambda: close(out, want, 4e-3)


def transpose() -> tuple[Launch, Callable[[], str]]:
    x = RANDOM.normal(size=(45, 70)).astype(np.float32)
    out = np.zeros((70, 45), np.float32)
    return ((2, 3), [x, out, i32(45), i32(70)]), lambda: same(out, x.T)


def row_sums() -> tuple[Launch, Callable[[], str]]:
    x, out = whole((20, 300), np.float32), np.zeros(20, np.float32)
    return ((3, 1), [x, out, i32(20), i32(300)]), lambda: same(out, x.sum(1))


def quantise() -> tuple[Launch, Callable[[], str]]:
    columns = 400
    x = whole((4, columns), np.float16, 126)
    x[:, 0] = 127  # the scale is one
    out, scales = np.zeros((4, columns), np.int8), np.zeros(4, np.float32)
    return (
        (4, 1),
        [x, out, scales, i32(columns)],
    ), lambda: same(out, x.astype(np.int8)) or same(scales, np.ones(4, np.float32))


def trigonometry() -> tuple[Launch, Callable[[], str]]:
    x, out = RANDOM.uniform(-20, 20, 900).astype(np.float32), np.zeros(900, np.float32)
    v = x.astype(np.float64)
    want = np.sin(v) + np.cos(v) + np.log(np.abs(v) + 1) + np.sqrt(np.abs(v))
    return ((2, 1), [x, out, i32(900)]), lambda: close(out, want, 2e-6)


def histogram() -> tuple[Launch, Callable[[], str]]:
    x, bins = RANDOM.integers(0, 64, 1000).astype(np.int32), np.zeros(64, np.int32)
    want = np.bincount(x, minlength=64).astype(np.int32)
    return ((4, 1), [x, bins, i32(1000)]), lambda: same(bins, want)


def fp8(kind: Any, exponent_bits: int, bias: int, finite: bool) -> tuple[Launch, Callable[[], str]]:
    """All numbers of the format, and some beyond its largest, which saturate. `finite`: without infinities and -0."""
    mantissa_bits = 7 - exponent_bits
    codes = np.arange(256, dtype=np.uint8)
    exponent, mantissa = (codes & 0x7F) >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
    steps = np.where(exponent > 0, mantissa + (1 << mantissa_bits), mantissa).astype(np.float64)
    values = np.ldexp(steps, np.maximum(exponent, 1).astype(np.int32) - bias - mantissa_bits) * np.where(
        codes > 127, -1, 1
    )
    # E4M3 of the OCP ends with a NaN; its E5M2 with infinities and NaNs.
    most = 0x7F if finite else 0x7E if exponent_bits == 4 else 0x7B
    numbers = codes[((codes & 0x7F) <= most) & ~((codes == 0x80) & finite)]
    # Not just beyond it: there Triton's own conversion to E4M3 gives NaN.
    large = np.array([1.25, 1.5, 8], np.float64) * values[most]
    large = large[large < np.finfo(kind).max]
    x = np.concatenate([values[numbers], large, -large]).astype(kind)
    want = np.concatenate([numbers, np.full(len(large), most, np.uint8), np.full(len(large), most | 0x80, np.uint8)])
    out = np.zeros(len(x), np.uint8)
    return ((2, 1), [x, out, i32(len(x))]), lambda: same(out, want)


def prefix_sums() -> tuple[Launch, Callable[[], str]]:
    x = whole((3, 400), np.int32, 1000)
    out = np.zeros_like(x)
    return ((3, 1), [x, out, i32(400)]), lambda: same(out, x.cumsum(1).astype(np.int32))


def same(got: Array, want: Array) -> str:
    return differing(got, want, got.ravel() != want.ravel())


def close(got: Array, want: Array, bound: float) -> str:
    """Within the bound, relative to values of 1 and more and absolute below."""
    return differing(got, want, ~(np.abs(got - want) <= bound * np.maximum(1, np.abs(want))).ravel())


def differing(got: Array, want: Array, where: Array) -> str:
    wrong = np.flatnonzero(where)
    if not len(wrong):
        return ""
    first = wrong[0]
    return f"{len(wrong)} of {got.size} differ, [{first}] is {got.flat[first]}, not {want.flat[first]}"


CASES: dict[str, Callable[[], tuple[Launch, Callable[[], str]]]] = {
    "add_f32": lambda: add(np.float32, 1024),
    "add_bf16": add_bf16,
    "add_i64": lambda: add(np.int64, 256),
    "softmax_f32": lambda: softmax(np.float32, 781, 1e-6),
    "softmax_f16": lambda: softmax(np.float16, 500, 1e-3),
    "matmul_f16": lambda: matmul(np.float16, np.float32, 70, 48, 32, 32),
    "matmul_f16_64": lambda: matmul(np.float16, np.float16, 70, 48, 64, 64),
    "matmul_bf16": lambda: matmul("bf16", np.float32, 70, 48, 64, 32),
    "matmul_f32": lambda: matmul(np.float32, np.float32, 40, 48, 32, 32),
    "matmul_i8": lambda: matmul(np.int8, np.int32, 70, 48, 32, 32),
    "layernorm": layernorm,
    "attention": attention,
    "transpose": transpose,
    "row_sums": row_sums,
    "quantise": quantise,
    "trigonometry": trigonometry,
    "histogram": histogram,
    "fp8_e4b8": lambda: fp8(np.float32, 4, 8, True),
    "fp8_e5b16": lambda: fp8(np.float32, 5, 16, True),
    "fp8_e4nv": lambda: fp8(np.float16, 4, 7, False),
    "fp8_e5": lambda: fp8(np.float32, 5, 15, False),
    "prefix_sums": prefix_sums,
}


def main() -> int:
    folder, work, as_built = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "as-built"
    hip = Hip()
    wrong = preloading = 0
    codes = sorted(folder.glob("*.hsaco"))
    for code in codes:
        (grid, arguments), judge = CASES[code.name.split(".")[0]]()
        launch = json.loads(code.with_suffix(".json").read_text())
        changed = work / code.name
        preloading += without_preload(code, changed)
        try:
            hip.run(code if as_built else changed, launch, grid, arguments)
            complaint = judge()
        except RuntimeError as error:
            complaint = str(error)
        wrong += bool(complaint)
        print(f"{code.stem}: {'WRONG: ' + complaint if complaint else 'right'}", flush=True)
    print(f"triton: {len(codes)} code objects, {wrong} wrong, {preloading} kernels that preload")
    return 1 if wrong or not codes else 0


if __name__ == "__main__":
    sys.exit(main())
