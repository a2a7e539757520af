"""Other configurations of a tuned kernel: what each changes in how the kernel is compiled and launched.

In: records of the autotuner's trials; later, what a person typed after `--config`. Out: the `change` of each
configuration that was tried; a triton.json with a configuration put in. Called by the extract and recompile workflows.

The program grid is the application's own function of the configuration, which only the application can call: it is
known where the autotuner launched that configuration with these very arguments, else it must be said.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from typing import Any

from kerncap.errors import UsageError
from kerncap.triton.argument_text import spelled
from kerncap.triton.call import arguments_of, is_same_scalar, tensors_of
from kerncap.triton.described import by_time, configuration_text
from kerncap.triton.records import Records

Document = dict[str, Any]


def with_changes(records: Records, launch: Mapping[str, Any]) -> list[Document]:
    """The configurations that were tried, each with its `change`: grid, constants and options that are not the captured
    ones; None: it was not launched with the captured arguments, or not seen. `launch`: of triton.json.
    """
    return [{**one, "change": _change(one["configuration"], records, launch["arguments"])} for one in launch["tried"]]


def _change(
    configuration: Mapping[str, Any], records: Records, arguments: Sequence[Mapping[str, Any]]
) -> Document | None:
    for launch in records.trials:
        kernel = records.kernels[launch["hsaco"]]
        if launch.get("configuration") != configuration or not _is_same_call(launch, kernel, arguments):
            continue
        constants, own = _by_path(kernel), _by_path(records.kernel)
        if constants.keys() != own.keys() or kernel["signature"] != records.kernel["signature"]:
            continue
        options, own_options = kernel["options"], records.kernel["options"]
        return {
            "grid": launch["grid"],
            "constants": [[list(path), value] for path, value in constants.items() if value != own[path]],
            "options": {
                key: options[key]
                for key in sorted(own_options.keys() & options.keys())
                if key not in _OF_A_COMPILATION and options[key] != own_options[key]
            },
        }
    return None


# Metadata that a compilation gives, not what it is told.
_OF_A_COMPILATION = frozenset((
    "hash", "shared", "name", "global_scratch_size", "global_scratch_align", "profile_scratch_size",
    "profile_scratch_align", "tmem_size", "tensordesc_meta", "triton_version",
))  # fmt: skip
# What the target is, which a configuration cannot change.
_OF_THE_TARGET = frozenset(("arch", "backend_name", "warp_size", "extern_libs"))


def _by_path(kernel: Mapping[str, Any]) -> dict[tuple[int, ...], Any]:
    return {tuple(path): value for path, value in kernel.get("constants", ())}


def _is_same_call(launch: Mapping[str, Any], kernel: Mapping[str, Any], arguments: Sequence[Mapping[str, Any]]) -> bool:
    """The same numbers and shapes; tensors may lie elsewhere, as those of a benchmark do."""
    signature = kernel.get("signature") or []
    seen = dict(arguments_of(launch, signature))
    tensors = {one["name"]: one["tensor"] for one in arguments if one["tensor"] is not None}
    return tensors_of(launch, signature) == tensors and all(
        is_same_scalar(seen.get(one["name"]), one["type"], one["value"]) for one in arguments
    )


def choose(document: Document, text: str, programs: tuple[int, int, int] | None = None) -> Document:
    """triton.json with another configuration: the number of one that was tried, as `inspect` counts them, or values.

    `BM=32,BN=64` may leave out what every configuration that was tried and has these values agrees on. `programs`: the
    grid, in programs.
    Raises: UsageError `usage.config`, `usage.config-grid`.
    """
    tried = by_time(document["launch"]["tried"])
    wanted = None if text.strip().isdecimal() else parse_values(text)
    if wanted is None:
        number = int(text)
        if not 1 <= number <= len(tried):
            have = (
                f"{len(tried)} configurations were tried" if tried else "no configuration is known to have been tried"
            )
            raise UsageError(
                f"there is no configuration {number}: {have}", code="usage.config", hint=_example(document)
            )
        found = [tried[number - 1]]
    else:
        found = [one for one in tried if wanted.items() <= one["configuration"].items()]
        if len(found) > 1:
            listed = "; ".join(configuration_text(one["configuration"]) for one in found[:4])
            text = f"{text!r} is true of {len(found)} configurations that were tried: {listed}"
            raise UsageError(text, code="usage.config", hint=_example(document))
    if found:
        return _applied(document, found[0], programs)
    return _made(document, wanted or {}, programs)


def _applied(document: Document, tried: Mapping[str, Any], programs: tuple[int, int, int] | None) -> Document:
    change = tried.get("change")
    if change is None:
        return _made(document, tried["configuration"], programs)
    return _changed(
        document,
        tried["configuration"],
        {tuple(path): value for path, value in change["constants"]},
        change["options"],
        list(programs or change["grid"]),
    )


def _made(document: Document, wanted: Mapping[str, Any], programs: tuple[int, int, int] | None) -> Document:
    """A configuration that was never launched with these arguments: constants and options by their names."""
    places = {name: (number,) for number, name in enumerate(document["arguments"])}
    constants = {tuple(path) for path, _ in document["constants"]}
    by_name = {name: path for name, path in places.items() if path in constants}
    options = document["options"].keys() - _OF_A_COMPILATION - _OF_THE_TARGET
    unknown = [name for name in wanted if name not in by_name and name not in options]
    if unknown:
        known = ", ".join([*by_name, *(key for key in ("num_warps", "num_stages") if key in options)])
        text = f"the kernel has no constant and no option {unknown[0]!r}, but {known}"
        raise UsageError(text, code="usage.config", hint=_example(document))
    if programs is None:
        raise UsageError(
            f"how many programs the application would launch with {configuration_text(wanted)} is not known: "
            "the autotuner was not seen to launch it with these arguments",
            code="usage.config-grid",
            hint=f"--config '{configuration_text(wanted).replace(' ', '')}' --programs "
            + "x".join(map(str, document["launch"]["grid"])),
        )
    return _changed(
        document,
        wanted,
        {by_name[name]: value for name, value in wanted.items() if name in by_name},
        {name: value for name, value in wanted.items() if name not in by_name},
        list(programs),
    )


def _changed(
    document: Document,
    configuration: Mapping[str, Any],
    constants: Mapping[tuple[int, ...], Any],
    options: Mapping[str, Any],
    grid: list[int],
) -> Document:
    made = copy.deepcopy(document)
    made["constants"] = [[path, constants.get(tuple(path), value)] for path, value in made["constants"]]
    made["options"] |= options
    made["launch"] |= {"grid": grid, "configuration": {**(made["launch"]["configuration"] or {}), **configuration}}
    return made


def parse_values(text: str) -> dict[str, Any]:
    """Of `BM=32,BN=64,EVEN=True`; a float as the shim writes it. Raises: UsageError `usage.config`."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        try:
            plain = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            plain = None
        if not (equals and name.isidentifier() and isinstance(plain, bool | int | float | str)):
            text = f"{part.strip()[:100]!r} is no NAME=VALUE, whose value is a number, True, False or a quoted text"
            raise UsageError(text, code="usage.config", hint="--config 'BM=32,num_warps=4'  # or a number of inspect")
        if name in found:
            raise UsageError(f"{name} is given twice", code="usage.config", hint="--config 'BM=32,num_warps=4'")
        found[name] = {"float": plain.hex()} if isinstance(plain, float) else plain
    return found


def _example(document: Mapping[str, Any]) -> str:
    tried = by_time(document["launch"]["tried"])
    if not tried:
        constants = [f"{document['arguments'][path[0]]}={spelled(v)}" for path, v in document["constants"][:1]]
        return f"--config {','.join([*constants, 'num_warps=4'])}"
    return f"--config {len(tried)}  # {configuration_text(tried[-1]['configuration'])}"
