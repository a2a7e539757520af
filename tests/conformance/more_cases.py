"""Conformance cases of what lies around the documents (tar, layout, manifest, blobs), of limits and of names.

`case.needs` and codes as in cases.py, which puts these into its lists.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from typing import Any

from changes import (
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
from craft import Parts, code_tar, frame
from synthetic import fill, region, sha256

MIB = 1 << 20
_TITLE = "org.opencontainers.image.title"


def _both(*changes: Change) -> Change:
    return lambda parts: [change(parts) for change in changes]


def _json(name: str, change: Callable[[bytes], bytes]) -> Change:
    return set_to(f"change_{name}_json", change)


def _indented(data: bytes) -> bytes:
    """The same document, not canonical: blanks, members in another order."""
    document = json.loads(data)
    return json.dumps(dict(reversed(document.items())), indent=1).encode()


def _only_region(va: int, length: int) -> Change:
    def change(parts: Parts) -> None:
        chunks = [fill(0, min(length - at, 64 * MIB)) for at in range(0, length, 64 * MIB)]
        parts.index["regions"] = [region(va, length, chunks, [])]
        parts.index["blobs"], parts.blobs = [], []
        parts.capture["write_set"] = None
        parts.capture["kernarg"]["args"][0].update(region=None, region_offset=None)

    return change


def _shared_frame(parts: Parts) -> None:
    """The second chunk of the buffer is the first one's frame once more."""
    node = parts.index["regions"][0]
    node["pre"][1] = dict(node["pre"][0])


def _no_kernarg(parts: Parts) -> None:
    parts.capture["kernarg"] = {"size": 0, "bytes": "", "args": []}
    parts.capture["dispatch"]["kernarg_va"] = 0


def _more_members(parts: Parts) -> None:
    for node in (
        parts.index,
        parts.index["blobs"][0],
        parts.index["regions"][0],
        parts.index["regions"][0]["pre"][0],
    ):
        node["later"] = {"x": [1]}
    for part in ("kernel", "dispatch", "kernarg", "code_object", "device", "outcome", "timing", "consistency"):
        parts.capture[part]["later"] = None
    manifest(lambda node: [node.update(later=1), node["config"].update(urls=["http://x"], later=2)])(parts)


def _named(name: str) -> Change:
    def change(parts: Parts) -> None:
        parts.capture["kernel"].update(name=name, demangled=f"{name}(float*)", symbol=f"{name}.kd")
        parts.capture["kernarg"]["args"][0].update(name=name, type=name)
        parts.index["regions"][1]["symbol"] = name
        path, text = f"src/root/{name}/{name}.hip", b"// nothing\n"
        parts.code = code_tar((path, text))
        parts.source[:] = [[path, len(text), sha256(text)]]

    return change


def _flip(number: int) -> Change:
    """One bit of a member's content; its name and descriptors stay."""

    def change(nodes: list[tuple[str, bytes]]) -> None:
        name, data = nodes[number]
        nodes[number] = (name, data[:-1] + bytes([data[-1] ^ 1]))

    return members(change)


def _tar(change: Callable[[bytes], bytes]) -> Change:
    return set_to("change_tar", change)


def _with(member: tarfile.TarInfo, content: bytes = b"", *, form: int = tarfile.USTAR_FORMAT) -> Change:
    """One more member, before all others."""

    def change(data: bytes) -> bytes:
        member.size = len(content)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as archive:
            archive.addfile(member, io.BytesIO(content))
            end = archive.offset
        return out.getvalue()[:end] + data

    return _tar(change)


def _directory() -> tarfile.TarInfo:
    member = tarfile.TarInfo("blobs/sha256/")
    member.type, member.mode = tarfile.DIRTYPE, 0o755
    return member


def _pax_blob() -> Change:
    """A blob of nobody, whose name stands in a pax header only."""
    member = tarfile.TarInfo("short")
    member.pax_headers = {"path": "blobs/sha256/" + sha256(b"pax")}
    return _with(member, b"pax", form=tarfile.PAX_FORMAT)


def _sparse(data: bytes) -> bytes:
    """The first member's header says that it is a sparse file of GNU tar."""
    head = bytearray(data[:512])
    head[156:157] = b"S"
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + data[512:]


def _blob_twice(parts: Parts) -> None:
    parts.index["blobs"].append(dict(parts.index["blobs"][0]))


def _code_header_lies(parts: Parts) -> None:
    """A member of 2 GiB, of which nothing is there."""
    member = tarfile.TarInfo("src/big")
    member.size = 2 << 30
    parts.code = frame(member.tobuf(tarfile.USTAR_FORMAT) + bytes(1024))


def _code_cut(parts: Parts) -> None:
    assert parts.code is not None
    parts.code = parts.code[:-7]


def _title(number: int, text: str) -> Change:
    return layer(number, annotations={_TITLE: text})


def _layer_again(number: int) -> Change:
    """Another blob of the same kind, with a title of its own."""

    def change(parts: Parts) -> None:
        data = b"another"
        members(lambda nodes: nodes.append(("blobs/sha256/" + sha256(data), data)))(parts)

        def more(node: dict[str, Any]) -> None:
            layers = node["layers"]
            again = {"mediaType": layers[number]["mediaType"], "digest": "sha256:" + sha256(data), "size": len(data)}
            layers.append(again | {"annotations": {_TITLE: "another"}})

        manifest(more)(parts)

    return change


VALID: tuple[Case, ...] = (
    Case("json-that-is-not-canonical", _both(*(_json(name, _indented) for name in ("manifest", "config", "index")))),
    Case("members-of-the-future", _more_members),
    Case("minor-version-9999", config(specVersion="1.9999")),
    Case("features-of-which-nothing-is-used", config(requires=["alias", "sequence", "shuffle"])),
    Case("manifest-without-annotations", manifest(lambda node: node.pop("annotations"))),
    Case("manifest-without-its-media-type", manifest(lambda node: node.pop("mediaType"))),
    Case("names-in-chinese", _named("\u6838\u51fd\u6570")),
    Case("names-in-arabic", _named("\u0646\u0648\u0627\u0629")),
    Case("names-beyond-16-bits", _named("\U0001f600\U00020000")),
    Case("names-with-blanks-and-quotes", _named("a 'b' \"c\" $(d) `e` &f;")),
    Case("no-kernarg", _no_kernarg),
    Case("region-of-one-byte", _only_region(0x7F1000000000, 1)),
    Case("region-at-the-last-address", _only_region((1 << 57) - 4096, 4096)),
    Case("region-at-the-first-address", _only_region(1, 4095)),
    Case("chunk-of-64-mib", _only_region(0x7F1000000000, 64 * MIB)),
    Case("chunks-that-share-a-frame", _shared_frame),
    Case("write-set-unknown", lambda parts: parts.capture.update(write_set=None)),
    Case("tar-in-another-order", members(list.reverse)),
    Case("tar-with-a-folder", _with(_directory())),
    Case("tar-with-a-pax-header", _pax_blob()),
    Case("blob-listed-twice", _blob_twice),
)

_AROUND = (
    # Versions and features
    Case("spec-version-a-number", config(specVersion=1.0), "bundle.malformed"),
    Case("spec-version-and-a-line", config(specVersion="1.0\n"), "bundle.malformed"),
    Case("spec-version-of-one-number", config(specVersion="1"), "bundle.malformed"),
    Case("spec-version-0", config(specVersion="0.9"), "bundle.unsupported-version"),
    Case("requires-twice", config(requires=["alias", "alias"]), "bundle.malformed"),
    Case("requires-a-number", config(requires=[1]), "bundle.malformed"),
    Case("requires-in-upper-case", config(requires=["ALIAS"]), "bundle.unknown-feature"),
    # Manifest
    Case("manifest-is-a-list", _json("manifest", lambda data: b"[" + data + b"]"), "bundle.malformed"),
    Case("manifest-key-twice", _json("manifest", lambda data: data[:-1] + b',"layers":[]}'), "bundle.malformed"),
    Case("manifest-media-type", manifest(lambda m: m.update(mediaType="text/plain")), "bundle.unknown-media-type"),
    Case("manifest-schema-version-1", manifest(lambda m: m.update(schemaVersion=1)), "bundle.malformed"),
    Case("manifest-layers-an-object", manifest(lambda m: m.update(layers={})), "bundle.malformed"),
    Case(
        "config-of-another-type", manifest(lambda m: m["config"].update(mediaType="x/y")), "bundle.unknown-media-type"
    ),
    Case("config-among-the-layers", manifest(lambda m: m["layers"].append(m["config"])), "bundle.unknown-media-type"),
    Case("two-indexes", _layer_again(0), "bundle.malformed"),
    Case("two-code-layers", _layer_again(1), "bundle.malformed"),
    Case("blob-size-zero", layer(-1, size=0), "bundle.limit"),
    Case("blob-size-a-float", layer(-1, size=12.0), "bundle.malformed"),
    Case("title-empty", _title(0, ""), "bundle.hostile-path"),
    Case("title-of-the-folder-above", _title(0, ".."), "bundle.hostile-path"),
    Case("title-absolute", _title(0, "/etc/passwd"), "bundle.hostile-path"),
    Case("title-with-an-escape", _title(0, "a\x1b[2J"), "bundle.hostile-path"),
    Case("title-with-nul", _title(0, "a\0b"), "bundle.hostile-path"),
    Case("annotation-a-number", layer(0, annotations={_TITLE: 7}), "bundle.malformed"),
    # Layout and tar
    Case("manifest-size-lies", manifest_node(size=7), "bundle.truncated"),
    Case("manifest-flipped", _flip(2), "bundle.digest-mismatch"),
    Case("config-flipped", _flip(3), "bundle.digest-mismatch"),
    Case("index-flipped", _flip(4), "bundle.digest-mismatch"),
    Case("code-flipped", _flip(5), "bundle.digest-mismatch", "verify"),
    Case("hsaco-flipped", _flip(6), "bundle.digest-mismatch", "verify"),
    Case("missing-manifest", members(lambda m: m.pop(2)), "bundle.missing-blob"),
    Case("missing-index", members(lambda m: m.pop(4)), "bundle.missing-blob"),
    Case("missing-code", members(lambda m: m.pop(5)), "bundle.missing-blob", "verify"),
    Case("missing-hsaco", members(lambda m: m.pop(6)), "bundle.missing-blob", "verify"),
    Case("missing-layout-index", members(lambda m: m.pop(1)), "bundle.not-a-bundle"),
    Case("layout-index-not-json", members(lambda m: m.__setitem__(1, ("index.json", b"{"))), "bundle.malformed"),
    Case(
        "layout-manifests-an-object",
        set_to("change_layout_index", lambda i: i.update(manifests={})),
        "bundle.malformed",
    ),
    Case(
        "layout-only-referrers",
        manifests(lambda nodes: nodes[0].update(artifactType="text/plain")),
        "bundle.not-a-bundle",
    ),
    Case("tar-link", _with(link(tarfile.SYMTYPE, "/etc/passwd", "oci-layout")), "bundle.hostile-file"),
    Case("tar-hard-link", _with(link(tarfile.LNKTYPE, "index.json", "oci-layout")), "bundle.hostile-file"),
    Case("tar-device", _with(link(tarfile.CHRTYPE, "", "blobs/sha256/null")), "bundle.hostile-file"),
    Case("tar-fifo", _with(link(tarfile.FIFOTYPE, "", "blobs/sha256/fifo")), "bundle.hostile-file"),
    Case("tar-sparse", _tar(_sparse), "bundle.hostile-file"),
    Case("tar-cut", _tar(lambda data: data[: len(data) // 2]), "bundle.truncated"),
    Case("tar-compressed", _tar(lambda data: gzip.compress(data, mtime=0)), "bundle.malformed"),
    Case("tar-without-an-end", _tar(lambda data: data[:-1024]), "bundle.truncated"),
    Case("tar-empty", _tar(lambda data: b""), "bundle.truncated"),
    Case("tar-header-checksum", _tar(lambda data: b"X" + data[1:]), "bundle.malformed"),
    Case("tar-unknown-name", _with(tarfile.TarInfo("README"), b"hello"), "bundle.hostile-path"),
    Case("tar-blob-in-upper-case", _with(tarfile.TarInfo("blobs/sha256/" + "A" * 64), b"x"), "bundle.hostile-path"),
)

INDEX: tuple[Case, ...] = (
    Case("index-key-twice", _json("index", lambda data: data[:-1] + b',"regions":[]}'), "bundle.malformed"),
    Case("index-nan", _json("index", lambda data: data[:-1] + b',"x":NaN}'), "bundle.malformed"),
    Case("index-is-a-list", _json("index", lambda data: b"[" + data + b"]"), "bundle.malformed"),
    Case("chunk-above-64-mib", chunk("pre", 1, l=64 * MIB + 1), "bundle.malformed"),
    Case("chunk-of-no-bytes", chunk("pre", 1, l=0), "bundle.malformed"),
    Case("fill-of-65-bits", chunk("pre", 1, v=1 << 64), "bundle.malformed"),
    Case("fill-negative", chunk("pre", 1, v=-1), "bundle.malformed"),
    Case("fill-without-a-word", lambda parts: parts.index["regions"][0]["pre"][1].pop("v"), "bundle.malformed"),
    Case("chunk-offset-of-64-bits", chunk("pre", 0, o=(1 << 64) - 1), "bundle.malformed"),
    Case("chunk-digest-in-upper-case", chunk("pre", 0, h="A" * 64), "bundle.malformed"),
    Case("region-of-4-tib-and-more", region_of(0, size=(4 << 40) + 1), "bundle.malformed"),
    Case("region-beyond-57-bits", _only_region((1 << 57) - 4095, 4096), "bundle.malformed"),
    Case("flags-too-many", region_of(0, flags=["x"] * 33), "bundle.limit"),
    Case("flag-a-number", region_of(0, flags=[1]), "bundle.malformed"),
    Case("alias-of-64-bits", mapped_twice(alias_of=1 << 64), "bundle.malformed"),
)

CAPTURE: tuple[Case, ...] = (
    Case("kernel-without-a-name", capture("kernel", name=""), "bundle.malformed"),
    Case("dims-4", capture("dispatch", dims=4), "bundle.malformed"),
    Case("packet-short", capture("dispatch", packet="00" * 63), "bundle.malformed"),
    Case("kernarg-of-half-a-byte", capture("kernarg", bytes="0" * 31), "bundle.malformed"),
    Case("kernarg-above-64-kib", capture("kernarg", size=65537, bytes="00" * 65537), "bundle.malformed"),
    Case("group-segment-of-33-bits", capture("dispatch", group_segment_bytes=1 << 32), "bundle.malformed"),
    Case("code-object-of-no-layer", capture("code_object", digest="sha256:" + "0" * 64), "bundle.inconsistent"),
    Case("code-object-size-lies", capture("code_object", size=65), "bundle.inconsistent"),
    Case("outcome-unknown", capture("outcome", status="perhaps"), "bundle.malformed"),
    Case("device-of-another-class", capture("device", **{"class": "tpu"}), "bundle.malformed"),
    Case("noise-outside", lambda parts: parts.capture.update(noise=[[0, 8190, 4]]), "bundle.inconsistent"),
    Case("read-first-of-no-region", capture("write_set", read_first=[[2, 0, 1]]), "bundle.inconsistent"),
    Case("argument-behind-its-region", argument(region_offset=8193), "bundle.inconsistent"),
    Case(
        "sequence-too-many-waits",
        sequence(
            lambda p: p.capture["sequence"]["later"][1]["barriers_before"][0].update(waits_for=[0, 0, 0, 0, 0, 0])
        ),
        "bundle.malformed",
    ),
)

_SOURCE = (
    Case("code-header-lies", _code_header_lies, "bundle.truncated", "verify"),
    Case("code-cut", _code_cut, "bundle.truncated", "verify"),
    Case("code-fifo", code(("src/fifo", link(tarfile.FIFOTYPE, "", ""))), "bundle.hostile-file", "verify"),
    Case("code-backslash", code(("src/a\\b", b"1")), "bundle.hostile-path", "verify"),
    Case("code-empty-part", code(("src//a", b"1")), "bundle.hostile-path", "verify"),
    Case("code-dot-part", code(("src/./a", b"1")), "bundle.hostile-path", "verify"),
    Case("code-name-above-4096-bytes", code(("src/" + "a/" * 2050 + "b", b"1")), "bundle.limit", "verify"),
)

INVALID: tuple[Case, ...] = (*_AROUND, *INDEX, *CAPTURE, *_SOURCE)
