"""Launches one kernel of an output_code.py as torch's Inductor does, without torch, and checks what came of it.

Usage: inductor_run.py FILE NAME [gone]. The kernel's module is written to a file and imported, with stand-ins for what
it imports of torch; `gone`: the file is removed before the launch. Prints EXIT-SUCCESS when numpy agrees. Called by
test_inductor_source.py, under kerncap.
"""

from __future__ import annotations

import ast
import importlib.util
import math
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from device_arrays import Array, synchronize, use

RANDOM = np.random.default_rng(3)
Values = np.ndarray[Any, Any]
STAND_INS = Path(__file__).resolve().parents[3] / "kerncap" / "triton" / "stand_ins" / "inductor_helpers.py"

TOLD: dict[str, Any] = {}
"""What the decorator of the kernel was told."""


def loaded(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def stand_in_for_torch() -> None:
    """Modules of that name: decorators that note what they are told, helpers that are kerncap's."""
    import triton.language
    from triton.language.extra import libdevice

    def heuristic(**told: Any) -> Callable[[Any], Any]:
        TOLD.update(told)
        return lambda function: function

    for name in ("torch", "torch._inductor", "torch._inductor.runtime"):
        sys.modules[name] = types.ModuleType(name)
    helpers = loaded("torch._inductor.runtime.triton_helpers", STAND_INS)
    helpers.libdevice, helpers.math = libdevice, triton.language.math
    helpers.set_driver_to_cpu = helpers.set_driver_to_gpu = lambda: None
    heuristics: Any = types.ModuleType("torch._inductor.runtime.triton_heuristics")
    for name in ("pointwise", "reduction", "persistent_reduction", "foreach", "user_autotune"):
        setattr(heuristics, name, heuristic)
    hints: Any = types.ModuleType("torch._inductor.runtime.hints")
    for name in ("AutotuneHint", "TileHint", "DeviceProperties"):
        setattr(hints, name, types.SimpleNamespace)
    hints.ReductionHint = types.SimpleNamespace(INNER="inner")
    for name, module in (("triton_helpers", helpers), ("triton_heuristics", heuristics), ("hints", hints)):
        sys.modules[f"torch._inductor.runtime.{name}"] = module
        setattr(sys.modules["torch._inductor.runtime"], name, module)


def kernel_of(file: Path, name: str, gone: bool) -> Any:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "async_compile.triton":
            key, text = (ast.literal_eval(argument) for argument in node.args[:2])
            if key == name:
                path = Path(tempfile.mkdtemp(), "of_inductor.py")
                path.write_text(text)
                function = getattr(loaded("of_inductor", path), name)
                if gone:
                    path.unlink()
                return function
    raise SystemExit(f"{file} has no {name}")


Grid = tuple[int, int, int]


def launch(function: Any, grid: Grid, arguments: list[Any], constants: dict[str, int], **options: Any) -> None:
    import triton
    from triton.compiler import ASTSource
    from triton.runtime import driver

    meta = TOLD["triton_meta"]
    source = ASTSource(function, meta["signature"], meta["constants"] | constants, meta["configs"][0])
    options |= {"debug": False, "sanitize_overflow": False}
    options |= {name: meta[name] for name in ("enable_fp_fusion",) if name in meta}
    kernel = triton.compile(source, target=driver.active.get_current_target(), options=options)
    kernel[grid](*arguments, *constants.values())
    synchronize()


def normal(*shape: int) -> Values:
    return RANDOM.normal(size=shape).astype(np.float32)


def close(got: Values, want: Values) -> bool:
    return bool((np.abs(got - want) <= 1e-5 * np.maximum(1, np.abs(want))).all())


def gelu(function: Any) -> bool:
    x, out = normal(40, 64), Array(np.zeros((40, 64), np.float32))
    launch(function, (5, 1, 1), [Array(x), out, 2560], {"XBLOCK": 512}, num_warps=4, num_stages=1)
    return close(out.numpy(), x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))))


def softmax(function: Any) -> bool:
    x = normal(5, 700)
    out = Array(np.zeros_like(x))
    launch(function, (5, 1, 1), [out, Array(x), 5, 700], {"XBLOCK": 1}, num_warps=4, num_stages=1)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return close(out.numpy(), e / e.sum(1, keepdims=True))


def layer_norm(function: Any) -> bool:
    x, weight, bias = normal(6, 4300), normal(4300), normal(4300)
    out = Array(np.zeros_like(x))
    arguments = [Array(x), Array(weight), Array(bias), out, 6, 4300]
    launch(function, (6, 1, 1), arguments, {"XBLOCK": 1, "R0_BLOCK": 2048}, num_warps=8, num_stages=1)
    v = x.astype(np.float64)
    centred = v - v.mean(1, keepdims=True)
    return close(out.numpy(), centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight + bias)


def foreach(function: Any) -> bool:
    x, y = normal(1000), normal(3000)
    outs = [Array(np.zeros_like(x)), Array(np.zeros_like(y))]
    launch(function, (4, 1, 1), [Array(x), Array(y), *outs], {}, num_warps=8, num_stages=1)
    return bool((outs[0].numpy() == x + 1).all() and (outs[1].numpy() == y + 1).all())


def user(function: Any) -> bool:
    x, out = normal(1500), Array(np.zeros(1500, np.float32))
    launch(function, (3, 1, 1), [Array(x), out, 1500], {"BLOCK": 512}, num_warps=8, num_stages=3)
    return bool((out.numpy() == x * 3).all())


CASES: dict[str, Callable[[Any], bool]] = {
    "triton_poi_fused_gelu_0": gelu,
    "triton_per_fused__softmax_1": softmax,
    "triton_red_fused_native_layer_norm_3": layer_norm,
    "triton_for_fused_2": foreach,
    "user_scale": user,
}


def main() -> int:
    use()
    stand_in_for_torch()
    right = CASES[sys.argv[2]](kernel_of(Path(sys.argv[1]), sys.argv[2], sys.argv[3:] == ["gone"]))
    print("EXIT-SUCCESS" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
