"""A launch in a trace of tritonparse: its event, checked and typed.

In: one event, as tritonparse writes it or as `tritonparse parse` adds to it; possibly a stranger's. Out: a Launch.
Called by trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kerncap.errors import UsageError, typed

Grid = tuple[int, int, int]

_MOST_NAME = 4096
_MOST_ARGUMENTS = 4096
# Frames of a trial: an autotuner that times a configuration. Source: the functions that kerncap's shim marks.
_TRIAL_FRAMES = (("triton/runtime/autotuner.py", "_bench"), ("torch/_inductor/runtime/triton_heuristics.py", "bench"))


@dataclass(frozen=True)
class Launch:
    """One launch event. `line` counts from 0 as `tritonparse reproduce --line`, `launch_id` those of the kernel."""

    line: int
    launch_id: int
    kernel: str
    pid: int | None
    grid: Grid | None
    """Programs; None: tritonparse's launch hook did not see them."""
    num_warps: int | None
    warp_size: int | None
    backend: str | None
    compiled: str | None
    """Triton's hash of the compilation."""
    trial: bool
    in_graph: bool
    """Recorded into a graph: no dispatch belongs to it until that is launched."""
    place: int | None
    """`occurrence_id`, which a parsed trace has: its place in the order of launches."""
    arguments: Mapping[str, Any] = field(repr=False)
    """By name, as tritonparse describes them; constants of the kernel too."""

    @property
    def workgroup(self) -> Grid | None:
        """In workitems."""
        if self.num_warps is None or self.warp_size is None:
            return None
        return self.num_warps * self.warp_size, 1, 1

    @property
    def workitems(self) -> Grid | None:
        """The grid as a dispatch packet has it. Source: Triton's AMD driver: as many programs as workgroups."""
        if self.grid is None or self.workgroup is None:
            return None
        return self.grid[0] * self.workgroup[0], self.grid[1], self.grid[2]

    @property
    def is_dispatched(self) -> bool:
        """Of an empty grid Triton's launcher makes nothing."""
        return self.grid is None or 0 not in self.grid

    @property
    def integers(self) -> dict[str, int]:
        """Arguments that are numbers without a fraction, booleans not among them."""
        found = {}
        for name, one in self.arguments.items():
            if one.get("type") == "int" and type(one.get("value")) is int:
                found[name] = one["value"]
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "line": self.line,
            "launch_id": self.launch_id,
            "kernel": self.kernel,
            "pid": self.pid,
            "grid": None if self.grid is None else list(self.grid),
            "workgroup": None if self.workgroup is None else list(self.workgroup),
            "trial": self.trial,
            "arguments": {name: short(one) for name, one in self.arguments.items()},
        }


def short(argument: Mapping[str, Any]) -> Any:
    """A number as it is; of a tensor `torch.float32[30, 50]`; of others what they are."""
    if argument.get("type") == "tensor":
        shape = ", ".join(map(str, argument.get("shape") or ()))
        return f"{argument.get('dtype')}[{shape}]"
    value = argument.get("value")
    return value if isinstance(value, bool | int | float | str) else str(argument.get("type"))


def launch_of(line: int, event: Mapping[str, Any], seen: Mapping[str, int], path: Path) -> Launch:
    """Raises: UsageError `usage.trace-format` for what is no launch as tritonparse writes it."""
    facts = event.get("compilation_metadata") or {}
    described = event.get("extracted_args") or {}
    if not isinstance(facts, dict) or not isinstance(described, dict) or len(described) > _MOST_ARGUMENTS:
        raise _malformed(path, line, "compilation_metadata and extracted_args")
    kernel = facts.get("name") or event.get("name")
    if not isinstance(kernel, str) or not 0 < len(kernel) <= _MOST_NAME:
        raise _malformed(path, line, "name")
    in_graph = "_note" in described
    arguments = {} if in_graph else described
    if not all(isinstance(one, dict) and len(name) <= _MOST_NAME for name, one in arguments.items()):
        raise _malformed(path, line, "extracted_args")
    return Launch(
        line=line,
        launch_id=seen[kernel],
        kernel=kernel,
        pid=_integer(event.get("pid"), path, line, "pid"),
        grid=_grid(event.get("grid"), path, line),
        num_warps=_integer(facts.get("num_warps"), path, line, "num_warps", most=32),
        warp_size=_integer(facts.get("warp_size"), path, line, "warp_size", most=64),
        backend=_text(facts.get("backend_name")) or _backend(facts.get("target")),
        compiled=_text(facts.get("hash")),
        trial=event.get("autotune_launch_type") == "benchmark" or _is_trial(event.get("stack")),
        in_graph=in_graph,
        place=_integer(event.get("occurrence_id"), path, line, "occurrence_id"),
        arguments=arguments,
    )


def _grid(value: Any, path: Path, line: int) -> Grid | None:
    if value is None:
        return None
    if not isinstance(value, list) or not 1 <= len(value) <= 3:
        raise _malformed(path, line, "grid")
    x, y, z = [_integer(one, path, line, "grid", most=1 << 32) or 0 for one in value] + [1] * (3 - len(value))
    return x, y, z


def _integer(value: Any, path: Path, line: int, name: str, *, most: int = 1 << 63) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= most:
        raise _malformed(path, line, name)
    return int(value)


def _text(value: Any) -> str | None:
    return value[:_MOST_NAME] if isinstance(value, str) else None


def _backend(target: Any) -> str | None:
    return _text(target.get("backend")) if isinstance(target, dict) else None


def _is_trial(stack: Any) -> bool:
    for frame in stack if isinstance(stack, list) else ():
        if isinstance(frame, dict):
            file, name = str(frame.get("filename")).replace("\\", "/"), frame.get("name")
            if any(file.endswith(path) and name == function for path, function in _TRIAL_FRAMES):
                return True
    return False


def constants_of(event: Mapping[str, Any], compiled: str | None) -> list[int] | None:
    """Places of the arguments that the compiler took for constants; None: another compilation, or they are not told."""
    payload = event.get("payload")
    facts = payload.get("metadata") if isinstance(payload, dict) else None
    if not isinstance(facts, dict) or compiled is None or facts.get("hash") != compiled:
        return None
    constants = facts.get("src_constants")
    if not isinstance(constants, dict):
        return None
    places = [key.strip("(), ") for key in constants]
    return [int(one) for one in places] if all(one.isascii() and one.isdigit() for one in places) else None


def _malformed(path: Path, line: int, what: str) -> UsageError:
    return UsageError(
        f"{path} is no trace of tritonparse that is known here: {what} of the launch in line {line} is unexpected",
        code="usage.trace-format",
        hint=typed("tritonparseoss", "info", path),
    )
