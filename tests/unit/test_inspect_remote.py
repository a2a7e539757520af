"""inspect of a bundle in a registry: how little is moved for it, and that nothing is left out without a word."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake
from synthetic import make_reproducer, read_json, region, write_json
from test_triton_records import pinned

from kerncap.bundle import open_bundle
from kerncap.bundle.content import read_after, read_before, write_code_object
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.manifest import CODE, CONFIG, INDEX, sha256_digest
from kerncap.bundle.seal import _config, _index_layer, _manifest, seal
from kerncap.cli import main as cli
from kerncap.errors import BundleError, UsageError
from kerncap.transport import open_any, push
from kerncap.transport.reference import parse_reference


def _moved(fake: Fake) -> list[str]:
    """Media types of the blobs that were asked for."""
    manifest = json.loads(fake.manifests["v1"])
    kinds = {node["digest"]: node["mediaType"] for node in (manifest["config"], *manifest["layers"])}
    paths = [path for method, path, _ in fake.requests if method == "GET" and "/blobs/" in path]
    return [kinds[path.rsplit("/", 1)[1]] for path in paths]


def test_thirty_gigabytes_take_less_than_one_megabyte(
    tmp_path: Path, fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    """7,680 chunks of 4 MiB in 200 regions, a quarter of them changed; no blob of memory exists at all."""
    rng = random.Random(7)
    blobs: list[dict[str, Any]] = []
    offset = 0

    def chunk() -> dict[str, Any]:
        nonlocal offset
        stored = rng.randrange(3 << 20, 4 << 20)
        if not blobs or offset + stored > 64 << 20:
            blobs.append({"digest": "sha256:" + rng.randbytes(32).hex(), "size": 0})
            offset = 0
        node = {"l": 4 << 20, "k": "zstd", "h": rng.randbytes(32).hex(), "b": len(blobs) - 1, "o": offset, "n": stored}
        offset += stored
        blobs[-1]["size"] = offset
        return node

    folder = make_reproducer(tmp_path / "huge")
    index = read_json(folder / "capture" / "index.json")
    blobs += index["blobs"]
    offset = 64 << 20
    va = 0x7F4000000000
    for number in range(200):
        pre = [chunk() for _ in range(38 if number < 160 else 40)]
        post = [{"at": at * (4 << 20), **chunk()} for at in range(0, len(pre), 4)]
        index["regions"].append(region(va, len(pre) * (4 << 20), pre, post))
        va += 1 << 30
    write_json(folder / "capture" / "index.json", {**index, "blobs": blobs})
    bundle = open_bundle(str(folder))
    assert bundle.index.raw_bytes > 30 << 30
    stored_index, record = _index_layer(bundle)
    config = _config(bundle, (), record)
    manifest = _manifest(bundle, config, stored_index, None)
    fake.manifests["v1"] = manifest.raw
    fake.blobs = {sha256_digest(data): data for data in (stored_index, config)}
    assert cli.run(["inspect", f"{fake.host}/a/b:v1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["regions"], document["digest"]) == (203, manifest.digest)
    assert document["total_bytes"] > 20 << 30
    assert sorted(_moved(fake)) == sorted([CONFIG, INDEX])
    assert fake.sent_bytes < 1_000_000, fake.sent_bytes


def _triton_bundle(tmp_path: Path, fake: Fake, **files: bytes) -> None:
    folder = make_reproducer(tmp_path / "t")
    write_json(folder / "triton.json", pinned())
    for name, data in files.items():
        (folder / "src" / name).write_bytes(data)
    capture = read_json(folder / "capture" / "capture.json")
    write_json(folder / "capture" / "capture.json", {**capture, "triton": "3.6.0"})
    seal(ReproducerLocation(folder), LayoutLocation(tmp_path / "sealed"))
    push(open_bundle(str(tmp_path / "sealed")), parse_reference(f"{fake.host}/a/b:v1"))
    fake.requests.clear()


def test_the_call_of_a_triton_kernel_is_fetched(tmp_path: Path, fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    _triton_bundle(tmp_path, fake)
    assert cli.run(["inspect", f"{fake.host}/a/b:v1"]) == 0
    assert "kernel[(7, 2)](" in capsys.readouterr().out
    assert sorted(_moved(fake)) == sorted([CONFIG, INDEX, CODE])
    assert cli.run(["inspect", f"{fake.host}/a/b:v1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["triton"]["kernel"] == "kernel"


def test_a_big_code_layer_is_not_fetched_and_that_is_said(
    tmp_path: Path, fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    _triton_bundle(tmp_path, fake, noise=random.Random(1).randbytes(300_000))
    assert cli.run(["inspect", f"{fake.host}/a/b:v1"]) == 0
    said = capsys.readouterr().out
    assert "which is not fetched: kerncap pull" in said
    assert "kernel[(7, 2)](" not in said
    assert cli.run(["inspect", f"{fake.host}/a/b:v1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["triton_not_fetched_bytes"] > 300_000
    assert CODE not in _moved(fake)
    assert cli.run(["inspect", str(tmp_path / "sealed")]) == 0
    assert "kernel[(7, 2)](" in capsys.readouterr().out


def test_a_changed_code_layer_is_refused(tmp_path: Path, fake: Fake) -> None:
    _triton_bundle(tmp_path, fake)
    bundle = open_any(f"{fake.host}/a/b:v1")
    assert bundle.manifest is not None
    assert bundle.manifest.code is not None
    data = bytearray(fake.blobs[bundle.manifest.code.digest])
    data[40] ^= 1
    fake.blobs[bundle.manifest.code.digest] = bytes(data)
    assert cli.run(["inspect", f"{fake.host}/a/b:v1"]) == 4


def test_memory_is_read_by_ranges_and_checked(tmp_path: Path, fake: Fake, tar_file: Path) -> None:
    """Just the frames of the chunks that are asked for; what does not fit its digest is refused."""
    local = open_bundle(str(tar_file))
    push(local, parse_reference(f"{fake.host}/a/b:v1"))
    remote = open_any(f"{fake.host}/a/b:v1")
    fake.requests.clear()
    fake.sent_bytes = 0
    for read in (read_before, read_after):
        assert read(remote, 0, 100, 5000) == read(local, 0, 100, 5000)
    assert read_before(remote, 1, 0, 4096) == read_before(local, 1, 0, 4096)  # a fill: nothing is fetched
    ranges = [headers.get("Range") for _, _, headers in fake.requests]
    assert len(ranges) == 2
    assert None not in ranges
    chunks = (local.index.regions[0].pre[0], local.index.regions[0].post[0])
    assert fake.sent_bytes == sum(chunk.stored for chunk in chunks)
    assert (
        write_code_object(remote, tmp_path / "r").read_bytes() == write_code_object(local, tmp_path / "l").read_bytes()
    )
    blob = local.index.blobs[chunks[0].blob or 0]
    data = bytearray(fake.blobs[blob.digest])
    data[chunks[0].offset + chunks[0].stored // 2] ^= 1
    fake.blobs[blob.digest] = bytes(data)
    with pytest.raises(BundleError) as caught:
        read_before(remote, 0, 0, 16)
    assert caught.value.code in ("bundle.corrupt-chunk", "bundle.digest-mismatch")
    with pytest.raises(UsageError):
        remote.blob_locations()


def test_a_frame_of_other_bytes_is_refused(tmp_path: Path, fake: Fake, tar_file: Path) -> None:
    """A registry that gives another frame, whole and with a right checksum of its own."""
    push(open_bundle(str(tar_file)), parse_reference(f"{fake.host}/a/b:v1"))
    remote = open_any(f"{fake.host}/a/b:v1")
    chunks = (remote.index.regions[0].pre[0], remote.index.regions[0].post[0])
    blob = remote.index.blobs[chunks[0].blob or 0]
    data = bytearray(fake.blobs[blob.digest])
    first, other = (data[c.offset : c.offset + c.stored] for c in chunks)
    assert len(first) == len(other)
    data[chunks[0].offset : chunks[0].offset + chunks[0].stored] = other
    fake.blobs[blob.digest] = bytes(data)
    with pytest.raises(BundleError) as caught:
        read_before(remote, 0, 0, 16)
    assert caught.value.code == "bundle.digest-mismatch"
