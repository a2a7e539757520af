"""Every conformance case: a name, what is changed in a sound bundle, and the code with which a reader refuses it.

Run as a program it writes bundle_spec/conformance anew (a maintainer's step; the files are committed).
`needs` says how far a reader must look: `open` (manifest, config, index), `verify` (every blob), `deep` (every chunk).
"""

from __future__ import annotations

import copy
import json
import shutil
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "unit"), str(Path(__file__).resolve().parents[2])]

import zstandard  # noqa: E402
from craft import Parts, code_tar, dump, frame, shuffled, sound_parts  # noqa: E402
from synthetic import fill, region, sha256  # noqa: E402

FOLDER = Path(__file__).resolve().parents[2] / "bundle_spec" / "conformance"
MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    name: str
    change: Callable[[Parts], Any]
    code: str | None = None
    needs: str = "open"


Change = Callable[[Parts], Any]


def _set(name: str, value: Any) -> Change:
    return lambda parts: setattr(parts, name, value)


def _config(**members: Any) -> Change:
    return lambda parts: parts.config.update(members)


def _capture(part: str, **members: Any) -> Change:
    return lambda parts: parts.capture[part].update(members)


def _argument(**members: Any) -> Change:
    return lambda parts: parts.capture["kernarg"]["args"][0].update(members)


def _manifest(change: Callable[[dict[str, Any]], Any]) -> Change:
    return _set("change_manifest", change)


def _manifests(change: Callable[[list[dict[str, Any]]], Any]) -> Change:
    return _set("change_layout_index", lambda index: change(index["manifests"]))


def _manifest_node(**members: Any) -> Change:
    return _manifests(lambda nodes: nodes[0].update(members))


def _layer(number: int, **members: Any) -> Change:
    return _manifest(lambda manifest: manifest["layers"][number].update(members))


def _region(number: int, **members: Any) -> Change:
    return lambda parts: parts.index["regions"][number].update(members)


def _chunk(state: str, number: int, **members: Any) -> Change:
    return lambda parts: parts.index["regions"][0][state][number].update(members)


def _code(*members: tuple[str, Any]) -> Change:
    return _set("code", code_tar(*members))


def _link(kind: bytes, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo()
    member.type, member.linkname = kind, target
    return member


def _members(change: Callable[[list[tuple[str, bytes]]], Any]) -> Change:
    return _set("change_members", change)


def _flip_last_blob(members: list[tuple[str, bytes]]) -> None:
    """The blob's file is damaged; its name and descriptors are not."""
    name, data = members[-1]
    members[-1] = (name, data[:20] + bytes([data[20] ^ 1]) + data[21:])


def _replace_first_frame(parts: Parts, change: Callable[[bytes], bytes]) -> None:
    """Whatever names the frame's place and the blob fits again."""
    chunk = parts.index["regions"][0]["pre"][0]
    new = change(parts.blobs[0][: chunk["n"]])
    delta = len(new) - chunk["n"]
    parts.blobs[0] = new + parts.blobs[0][chunk["n"] :]
    chunk["n"] = len(new)
    for node in (*parts.index["regions"][0]["post"], *parts.index["regions"][1]["pre"]):
        if node["k"] == "zstd":
            node["o"] += delta
    parts.index["blobs"][0] = {"digest": "sha256:" + sha256(parts.blobs[0]), "size": len(parts.blobs[0])}


def _frame_of_another_length(parts: Parts) -> None:
    _replace_first_frame(parts, lambda data: frame(bytes(5000)))


def _flip_frame_bit(parts: Parts) -> None:
    _replace_first_frame(parts, lambda data: data[:-6] + bytes([data[-6] ^ 1]) + data[-5:])


def _first_frame(change: Callable[[bytes], bytes]) -> Change:
    return lambda parts: _replace_first_frame(parts, change)


_FIRST_RAW = bytes(range(256)) * 16  # what the first chunk of sound_parts holds
_SKIPPABLE = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"skip"


def _without_checksum(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1, write_checksum=False).compress(_FIRST_RAW)


def _in_two_frames(data: bytes) -> bytes:
    return frame(_FIRST_RAW[:96]) + frame(_FIRST_RAW[96:])


def _without_size(data: bytes) -> bytes:
    compressor = zstandard.ZstdCompressor(level=1, write_checksum=True, write_content_size=False)
    return compressor.compress(_FIRST_RAW)


def _with_big_window(data: bytes) -> bytes:
    """One raw block behind a header that asks for a window of 128 MiB. Source: RFC 8878, 3.1.1."""
    block = (len(_FIRST_RAW) << 3 | 1).to_bytes(3, "little") + _FIRST_RAW
    return data[:4] + b"\x84\x88" + len(_FIRST_RAW).to_bytes(4, "little") + block + data[-4:]


def _same_title(manifest: dict[str, Any]) -> None:
    manifest["layers"][1]["annotations"] = dict(manifest["layers"][0]["annotations"])


def _empty_blob(parts: Parts) -> None:
    """Which no chunk uses."""
    parts.index["blobs"].append({"digest": "sha256:" + sha256(b""), "size": 0})


def _overlap(parts: Parts) -> None:
    parts.index["regions"].insert(1, region(0x7F1000001000, 4096, [fill(0, 4096)], []))


def _mapped_twice(**members: Any) -> Change:
    """Region 2, and region 3, which is a second mapping of its first half; `members` are changed in the latter."""

    def change(parts: Parts) -> None:
        original = region(0x7F4000000000, 8192, [fill(0, 8192)], []) | {"kind": "vmem"}
        alias = region(0x7F5000000000, 4096, [], []) | {"kind": "vmem", "alias_of": 2}
        parts.index["regions"] += [original, alias | members]
        parts.config.update(requires=["alias"])

    return change


def _mapped_twice_unsaid(parts: Parts) -> None:
    _mapped_twice()(parts)
    parts.config.update(requires=[])


def _shuffle(width: int, *, said: bool = True, tail: int = 0, **members: Any) -> Change:
    """The first chunk is stored shuffled; with `tail` it has some bytes more than whole words, its post chunk too."""

    def change(parts: Parts) -> None:
        raw = bytes(range(256)) * 16
        node = parts.index["regions"][0]
        if tail:
            raw += bytes(range(tail))
            node["size"] += tail
            node["post"] = [{"at": 0, **fill(7, len(raw))}]
        else:
            node["post"] = []
        _replace_first_frame(parts, lambda data: frame(shuffled(raw, width)))
        node["pre"][0].update({"l": len(raw), "h": sha256(raw), "w": width} | members)
        parts.config.update(requires=["shuffle"] if said else [])

    return change


_BARRIER = {"type": "and", "barrier": True, "waits_for": [0, 1]}


def _sequence(change: Change = lambda parts: None, *, states: str = "each") -> Change:
    """Three dispatches: scale twice, then a kernel of another code object, whose variable is region 2."""

    def make(parts: Parts) -> None:
        parts.more_hsacos = [b"\x7fELF" + bytes(124)]
        other = {"digest": "sha256:" + sha256(parts.more_hsacos[0]), "size": 128, "load_va": 0x7F0000010000}
        first = {name: parts.capture[name] for name in ("kernel", "dispatch", "kernarg", "code_object")}
        third = copy.deepcopy(first)
        third["code_object"].update(other)
        third["kernel"].update(name="_Z3addPfi", symbol="_Z3addPfi.kd", demangled="add(float*, int)")
        later = [{**copy.deepcopy(first), "barriers_before": []}, {**third, "barriers_before": [dict(_BARRIER)]}]
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


def _later(number: int, part: str | None = None, **members: Any) -> Change:
    def change(parts: Parts) -> None:
        step = parts.capture["sequence"]["later"][number]
        (step if part is None else step[part]).update(members)

    return change


def _more_record(data: bytes) -> bytes:
    document = json.loads(data)
    document["record"]["kernel"] = {"name": "another"}
    return dump(document)


def _no_source(parts: Parts) -> None:
    parts.code = None
    parts.source.clear()


_DEEP = b'{"schema":"kerncap.config/1","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
_TITLE_PATH = {"org.opencontainers.image.title": "../x"}
_REF_NAME = "org.opencontainers.image.ref.name"
_SUMMARY = {"regions": 2, "raw_bytes": 1, "stored_bytes": 1, "source_files": 2}
_LAYOUT_2 = ("oci-layout", b'{"imageLayoutVersion":"2.0.0"}')


def _referrer() -> Change:
    """Something that refers to the bundle: an entry of index.json without a tag, of another artifact type."""
    raw = dump({"schemaVersion": 2, "artifactType": "application/spdx+json"})

    def change(parts: Parts) -> None:
        _members(lambda members: members.append(("blobs/sha256/" + sha256(raw), raw)))(parts)
        node = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": "application/spdx+json"}
        _manifests(lambda nodes: nodes.append({**node, "digest": "sha256:" + sha256(raw), "size": len(raw)}))(parts)

    return change


VALID: tuple[Case, ...] = (
    Case("minimal", _no_source),
    Case("with-source", lambda parts: None),
    Case("unknown-members-are-ignored", lambda parts: (parts.config.update(later=1), parts.capture.update(later=[1]))),
    Case("minor-version", _config(specVersion="1.9")),
    Case("no-changed-chunk", _region(0, post=[])),
    Case("faulted", _capture("outcome", status="fault", fault_va=4096)),
    Case("mapped-twice", _mapped_twice()),
    Case("sequence", _sequence(states="end")),
    Case("sequence-with-every-state", _sequence()),
    *(Case(f"shuffled-by-{width}", _shuffle(width)) for width in (2, 4, 8)),
    Case("shuffled-with-a-rest", _shuffle(8, tail=5)),
    Case("shuffled-by-1", _chunk("pre", 0, w=1)),
    Case("referrer-in-the-layout", _referrer()),
    Case("unused-layout-blob", _members(lambda m: m.append(("blobs/sha256/" + sha256(b"x"), b"x")))),
)

VERSIONS = (
    Case("spec-major-2", _config(specVersion="2.0"), "bundle.unsupported-version"),
    Case("config-schema-2", _config(schema="kerncap.config/2"), "bundle.unsupported-version"),
    Case("index-schema-2", lambda p: p.index.update(schema="kerncap.index/2"), "bundle.unsupported-version"),
    Case("capture-schema-2", lambda p: p.capture.update(schema="kerncap.capture/2"), "bundle.unsupported-version"),
    Case(
        "artifact-type-v2",
        _manifest(lambda m: m.update(artifactType="application/vnd.kerncap.bundle.v2")),
        "bundle.unsupported-version",
    ),
    Case("unknown-feature", _config(requires=["time-travel"]), "bundle.unknown-feature"),
    Case("unknown-layer-type", _layer(0, mediaType="application/vnd.kerncap.x.v7"), "bundle.unknown-media-type"),
    Case("not-a-kerncap-manifest", _manifest(lambda m: m.update(artifactType="application/x")), "bundle.not-a-bundle"),
)

_MANIFEST = (
    Case("manifest-not-json", _set("change_manifest_json", lambda d: d[:-1]), "bundle.malformed"),
    Case("manifest-without-layers", _manifest(lambda m: m.pop("layers")), "bundle.malformed"),
    Case("layer-twice", _manifest(lambda m: m["layers"].append(m["layers"][-1])), "bundle.malformed"),
    Case("no-hsaco", _manifest(lambda m: m["layers"].pop(2)), "bundle.malformed"),
    Case("titles-collide", _manifest(_same_title), "bundle.malformed"),
    Case("title-is-a-path", _layer(0, annotations=_TITLE_PATH), "bundle.hostile-path"),
    Case("digest-is-a-path", _layer(-1, digest="sha256:../../../etc/passwd"), "bundle.malformed"),
    Case("sha512", _layer(-1, digest="sha512:" + "0" * 128), "bundle.malformed"),
    Case("blob-size-huge", _layer(-1, size=1 << 50), "bundle.limit"),
    Case("blob-size-negative", _layer(-1, size=-1), "bundle.limit"),
    Case("chunk-layer-left-out", _manifest(lambda m: m["layers"].pop()), "bundle.inconsistent"),
)

_HALF = b',"a":"\\ud800"}'
_CONFIG = (
    Case("config-not-json", _set("change_config_json", lambda d: b"\xff" + d), "bundle.malformed"),
    Case("config-nan", _set("change_config_json", lambda d: b'{"a":NaN}'), "bundle.malformed"),
    Case("config-key-twice", _set("change_config_json", lambda d: b'{"a":1,"a":2}'), "bundle.malformed"),
    Case("config-half-a-character", _set("change_config_json", lambda d: d[:-1] + _HALF), "bundle.malformed"),
    Case("config-nested-deeply", _set("change_config_json", lambda d: _DEEP), "bundle.malformed"),
    Case("config-too-big", _config(padding="x" * (300 << 10)), "bundle.limit"),
    Case("config-without-requires", _config(requires=None), "bundle.malformed"),
    Case("config-target-lies", _config(target="gfx90a"), "bundle.inconsistent"),
    Case("config-summary-lies", _config(summary=_SUMMARY), "bundle.inconsistent"),
    Case("alias-unsaid", _mapped_twice_unsaid, "bundle.inconsistent"),
    Case("shuffle-unsaid", _shuffle(2, said=False), "bundle.inconsistent"),
    Case("sequence-unsaid", _sequence(_config(requires=[])), "bundle.inconsistent"),
    Case("code-object-of-no-dispatch", _set("more_hsacos", [b"\x7fELF"]), "bundle.inconsistent"),
    Case("code-object-left-out", _sequence(_set("more_hsacos", [])), "bundle.inconsistent"),
)

_BARRIER_OF_ITSELF = {"type": "and", "barrier": True, "waits_for": [2]}
_ISA = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"

SEQUENCE = (
    Case("sequence-empty", _sequence(lambda p: p.capture["sequence"].update(later=[])), "bundle.malformed"),
    Case("sequence-states-unknown", _sequence(lambda p: p.capture["sequence"].update(states="x")), "bundle.malformed"),
    Case("sequence-grid-zero", _sequence(_later(1, "dispatch", grid=[0, 1, 1])), "bundle.malformed"),
    Case("sequence-kernarg-size-lies", _sequence(_later(0, "kernarg", size=17)), "bundle.malformed"),
    Case("sequence-without-barriers", _sequence(_later(0, barriers_before={})), "bundle.malformed"),
    Case(
        "sequence-barrier-unknown", _sequence(_later(1, barriers_before=[_BARRIER | {"type": "x"}])), "bundle.malformed"
    ),
    Case(
        "sequence-barrier-waits-for-itself",
        _sequence(_later(1, barriers_before=[_BARRIER_OF_ITSELF])),
        "bundle.malformed",
    ),
    Case("sequence-of-two-targets", _sequence(_later(1, "code_object", isa=_ISA)), "bundle.inconsistent"),
    Case("variable-of-no-dispatch", _sequence(_region(2, step=3)), "bundle.inconsistent"),
    Case("variable-of-dispatch-zero", _sequence(_region(2, step=0)), "bundle.malformed"),
    Case("buffer-of-a-dispatch", _sequence(_region(0, step=1)), "bundle.malformed"),
    Case("states-too-few", _sequence(_region(0, between=[[]])), "bundle.inconsistent"),
    Case("states-unasked", _sequence(_region(0, between=[[], []]), states="end"), "bundle.inconsistent"),
    Case("states-without-a-sequence", _region(0, between=[[]]), "bundle.inconsistent"),
    Case("states-empty", _sequence(_region(0, between=[])), "bundle.malformed"),
    Case(
        "state-is-no-pre-chunk", _sequence(_region(0, between=[[], [{"at": 64, **fill(0, 4096)}]])), "bundle.malformed"
    ),
)

CAPTURE = (
    Case("kernarg-size-lies", _capture("kernarg", size=17), "bundle.malformed"),
    Case("argument-outside", _argument(offset=4000), "bundle.malformed"),
    Case("argument-region-unknown", _argument(region=9), "bundle.inconsistent"),
    Case("grid-of-two", _capture("dispatch", grid=[1, 1]), "bundle.malformed"),
    Case("workgroup-zero", _capture("dispatch", workgroup=[0, 1, 1]), "bundle.malformed"),
    Case("workgroup-too-big", _capture("dispatch", workgroup=[65536, 1, 1]), "bundle.malformed"),
    Case("grid-is-a-float", _capture("dispatch", grid=[256.0, 1, 1]), "bundle.malformed"),
    Case("load-va-is-a-float", _capture("code_object", load_va=4096.0), "bundle.malformed"),
    Case("kernel-half-a-character", _capture("kernel", demangled="k\ud800"), "bundle.malformed"),
    Case("isa-of-another-maker", _capture("code_object", isa="nvptx64-x"), "bundle.malformed"),
    Case("write-set-outside", _capture("write_set", written=[[0, 8000, 4096]]), "bundle.inconsistent"),
)

INDEX = (
    Case("index-bomb", _set("change_index_layer", lambda d: frame(b" " * (80 * MIB))), "bundle.limit"),
    Case("index-not-zstd", _set("change_index_layer", lambda d: b"plain" + d), "bundle.corrupt"),
    Case("index-cut", _set("change_index_layer", lambda d: d[:-9]), "bundle.malformed"),
    Case("region-kind-unknown", _region(0, kind="quantum"), "bundle.unknown-kind"),
    Case("segment-unknown", _region(0, segment="moon"), "bundle.unknown-kind"),
    Case("chunk-kind-unknown", _chunk("pre", 0, k="lz4"), "bundle.unknown-kind"),
    Case("width-unknown", _shuffle(2, w=16), "bundle.unknown-kind"),
    Case("width-zero", _shuffle(2, w=0), "bundle.unknown-kind"),
    Case("width-of-64-bits", _shuffle(2, w=(1 << 32) + 2), "bundle.unknown-kind"),
    Case("width-negative", _shuffle(2, w=-2), "bundle.malformed"),
    Case("width-a-float", _shuffle(2, w=2.0), "bundle.malformed"),
    Case("width-null", _shuffle(2, w=None), "bundle.malformed"),
    Case("width-of-a-fill", _chunk("pre", 1, w=2), "bundle.malformed"),
    Case("region-size-huge", _region(0, size=1 << 60), "bundle.malformed"),
    Case("region-size-zero", _region(0, size=0), "bundle.malformed"),
    Case("region-behind-address-space", _region(1, va=(1 << 64) - 8), "bundle.malformed"),
    Case("region-at-zero", _region(0, va=0), "bundle.malformed"),
    Case("region-agent-null", _region(0, agent=None), "bundle.malformed"),
    Case("region-agent-huge", _region(0, agent=1 << 32), "bundle.malformed"),
    Case("symbol-empty", _region(0, symbol=""), "bundle.malformed"),
    Case("symbol-with-nul", _region(1, symbol="a\0b"), "bundle.malformed"),
    Case("symbol-too-long", _region(1, symbol="s" * 65537), "bundle.malformed"),
    Case("regions-overlap", _overlap, "bundle.malformed"),
    Case("regions-unsorted", lambda p: p.index["regions"].reverse(), "bundle.malformed"),
    Case("variable-without-symbol", _region(1, symbol=None), "bundle.malformed"),
    Case("symbol-of-no-variable", _region(0, symbol="x"), "bundle.malformed"),
    Case("pre-has-a-gap", lambda p: p.index["regions"][0]["pre"].pop(), "bundle.malformed"),
    Case("pre-too-long", _chunk("pre", 1, l=8192), "bundle.malformed"),
    Case("post-is-no-pre-chunk", _chunk("post", 0, at=64), "bundle.malformed"),
    Case("chunk-behind-blob", _chunk("pre", 0, n=1 << 20), "bundle.malformed"),
    Case("chunk-longer-than-a-frame-can-be", _first_frame(lambda data: data + bytes(9000)), "bundle.malformed"),
    Case("blob-of-no-bytes", _empty_blob, "bundle.malformed"),
    Case("chunk-blob-unknown", _chunk("pre", 0, b=5), "bundle.malformed"),
    Case("chunk-offset-negative", _chunk("pre", 0, o=-1), "bundle.malformed"),
    Case("chunk-length-float", _chunk("pre", 0, l=4096.0), "bundle.malformed"),
    Case("chunk-digest-short", _chunk("pre", 0, h="ab"), "bundle.malformed"),
    Case("alias-of-nothing", _mapped_twice(alias_of=4), "bundle.malformed"),
    Case("alias-of-itself", _mapped_twice(alias_of=3), "bundle.malformed"),
    Case("alias-of-a-pool", _mapped_twice(alias_of=0), "bundle.malformed"),
    Case("alias-too-large", _mapped_twice(size=12288), "bundle.malformed"),
    Case("alias-with-chunks", _mapped_twice(pre=[fill(0, 4096)]), "bundle.malformed"),
    Case("alias-null", _mapped_twice(alias_of=None), "bundle.malformed"),
    Case("record-holds-more", _set("change_index_json", _more_record), "bundle.malformed"),
)

_LAYOUT = (
    Case("layout-version-2", _members(lambda m: m.__setitem__(0, _LAYOUT_2)), "bundle.unsupported-version"),
    Case("layout-without-mark", _members(lambda m: m.pop(0)), "bundle.not-a-bundle"),
    Case("member-outside", _members(lambda m: m.append(("../escaped", b"x"))), "bundle.hostile-path"),
    Case("member-absolute", _members(lambda m: m.append(("/etc/escaped", b"x"))), "bundle.hostile-path"),
    Case("two-manifests-without-tags", _manifests(lambda nodes: nodes.append(nodes[0])), "bundle.malformed"),
    Case("no-manifests", _manifests(list.clear), "bundle.malformed"),
    Case("layout-annotations-list", _manifest_node(annotations=[1]), "bundle.malformed"),
    Case("layout-tag-object", _manifest_node(annotations={_REF_NAME: {}}), "bundle.malformed"),
    Case("layout-digest-upper-case", _manifest_node(digest="sha256:" + "A" * 64), "bundle.malformed"),
    Case("layout-sha512", _manifest_node(digest="sha512:" + "a" * 128), "bundle.malformed"),
    Case("member-twice", _members(lambda m: m.append(m[-1])), "bundle.hostile-path"),
    Case("missing-chunk-blob", _members(lambda m: m.pop()), "bundle.missing-blob", "verify"),
    Case("missing-config", _members(lambda m: m.pop(3)), "bundle.missing-blob"),
)

_CONTENT = (
    Case("bit-flip-in-chunk", _members(_flip_last_blob), "bundle.digest-mismatch", "verify"),
    Case("content-digest-lies", _set("content_digest", "sha256:" + "0" * 64), "bundle.inconsistent", "verify"),
    Case("raw-digest-lies", _chunk("pre", 0, h=sha256(b"something else")), "bundle.digest-mismatch", "deep"),
    Case("fill-lies", _chunk("pre", 1, v=7), "bundle.digest-mismatch", "deep"),
    Case("width-lies", _shuffle(2, w=4), "bundle.digest-mismatch", "deep"),
    Case("frame-of-another-length", _frame_of_another_length, "bundle.corrupt-chunk", "deep"),
    Case("frame-without-checksum", _first_frame(_without_checksum), "bundle.corrupt-chunk", "deep"),
    Case("frame-without-size", _first_frame(_without_size), "bundle.corrupt-chunk", "deep"),
    Case("frame-window-too-big", _first_frame(_with_big_window), "bundle.corrupt-chunk", "deep"),
    Case("frame-and-more", _first_frame(lambda data: data + b"more"), "bundle.corrupt-chunk", "deep"),
    Case("frame-and-a-skippable-one", _first_frame(lambda data: data + _SKIPPABLE), "bundle.corrupt-chunk", "deep"),
    Case("frame-behind-a-skippable-one", _first_frame(lambda data: _SKIPPABLE + data), "bundle.corrupt-chunk", "deep"),
    Case("two-frames-of-a-chunk", _first_frame(_in_two_frames), "bundle.corrupt-chunk", "deep"),
    Case("frame-checksum", _flip_frame_bit, "bundle.corrupt-chunk", "deep"),
)

_SOURCE = (
    Case("code-outside", _code(("src/../../escaped", b"x")), "bundle.hostile-path", "verify"),
    Case("code-absolute", _code(("/src/escaped", b"x")), "bundle.hostile-path", "verify"),
    Case("code-makefile", _code(("Makefile", b"run:\n\ttouch owned\n")), "bundle.hostile-path", "verify"),
    Case("code-symlink", _code(("src/link", _link(tarfile.SYMTYPE, "/etc/passwd"))), "bundle.hostile-file", "verify"),
    Case("code-hardlink", _code(("src/link", _link(tarfile.LNKTYPE, "vfs.yaml"))), "bundle.hostile-file", "verify"),
    Case("code-device", _code(("src/null", _link(tarfile.CHRTYPE, ""))), "bundle.hostile-file", "verify"),
    Case("code-file-twice", _code(("src/a", b"1"), ("src/a", b"2")), "bundle.hostile-path", "verify"),
    Case("code-file-is-a-folder", _code(("src/a", b"1"), ("src/a/b", b"2")), "bundle.hostile-path", "verify"),
    Case("code-control-character", _code(("src/a\x1b[2Jb", b"1")), "bundle.hostile-path", "verify"),
    Case("code-not-tar", _set("code", frame(b"x" * 2048)), "bundle.malformed", "verify"),
    Case("code-file-missing", _code(("vfs.yaml", b"version: 0\n")), "bundle.inconsistent", "verify"),
)

INVALID: tuple[Case, ...] = (
    *VERSIONS,
    *_MANIFEST,
    *_CONFIG,
    *CAPTURE,
    *SEQUENCE,
    *INDEX,
    *_LAYOUT,
    *_CONTENT,
    *_SOURCE,
)


def build(case: Case) -> Parts:
    parts = sound_parts()
    case.change(parts)
    return parts


def main() -> None:
    listing = []
    for kind, cases in (("valid", VALID), ("invalid", INVALID)):
        shutil.rmtree(FOLDER / kind, ignore_errors=True)
        (FOLDER / kind).mkdir(parents=True)
        for case in cases:
            name = f"{kind}/{case.name}.kcap.tar"
            build(case).write_tar(FOLDER / name)
            listing.append({"file": name, "code": case.code, "needs": case.needs})
    (FOLDER / "cases.json").write_text(json.dumps(listing, indent=1) + "\n")


if __name__ == "__main__":
    main()
