"""pack, open, unpack, verify on sound bundles: all three forms agree, and sealing is deterministic."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

import pytest
from synthetic import make_reproducer, read_json, write_json

from kerncap.bundle import open_bundle, sink
from kerncap.bundle.location import LayoutLocation, ReproducerLocation, TarLocation, parse_output, tar_name
from kerncap.bundle.seal import seal
from kerncap.bundle.unpack import unpack
from kerncap.bundle.verify import verify
from kerncap.errors import UsageError


def test_three_forms_hold_the_same(reproducer: Path, layout: Path, tar_file: Path) -> None:
    opened = [open_bundle(str(path)) for path in (reproducer, layout, tar_file)]
    first = opened[0]
    for bundle in opened:
        assert bundle.capture.kernel.name == "_Z5scalePfi"
        assert bundle.index == first.index
        assert bundle.capture.write_set == first.capture.write_set
        assert [file.name for file in bundle.source_files()] == [
            "src/root/app/scale.h",
            "src/root/app/scale.hip",
            "vfs.yaml",
        ]
        for digest, (path, offset, size) in bundle.blob_locations().items():
            data = path.read_bytes()[offset : offset + size]
            assert (reproducer / "capture/blobs/sha256" / digest[7:]).read_bytes() == data
        assert verify(bundle, deep=True).problems == ()
    assert opened[1].manifest_digest == opened[2].manifest_digest is not None
    assert first.manifest_digest is None


def test_environment_passes_the_allow_list_only(layout: Path) -> None:
    bundle = open_bundle(str(layout))
    assert bundle.capture.environment == {"HSA_XNACK": "0"}
    assert bundle.config is not None
    assert not {"environment", "command", "write_set"} & set(bundle.config.capture)
    everything = b"".join(path.read_bytes() for path in layout.rglob("*") if path.is_file())
    assert b"hunter2" not in everything


def test_layout_links_the_blobs_of_the_capture(reproducer: Path, layout: Path) -> None:
    for path in (reproducer / "capture/blobs/sha256").iterdir():
        assert path.samefile(layout / "blobs/sha256" / path.name)


def test_sealing_is_deterministic(tmp_path: Path, reproducer: Path, tar_file: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(reproducer, again)
    for path in again.rglob("*"):
        os.utime(path, (1, 1))
        if path.is_file():
            path.chmod(0o700)
    document = read_json(again / "capture/index.json")
    write_json(again / "capture/index.json", dict(reversed(document.items())))
    mask = os.umask(0o077)
    try:
        seal(ReproducerLocation(again), TarLocation(tmp_path / "again.kcap.tar"))
    finally:
        os.umask(mask)
    assert (tmp_path / "again.kcap.tar").read_bytes() == tar_file.read_bytes()


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_neither_threads_nor_the_order_of_folders_matter(
    tmp_path: Path, reproducer: Path, tar_file: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """Files are made one by one in another order: what a folder lists them in follows from it."""
    again = tmp_path / "again"
    files = sorted((path for path in reproducer.rglob("*") if path.is_file()), key=lambda p: str(p)[::-1])
    for path in files[threads:] + files[:threads]:
        (again / path.relative_to(reproducer)).parent.mkdir(parents=True, exist_ok=True)
        (again / path.relative_to(reproducer)).write_bytes(path.read_bytes())
    monkeypatch.setattr(sink, "COPY_THREADS", threads)
    seal(ReproducerLocation(again), TarLocation(tmp_path / "again.kcap.tar"))
    assert (tmp_path / "again.kcap.tar").read_bytes() == tar_file.read_bytes()
    unpack(open_bundle(str(tmp_path / "again.kcap.tar")), tmp_path / "unpacked")
    manifest = seal(ReproducerLocation(tmp_path / "unpacked"), LayoutLocation(tmp_path / "layout2"))
    assert manifest.digest == open_bundle(str(tar_file)).manifest_digest


def test_unpack_and_pack_again_gives_the_same_digest(tmp_path: Path, tar_file: Path) -> None:
    bundle = open_bundle(str(tar_file))
    unpack(bundle, tmp_path / "unpacked")
    assert not (tmp_path / "unpacked/Makefile").exists()
    assert {path.name for path in (tmp_path / "unpacked").iterdir()} == {"capture", "src", "vfs.yaml"}
    assert not any(path.stat().st_mode & 0o111 for path in (tmp_path / "unpacked").rglob("*") if path.is_file())
    manifest = seal(ReproducerLocation(tmp_path / "unpacked"), LayoutLocation(tmp_path / "again"))
    assert manifest.digest == bundle.manifest_digest


def test_tar_is_plain_ustar(tar_file: Path) -> None:
    with tarfile.open(tar_file, "r:") as archive:
        members = archive.getmembers()
    assert [member.name for member in members[:2]] == ["oci-layout", "index.json"]
    assert {(member.mtime, member.uid, member.gid, member.mode) for member in members} == {(0, 0, 0, 0o444)}


def test_source_is_counted_alike_before_and_after_sealing(reproducer: Path, layout: Path, tar_file: Path) -> None:
    for path in (reproducer, layout, tar_file):
        bundle = open_bundle(str(path))
        assert bundle.source_count == len(bundle.source_files()) == 3


def test_tar_files_are_called_alike() -> None:
    assert tar_name("vector_add.kcap") == tar_name(Path("vector_add")) == "vector_add.kcap.tar"


def test_without_source_there_is_no_code_layer(tmp_path: Path) -> None:
    folder = make_reproducer(tmp_path / "r", with_source=False)
    manifest = seal(ReproducerLocation(folder), LayoutLocation(tmp_path / "l"))
    assert manifest.code is None
    assert open_bundle(str(tmp_path / "l")).source_files() == ()


def test_tags_choose(tmp_path: Path, reproducer: Path) -> None:
    seal(ReproducerLocation(reproducer), LayoutLocation(tmp_path / "l", "v1"))
    assert open_bundle(f"oci:{tmp_path}/l:v1").sealed
    assert open_bundle(f"oci:{tmp_path}/l").sealed
    with pytest.raises(UsageError) as caught:
        open_bundle(f"oci:{tmp_path}/l:v2")
    assert caught.value.code == "usage.no-such-tag"
    assert (caught.value.hint or "").startswith(f"kerncap inspect oci:{tmp_path}/")
    assert "v1" in caught.value.message


def test_a_tag_of_a_layout_without_tags(tmp_path: Path, reproducer: Path) -> None:
    seal(ReproducerLocation(reproducer), LayoutLocation(tmp_path / "l"))
    with pytest.raises(UsageError) as caught:
        open_bundle(f"oci:{tmp_path}/l:v2")
    assert (caught.value.code, caught.value.hint) == ("usage.no-such-tag", f"kerncap inspect oci:{tmp_path}/l")


@pytest.mark.parametrize("tail", ["bad tag", "-v1", "ü", "x" * 129, ""])
def test_what_is_no_tag_does_not_become_a_folders_name(tmp_path: Path, tail: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_output(f"oci:{tmp_path}/l:{tail}")
    assert caught.value.code == "usage.output-form"
    assert "is no tag" in caught.value.message
    assert parse_output(f"oci:{tmp_path}/a:b/l").path == tmp_path / "a:b" / "l"


@pytest.mark.parametrize("location", [LayoutLocation, TarLocation])
def test_existing_outputs_are_refused(tmp_path: Path, reproducer: Path, location: type) -> None:
    target = tmp_path / "out"
    target.write_text("precious")
    with pytest.raises(UsageError) as caught:
        seal(ReproducerLocation(reproducer), location(target))
    assert caught.value.code == "usage.output-exists"
    assert target.read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {"out", "repro"}


def test_a_bare_capture_directory_opens(reproducer: Path) -> None:
    assert open_bundle(str(reproducer / "capture")).capture == open_bundle(str(reproducer)).capture
