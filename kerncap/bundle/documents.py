"""Strict JSON: bounded parsing, schema validation and the canonical form that digests are made of.

In: bytes from a stranger. Out: a plain dict that obeys its JSON Schema (kerncap/bundle/schemas).
Called by the other modules of this package and by the tests of bundle_spec.
"""

from __future__ import annotations

import functools
import json
import re
from importlib import resources
from typing import TYPE_CHECKING, Any, NoReturn

from kerncap.errors import A_NEWER_KERNCAP, BundleError

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_SHOWN = 120
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]").search


def parse_json(data: bytes, *, what: str, limit: int) -> dict[str, Any]:
    """The object in `data`; refuses duplicate keys, NaN, strings that are no text (lone surrogates), other top-level
    types and more than `limit` bytes.

    Raises: BundleError `bundle.limit`, `bundle.malformed`.
    """
    if len(data) > limit:
        raise BundleError(f"{what} has {len(data)} bytes, at most {limit} are allowed", code="bundle.limit")
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_unique_keys, parse_constant=_no_constant)
        if _SURROGATE(data) is not None:
            json.dumps(document, ensure_ascii=False).encode("utf-8")  # fails when it is half a character
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{what} is not valid JSON: {error}", code="bundle.malformed") from None
    if not isinstance(document, dict):
        raise BundleError(f"{what} is not a JSON object", code="bundle.malformed")
    return document


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("duplicate key")
    return result


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not allowed")


def canonical_json(document: Any) -> bytes:
    """Sorted keys, no blanks, ASCII: the same bytes for the same content."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode(
        "ascii"
    )


def check_schema_version(document: dict[str, Any], name: str, major: int, *, what: str) -> None:
    """Refuse another document or another major version, by name.

    Raises: BundleError `bundle.malformed`, `bundle.unsupported-version`.
    """
    schema = document.get("schema")
    match = re.fullmatch(re.escape(name) + r"/([0-9]{1,6})", schema) if isinstance(schema, str) else None
    if match is None:
        raise BundleError(f'{what}: schema is {_show(schema)}, expected "{name}/{major}"', code="bundle.malformed")
    if int(match[1]) != major:
        raise unsupported_version(what, f"{name}/{match[1]}", f"{name}/{major}")


def unsupported_version(what: str, found: str, expected: str) -> BundleError:
    return BundleError(
        f"{what}: version {found} is unknown here, this kerncap reads {expected}",
        code="bundle.unsupported-version",
        hint=A_NEWER_KERNCAP,
    )


def validate(document: Any, schema: str, *, what: str) -> None:
    """Check against `<schema>.schema.json`.

    Raises: BundleError `bundle.malformed` naming the place.
    """
    from jsonschema.exceptions import best_match

    try:
        error = best_match(_validator(schema).iter_errors(document))
    except RecursionError:
        raise BundleError(f"{what} is nested too deeply", code="bundle.malformed") from None
    if error is not None:
        place = "/".join(str(step) for step in error.absolute_path) or "top"
        text = error.message if len(error.message) <= _SHOWN else f"does not obey {error.validator!r}"
        raise BundleError(f"{what}: {place}: {text}", code="bundle.malformed")


@functools.cache
def _validator(schema: str) -> Validator:
    from jsonschema import Draft202012Validator, validators

    # JSON Schema takes 8.0 for an integer; the format does not, nor does the native reader.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda checker, value: type(value) is int)
    extend: Any = validators.extend
    validator: Validator = extend(Draft202012Validator, type_checker=types)(_inlined(schema))
    return validator


def load_schema(name: str) -> dict[str, Any]:
    text = resources.files("kerncap.bundle").joinpath("schemas", f"{name}.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _inlined(name: str) -> dict[str, Any]:
    """The schema with references to sibling files put inline, so that nothing is ever fetched."""
    return {key: _inline(value) for key, value in load_schema(name).items()}


def _inline(node: Any) -> Any:
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str) and target.endswith(".schema.json"):
            return _inlined(target.removesuffix(".schema.json"))
        return {key: _inline(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_inline(item) for item in node]
    return node


def _show(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
