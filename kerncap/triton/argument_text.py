"""An argument of a launch as a person would write it.

In: its kind in the signature, the decoded arguments by name, constants by path. Out: text. Called by described and
configurations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kerncap.triton import descriptors

Decoded = Mapping[str, Mapping[str, Any]]
Constants = Mapping[tuple[int, ...], Any]


def argument_text(name: str, kind: Any, path: tuple[int, ...], decoded: Decoded, constants: Constants) -> str | None:
    """None: nothing is known of it. `path`: where it stands among the arguments, in tuples a number more."""
    if isinstance(kind, Mapping):
        of_it = next(iter(kind.values()), ())
        texts = [argument_text(f"{name}.{n}", one, (*path, n), decoded, constants) for n, one in enumerate(of_it)]
        return _sequence([text or "?" for text in texts])
    if path in constants:
        return spelled(constants[path])
    if descriptors.is_descriptor(kind):
        return _descriptor(name, kind, decoded)
    return _value(decoded[name]) if name in decoded else None


def _descriptor(name: str, kind: str, decoded: Decoded) -> str | None:
    base = decoded.get(f"{name}.{descriptors.BASE}")
    if base is None:
        return None
    rank = range(len(descriptors.block_shape(kind)))
    words = [_value(base)]
    for word in (descriptors.SHAPE, descriptors.STRIDES):
        # With tensor data movement in hardware only the second group is there.
        found = [decoded.get(f"{name}.{word}.{n}") or decoded.get(f"{name}.{word}_again.{n}") for n in rank]
        words.append(f"{word}=[{', '.join(_value(one) if one else '?' for one in found)}]")
    words.append(f"block_shape={descriptors.block_shape(kind)}")
    for flag, text in (("padding", 'padding="nan"'), ("round_f32_to_tf32", "round_f32_to_tf32=True")):
        if decoded.get(f"{name}.{flag}", {}).get("value"):
            words.append(text)
    return f"TensorDescriptor({', '.join(words)})"


def _value(one: Mapping[str, Any]) -> str:
    tensor, kind, value = one["tensor"], one["type"], one["value"]
    if tensor is not None:
        shape, strides = _sequence(list(map(str, tensor["shape"]))), _sequence(list(map(str, tensor["strides"])))
        return f"tensor({tensor['dtype']}, shape={shape}, strides={strides}, at {value:#x})"
    if kind.startswith("*"):
        return f"{kind} at {value:#x}"
    return str(value)


def _sequence(texts: list[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def spelled(value: Any) -> str:
    """A recorded value for a person."""
    if isinstance(value, Mapping):
        word, of_it = next(iter(value.items()))
        if word == "float":
            return repr(float.fromhex(of_it))
        if word == "tuple":
            return _sequence(list(map(spelled, of_it)))
        if word == "list":
            return f"[{', '.join(map(spelled, of_it))}]"
        if word == "constexpr":
            return spelled(of_it)
        if word == "function":
            return ".".join(of_it)
        return str(of_it)
    return repr(value)
