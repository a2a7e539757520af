"""Bundles at the limits of SPEC.md, 7: many regions, chunks and bytes, names of every kind; generated, without disk.

Memory is bounded by starting a process for each command and asking for its peak.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from craft import sound_parts
from registry_server import PROGRAM, running_registry
from synthetic import BlobWriter, capture_document, fill, make_reproducer, read_json, region, store, write_json

from kerncap.bundle import limits, open_bundle
from kerncap.bundle.config import Config
from kerncap.bundle.index import parse_index
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.manifest import build_manifest, parse_manifest
from kerncap.bundle.seal import seal
from kerncap.bundle.unpack import unpack
from kerncap.bundle.verify import verify
from kerncap.errors import BundleError

_ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20

_RUN = """
import resource, subprocess, sys, time
start = time.monotonic()
code = subprocess.run(sys.argv[1:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print("\\n", code, peak, time.monotonic() - start)
"""


def _kerncap(*words: str | Path) -> tuple[dict[str, Any], float]:
    """What it printed, and its peak memory in MiB."""
    command = [sys.executable, "-m", "kerncap", *map(str, words), "--json"]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *command], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    *printed, last = done.stdout.rstrip().split("\n")
    code, peak, _ = last.split()
    assert code == "0", done.stderr
    return json.loads("\n".join(printed)), float(peak)


def _capture(folder: Path, regions: list[dict[str, Any]], writer: BlobWriter) -> Path:
    """A reproducer with these regions."""
    capture = folder / "capture"
    document = capture_document(store(capture, b"\x7fELF" + bytes(100)))
    document["kernarg"]["args"][0] |= {"region": 0}
    write_json(capture / "capture.json", document)
    write_json(capture / "index.json", {"schema": "kerncap.index/1", "blobs": writer.blobs, "regions": regions})
    return folder


def test_a_hundred_thousand_regions(tmp_path: Path) -> None:
    writer = BlobWriter(tmp_path / "many" / "capture")
    chunk = writer.add(os.urandom(4096))
    writer.flush()
    nodes = [region(0x7F1000000000 + 8192 * i, 4096, [chunk if i % 2 else fill(i, 4096)], []) for i in range(100_000)]
    _capture(tmp_path / "many", nodes, writer)
    _, peak = _kerncap("pack", tmp_path / "many", "-o", tmp_path / "many.kcap.tar")
    assert peak < 900
    found, peak = _kerncap("inspect", tmp_path / "many.kcap.tar")
    assert (found["regions"], found["raw_bytes"]) == (100_000, 4096 * 100_000)
    assert peak < 700
    assert _kerncap("verify", tmp_path / "many.kcap.tar", "--deep")[0]["whole"]


def test_thirty_gigabytes_in_two_hundred_regions(tmp_path: Path) -> None:
    """32 GB of memory that repeats: 40 frames, which all chunks share, and constant data. Its disk takes 40 MiB."""
    writer = BlobWriter(tmp_path / "big" / "capture")
    frames = [writer.add(os.urandom(MIB)) for _ in range(40)]
    writer.flush()
    constant = fill(0, 4 * MIB)
    nodes = []
    for i in range(200):
        pre = [constant] * 10 + [frames[(i + k) % 40] for k in range(120)]
        at = 4 * MIB * 10
        post = [{"at": at + MIB * k, **frames[(i + k + 1) % 40]} for k in range(100)]
        nodes.append(region(0x7F1000000000 + (i << 30), 160 * MIB, pre, post))
    _capture(tmp_path / "big", nodes, writer)
    packed, peak = _kerncap("pack", tmp_path / "big", "-o", f"oci:{tmp_path}/big.oci")
    assert peak < 500
    found, peak = _kerncap("inspect", tmp_path / "big.oci")
    assert found["raw_bytes"] == 200 * 160 * MIB > 30e9
    assert peak < 400
    assert packed["total_bytes"] < 50 * MIB
    checked, peak = _kerncap("verify", tmp_path / "big.oci", "--deep")
    assert checked["whole"]
    assert peak < 400


@pytest.mark.parametrize("count", [limits.MAX_REGIONS, limits.MAX_REGIONS + 1])
def test_the_limit_of_regions(count: int) -> None:
    node = json.dumps(region(4096, 4096, [fill(0, 4096)], []))
    head, tail = node.split("4096", 1)
    text = ",".join(f"{head}{4096 * (i + 1)}{tail}" for i in range(count))
    data = f'{{"schema": "kerncap.index/1", "blobs": [], "regions": [{text}]}}'.encode()
    if count <= limits.MAX_REGIONS:
        index, _ = parse_index(data)
        assert len(index.regions) == count
    else:
        with pytest.raises(BundleError) as caught:
            parse_index(data)
        assert caught.value.code == "bundle.limit"


@pytest.mark.parametrize("more", [0, 1])
def test_the_limit_of_chunks(more: int) -> None:
    chunk = json.dumps(fill(0, 8))
    count = limits.MAX_CHUNKS // 2
    nodes = [region((1 + i) << 32, 8 * count, [], []) for i in range(2)]
    texts = [json.dumps(node).replace('"pre": []', f'"pre": [{",".join([chunk] * count)}]') for node in nodes]
    if more:
        texts[1] = texts[1].replace('"post": []', f'"post": [{json.dumps({"at": 0, **fill(0, 8)})}]')
    data = f'{{"schema": "kerncap.index/1", "blobs": [], "regions": [{",".join(texts)}]}}'.encode()
    assert len(data) < limits.MAX_INDEX_JSON_BYTES
    if more:
        with pytest.raises(BundleError) as caught:
            parse_index(data)
        assert caught.value.code == "bundle.limit"
    else:
        assert sum(1 for _ in parse_index(data)[0].chunks()) == limits.MAX_CHUNKS


def test_as_many_blobs_as_there_may_be(tmp_path: Path) -> None:
    """20,000 layers: a manifest of 3 MB, which registries take."""
    parts = sound_parts()
    chunks = [parse_manifest(parts.members()[2][1]).chunks[0]]
    base = parse_manifest(parts.members()[2][1])
    chunks += [chunks[0].__class__(chunks[0].media_type, f"sha256:{i:064x}", 1) for i in range(limits.MAX_BLOBS - 1)]
    manifest = build_manifest(
        config=base.config, index=base.index, code=base.code, hsacos=base.hsacos, chunks=chunks, annotations={}
    )
    assert 2.5e6 < len(manifest.raw) < limits.MAX_MANIFEST_BYTES
    assert len(parse_manifest(manifest.raw).chunks) == limits.MAX_BLOBS


def _padded(size: int) -> Any:
    """A manifest of exactly so many bytes."""

    def change(data: bytes) -> bytes:
        document = json.loads(data)
        document["annotations"]["padding"] = ""
        plain = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        document["annotations"]["padding"] = "x" * (size - len(plain))
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()

    return change


@pytest.mark.skipif(PROGRAM is None, reason="docker-registry is not installed")
def test_a_manifest_of_four_mebibytes(tmp_path: Path) -> None:
    parts = sound_parts()
    parts.change_manifest_json = _padded(limits.MAX_MANIFEST_BYTES)
    bundle = open_bundle(str(parts.write_layout(tmp_path / "l")))
    assert len(bundle.manifest.raw if bundle.manifest else b"") == 4 * MIB
    # The registry's own limit is that of its HTTP body: exactly 4 MiB is one byte too many for it.
    parts.change_manifest_json = _padded(limits.MAX_MANIFEST_BYTES - 1)
    parts.write_layout(tmp_path / "m")
    with running_registry(tmp_path / "registry") as host:
        sent, _ = _kerncap("push", f"oci:{tmp_path}/m", f"{host}/a/b:1")
        got, _ = _kerncap("pull", f"{host}/a/b:1", "-o", tmp_path / "back.kcap.tar")
    assert sent["digest"] == got["digest"]
    assert verify(open_bundle(str(tmp_path / "back.kcap.tar")), deep=True).problems == ()
    parts.change_manifest_json = _padded(limits.MAX_MANIFEST_BYTES + 1)
    with pytest.raises(BundleError) as caught:
        open_bundle(str(parts.write_layout(tmp_path / "n")))
    assert caught.value.code == "bundle.limit"


NAMES = ("ядро<шаблон>", "カーネル", "نواة", "क़र्नल", "核心🧮", "e\u0301 \u00e9", "a\u202eb")
"""Cyrillic, Katakana, Arabic, Devanagari, beyond the first plane, combined and not, a mark that turns the direction."""


@pytest.mark.parametrize("name", NAMES)
def test_names_in_any_script(tmp_path: Path, name: str) -> None:
    folder = make_reproducer(tmp_path / "r")
    capture = read_json(folder / "capture/capture.json")
    capture["kernel"] |= {"name": name, "demangled": f"{name}(float*)", "symbol": f"{name}.kd"}
    capture["kernarg"]["args"][0] |= {"name": name, "type": f"{name}*"}
    write_json(folder / "capture/capture.json", capture)
    index = read_json(folder / "capture/index.json")
    index["regions"][2]["symbol"] = name
    write_json(folder / "capture/index.json", index)
    if name.isprintable():  # of the source only such names are allowed
        (folder / "src" / "root" / "app" / f"{name.replace('<', '').replace('>', '')}.h").write_text("//\n")
    manifest = seal(ReproducerLocation(folder), LayoutLocation(tmp_path / "l"))
    bundle = open_bundle(str(tmp_path / "l"))
    assert verify(bundle, deep=True).problems == ()
    assert (bundle.capture.kernel.name, bundle.index.regions[2].symbol) == (name, name)
    assert manifest.raw.isascii()
    found, _ = _kerncap("inspect", tmp_path / "l")
    assert found["kernel"]["name"] == name
    shown = subprocess.run(
        [sys.executable, "-m", "kerncap", "inspect", str(tmp_path / "l")],
        env={**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=True,
    )
    assert "\u202e" not in shown.stdout.decode()
    unpack(bundle, tmp_path / "u")
    again = seal(ReproducerLocation(tmp_path / "u"), LayoutLocation(tmp_path / "again"))
    assert again.digest == manifest.digest


def test_a_region_of_no_bytes_is_refused(tmp_path: Path) -> None:
    folder = make_reproducer(tmp_path / "r")
    index = read_json(folder / "capture/index.json")
    index["regions"].append(region(0x7F9000000000, 0, [], []))
    write_json(folder / "capture/index.json", index)
    with pytest.raises(BundleError) as caught:
        seal(ReproducerLocation(folder), LayoutLocation(tmp_path / "l"))
    assert caught.value.code == "bundle.malformed"
    assert not (tmp_path / "l").exists()


def test_shared_frames_count_once(tmp_path: Path) -> None:
    """`summary` speaks of blobs, not of chunks."""
    writer = BlobWriter(tmp_path / "r" / "capture")
    chunk = writer.add(os.urandom(MIB))
    writer.flush()
    _capture(tmp_path / "r", [region(0x7F1000000000, 8 * MIB, [chunk] * 8, [{"at": MIB, **chunk}])], writer)
    seal(ReproducerLocation(tmp_path / "r"), LayoutLocation(tmp_path / "l"))
    bundle = open_bundle(str(tmp_path / "l"))
    config = bundle.config
    assert isinstance(config, Config)
    assert config.summary.raw_bytes == 8 * MIB
    assert config.summary.stored_bytes == writer.blobs[0]["size"] < 1.1 * MIB
    assert verify(bundle, deep=True).problems == ()
