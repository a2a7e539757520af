"""What Inductor told Triton of a kernel, in one form whatever release of torch wrote it: types, constants, attributes.

In: an InductorKernel with its `triton_meta`. Out: Meta. Called by the inductor workflow. Known are the forms of torch
2.4 to 2.14: signatures and constants by place or by name, attributes as AttrsDescriptor or as dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kerncap.triton.call import CONSTEXPR
from kerncap.triton.inductor_file import Call, InductorKernel, Word, unknown_form

# What AttrsDescriptor calls them, and what it means. Source: Triton's AttrsDescriptor, its ASTSource.
_PROPERTIES = {
    "divisible_by_16": ("tt.divisibility", 16),
    "tt.divisibility": ("tt.divisibility", 16),
    "pointer_range_32": ("tt.pointer_range", 32),
    "tt.pointer_range": ("tt.pointer_range", 32),
}
_EQUAL_TO_ONE = ("equal_to_1", "tt.equal_to")
_NO_PROPERTIES = ("ids_of_folded_args", "divisible_by_8", "cls")

Attributes = dict[int, list[tuple[str, int]]]


@dataclass(frozen=True)
class Meta:
    """Of each parameter, in order: its type, `constexpr` for constants. `constants` that are known without a tuning.

    `open`: parameters that the chosen configuration gives a value.
    """

    signature: dict[str, str]
    constants: dict[str, Any]
    attributes: Attributes

    @property
    def open(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.signature.items() if kind == CONSTEXPR and name not in self.constants)

    @property
    def runtime(self) -> list[tuple[str, str]]:
        """Name and type of those that are passed at a launch, in order."""
        return [(name, kind) for name, kind in self.signature.items() if kind != CONSTEXPR]


def meta_of(kernel: InductorKernel) -> Meta:
    """Raises: CompileError `compile.inductor-format`."""
    told = kernel.dictionary("triton_meta")
    types = _by_name(kernel, told.get("signature"), "signature")
    constants = _by_name(kernel, told.get("constants", {}), "constants")
    attributes, ones = _attributes(kernel, told.get("configs", ()))
    constants |= {kernel.parameters[place]: 1 for place in ones}
    signature = {}
    for name in kernel.parameters:
        kind = types.get(name, CONSTEXPR)
        if not isinstance(kind, str) or "tensordesc" in kind or "TmaDesc" in kind:
            raise unknown_form(f"{name} of {kernel.name} has the type {kind!r}, which is not read here")
        signature[name] = CONSTEXPR if name in constants else kind
    for name, value in constants.items():
        if isinstance(value, Call | Word):
            raise unknown_form(f"the constant {name} of {kernel.name} is no number")
    return Meta(signature, constants, {place: found for place, found in attributes.items() if place not in ones})


def _by_name(kernel: InductorKernel, value: Any, what: str) -> dict[str, Any]:
    """Of `{0: '*fp32'}` or `{'in_ptr0': '*fp32'}`; places may stand in tuples."""
    if not isinstance(value, dict):
        raise unknown_form(f"triton_meta of {kernel.name} has no {what}")
    found = {}
    for key, one in value.items():
        name = key if isinstance(key, str) else kernel.parameters[_place(kernel, key)]
        if name not in kernel.parameters:
            raise unknown_form(f"{what} of {kernel.name} names {name}, which is no parameter")
        found[name] = one
    return found


def _place(kernel: InductorKernel, key: Any) -> int:
    place = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if type(place) is not int or not 0 <= place < len(kernel.parameters):
        raise unknown_form(f"triton_meta of {kernel.name} names parameter {str(key)[:40]}")
    return int(place)


def _attributes(kernel: InductorKernel, configs: Any) -> tuple[Attributes, set[int]]:
    """Attributes by place, and the places of arguments that equal one."""
    if not isinstance(configs, list | tuple) or len(configs) > 1:
        raise unknown_form(f"triton_meta of {kernel.name} has no list with one element in configs")
    found: Attributes = {}
    ones: set[int] = set()
    for config in configs:
        for name, places in _properties(kernel, config):
            for place in places:
                at = _place(kernel, place)
                if name in _EQUAL_TO_ONE:
                    ones.add(at)
                else:
                    found.setdefault(at, []).append(_PROPERTIES[name])
    return dict(sorted(found.items())), ones


def _properties(kernel: InductorKernel, config: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(config, Call):
        yield from _of_descriptor(kernel, config)
        return
    if not isinstance(config, dict):
        raise unknown_form(f"configs of {kernel.name} holds {str(config)[:40]}")
    for key, properties in config.items():
        for one in properties if isinstance(properties, list) else ():
            if not isinstance(one, list) or tuple(one) not in _PROPERTIES.values():
                raise unknown_form(
                    f"configs of {kernel.name} has the attribute {str(one)[:40]}, which is not known here"
                )
            yield one[0], (key,)


def _of_descriptor(kernel: InductorKernel, config: Call) -> Iterator[tuple[str, Any]]:
    told: Mapping[Any, Any] = config.named
    if config.name.endswith(".from_dict") and len(config.positional) == 1 and isinstance(config.positional[0], dict):
        told = config.positional[0].get("arg_properties", {})
    elif config.positional or config.name.rpartition(".")[2] not in ("AttrsDescriptor", "instance_descriptor"):
        raise unknown_form(f"configs of {kernel.name} holds {config.name}(...)")
    for name, places in told.items() if isinstance(told, dict) else ():
        if name not in (*_PROPERTIES, *_EQUAL_TO_ONE, *_NO_PROPERTIES) or not isinstance(places, list | tuple | None):
            raise unknown_form(f"configs of {kernel.name} has the attribute {str(name)[:40]}, which is not known here")
        if name not in _NO_PROPERTIES:
            yield str(name), places or ()
