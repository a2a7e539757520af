"""One dispatch of a sequence as a bundle of its own: the state before it, what it changed.

In: a bundle whose sequence has all its states. Out: a Bundle of one dispatch on the same blobs. Called by the replay
workflow (`--only`).
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from kerncap.bundle.capture import capture_from_json
from kerncap.bundle.documents import canonical_json
from kerncap.bundle.index import parse_index
from kerncap.bundle.reader import Bundle
from kerncap.bundle.sequence import EACH
from kerncap.errors import UsageError

_OF_THE_WHOLE = ("sequence", "write_set", "noise", "self_check", "timing")


def step_bundle(bundle: Bundle, number: int) -> Bundle:
    """Raises: UsageError `usage.no-sequence`, `usage.number`, `usage.no-states`."""
    sequence = bundle.capture.sequence
    if sequence is None:
        raise UsageError(
            f"{bundle.name} holds one dispatch, no sequence", code="usage.no-sequence", hint="kerncap replay BUNDLE"
        )
    last = len(sequence.later)
    if not 0 <= number <= last:
        raise UsageError(f"--only is {number}, the dispatches are 0 to {last}", code="usage.number", hint="--only 0")
    if sequence.states != EACH:
        raise UsageError(
            f"{bundle.name} holds no states between its dispatches: only all of them can be replayed",
            code="usage.no-states",
            hint="kerncap extract ... --post each",
        )
    capture: dict[str, Any] = {name: node for name, node in bundle.capture_json.items() if name not in _OF_THE_WHOLE}
    if number > 0:
        step = bundle.capture_json["sequence"]["later"][number - 1]
        capture.update({name: node for name, node in step.items() if name != "barriers_before"})
    index = {**bundle.index_json, "regions": [_region(bundle, i, number) for i in range(len(bundle.index.regions))]}
    what = f"{bundle.name}: dispatch {number}"
    parsed, index_json = parse_index(canonical_json(index), what=what)
    return replace(
        bundle, capture=capture_from_json(capture, what=what), capture_json=capture, index=parsed, index_json=index_json
    )


def _region(bundle: Bundle, place: int, number: int) -> dict[str, Any]:
    """The region as it is before and after one dispatch."""
    node: dict[str, Any] = copy.copy(bundle.index_json["regions"][place])
    between = node.pop("between", [])
    owner = node.pop("step", 0)
    steps = bundle.capture.steps
    if node["kind"] == "variable" and _code(steps[owner].code_object) != _code(steps[number].code_object):
        # Its code object is not loaded: what points to it finds it where it was.
        node.update(kind="pool", symbol=None)
    if "alias_of" in node:
        return node
    before = _with_places(node["pre"])
    for changed in between[:number]:
        before.update({chunk["at"]: chunk for chunk in changed})
    after = dict(before)
    last = _with_places(node["pre"]) | {chunk["at"]: chunk for chunk in node["post"]}
    after.update({chunk["at"]: chunk for chunk in between[number]} if number < len(between) else last)
    node["pre"] = [before[at] for at in sorted(before)]
    node["post"] = [after[at] for at in sorted(after) if after[at]["h"] != before[at]["h"]]
    return node


def _code(code_object: Any) -> tuple[str, int]:
    return code_object.digest, code_object.load_va


def _with_places(chunks: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    out = {}
    at = 0
    for chunk in chunks:
        out[at] = {**chunk, "at": at}
        at += chunk["l"]
    return out
