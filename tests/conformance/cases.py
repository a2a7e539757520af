"""Every conformance case: a name, what is changed in a sound bundle, and the code with which a reader refuses it.

Run as a program it writes bundle_spec/conformance anew (a maintainer's step; the files are committed).
`needs` says how far a reader must look: `open` (manifest, config, index), `verify` (every blob), `deep` (every chunk).
"""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "unit"), str(Path(__file__).resolve().parents[2])]

import more_cases  # noqa: E402
import zstandard  # noqa: E402
from changes import (  # noqa: E402
    BARRIER,
    Case,
    Change,
    argument,
    capture,
    chunk,
    code,
    config,
    layer,
    link,
    manifest,
    manifest_node,
    manifests,
    mapped_twice,
    members,
    region_of,
    sequence,
    set_to,
)
from craft import Parts, dump, frame, shuffled, sound_parts  # noqa: E402
from synthetic import fill, region, sha256  # noqa: E402

FOLDER = Path(__file__).resolve().parents[2] / "bundle_spec" / "conformance"
MIB = 1 << 20


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


def _mapped_twice_unsaid(parts: Parts) -> None:
    mapped_twice()(parts)
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
        members(lambda members: members.append(("blobs/sha256/" + sha256(raw), raw)))(parts)
        node = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": "application/spdx+json"}
        manifests(lambda nodes: nodes.append({**node, "digest": "sha256:" + sha256(raw), "size": len(raw)}))(parts)

    return change


VALID: tuple[Case, ...] = (
    Case("minimal", _no_source),
    Case("with-source", lambda parts: None),
    Case("unknown-members-are-ignored", lambda parts: (parts.config.update(later=1), parts.capture.update(later=[1]))),
    Case("minor-version", config(specVersion="1.9")),
    Case("no-changed-chunk", region_of(0, post=[])),
    Case("faulted", capture("outcome", status="fault", fault_va=4096)),
    Case("mapped-twice", mapped_twice()),
    Case("sequence", sequence(states="end")),
    Case("sequence-with-every-state", sequence()),
    *(Case(f"shuffled-by-{width}", _shuffle(width)) for width in (2, 4, 8)),
    Case("shuffled-with-a-rest", _shuffle(8, tail=5)),
    Case("shuffled-by-1", chunk("pre", 0, w=1)),
    Case("referrer-in-the-layout", _referrer()),
    Case("unused-layout-blob", members(lambda m: m.append(("blobs/sha256/" + sha256(b"x"), b"x")))),
    *more_cases.VALID,
)

VERSIONS = (
    Case("spec-major-2", config(specVersion="2.0"), "bundle.unsupported-version"),
    Case("config-schema-2", config(schema="kerncap.config/2"), "bundle.unsupported-version"),
    Case("index-schema-2", lambda p: p.index.update(schema="kerncap.index/2"), "bundle.unsupported-version"),
    Case("capture-schema-2", lambda p: p.capture.update(schema="kerncap.capture/2"), "bundle.unsupported-version"),
    Case(
        "artifact-type-v2",
        manifest(lambda m: m.update(artifactType="application/vnd.kerncap.bundle.v2")),
        "bundle.unsupported-version",
    ),
    Case("unknown-feature", config(requires=["time-travel"]), "bundle.unknown-feature"),
    Case("unknown-layer-type", layer(0, mediaType="application/vnd.kerncap.x.v7"), "bundle.unknown-media-type"),
    Case("not-a-kerncap-manifest", manifest(lambda m: m.update(artifactType="application/x")), "bundle.not-a-bundle"),
)

_MANIFEST = (
    Case("manifest-not-json", set_to("change_manifest_json", lambda d: d[:-1]), "bundle.malformed"),
    Case("manifest-without-layers", manifest(lambda m: m.pop("layers")), "bundle.malformed"),
    Case("layer-twice", manifest(lambda m: m["layers"].append(m["layers"][-1])), "bundle.malformed"),
    Case("no-hsaco", manifest(lambda m: m["layers"].pop(2)), "bundle.malformed"),
    Case("titles-collide", manifest(_same_title), "bundle.malformed"),
    Case("title-is-a-path", layer(0, annotations=_TITLE_PATH), "bundle.hostile-path"),
    Case("digest-is-a-path", layer(-1, digest="sha256:../../../etc/passwd"), "bundle.malformed"),
    Case("sha512", layer(-1, digest="sha512:" + "0" * 128), "bundle.malformed"),
    Case("blob-size-huge", layer(-1, size=1 << 50), "bundle.limit"),
    Case("blob-size-negative", layer(-1, size=-1), "bundle.limit"),
    Case("chunk-layer-left-out", manifest(lambda m: m["layers"].pop()), "bundle.inconsistent"),
)

_HALF = b',"a":"\\ud800"}'
_CONFIG = (
    Case("config-not-json", set_to("change_config_json", lambda d: b"\xff" + d), "bundle.malformed"),
    Case("config-nan", set_to("change_config_json", lambda d: b'{"a":NaN}'), "bundle.malformed"),
    Case("config-key-twice", set_to("change_config_json", lambda d: b'{"a":1,"a":2}'), "bundle.malformed"),
    Case("config-half-a-character", set_to("change_config_json", lambda d: d[:-1] + _HALF), "bundle.malformed"),
    Case("config-nested-deeply", set_to("change_config_json", lambda d: _DEEP), "bundle.malformed"),
    Case("config-too-big", config(padding="x" * (300 << 10)), "bundle.limit"),
    Case("config-without-requires", config(requires=None), "bundle.malformed"),
    Case("config-target-lies", config(target="gfx90a"), "bundle.inconsistent"),
    Case("config-summary-lies", config(summary=_SUMMARY), "bundle.inconsistent"),
    Case("alias-unsaid", _mapped_twice_unsaid, "bundle.inconsistent"),
    Case("shuffle-unsaid", _shuffle(2, said=False), "bundle.inconsistent"),
    Case("sequence-unsaid", sequence(config(requires=[])), "bundle.inconsistent"),
    Case("code-object-of-no-dispatch", set_to("more_hsacos", [b"\x7fELF"]), "bundle.inconsistent"),
    Case("code-object-left-out", sequence(set_to("more_hsacos", [])), "bundle.inconsistent"),
)

_BARRIER_OF_ITSELF = {"type": "and", "barrier": True, "waits_for": [2]}
_ISA = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"

SEQUENCE = (
    Case("sequence-empty", sequence(lambda p: p.capture["sequence"].update(later=[])), "bundle.malformed"),
    Case("sequence-states-unknown", sequence(lambda p: p.capture["sequence"].update(states="x")), "bundle.malformed"),
    Case("sequence-grid-zero", sequence(_later(1, "dispatch", grid=[0, 1, 1])), "bundle.malformed"),
    Case("sequence-kernarg-size-lies", sequence(_later(0, "kernarg", size=17)), "bundle.malformed"),
    Case("sequence-without-barriers", sequence(_later(0, barriers_before={})), "bundle.malformed"),
    Case(
        "sequence-barrier-unknown", sequence(_later(1, barriers_before=[BARRIER | {"type": "x"}])), "bundle.malformed"
    ),
    Case(
        "sequence-barrier-waits-for-itself",
        sequence(_later(1, barriers_before=[_BARRIER_OF_ITSELF])),
        "bundle.malformed",
    ),
    Case("sequence-of-two-targets", sequence(_later(1, "code_object", isa=_ISA)), "bundle.inconsistent"),
    Case("variable-of-no-dispatch", sequence(region_of(2, step=3)), "bundle.inconsistent"),
    Case("variable-of-dispatch-zero", sequence(region_of(2, step=0)), "bundle.malformed"),
    Case("buffer-of-a-dispatch", sequence(region_of(0, step=1)), "bundle.malformed"),
    Case("states-too-few", sequence(region_of(0, between=[[]])), "bundle.inconsistent"),
    Case("states-unasked", sequence(region_of(0, between=[[], []]), states="end"), "bundle.inconsistent"),
    Case("states-without-a-sequence", region_of(0, between=[[]]), "bundle.inconsistent"),
    Case("states-empty", sequence(region_of(0, between=[])), "bundle.malformed"),
    Case(
        "state-is-no-pre-chunk", sequence(region_of(0, between=[[], [{"at": 64, **fill(0, 4096)}]])), "bundle.malformed"
    ),
)

CAPTURE = (
    Case("kernarg-size-lies", capture("kernarg", size=17), "bundle.malformed"),
    Case("argument-outside", argument(offset=4000), "bundle.malformed"),
    Case("argument-region-unknown", argument(region=9), "bundle.inconsistent"),
    Case("grid-of-two", capture("dispatch", grid=[1, 1]), "bundle.malformed"),
    Case("workgroup-zero", capture("dispatch", workgroup=[0, 1, 1]), "bundle.malformed"),
    Case("workgroup-too-big", capture("dispatch", workgroup=[65536, 1, 1]), "bundle.malformed"),
    Case("grid-is-a-float", capture("dispatch", grid=[256.0, 1, 1]), "bundle.malformed"),
    Case("load-va-is-a-float", capture("code_object", load_va=4096.0), "bundle.malformed"),
    Case("kernel-half-a-character", capture("kernel", demangled="k\ud800"), "bundle.malformed"),
    Case("isa-of-another-maker", capture("code_object", isa="nvptx64-x"), "bundle.malformed"),
    Case("write-set-outside", capture("write_set", written=[[0, 8000, 4096]]), "bundle.inconsistent"),
)

INDEX = (
    Case("index-bomb", set_to("change_index_layer", lambda d: frame(b" " * (80 * MIB))), "bundle.limit"),
    Case("index-not-zstd", set_to("change_index_layer", lambda d: b"plain" + d), "bundle.corrupt"),
    Case("index-cut", set_to("change_index_layer", lambda d: d[:-9]), "bundle.malformed"),
    Case("region-kind-unknown", region_of(0, kind="quantum"), "bundle.unknown-kind"),
    Case("segment-unknown", region_of(0, segment="moon"), "bundle.unknown-kind"),
    Case("chunk-kind-unknown", chunk("pre", 0, k="lz4"), "bundle.unknown-kind"),
    Case("width-unknown", _shuffle(2, w=16), "bundle.unknown-kind"),
    Case("width-zero", _shuffle(2, w=0), "bundle.unknown-kind"),
    Case("width-of-64-bits", _shuffle(2, w=(1 << 32) + 2), "bundle.unknown-kind"),
    Case("width-negative", _shuffle(2, w=-2), "bundle.malformed"),
    Case("width-a-float", _shuffle(2, w=2.0), "bundle.malformed"),
    Case("width-null", _shuffle(2, w=None), "bundle.malformed"),
    Case("width-of-a-fill", chunk("pre", 1, w=2), "bundle.malformed"),
    Case("region-size-huge", region_of(0, size=1 << 60), "bundle.malformed"),
    Case("region-size-zero", region_of(0, size=0), "bundle.malformed"),
    Case("region-behind-address-space", region_of(1, va=(1 << 64) - 8), "bundle.malformed"),
    Case("region-at-zero", region_of(0, va=0), "bundle.malformed"),
    Case("region-agent-null", region_of(0, agent=None), "bundle.malformed"),
    Case("region-agent-huge", region_of(0, agent=1 << 32), "bundle.malformed"),
    Case("symbol-empty", region_of(0, symbol=""), "bundle.malformed"),
    Case("symbol-with-nul", region_of(1, symbol="a\0b"), "bundle.malformed"),
    Case("symbol-too-long", region_of(1, symbol="s" * 65537), "bundle.malformed"),
    Case("regions-overlap", _overlap, "bundle.malformed"),
    Case("regions-unsorted", lambda p: p.index["regions"].reverse(), "bundle.malformed"),
    Case("variable-without-symbol", region_of(1, symbol=None), "bundle.malformed"),
    Case("symbol-of-no-variable", region_of(0, symbol="x"), "bundle.malformed"),
    Case("pre-has-a-gap", lambda p: p.index["regions"][0]["pre"].pop(), "bundle.malformed"),
    Case("pre-too-long", chunk("pre", 1, l=8192), "bundle.malformed"),
    Case("post-is-no-pre-chunk", chunk("post", 0, at=64), "bundle.malformed"),
    Case("chunk-behind-blob", chunk("pre", 0, n=1 << 20), "bundle.malformed"),
    Case("chunk-longer-than-a-frame-can-be", _first_frame(lambda data: data + bytes(9000)), "bundle.malformed"),
    Case("blob-of-no-bytes", _empty_blob, "bundle.malformed"),
    Case("chunk-blob-unknown", chunk("pre", 0, b=5), "bundle.malformed"),
    Case("chunk-offset-negative", chunk("pre", 0, o=-1), "bundle.malformed"),
    Case("chunk-length-float", chunk("pre", 0, l=4096.0), "bundle.malformed"),
    Case("chunk-digest-short", chunk("pre", 0, h="ab"), "bundle.malformed"),
    Case("alias-of-nothing", mapped_twice(alias_of=4), "bundle.malformed"),
    Case("alias-of-itself", mapped_twice(alias_of=3), "bundle.malformed"),
    Case("alias-of-a-pool", mapped_twice(alias_of=0), "bundle.malformed"),
    Case("alias-too-large", mapped_twice(size=12288), "bundle.malformed"),
    Case("alias-with-chunks", mapped_twice(pre=[fill(0, 4096)]), "bundle.malformed"),
    Case("alias-null", mapped_twice(alias_of=None), "bundle.malformed"),
    Case("record-holds-more", set_to("change_index_json", _more_record), "bundle.malformed"),
)

_LAYOUT = (
    Case("layout-version-2", members(lambda m: m.__setitem__(0, _LAYOUT_2)), "bundle.unsupported-version"),
    Case("layout-without-mark", members(lambda m: m.pop(0)), "bundle.not-a-bundle"),
    Case("member-outside", members(lambda m: m.append(("../escaped", b"x"))), "bundle.hostile-path"),
    Case("member-absolute", members(lambda m: m.append(("/etc/escaped", b"x"))), "bundle.hostile-path"),
    Case("two-manifests-without-tags", manifests(lambda nodes: nodes.append(nodes[0])), "bundle.malformed"),
    Case("no-manifests", manifests(list.clear), "bundle.malformed"),
    Case("layout-annotations-list", manifest_node(annotations=[1]), "bundle.malformed"),
    Case("layout-tag-object", manifest_node(annotations={_REF_NAME: {}}), "bundle.malformed"),
    Case("layout-digest-upper-case", manifest_node(digest="sha256:" + "A" * 64), "bundle.malformed"),
    Case("layout-sha512", manifest_node(digest="sha512:" + "a" * 128), "bundle.malformed"),
    Case("member-twice", members(lambda m: m.append(m[-1])), "bundle.hostile-path"),
    Case("missing-chunk-blob", members(lambda m: m.pop()), "bundle.missing-blob", "verify"),
    Case("missing-config", members(lambda m: m.pop(3)), "bundle.missing-blob"),
)

_CONTENT = (
    Case("bit-flip-in-chunk", members(_flip_last_blob), "bundle.digest-mismatch", "verify"),
    Case("content-digest-lies", set_to("content_digest", "sha256:" + "0" * 64), "bundle.inconsistent", "verify"),
    Case("raw-digest-lies", chunk("pre", 0, h=sha256(b"something else")), "bundle.digest-mismatch", "deep"),
    Case("fill-lies", chunk("pre", 1, v=7), "bundle.digest-mismatch", "deep"),
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
    Case("code-outside", code(("src/../../escaped", b"x")), "bundle.hostile-path", "verify"),
    Case("code-absolute", code(("/src/escaped", b"x")), "bundle.hostile-path", "verify"),
    Case("code-makefile", code(("Makefile", b"run:\n\ttouch owned\n")), "bundle.hostile-path", "verify"),
    Case("code-symlink", code(("src/link", link(tarfile.SYMTYPE, "/etc/passwd"))), "bundle.hostile-file", "verify"),
    Case("code-hardlink", code(("src/link", link(tarfile.LNKTYPE, "vfs.yaml"))), "bundle.hostile-file", "verify"),
    Case("code-device", code(("src/null", link(tarfile.CHRTYPE, ""))), "bundle.hostile-file", "verify"),
    Case("code-file-twice", code(("src/a", b"1"), ("src/a", b"2")), "bundle.hostile-path", "verify"),
    Case("code-file-is-a-folder", code(("src/a", b"1"), ("src/a/b", b"2")), "bundle.hostile-path", "verify"),
    Case("code-control-character", code(("src/a\x1b[2Jb", b"1")), "bundle.hostile-path", "verify"),
    Case("code-not-tar", set_to("code", frame(b"x" * 2048)), "bundle.malformed", "verify"),
    Case("code-file-missing", code(("vfs.yaml", b"version: 0\n")), "bundle.inconsistent", "verify"),
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
    *more_cases.INVALID,
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
