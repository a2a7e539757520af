"""A capture made by hand, and replay requests on it: what the tool library would have written for a dispatch.

In: regions (bytes before and after), a code object, launch and arguments. Out: `capture.json`, `index.json` and blobs
in a folder, per docs/interfaces.md. Called by test_replay.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

CHUNK_BYTES = 4096


@dataclass
class HandmadeRegion:
    """Memory of one allocation before and after the dispatch."""

    va: int
    pre: bytes
    post: bytes
    kind: str = "pool"
    segment: str = "device"
    symbol: str | None = None


@dataclass
class HandmadeStep:
    """A dispatch behind the first, with the same launch."""

    kernel: str
    hsaco: bytes
    arguments: bytes
    kernarg_va: int
    barriers_before: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class HandmadeCapture:
    """Everything of one captured dispatch, or of a sequence; `write` puts it in `folder`."""

    folder: Path
    kernel: str
    hsaco: bytes
    isa: str
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    arguments: bytes
    dims: int = 1
    kernarg_va: int = 0x7E0000000000
    kernarg_captured: bool = True
    regions: list[HandmadeRegion] = field(default_factory=list)
    later: list[HandmadeStep] = field(default_factory=list)
    blobs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def _blob(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        path = self.folder / "blobs" / "sha256" / digest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.blobs["sha256:" + digest] = {"path": str(path), "offset": 0, "size": len(data)}
        return "sha256:" + digest

    def kernarg(self, explicit: bytes) -> bytes:
        """Explicit arguments, then the hidden ones of the launch as this code object version lays them out."""
        hidden_at = (len(explicit) + 7) // 8 * 8
        out = bytearray(hidden_at + 256)
        out[: len(explicit)] = explicit
        code_object_v5 = 3  # EI_ABIVERSION; before, hidden arguments of the launch are read from the packet
        if self.hsaco[8] >= code_object_v5:
            counts = [g // w for g, w in zip(self.grid, self.workgroup, strict=True)]
            rests = [g % w for g, w in zip(self.grid, self.workgroup, strict=True)]
            struct.pack_into("<3I6H", out, hidden_at, *counts, *self.workgroup, *rests)
            struct.pack_into("<H", out, hidden_at + 64, self.dims)
        return bytes(out)

    def write(self) -> None:
        """The capture directory."""
        regions = list(self.regions)
        for step in (self, *self.later):
            kernarg = self.kernarg(step.arguments)
            if self.kernarg_captured:
                page = kernarg + bytes(4096 - len(kernarg))
                regions.append(HandmadeRegion(step.kernarg_va, page, page, segment="kernarg"))
        frames = bytearray()
        entries = []
        for region in sorted(regions, key=lambda r: r.va):
            pre = self._chunks(region.pre, frames)
            post = []
            for at, chunk in zip(range(0, len(region.pre), CHUNK_BYTES), pre, strict=True):
                after = region.post[at : at + CHUNK_BYTES]
                if after != region.pre[at : at + CHUNK_BYTES]:
                    post += [changed | {"at": at} for changed in self._chunks(after, frames)]
                    assert post[-1]["l"] == chunk["l"]
            entries.append(
                {
                    "va": region.va,
                    "size": len(region.pre),
                    "kind": region.kind,
                    "segment": region.segment,
                    "flags": [],
                    "symbol": region.symbol,
                    "agent": 0,
                    "pre": pre,
                    "post": post,
                }
            )
        blob = {"digest": self._blob(bytes(frames)), "size": len(frames)}
        index = {"schema": "kerncap.index/1", "blobs": [blob], "regions": entries}
        capture = {
            "schema": "kerncap.capture/1",
            **self._step(self),
            "outcome": {"status": "completed", "fault_va": None},
        }
        if self.later:
            later = [self._step(step) | {"barriers_before": step.barriers_before} for step in self.later]
            capture["sequence"] = {"states": "end", "later": later}
        (self.folder / "index.json").write_text(json.dumps(index))
        (self.folder / "capture.json").write_text(json.dumps(capture))

    def _step(self, step: HandmadeCapture | HandmadeStep) -> dict[str, Any]:
        kernarg = self.kernarg(step.arguments)
        return {
            "kernel": {"name": step.kernel, "demangled": step.kernel, "symbol": step.kernel + ".kd"},
            "dispatch": {
                "dims": self.dims,
                "grid": self.grid,
                "workgroup": self.workgroup,
                "group_segment_bytes": 0,
                "private_segment_bytes": 0,
                "kernarg_va": step.kernarg_va,
                "packet": "00" * 64,
            },
            "kernarg": {"size": len(kernarg), "bytes": kernarg.hex(), "args": []},
            "code_object": {"digest": self._blob(step.hsaco), "size": len(step.hsaco), "isa": self.isa},
        }

    def _chunks(self, data: bytes, frames: bytearray) -> list[dict[str, Any]]:
        compressor = zstandard.ZstdCompressor(level=1, write_checksum=True, write_content_size=True)
        chunks: list[dict[str, Any]] = []
        for at in range(0, len(data), CHUNK_BYTES):
            raw = data[at : at + CHUNK_BYTES]
            chunk: dict[str, Any] = {"l": len(raw), "h": hashlib.sha256(raw).hexdigest()}
            if len(raw) % 8 == 0 and raw == raw[:8] * (len(raw) // 8):
                chunks.append(chunk | {"k": "fill", "v": int.from_bytes(raw[:8], "little")})
                continue
            frame = compressor.compress(raw)
            chunks.append(chunk | {"k": "zstd", "b": 0, "o": len(frames), "n": len(frame)})
            frames += frame
        return chunks

    def request(self, runs: list[dict[str, Any]], **other: Any) -> dict[str, Any]:
        """The request document for kerncap-replay."""
        return {
            "schema": "kerncap.replay-request/1",
            "capture": str(self.folder / "capture.json"),
            "index": str(self.folder / "index.json"),
            "blobs": self.blobs,
            "agent": 0,
            "timeout_s": 60,
            "runs": runs,
        } | other


def run(**changes: Any) -> dict[str, Any]:
    """One entry of `runs`: the captured code object from the captured state, compared with post-state."""
    plain = {
        "hsaco": None,
        "iterations": 1,
        "warmup": 0,
        "initial": {"kind": "captured"},
        "expect": {"kind": "post"},
        "dump": None,
    }
    return plain | changes
