"""Which configuration of an Inductor kernel was launched: block sizes, warps, stages; what it says against the launch.

In: the kernel, what a person typed, the captured launch. Out: a Configuration that is complete and fits, or an error
that names what is lacking with values that would fit. Called by the inductor workflow.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kerncap.errors import CompileError
from kerncap.triton.argument_text import spelled
from kerncap.triton.inductor_file import InductorKernel, unknown_form
from kerncap.triton.inductor_meta import Meta

Values = dict[str, Any]

# Options of Triton's compiler for AMD that a configuration may have. Source: Triton's HIPOptions, 3.4 to 3.9.
OPTIONS = (
    "num_warps", "num_stages", "num_ctas", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "debug",
    "sanitize_overflow", "enable_fp_fusion", "schedule_hint", "allow_flush_denorm", "max_num_imprecise_acc_default",
    "instrumentation_mode",
)  # fmt: skip
# Switches of Triton's that change code; the compiler reads them from the environment. Source: Triton's knobs.
SWITCHES = (
    "AMDGCN_ANALYZE_SMALL_TENSOR_RANGE", "AMDGCN_SCALARIZE_PACKED_FOPS", "AMDGCN_USE_BUFFER_ATOMICS",
    "AMDGCN_USE_BUFFER_OPS", "TRITON_DEFAULT_FP_FUSION", "TRITON_HIP_USE_ASYNC_COPY", "TRITON_HIP_USE_BLOCK_PINGPONG",
    "TRITON_HIP_USE_IN_THREAD_TRANSPOSE",
)  # fmt: skip
_OF_TEMPLATES = ("waves_per_eu", "matrix_instr_nonkdim", "kpack")
# Of torch's, which mean nothing on a GPU of AMD.
_FOREIGN_OPTIONS = (
    "num_consumer_groups",
    "num_buffers_warp_spec",
    "maxnreg",
    "pre_hook",
    "minRegAutoWS",
    "maxRegAutoWS",
)
# Of a grid in blocks: for each direction the number of elements and the block. Source: Inductor's GridExpr classes.
_GRIDS = {
    "Grid1D": (("xnumel", "XBLOCK"),),
    "Grid2D": (("xnumel", "XBLOCK"), ("ynumel", "YBLOCK")),
    "Grid3D": (("xnumel", "XBLOCK"), ("ynumel", "YBLOCK"), ("znumel", "ZBLOCK")),
}
_MOST_BLOCK = 1 << 20


@dataclass(frozen=True)
class Launched:
    """Of the captured dispatch: programs, workitems of a workgroup, the numbers passed by name, lanes of a wave."""

    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    numbers: Mapping[str, int]
    warp_size: int


@dataclass(frozen=True)
class Configuration:
    """Values of the kernel's parameters that are constants, and the compiler's options."""

    constants: Values = field(default_factory=dict)
    options: Values = field(default_factory=dict)


def configuration_of(kernel: InductorKernel, meta: Meta, typed_values: Values, launched: Launched) -> Configuration:
    """What was typed, or else what the kernel fixes, or the only one of its list that fits the launch.

    Raises: CompileError `compile.configuration`, `compile.inductor-format`.
    """
    _check_names(kernel, meta, typed_values)
    candidates = [{**one, **typed_values} for one in _written(kernel) if _agree(one, typed_values)]
    if not candidates:
        raise _wrong(kernel, "none of its configurations has " + text_of(typed_values), _listed(_written(kernel)))
    complete = [_completed(one, launched) for one in candidates]
    fitting = [one for one in complete if not _lacks(one, meta) and not list(_misfits(kernel, meta, one, launched))]
    if len(fitting) != 1:
        raise _not_one(kernel, meta, complete, fitting, launched)
    values = fitting[0]
    constants = {name: values.get(name, meta.constants.get(name)) for name in meta.open}
    options = {name: value for name, value in values.items() if name in OPTIONS}
    options |= {name: str(value) for name, value in values.items() if name in SWITCHES}
    return Configuration(meta.constants | constants, _told_options(kernel) | options)


def _check_names(kernel: InductorKernel, meta: Meta, values: Values) -> None:
    for name in values:
        if name not in (*meta.open, *OPTIONS, *SWITCHES):
            what = f"{name} is neither a constant of {kernel.name} nor an option of the compiler"
            raise _wrong(kernel, what, f"its constants: {', '.join(meta.open) or 'none'}")


def _agree(one: Values, other: Values) -> bool:
    return all(other[name] == value for name, value in one.items() if name in other)


def _written(kernel: InductorKernel) -> list[Values]:
    """The configurations that stand in the file; a single empty one where torch's heuristics choose."""
    told = kernel.told
    if kernel.heuristic == "user_autotune":
        configs = told.get("configs")
        if not isinstance(configs, list) or not all(isinstance(one, dict) for one in configs):
            raise unknown_form(f"configs of {kernel.name} is no list of dictionaries")
        return [_flat(one) for one in configs] or [{}]
    if kernel.heuristic == "fixed_config":
        return [_flat(kernel.dictionary("config"))]
    # A template has its blocks in its text; several kernels in one are always compiled with one stage.
    stages = {"num_stages": 1} if kernel.heuristic == "foreach" else {}
    return [stages | {name: told[name] for name in ("num_warps", "num_stages") if type(told.get(name)) is int}]


def _flat(config: Mapping[Any, Any]) -> Values:
    values = {**config.get("kwargs", {}), **{name: one for name, one in config.items() if name != "kwargs"}}
    return {name: one for name, one in values.items() if name not in _FOREIGN_OPTIONS}


def _completed(values: Values, launched: Launched) -> Values:
    """The number of warps follows from the workgroup."""
    x, y, z = launched.workgroup
    follows = {"num_warps": x // launched.warp_size} if (y, z) == (1, 1) and x % launched.warp_size == 0 else {}
    return {**follows, **values}


def _lacks(values: Values, meta: Meta) -> list[str]:
    return [name for name in (*meta.open, "num_warps", "num_stages") if name not in values]


def _misfits(kernel: InductorKernel, meta: Meta, values: Values, launched: Launched) -> Iterator[str]:
    """What the configuration would launch otherwise."""
    warps = values.get("num_warps")
    if type(warps) is not int or (warps * launched.warp_size, 1, 1) != launched.workgroup:
        x = launched.workgroup[0]
        yield f"num_warps={warps} makes workgroups of {warps} x {launched.warp_size} workitems, captured were {x}"
    for direction, (numel, block) in enumerate(_blocks(kernel)):
        size, elements = values.get(block), _numel(numel, meta, launched)
        if elements is None or size is None:
            continue
        if type(size) is not int or size < 1 or -(-elements // size) != launched.grid[direction]:
            made = _programs(elements, size)
            yield f"{block}={size} makes {made} programs of {elements} elements, not {launched.grid[direction]}"
    precomputed = _precomputed(kernel, values)
    if precomputed is not None and precomputed != launched.grid:
        yield f"{text_of(values)} launches the grid {precomputed}, captured was {launched.grid}"


def _programs(elements: int, size: Any) -> str:
    return str(-(-elements // size)) if type(size) is int and size > 0 else "no"


def _blocks(kernel: InductorKernel) -> tuple[tuple[str, str], ...]:
    return _GRIDS.get(str(kernel.dictionary("inductor_meta").get("grid_type")), ())


def _numel(name: str, meta: Meta, launched: Launched) -> int | None:
    value = launched.numbers.get(name, meta.constants.get(name))
    return value if type(value) is int and value > 0 else None


def _precomputed(kernel: InductorKernel, values: Values) -> tuple[int, ...] | None:
    """Of a kernel of the user's: the grid of this configuration, where it is written as numbers."""
    grids = kernel.dictionary("inductor_meta").get("precomputed_grids")
    for one in grids if isinstance(grids, list) else ():
        if isinstance(one, dict) and isinstance(one.get("config"), dict) and _agree(_flat(one["config"]), values):
            words = one.get("python")
            if isinstance(words, list) and len(words) == 3 and all(re.fullmatch(r"[0-9]{1,10}", str(w)) for w in words):
                return tuple(int(word) for word in words)
    return None


def _told_options(kernel: InductorKernel) -> Values:
    """What Inductor gives Triton with every configuration. Source: torch's CachingAutotuner, 2.6 to 2.14."""
    inductor, triton = kernel.dictionary("inductor_meta"), kernel.dictionary("triton_meta")
    asserts = bool(inductor.get("assert_indirect_indexing", True)) and not inductor.get("is_hip", False)
    told: Values = {"debug": asserts, "sanitize_overflow": False}
    if type(triton.get("enable_fp_fusion")) is bool:
        told["enable_fp_fusion"] = triton["enable_fp_fusion"]
    # Of a template: those of its choice.
    for options in (triton, triton.get("backend_options")):
        known = options if isinstance(options, Mapping) else {}
        told |= {name: known[name] for name in _OF_TEMPLATES if type(known.get(name)) is int}
    return told


def _not_one(
    kernel: InductorKernel, meta: Meta, complete: list[Values], fitting: list[Values], launched: Launched
) -> CompileError:
    if fitting:
        return _wrong(kernel, f"{len(fitting)} of its configurations fit the launch", _listed(fitting))
    only = complete[0]
    lacking = _lacks(only, meta)
    suggestion = ",".join(f"{name}={value}" for name, value in _suggested(kernel, meta, only, launched).items())
    hint = f"--config {suggestion}"
    if len(complete) > 1:
        return _wrong(kernel, "none of its configurations fits the launch", _listed(complete))
    misfits = list(_misfits(kernel, meta, only, launched)) if not lacking else []
    what = f"it is not told which {', '.join(lacking)} torch chose" if lacking else "; ".join(misfits)
    return _wrong(kernel, what, "these would fit the launch" if _blocks(kernel) else "", hint)


def _suggested(kernel: InductorKernel, meta: Meta, values: Values, launched: Launched) -> Values:
    """With blocks that make the captured grid: powers of two, as Inductor has them."""
    x = launched.workgroup[0]
    found = {**values, "num_warps": max(1, x // launched.warp_size)}
    found.setdefault("num_stages", 1)
    for name in meta.open:
        found.setdefault(name, "N")
    for direction, (numel, block) in enumerate(_blocks(kernel)):
        elements = _numel(numel, meta, launched)
        if elements is None or block not in meta.open:
            continue
        sizes = itertools.takewhile(lambda size: size <= _MOST_BLOCK, (1 << bit for bit in itertools.count()))
        fitting = [size for size in sizes if -(-elements // size) == launched.grid[direction]]
        if fitting and found[block] not in fitting:
            found[block] = fitting[0]
    first = (*meta.open, "num_warps", "num_stages")
    return {name: found[name] for name in (*first, *found)}


def text_of(values: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={value if isinstance(value, str) else spelled(value)}" for name, value in values.items())


def _listed(candidates: Iterable[Values]) -> str:
    return "; ".join(text_of(one) or "chosen by torch" for one in itertools.islice(candidates, 12))


def _wrong(kernel: InductorKernel, what: str, more: str, hint: str | None = None) -> CompileError:
    text = f"the configuration of {kernel.name}: {what}" + (f" ({more})" if more else "")
    return CompileError(text, code="compile.configuration", hint=hint or "--config XBLOCK=256,num_warps=4,num_stages=1")
