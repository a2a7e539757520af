"""Every value of every document of a bundle, replaced by something odd: refused in words or accepted, never a crash."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from craft import Parts, dump, sound_parts

from kerncap.bundle import open_bundle
from kerncap.bundle.verify import verify
from kerncap.cli.bundle_text import describe, describe_json, describe_secrets
from kerncap.errors import BundleError

_ODD: tuple[Any, ...] = (None, True, -1, 1 << 70, 1.5, "", "x\x1b[2J", "\ud800", [], {}, [1], {"a": 1})
_TRIES = 150
_DICTS, _BYTES = ("change_layout_index", "change_manifest"), ("change_config_json", "change_index_json")


def _places(node: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield (*above, key)
        yield from _places(child, (*above, key))


def _put(document: Any, place: tuple[Any, ...], value: Any) -> None:
    for key in place[:-1]:
        document = document[key]
    document[place[-1]] = value


def _sound(name: str) -> Any:
    """The document as it is in a sound bundle."""
    parts, seen = sound_parts(), []

    def look(document: Any) -> Any:
        seen.append(copy.deepcopy(document))
        return document

    setattr(parts, name, look)
    parts.members()
    return seen[0] if name in _DICTS else json.loads(seen[0])


def _changed(name: str, place: tuple[Any, ...], value: Any) -> Parts:
    parts = sound_parts()

    def change(document: Any) -> Any:
        if name in _DICTS:
            return _put(document, place, value)
        parsed = json.loads(document)
        _put(parsed, place, value)
        return dump(parsed)

    setattr(parts, name, change)
    return parts


@pytest.mark.parametrize("name", [*_DICTS, *_BYTES])
def test_an_odd_value_anywhere_is_refused_or_harmless(tmp_path: Path, name: str) -> None:
    cases = [(place, value) for place in _places(_sound(name)) for value in _ODD]
    refused = 0
    for place, value in random.Random(5).sample(cases, min(_TRIES, len(cases))):
        path = _changed(name, place, value).write_tar(tmp_path / "odd.kcap.tar")
        try:
            bundle = open_bundle(str(path))
            verify(bundle, deep=True)
            json.dumps(describe_json(bundle))
            describe(bundle, regions=True)
            describe_secrets(bundle)
        except BundleError:
            refused += 1
    assert refused > 20
