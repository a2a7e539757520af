"""Whether a captured launch is the one that a trace of tritonparse names: its numbers, shapes and constants.

In: the Launch of the trace, triton.json of the capture. Out: what differs, in words. Called by the extract workflow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kerncap.triton.call import is_same
from kerncap.triton.trace_launch import Launch, short

_NUMBERS = ("int", "float", "bool")
# How the two name the same of a tensor: in the trace, in triton.json.
_OF_TENSORS = (("dtype", "dtype"), ("shape", "shape"), ("stride", "strides"))


def differences(launch: Launch, pinned: Mapping[str, Any]) -> list[str]:
    """`n is 1500, 3000 in the trace`; empty when all that both know is the same."""
    captured = {one["name"]: one for one in pinned["launch"]["arguments"]}
    constants = dict(_constants(pinned))
    found: list[str] = []
    for name, traced in launch.arguments.items():
        if name in captured:
            found += _of_argument(name, traced, captured[name])
        elif name in constants and traced.get("type") in (*_NUMBERS, "str") and constants[name] != traced.get("value"):
            found.append(f"{name} is {constants[name]}, {short(traced)} in the trace")
    return found


def _of_argument(name: str, traced: Mapping[str, Any], captured: Mapping[str, Any]) -> Iterator[str]:
    if traced.get("type") == "tensor":
        tensor = captured["tensor"]
        for there, here in _OF_TENSORS if tensor is not None else ():
            if there in traced and traced[there] != tensor[here]:
                yield f"{name} has {here} {_text(tensor[here])}, {_text(traced[there])} in the trace"
    elif traced.get("type") in _NUMBERS:
        # Of a float that is no number JSON has the name.
        value = float(traced["value"]) if traced["value"] in ("nan", "inf", "-inf") else traced["value"]
        if isinstance(value, int | float) and not is_same(value, captured["type"], captured["value"]):
            yield f"{name} is {captured['value']}, {value} in the trace"


def _constants(pinned: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    names = pinned["arguments"]
    for path, value in pinned["constants"]:
        if len(path) == 1 and path[0] < len(names) and isinstance(value, bool | int | str):
            yield names[path[0]], value


def _text(value: Any) -> str:
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, list) else str(value)
