"""Whether a kernel of output_code.py is the one that was captured: number, kinds and sizes of its arguments.

In: the kernel and its types, the Capture, or triton.json of a capture that the shim saw. Out: nothing, or the error.
Called by the inductor workflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kerncap.bundle.capture import Capture
from kerncap.bundle.dispatch import Argument
from kerncap.errors import CompileError, UsageError, counted
from kerncap.triton.call import CONSTEXPR, decode_kernarg
from kerncap.triton.inductor_file import InductorKernel
from kerncap.triton.inductor_meta import Meta

_POINTER = 8
_BYTES = {
    "i1": 1, "u1": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "fp16": 2, "bf16": 2, "i32": 4, "u32": 4, "fp32": 4,
    "f32": 4, "i64": 8, "u64": 8, "fp64": 8,
}  # fmt: skip
# Behind the kernel's own arguments Triton may put those for its scratch memory.
_MOST_SCRATCH = 2


def check_arguments(kernel: InductorKernel, meta: Meta, capture: Capture) -> None:
    """Raises: CompileError `compile.other-kernel`."""
    visible = [argument for argument in capture.kernarg.args if not argument.hidden]
    runtime = meta.runtime
    extra = visible[len(runtime) :]
    if not 0 <= len(visible) - len(runtime) <= _MOST_SCRATCH or any(one.size != _POINTER for one in extra):
        raise _other(kernel, f"it has {counted(len(runtime), 'argument')}, the captured kernel {len(visible)}")
    for (name, kind), argument in zip(runtime, visible, strict=False):
        size = _POINTER if kind.startswith("*") else _BYTES.get(kind)
        if size is None:
            raise _other(kernel, f"{name} has the type {kind}, whose size is not known here")
        if size != argument.size or kind.startswith("*") != _is_pointer(argument):
            what = "pointer" if _is_pointer(argument) else "number"
            raise _other(kernel, f"{name} is {kind}, the captured kernel has a {what} of {argument.size} bytes there")


def _is_pointer(argument: Argument) -> bool:
    return argument.kind == "global_buffer"


def numbers_of(meta: Meta, capture: Capture) -> dict[str, int]:
    """The integers that were passed, by name."""
    signature: list[list[Any]] = [[name, kind] for name, kind in meta.signature.items()]
    decoded = decode_kernarg(capture, signature)
    return {name: value for name, kind, value in decoded if not kind.startswith("*") and type(value) is int}


def check_recorded(
    kernel: InductorKernel, meta: Meta, configuration: Mapping[str, Any], document: Mapping[str, Any]
) -> None:
    """What the shim recorded is of this kernel, and nothing else is asked for.

    Raises: CompileError `compile.other-kernel`; UsageError `usage.config`.
    """
    if configuration:
        text = "the configuration was recorded when the kernel was launched: it is not chosen again"
        raise UsageError(text, code="usage.config", hint="kerncap inspect BUNDLE  # shows it")
    recorded = [(name, kind) for name, kind in document["signature"] if kind != CONSTEXPR]
    if recorded != meta.runtime or list(kernel.parameters) != document["arguments"]:
        raise _other(kernel, f"it takes {_listed(meta.runtime)}; launched was one that takes {_listed(recorded)}")


def _listed(arguments: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in arguments)


def _other(kernel: InductorKernel, what: str) -> CompileError:
    return CompileError(
        f"{kernel.name} is not the kernel that was captured: {what}",
        code="compile.other-kernel",
        hint="kerncap inspect BUNDLE  # and look for the file of the same run",
    )
