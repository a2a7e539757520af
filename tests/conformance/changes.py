"""What the conformance cases change in a sound bundle: a Change breaks, or only varies, one thing of its parts."""

from __future__ import annotations

import copy
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from craft import Parts, code_tar
from synthetic import fill, region, sha256


@dataclass(frozen=True)
class Case:
    name: str
    change: Callable[[Parts], Any]
    code: str | None = None
    needs: str = "open"


Change = Callable[[Parts], Any]


def set_to(name: str, value: Any) -> Change:
    return lambda parts: setattr(parts, name, value)


def config(**members: Any) -> Change:
    return lambda parts: parts.config.update(members)


def capture(part: str, **members: Any) -> Change:
    return lambda parts: parts.capture[part].update(members)


def argument(**members: Any) -> Change:
    return lambda parts: parts.capture["kernarg"]["args"][0].update(members)


def manifest(change: Callable[[dict[str, Any]], Any]) -> Change:
    return set_to("change_manifest", change)


def manifests(change: Callable[[list[dict[str, Any]]], Any]) -> Change:
    return set_to("change_layout_index", lambda index: change(index["manifests"]))


def manifest_node(**members: Any) -> Change:
    return manifests(lambda nodes: nodes[0].update(members))


def layer(number: int, **members: Any) -> Change:
    return manifest(lambda manifest: manifest["layers"][number].update(members))


def region_of(number: int, **members: Any) -> Change:
    return lambda parts: parts.index["regions"][number].update(members)


def chunk(state: str, number: int, **members: Any) -> Change:
    return lambda parts: parts.index["regions"][0][state][number].update(members)


def code(*members: tuple[str, Any]) -> Change:
    return set_to("code", code_tar(*members))


def link(kind: bytes, target: str, name: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def members(change: Callable[[list[tuple[str, bytes]]], Any]) -> Change:
    return set_to("change_members", change)


def mapped_twice(**members: Any) -> Change:
    """Region 2, and region 3, which is a second mapping of its first half; `members` are changed in the latter."""

    def change(parts: Parts) -> None:
        original = region(0x7F4000000000, 8192, [fill(0, 8192)], []) | {"kind": "vmem"}
        alias = region(0x7F5000000000, 4096, [], []) | {"kind": "vmem", "alias_of": 2}
        parts.index["regions"] += [original, alias | members]
        parts.config.update(requires=["alias"])

    return change


BARRIER = {"type": "and", "barrier": True, "waits_for": [0, 1]}


def sequence(change: Change = lambda parts: None, *, states: str = "each") -> Change:
    """Three dispatches: scale twice, then a kernel of another code object, whose variable is region 2."""

    def make(parts: Parts) -> None:
        parts.more_hsacos = [b"\x7fELF" + bytes(124)]
        other = {"digest": "sha256:" + sha256(parts.more_hsacos[0]), "size": 128, "load_va": 0x7F0000010000}
        first = {name: parts.capture[name] for name in ("kernel", "dispatch", "kernarg", "code_object")}
        third = copy.deepcopy(first)
        third["code_object"].update(other)
        third["kernel"].update(name="_Z3addPfi", symbol="_Z3addPfi.kd", demangled="add(float*, int)")
        later = [{**copy.deepcopy(first), "barriers_before": []}, {**third, "barriers_before": [dict(BARRIER)]}]
        parts.capture["sequence"] = {"states": states, "later": later}
        regions = parts.index["regions"]
        regions.append(
            region(0x7F4000000000, 64, [fill(0, 64)], []) | {"kind": "variable", "symbol": "bias", "step": 2}
        )
        if states == "each":
            changed = regions[0]["post"][0]
            for node in regions:
                node["between"] = [[], [changed] if node is regions[0] else []]
        parts.config.update(requires=["sequence"])
        change(parts)

    return make
