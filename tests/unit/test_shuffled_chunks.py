"""Shuffled chunks as the Python reader gives them back: whole, in part, and of every length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from craft import Parts, frame, shuffled, sound_parts
from synthetic import sha256

from kerncap.bundle import open_bundle
from kerncap.bundle.content import read_before
from kerncap.bundle.shuffle import shuffle, unshuffle
from kerncap.bundle.verify import verify
from kerncap.errors import BundleError


def _bundle(raw: bytes, width: int) -> Parts:
    parts = sound_parts()
    data = frame(shuffled(raw, width))
    parts.blobs[0] += data
    offset = len(parts.blobs[0]) - len(data)
    parts.index["blobs"][0] = {"digest": "sha256:" + sha256(parts.blobs[0]), "size": len(parts.blobs[0])}
    chunk = {"l": len(raw), "k": "zstd", "h": sha256(raw), "b": 0, "o": offset, "n": len(data), "w": width}
    node = parts.index["regions"][0]
    parts.index["regions"][0] = node | {"size": len(raw), "pre": [chunk], "post": []}
    parts.config["requires"] = ["shuffle"]
    return parts


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("size", [4096, 4097, 4103, 70_001])
def test_bytes_come_back(tmp_path: Path, width: int, size: int) -> None:
    raw = bytes((i * 7 + i // 256) % 256 for i in range(size))
    bundle = open_bundle(str(_bundle(raw, width).write_tar(tmp_path / "b.kcap.tar")))
    assert verify(bundle, deep=True).problems == ()
    assert read_before(bundle, 0, 0, size) == raw
    for offset, length in ((0, 1), (1, 5), (size - 3, 3), (4001, 90)):
        assert read_before(bundle, 0, offset, length) == raw[offset : offset + length]


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000])
def test_the_filter_is_its_own_way_back(width: int, size: int) -> None:
    raw = bytes(i % 251 for i in range(size))
    assert shuffle(raw, width) == shuffled(raw, width)
    assert unshuffle(shuffle(raw, width), width) == raw


@pytest.mark.parametrize("length", [1, 4096])
def test_what_a_chunk_holds_is_compared_before_it_is_used(tmp_path: Path, length: int) -> None:
    """Its frame is sound, and holds something else than the index says; a part of it alone cannot tell."""
    parts = sound_parts()
    parts.index["regions"][0]["pre"][0]["h"] = sha256(b"something else")
    bundle = open_bundle(str(parts.write_tar(tmp_path / "b.kcap.tar")))
    with pytest.raises(BundleError) as caught:
        read_before(bundle, 0, 0, length)
    assert caught.value.code == "bundle.digest-mismatch"


def test_small_pieces_of_a_chunk_read_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = bytes((i * 11 + i // 256) % 256 for i in range(50_000))
    bundle = open_bundle(str(_bundle(raw, 4).write_tar(tmp_path / "b.kcap.tar")))
    real, opened = bundle.store.open_frame, []

    def counting(*args: Any) -> Any:
        opened.append(args)
        return real(*args)

    monkeypatch.setattr(bundle.store, "open_frame", counting)
    assert b"".join(read_before(bundle, 0, at, 100) for at in range(0, len(raw), 100)) == raw
    assert len(opened) == 1
