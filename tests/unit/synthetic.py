"""Synthetic reproducers: what the tool library would write, made in Python, small or as big as wanted.

Called by the unit and conformance tests and by benchmarks; the e2e tests use real captures.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

CHUNK_BYTES = 4 << 20
BLOB_RAW_BYTES = 64 << 20

RUN: dict[str, Any] = {
    "iterations": 1,
    "kernel_object_va": 4096,
    "bytes_compared": 1000,
    "changed_bytes": 40,
    "mismatch_bytes": 0,
    "mismatches": [],
    "iterations_agree": True,
    "noise": [],
    "variables": [],
    "fault": None,
    "timing_ns": [5],
}
"""A run of a `kerncap.replay-result/1` that agrees everywhere."""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class BlobWriter:
    """Collects frames into blobs of at most 64 MiB raw and stores them under their digests."""

    folder: Path
    blobs: list[dict[str, Any]] = field(default_factory=list)
    _pieces: list[bytes] = field(default_factory=list)
    _stored: int = 0
    _raw: int = 0

    def add(self, raw: bytes) -> dict[str, Any]:
        frame = zstandard.ZstdCompressor(level=1, write_checksum=True).compress(raw)
        if self._raw + len(raw) > BLOB_RAW_BYTES:
            self.flush()
        chunk = {"l": len(raw), "k": "zstd", "h": sha256(raw)}
        chunk |= {"b": len(self.blobs), "o": self._stored, "n": len(frame)}
        self._pieces.append(frame)
        self._stored += len(frame)
        self._raw += len(raw)
        return chunk

    def flush(self) -> None:
        if self._pieces:
            self.blobs.append(store(self.folder, b"".join(self._pieces)))
        self._pieces, self._stored, self._raw = [], 0, 0


def store(folder: Path, data: bytes) -> dict[str, Any]:
    path = folder / "blobs" / "sha256" / sha256(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return {"digest": "sha256:" + sha256(data), "size": len(data)}


def fill(value: int, length: int) -> dict[str, Any]:
    raw = (value.to_bytes(8, "little") * (length // 8 + 1))[:length]
    return {"l": length, "k": "fill", "v": value, "h": sha256(raw)}


def capture_document(code_object: dict[str, Any]) -> dict[str, Any]:
    isa = "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
    args = [
        {
            "offset": 0,
            "size": 8,
            "kind": "global_buffer",
            "name": "a",
            "type": "float*",
            "region": 0,
            "region_offset": 0,
        },
        {"offset": 8, "size": 4, "kind": "by_value", "name": "n", "type": "int", "region": None, "region_offset": None},
        {"offset": 12, "size": 4, "kind": "hidden_block_count_x", "name": None, "type": None},
    ]
    return {
        "schema": "kerncap.capture/1",
        "kernel": {"name": "_Z5scalePfi", "demangled": "scale(float*, int)", "symbol": "_Z5scalePfi.kd"},
        "dispatch": {
            "match_index": 0,
            "queue_index": 17,
            "dims": 1,
            "grid": [1024, 1, 1],
            "workgroup": [256, 1, 1],
            "group_segment_bytes": 0,
            "private_segment_bytes": 0,
            "kernarg_va": 0x7F0000001000,
            "kernel_object_va": 0x7F0000002000,
            "header": 0,
            "packet": "00" * 64,
        },
        "kernarg": {
            "size": 16,
            "bytes": (0x7F1000000000).to_bytes(8, "little").hex() + (1024).to_bytes(4, "little").hex() + "04000000",
            "args": args,
        },
        "code_object": {**code_object, "isa": isa, "load_va": 0x7F0000000000, "load_size": 4096},
        "device": {
            "agent": "gfx942",
            "isa": isa,
            "product": "Kerncap virtual gfx942",
            "memory_bytes": 1 << 34,
            "compute_units": 4,
            "class": "vgpu",
        },
        "runtime": {"hsa_version": "1.14", "tool": "kerncap 0.1.0", "libzstd": "1.5.7"},
        "consistency": {"state": "consistent", "reasons": []},
        "outcome": {"status": "completed", "fault_va": None},
        "unreadable": [],
        "timing": {"dispatch_ns": 1000, "snapshot_s": 0.5, "raw_bytes": 0, "stored_bytes": 0},
        "command": ["./app", "--secret-free"],
        "environment": {"HSA_XNACK": "0", "HOME": "/home/somebody", "API_TOKEN": "hunter2"},
        "write_set": {"source": "vgpu-trace", "written": [[0, 0, 4096]], "read_first": [[0, 0, 4096]]},
        "noise": [],
        "self_check": {"iterations": 2, "verdict": "faithful", "device": "vgpu:gfx942", "mismatch_bytes": 0},
    }


def make_reproducer(folder: Path, *, with_source: bool = True, big_bytes: int = 0, seed: int = 1) -> Path:
    """A reproducer with three regions (a changed chunk, a constant one, a variable) and optionally a big one."""
    rng = random.Random(seed)
    capture = folder / "capture"
    capture.mkdir(parents=True)
    writer = BlobWriter(capture)
    code_object = store(capture, b"\x7fELF" + rng.randbytes(3000))
    before, after = rng.randbytes(20_000), rng.randbytes(20_000)
    regions = [
        region(0x7F1000000000, 20_000 + 4096, [writer.add(before), fill(0, 4096)], [{"at": 0, **writer.add(after)}]),
        region(0x7F2000000000, 1 << 20, [fill(0x3F8000003F800000, 1 << 20)], []),
        region(0x7F3000000000, 64, [writer.add(rng.randbytes(64))], []),
    ]
    regions[2] |= {"kind": "variable", "symbol": "weights"}
    if big_bytes:
        regions.append(region(0x7F4000000000, big_bytes, _big_chunks(writer, big_bytes, seed), []))
    writer.flush()
    write_json(capture / "capture.json", capture_document(code_object))
    write_json(capture / "index.json", {"schema": "kerncap.index/1", "blobs": writer.blobs, "regions": regions})
    if with_source:
        _make_source(folder)
    return folder


def region(va: int, size: int, pre: list[dict[str, Any]], post: list[dict[str, Any]]) -> dict[str, Any]:
    node: dict[str, Any] = {"va": va, "size": size, "kind": "pool", "segment": "device", "flags": ["coarse-grained"]}
    return node | {"symbol": None, "agent": 0, "pre": pre, "post": post}


def _big_chunks(writer: BlobWriter, size: int, seed: int) -> list[dict[str, Any]]:
    """Random data that zstd stores as raw blocks: chunks differ by a few bytes only, so that it is quick."""
    base = bytearray(random.Random(seed).randbytes(CHUNK_BYTES))
    chunks = []
    for number, at in enumerate(range(0, size, CHUNK_BYTES)):
        base[:8] = number.to_bytes(8, "little")
        chunks.append(writer.add(bytes(base[: min(CHUNK_BYTES, size - at)])))
    return chunks


def _make_source(folder: Path) -> None:
    (folder / "src" / "root" / "app").mkdir(parents=True)
    (folder / "src" / "root" / "app" / "scale.hip").write_text("__global__ void scale(float* a, int n) {}\n")
    (folder / "src" / "root" / "app" / "scale.h").write_text("#pragma once\n")
    (folder / "vfs.yaml").write_text("version: 0\n")
    (folder / "Makefile").write_text("run:\n\ttouch /tmp/owned\n")


def write_json(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=1))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())
