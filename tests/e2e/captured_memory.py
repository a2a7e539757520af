"""Memory of a capture directory, decoded independently of the product's own readers.

In: capture.json, index.json and blobs. Out: what an argument pointed to, before and after the dispatch.
"""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import zstandard


def unshuffled(data: bytes, width: int) -> bytes:
    """From SPEC.md, 5: byte j of every word, for each j; then what is left."""
    words = len(data) // width
    raw = bytearray(data)
    for j in range(width):
        raw[j : words * width : width] = data[j * words : (j + 1) * words]
    return bytes(raw)


class CapturedMemory:
    """Every digest on the way is checked."""

    def __init__(self, directory: Path) -> None:
        self.capture: dict[str, Any] = json.loads((directory / "capture.json").read_text())
        self._index: dict[str, Any] = json.loads((directory / "index.json").read_text())
        self._blobs = [self._blob(directory, blob) for blob in self._index["blobs"]]

    @staticmethod
    def _blob(directory: Path, blob: dict[str, Any]) -> bytes:
        data = (directory / "blobs" / "sha256" / blob["digest"].removeprefix("sha256:")).read_bytes()
        assert len(data) == blob["size"]
        assert "sha256:" + hashlib.sha256(data).hexdigest() == blob["digest"]
        return data

    def _chunk(self, chunk: dict[str, Any]) -> bytes:
        size: int = chunk["l"]
        if chunk["k"] == "fill":
            raw = (struct.pack("<Q", chunk["v"]) * (size // 8 + 1))[:size]
        else:
            frame = self._blobs[chunk["b"]][chunk["o"] : chunk["o"] + chunk["n"]]
            raw = zstandard.ZstdDecompressor().decompress(frame, max_output_size=size)
            raw = unshuffled(raw, chunk.get("w", 1))
        assert len(raw) == size
        assert hashlib.sha256(raw).hexdigest() == chunk["h"]
        return raw

    def region(self, number: int) -> tuple[bytes, bytes]:
        """Whole content before and after."""
        region = self._index["regions"][number]
        before = b"".join(self._chunk(chunk) for chunk in region["pre"])
        assert len(before) == region["size"]
        after = bytearray(before)
        for chunk in region["post"]:
            after[chunk["at"] : chunk["at"] + chunk["l"]] = self._chunk(chunk)
        return before, bytes(after)

    @property
    def regions(self) -> list[dict[str, Any]]:
        return list(self._index["regions"])

    def kind(self, argument: int) -> str:
        """The kind of region that an argument points into."""
        return str(self._index["regions"][self.capture["kernarg"]["args"][argument]["region"]]["kind"])

    def integers(self, argument: int, count: int) -> tuple[list[int], list[int]]:
        """`count` int32 values that a pointer argument points to, before and after."""
        entry = self.capture["kernarg"]["args"][argument]
        start: int = entry["region_offset"]
        before, after = (data[start : start + 4 * count] for data in self.region(entry["region"]))
        return list(struct.unpack(f"<{count}i", before)), list(struct.unpack(f"<{count}i", after))
