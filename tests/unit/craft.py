"""Bundles with one thing wrong: every digest and size is made to fit, except what a case breaks on purpose.

In: a function that changes the parts of a sound bundle. Out: a tar file or a layout directory.
Called by the conformance generator and the unit tests.
"""

from __future__ import annotations

import copy
import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard
from synthetic import capture_document, fill, region, sha256

from kerncap.bundle.manifest import ARTIFACT_TYPE, CHUNKS, CODE, CONFIG, HSACO, INDEX, OCI_INDEX, OCI_MANIFEST, TITLE
from kerncap.bundle.reader import RECORD_MEMBERS
from kerncap.bundle.store import LAYOUT_CONTENT
from kerncap.bundle.tar import END, header, padded

BUFFER_VA = 0x7F1000000000


def dump(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def frame(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1, write_checksum=True).compress(raw)


def code_tar(*members: tuple[str, bytes | tarfile.TarInfo]) -> bytes:
    """A code layer with whatever members, hostile ones included."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            if isinstance(content, tarfile.TarInfo):
                content.name = name
                archive.addfile(content)
            else:
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return frame(out.getvalue())


def shuffled(raw: bytes, width: int) -> bytes:
    """Written out from SPEC.md, 5, a second time."""
    words = len(raw) // width
    return b"".join(raw[j : words * width : width] for j in range(width)) + raw[words * width :]


@dataclass
class Parts:
    """A sound bundle in pieces. `blobs` are the chunk blobs; `fix_*` may be switched off to break a digest or size."""

    capture: dict[str, Any]
    index: dict[str, Any]
    blobs: list[bytes]
    hsaco: bytes
    code: bytes | None
    source: list[list[Any]]
    more_hsacos: list[bytes] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    change_index_json: Callable[[bytes], bytes] = lambda data: data
    change_index_layer: Callable[[bytes], bytes] = lambda data: data
    change_config_json: Callable[[bytes], bytes] = lambda data: data
    change_manifest: Callable[[dict[str, Any]], None] = lambda manifest: None
    change_manifest_json: Callable[[bytes], bytes] = lambda data: data
    change_layout_index: Callable[[dict[str, Any]], None] = lambda index: None
    change_members: Callable[[list[tuple[str, bytes]]], None] = lambda members: None
    change_tar: Callable[[bytes], bytes] = lambda data: data
    content_digest: str | None = None

    def members(self) -> list[tuple[str, bytes]]:
        """Names and contents, in the order of a tar file."""
        index_layer = self.change_index_layer(frame(self.change_index_json(dump(self._sealed_index()))))
        config = self.change_config_json(dump(self._config()))
        layers = [_layer(INDEX, index_layer, "index.json.zst")]
        contents = [index_layer]
        if self.code is not None:
            layers.append(_layer(CODE, self.code, "code.tar.zst"))
            contents.append(self.code)
        layers.append(_layer(HSACO, self.hsaco, "kernel.hsaco"))
        layers += [_layer(HSACO, data, f"kernel-{i}.hsaco") for i, data in enumerate(self.more_hsacos, start=1)]
        layers += [_layer(CHUNKS, blob, None) for blob in self.blobs]
        contents += [self.hsaco, *self.more_hsacos, *self.blobs]
        document: dict[str, Any] = {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "artifactType": ARTIFACT_TYPE,
            "config": _layer(CONFIG, config, "config.json"),
            "layers": layers,
            "annotations": {"dev.kerncap.spec": "1.0"},
        }
        self.change_manifest(document)
        manifest = self.change_manifest_json(dump(document))
        node = {"mediaType": OCI_MANIFEST, "digest": "sha256:" + sha256(manifest), "size": len(manifest)}
        layout_index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [node]}
        self.change_layout_index(layout_index)
        members = [("oci-layout", LAYOUT_CONTENT), ("index.json", dump(layout_index))]
        members += [("blobs/sha256/" + sha256(data), data) for data in (manifest, config, *contents)]
        self.change_members(members)
        return members

    def write_tar(self, path: Path) -> Path:
        pieces = [header(name, len(data)) + data.ljust(padded(len(data)), b"\0") for name, data in self.members()]
        path.write_bytes(self.change_tar(b"".join(pieces) + END))
        return path

    def write_layout(self, path: Path) -> Path:
        (path / "blobs" / "sha256").mkdir(parents=True)
        for name, data in self.members():
            (path / name).write_bytes(data)
        return path

    def _sealed_index(self) -> dict[str, Any]:
        record = {name: self.capture[name] for name in RECORD_MEMBERS if self.capture.get(name) is not None}
        return {**self.index, "record": record}

    def _config(self) -> dict[str, Any]:
        regions = self.index["regions"]
        sound = {
            "schema": "kerncap.config/1",
            "specVersion": "1.0",
            "requires": [],
            "contentDigest": self.content_digest or self._content_digest(),
            "target": self.capture["code_object"]["isa"].removeprefix("amdgcn-amd-amdhsa--"),
            "capture": {name: value for name, value in self.capture.items() if name not in RECORD_MEMBERS},
            "summary": {
                "regions": len(regions),
                "raw_bytes": sum(node["size"] for node in regions if "alias_of" not in node),
                "stored_bytes": sum(map(len, self.blobs)),
                "source_files": len(self.source),
            },
        }
        return {**sound, **self.config}

    def _content_digest(self) -> str:
        """Written out here a second time, from SPEC.md, so that the package's own code is not its own judge."""
        content = {
            "schema": "kerncap.content/1",
            **_step_content(self.capture),
            "regions": [
                [
                    *(node[key] for key in ("va", "size", "kind", "segment", "symbol")),
                    [[chunk["l"], chunk["h"]] for chunk in node["pre"]],
                    _changed(node["post"]),
                    *([node["alias_of"]] if "alias_of" in node else []),
                    *([{"step": node["step"]}] if "step" in node else []),
                    *([{"between": [_changed(one) for one in node["between"]]}] if "between" in node else []),
                ]
                for node in self.index["regions"]
            ],
            "source": sorted(self.source),
        }
        if "sequence" in self.capture:
            content["sequence"] = [
                _step_content(step)
                | {"barriers_before": [[b["type"], b["barrier"], b["waits_for"]] for b in step["barriers_before"]]}
                for step in self.capture["sequence"]["later"]
            ]
        return "sha256:" + sha256(dump(content))


def _step_content(step: dict[str, Any]) -> dict[str, Any]:
    keys = ("grid", "workgroup", "group_segment_bytes", "private_segment_bytes", "kernarg_va")
    return {
        "code_object": step["code_object"]["digest"],
        "dispatch": {key: step["dispatch"][key] for key in keys},
        "kernarg": step["kernarg"]["bytes"],
    }


def _changed(chunks: list[dict[str, Any]]) -> list[list[Any]]:
    return [[chunk["at"], chunk["l"], chunk["h"]] for chunk in chunks]


def _layer(media_type: str, data: bytes, title: str | None) -> dict[str, Any]:
    node: dict[str, Any] = {"mediaType": media_type, "digest": "sha256:" + sha256(data), "size": len(data)}
    return node | ({"annotations": {TITLE: title}} if title else {})


def sound_parts(*, with_source: bool = True) -> Parts:
    """Two regions: 4 KiB plus a fill chunk with one changed chunk, and a variable."""
    before, after, weights = bytes(range(256)) * 16, bytes(reversed(range(256))) * 16, b"\1\2\3\4" * 16
    frames = [frame(before), frame(after), frame(weights)]
    blob = b"".join(frames)
    offsets = [0, len(frames[0]), len(frames[0]) + len(frames[1])]
    chunks = [
        {"l": len(raw), "k": "zstd", "h": sha256(raw), "b": 0, "o": offset, "n": len(data)}
        for raw, offset, data in zip((before, after, weights), offsets, frames, strict=True)
    ]
    regions = [
        region(BUFFER_VA, 8192, [chunks[0], fill(0, 4096)], [{"at": 0, **chunks[1]}]),
        region(0x7F3000000000, 64, [chunks[2]], []) | {"kind": "variable", "symbol": "weights"},
    ]
    hsaco = b"\x7fELF" + bytes(60)
    capture = capture_document({"digest": "sha256:" + sha256(hsaco), "size": len(hsaco)})
    capture["environment"] = {"HSA_XNACK": "0"}
    index = {"schema": "kerncap.index/1", "blobs": [{"digest": "sha256:" + sha256(blob), "size": len(blob)}]}
    files = [("src/root/app/scale.hip", b"__global__ void scale(float*, int) {}\n"), ("vfs.yaml", b"version: 0\n")]
    return Parts(
        capture=copy.deepcopy(capture),
        index=index | {"regions": regions},
        blobs=[blob],
        hsaco=hsaco,
        code=code_tar(*files) if with_source else None,
        source=[[name, len(data), sha256(data)] for name, data in files] if with_source else [],
    )
