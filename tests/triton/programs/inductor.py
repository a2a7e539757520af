"""Inductor's own tuner and launchers on HIP, driven with a build of torch that knows no device.

Usage: inductor.py FOLDER HOW..., HOW among `static` (Inductor's own launcher; else Triton's), `descent` (tunes near
the best as well), `worker` (another process compiles). Prints EXIT-SUCCESS when numpy agrees. What such a build lacks
stands here: the device interface, the timer, the C half of the static launcher. Called by test_triton_inductor.py.
"""

from __future__ import annotations

import ctypes
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from device_arrays import Array, bench, check, hip, synchronize, use

use()

from torch._dynamo import device_interface  # noqa: E402
from torch._inductor import config  # noqa: E402
from torch._inductor.runtime import static_triton_launcher, triton_helpers, triton_heuristics  # noqa: E402
from torch._inductor.runtime.compile_tasks import _reload_python_module  # noqa: E402

NAME = "triton_poi_fused_add_relu_0"
TEMPLATE = Path(__file__).with_name("inductor_kernel.py.txt")


class Interface(device_interface.DeviceInterface):
    """One device, one stream."""

    exchange_device = staticmethod(lambda device: 0)
    maybe_exchange_device = staticmethod(lambda device: 0)
    current_device = staticmethod(lambda: 0)
    get_raw_stream = staticmethod(lambda device: 0)
    synchronize = staticmethod(lambda device=None: synchronize())


ARGUMENTS = {"O": ctypes.c_void_p, "i": ctypes.c_int32, "l": ctypes.c_int64, "f": ctypes.c_float}


class StaticLauncher:
    """As torch._C._StaticCudaLauncher: what loads a code object and launches it."""

    @staticmethod
    def _load_kernel(path: str, name: str, shared: int, device: int) -> tuple[int, int, int, int]:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        check(hip.hipModuleLoad(ctypes.byref(module), path.encode()), "hipModuleLoad")
        check(hip.hipModuleGetFunction(ctypes.byref(function), module, name.encode()), "hipModuleGetFunction")
        return int(module.value or 0), int(function.value or 0), 0, 0

    @staticmethod
    def _launch_kernel(function: int, *rest: Any) -> None:
        x, y, z, warps, shared, kinds, arguments, stream = rest
        values = [
            ARGUMENTS[kind](one.data_ptr() if hasattr(one, "data_ptr") else one or 0)
            for kind, one in zip(kinds, arguments, strict=True)
        ]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(one) for one in values])
        sizes = [ctypes.c_uint(n) for n in (x, y, z, 64 * warps, 1, 1, shared)]
        handles = ctypes.c_void_p(function), *sizes, ctypes.c_void_p(stream)
        check(hip.hipModuleLaunchKernel(*handles, pointers, None), "hipModuleLaunchKernel")

    @staticmethod
    def _unload_kernel(module: int) -> None:
        check(hip.hipModuleUnload(ctypes.c_void_p(module)), "hipModuleUnload")


def stand_in() -> None:
    """For what a build of torch without a device lacks."""
    device_interface.init_device_reg()
    device_interface.register_interface_for_device("cuda", Interface)
    triton_heuristics.benchmarker.benchmark = lambda fn, **_: bench(fn)
    triton_helpers.set_driver_to_gpu = lambda: None
    static_triton_launcher.is_rocm = lambda: True  # two pointers to scratch memory follow the arguments
    static_triton_launcher.StaticallyLaunchedCudaKernel.C_impl = StaticLauncher()


def kernel_of(folder: Path, how: set[str]) -> Any:
    """The module that Inductor would write, loaded as it loads them."""
    path = folder / "cgenerated.py"
    text = TEMPLATE.read_text()
    if "descent" in how:
        text = re.sub("'coordinate_descent_tuning': False", "'coordinate_descent_tuning': True", text)
    path.write_text(text)
    config.use_static_triton_launcher = "static" in how
    return getattr(_reload_python_module("cgenerated", str(path), set_sys_modules=False), NAME)


def of_a_worker(folder: Path, how: set[str]) -> Any:
    """Compiled in a process of its own, and sent here as a compile worker of Inductor's does."""
    argv = [sys.executable, __file__, str(folder), *sorted(how - {"worker"}), "compile"]
    subprocess.run(argv, check=True)
    kernel = pickle.loads((folder / "worker.pickle").read_bytes())
    kernel.precompile(reload_kernel=lambda: kernel_of(folder, how))
    return kernel


def main() -> int:
    folder, how = Path(sys.argv[1]), set(sys.argv[2:])
    stand_in()
    if "compile" in how:
        kernel = kernel_of(folder, how)
        kernel.precompile(warm_cache_only=True)
        kernel.prepare_for_pickle()
        (folder / "worker.pickle").write_bytes(pickle.dumps(kernel))
        return 0
    kernel = of_a_worker(folder, how) if "worker" in how else kernel_of(folder, how)
    x, y = np.arange(-2000, 2000, dtype=np.float32), np.full(4000, 7, np.float32)
    right = True
    for _ in range(3):
        out = Array(np.zeros(4000, np.float32))
        kernel.run(Array(x), Array(y), out, 4000, stream=0)
        synchronize()
        right = right and bool((out.numpy() == np.maximum(0, x + y)).all())
    print("torch", torch.__version__, "static" if getattr(kernel.launchers[0], "_is_static", False) else "not static")
    print("EXIT-SUCCESS" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
