"""pack --base: what the base holds is referenced, what is new makes new blobs; the content is a plain pack's."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from registry_server import PROGRAM, running_registry
from synthetic import BlobWriter, make_reproducer, read_json, region, write_json

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle import delta as deltas
from kerncap.bundle.content import read_before
from kerncap.bundle.delta import local_base, seal_delta
from kerncap.bundle.location import LayoutLocation, ReproducerLocation, TarLocation
from kerncap.bundle.seal import seal
from kerncap.bundle.unpack import unpack
from kerncap.bundle.verify import verify
from kerncap.cli import main as cli
from kerncap.errors import BundleError

KIB = 1 << 10
CHUNK = 64 * KIB


def _chunks(seed: int, count: int) -> list[bytes]:
    rng = random.Random(seed)
    return [rng.randbytes(CHUNK) for _ in range(count)]


def _capture(folder: Path, chunks: list[bytes], *, blob_chunks: int = 8, reverse: bool = False) -> Path:
    """A reproducer whose first region holds these chunks, `blob_chunks` of them in a blob."""
    make_reproducer(folder)
    capture = folder / "capture"
    document = read_json(capture / "index.json")
    for blob in document["blobs"]:
        (capture / "blobs/sha256" / blob["digest"][7:]).unlink()
    writer = BlobWriter(capture)
    pre: list[dict[str, Any]] = []
    for start in range(0, len(chunks), blob_chunks):
        group = [writer.add(raw) for raw in chunks[start : start + blob_chunks]]
        writer.flush()
        pre += group
    nodes = [region(0x7F1000000000, CHUNK * len(chunks), pre, [{"at": 0, **writer.add(bytes(5) + chunks[0][5:])}])]
    writer.flush()
    write_json(capture / "index.json", document | {"blobs": writer.blobs, "regions": nodes})
    return folder


def _sealed(tmp_path: Path, name: str, chunks: list[bytes]) -> Bundle:
    seal(ReproducerLocation(_capture(tmp_path / name, chunks)), LayoutLocation(tmp_path / f"{name}.oci"))
    return open_bundle(str(tmp_path / f"{name}.oci"))


def _expect(bundle: Bundle, chunks: list[bytes]) -> None:
    assert verify(bundle, deep=True).problems == ()
    assert read_before(bundle, 0, 0, CHUNK * len(chunks)) == b"".join(chunks)


def test_only_what_is_new_makes_blobs(tmp_path: Path) -> None:
    before = _chunks(1, 64)
    after = [*before[:20], *_chunks(2, 3), *before[23:]]
    base = _sealed(tmp_path, "base", before)
    again = _capture(tmp_path / "again", after)
    manifest, delta = seal_delta(ReproducerLocation(again), LayoutLocation(tmp_path / "out"), local_base(base))
    _expect(open_bundle(str(tmp_path / "out")), after)
    assert delta.new_bytes < 5 * CHUNK
    known = {blob.digest for blob in base.manifest.chunks} if base.manifest else set()
    assert sum(blob.size for blob in manifest.chunks if blob.digest not in known) == delta.new_bytes
    assert delta.fetched
    # The blobs of the base are links, as those of a capture are.
    for blob in manifest.chunks:
        if blob in delta.fetched:
            assert (tmp_path / "out/blobs/sha256" / blob.digest[7:]).samefile(base.locate(blob).path)


def test_another_grouping_is_found_chunk_by_chunk(tmp_path: Path) -> None:
    before = _chunks(1, 40)
    after = [*_chunks(3, 1), *before]
    base = _sealed(tmp_path, "base", before)
    again = _capture(tmp_path / "again", after, blob_chunks=5)
    _, delta = seal_delta(ReproducerLocation(again), TarLocation(tmp_path / "out.kcap.tar"), local_base(base))
    _expect(open_bundle(str(tmp_path / "out.kcap.tar")), after)
    assert delta.new_bytes < 3 * CHUNK


def test_the_content_is_the_same_as_without_a_base(tmp_path: Path) -> None:
    after = [*_chunks(1, 14), *_chunks(2, 6)]
    base = _sealed(tmp_path, "base", _chunks(1, 20))
    again = _capture(tmp_path / "again", after)
    seal(ReproducerLocation(again), LayoutLocation(tmp_path / "alone"))
    first, _ = seal_delta(ReproducerLocation(again), LayoutLocation(tmp_path / "out"), local_base(base))
    second, _ = seal_delta(ReproducerLocation(again), TarLocation(tmp_path / "out.kcap.tar"), local_base(base))
    assert first.digest == second.digest
    alone, out = open_bundle(str(tmp_path / "alone")), open_bundle(str(tmp_path / "out"))
    assert alone.config is not None
    assert out.config is not None
    assert alone.config.content_digest == out.config.content_digest
    assert alone.manifest_digest != out.manifest_digest
    # It needs nothing of where its blobs came from.
    shutil.rmtree(tmp_path / "base.oci")
    unpack(out, tmp_path / "unpacked")
    assert seal(ReproducerLocation(tmp_path / "unpacked"), LayoutLocation(tmp_path / "b")).digest == first.digest


def test_a_blob_of_which_little_is_used_is_left(tmp_path: Path) -> None:
    before = _chunks(1, 8)
    base = _sealed(tmp_path, "base", before)
    for kept, referenced in ((3, False), (5, True)):
        after = [*before[:kept], *_chunks(2, 8 - kept)]
        again = _capture(tmp_path / f"again{kept}", after)
        out = tmp_path / f"out{kept}"
        _, delta = seal_delta(ReproducerLocation(again), LayoutLocation(out), local_base(base))
        assert bool(delta.fetched) is referenced
        _expect(open_bundle(str(out)), after)


def test_new_blobs_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "NEW_BLOB_RAW_BYTES", 4 * CHUNK)
    before = _chunks(1, 64)
    after = [chunk for pair in zip(before[:32], _chunks(2, 32), strict=True) for chunk in pair]
    base = _sealed(tmp_path, "base", before[:32])
    _, delta = seal_delta(
        ReproducerLocation(_capture(tmp_path / "again", after)), LayoutLocation(tmp_path / "out"), local_base(base)
    )
    assert len(delta.new) >= 8
    assert max(sum(frame.length for frame in blob.frames) for blob in delta.new) <= 5 * CHUNK
    _expect(open_bundle(str(tmp_path / "out")), after)


def test_the_same_capture_has_nothing_new(tmp_path: Path) -> None:
    chunks = _chunks(1, 16)
    base = _sealed(tmp_path, "base", chunks)
    manifest, delta = seal_delta(
        ReproducerLocation(tmp_path / "base"), LayoutLocation(tmp_path / "out"), local_base(base)
    )
    assert manifest.digest == base.manifest_digest
    assert (delta.new, delta.fetched, delta.new_bytes) == ((), (), 0)


def test_a_base_whose_index_lies_is_found_out(tmp_path: Path) -> None:
    """It says that its first frame holds what the capture has there; the frame holds something else."""
    before = _chunks(1, 8)
    folder = _capture(tmp_path / "base", [*_chunks(9, 1), *before[1:]])
    document = read_json(folder / "capture/index.json")
    truth = read_json(_capture(tmp_path / "again", [*before, *_chunks(4, 1)]) / "capture/index.json")
    document["regions"][0]["pre"][0]["h"] = truth["regions"][0]["pre"][0]["h"]
    write_json(folder / "capture/index.json", document)
    seal(ReproducerLocation(folder), LayoutLocation(tmp_path / "base.oci"))
    base = local_base(open_bundle(str(tmp_path / "base.oci")))
    with pytest.raises(BundleError) as caught:
        seal_delta(ReproducerLocation(tmp_path / "again"), LayoutLocation(tmp_path / "out"), base)
    assert caught.value.code == "bundle.digest-mismatch"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"o": 1, "n": -1}, "bundle.corrupt-chunk"),
        ({"n": 5}, "bundle.corrupt-chunk"),  # the next frame begins in it
        ({"w": 2}, "bundle.digest-mismatch"),
    ],
)
def test_a_base_whose_frames_lie_elsewhere_is_found_out(tmp_path: Path, change: dict[str, int], code: str) -> None:
    before = _chunks(1, 40)
    folder = _capture(tmp_path / "base", before)
    document = read_json(folder / "capture/index.json")
    chunk = document["regions"][0]["pre"][2]
    chunk |= {name: chunk.get(name, 0) + more for name, more in change.items()}
    write_json(folder / "capture/index.json", document)
    seal(ReproducerLocation(folder), LayoutLocation(tmp_path / "base.oci"))
    again = _capture(tmp_path / "again", [*_chunks(3, 1), *before], blob_chunks=5)
    base = local_base(open_bundle(str(tmp_path / "base.oci")))
    with pytest.raises(BundleError) as caught:
        seal_delta(ReproducerLocation(again), LayoutLocation(tmp_path / "out"), base)
    assert (caught.value.code, caught.value.hint) == (code, f"kerncap verify {tmp_path}/base.oci --deep")
    assert not (tmp_path / "out").exists()


def test_a_reproducer_is_no_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(make_reproducer(tmp_path / "r"))
    assert cli.run(["pack", folder, "-o", str(tmp_path / "x.kcap.tar"), "--base", folder]) == 2
    assert "usage.not-sealed" in capsys.readouterr().err
    assert not (tmp_path / "x.kcap.tar").exists()


@pytest.mark.skipif(PROGRAM is None, reason="docker-registry is not installed")
def test_a_base_in_a_registry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only its index and the blobs that are referenced come here; a push beside it sends what is new."""
    before = _chunks(1, 32)
    after = [*_chunks(2, 2), *before[2:8], *_chunks(3, 24)]
    _sealed(tmp_path, "base", before)
    again = _capture(tmp_path / "again", after)
    with running_registry(tmp_path / "registry") as host:
        assert cli.run(["push", f"oci:{tmp_path}/base.oci", f"{host}/k/a:1"]) == 0
        shutil.rmtree(tmp_path / "base.oci")
        out = str(tmp_path / "out.kcap.tar")
        assert cli.run(["pack", str(again), "-o", out, "--base", f"{host}/k/a:1", "--json"]) == 0
        capsys.readouterr()
        assert cli.run(["push", out, f"{host}/k/a:2", "--json"]) == 0
    _expect(open_bundle(out), after)
    moved = json.loads(capsys.readouterr().out)["moved_bytes"]
    assert 26 * CHUNK < moved < 28 * CHUNK
