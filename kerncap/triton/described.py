"""A captured launch of Triton in words: the call as a person would write it, the configurations that were tried.

In: triton.json. Out: text. Called by inspect and by what chooses a configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kerncap.triton.argument_text import argument_text, spelled

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "waves_per_eu", "matrix_instr_nonkdim", "kpack")


def call_lines(document: Mapping[str, Any]) -> list[str]:
    """The call as a person would write it: the grid, each argument on a line of its own, then constants and options."""
    launch = document["launch"]
    x, y, z = launch["grid"]
    grid = f"({x},)" if (y, z) == (1, 1) else f"({x}, {y})" if z == 1 else f"({x}, {y}, {z})"
    by_name = {one["name"]: one for one in launch["arguments"]}
    constants = {tuple(path): value for path, value in document["constants"]}
    kinds = dict(document["signature"])
    lines = [f"{document['entry'] or document['kernel']}[{grid}]("]
    for number, name in enumerate(document["arguments"]):
        text = argument_text(name, kinds.get(name), (number,), by_name, constants)
        if text is not None:
            lines.append(f"    {name}={text},")
    options = document["options"]
    words = [f"{key}={spelled(options[key])}" for key in _OPTIONS if key in options]
    return [*lines, f"    {', '.join(words)})"]


def describe(document: Mapping[str, Any]) -> str:
    """Several lines: the call, which configuration it is of those that were tried, what is not known."""
    launch = document["launch"]
    lines = [f"Triton {document['triton']}, {document['target']['arch']}", *call_lines(document)]
    if launch["heuristics"]:
        lines.append(f"from heuristics: {', '.join(launch['heuristics'])}")
    if launch["trial"]:
        lines.append("a trial of the autotuner")
    lines += _tuning_lines(launch)
    if not launch["seen"]:
        lines.append("this launch was not seen in Python: shapes and configuration are not known")
    elif launch["ambiguous"]:
        lines.append("launched with several shapes at the same addresses: these are not known")
    return "\n".join([*lines, *(f"not recorded: {problem}" for problem in document["problems"])])


def _tuning_lines(launch: Mapping[str, Any]) -> list[str]:
    if not launch["tried"]:
        return []
    lines = ["configurations that were tried, fastest first"]
    for number, one in enumerate(by_time(launch["tried"]), 1):
        took = milliseconds(one)
        chosen = one["configuration"] == launch["configuration"]
        time = "not timed" if took == float("inf") else f"{took:.4g} ms"
        lines.append(f"  {'*' if chosen else ' '}{number:>3} {time:>12}  {configuration_text(one['configuration'])}")
    return lines


def by_time(tried: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Fastest first, which is how they are counted from 1; those without a time last."""
    return [dict(one) for one in sorted(tried, key=milliseconds)]


def milliseconds(tried: Mapping[str, Any]) -> float:
    ms = tried["ms"]
    return float.fromhex(ms["float"]) if isinstance(ms, Mapping) else float("inf")


def configuration_text(configuration: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={spelled(value)}" for key, value in configuration.items())
