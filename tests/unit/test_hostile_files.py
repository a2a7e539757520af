"""Damaged, hostile and unlucky files: cuts, bit flips, links, a full disk. Nothing half-written keeps a final name."""

from __future__ import annotations

import io
import os
import random
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from craft import sound_parts
from fake_registry import fake_registry
from synthetic import make_reproducer

from kerncap.bundle import open_bundle
from kerncap.bundle.files import open_named
from kerncap.bundle.location import LayoutLocation, ReproducerLocation, TarLocation
from kerncap.bundle.seal import seal
from kerncap.bundle.tar import END, header, padded, read_members
from kerncap.bundle.unpack import unpack
from kerncap.bundle.verify import verify
from kerncap.capture.profile import import_rocprof
from kerncap.cli import main as cli
from kerncap.errors import BundleError, CompileError, HostError, KerncapError, UsageError
from kerncap.source.arguments import take_apart
from kerncap.source.closure import Wanted, find_unit
from kerncap.source.database import Entry, find_database
from kerncap.transport import copy_bundle, push
from kerncap.transport.reference import parse_reference
from kerncap.workflows.code import facts_of, function_facts, is_code_object


def _outcome(path: Path) -> str:
    """The code with which a bundle is refused, or "whole"."""
    try:
        problems = verify(open_bundle(str(path)), deep=True).problems
    except (BundleError, UsageError) as error:
        return error.code
    return problems[0].code if problems else "whole"


def test_a_tar_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole = sound_parts().write_tar(tmp_path / "whole.tar").read_bytes()
    cut = tmp_path / "cut.tar"
    for length in [*range(0, len(whole) - 1024, 97), len(whole) - 1024]:
        cut.write_bytes(whole[:length])
        assert _outcome(cut) in ("bundle.truncated", "bundle.missing-blob", "bundle.not-a-bundle"), length


def test_a_bit_flip_anywhere_is_found_or_harmless(tmp_path: Path) -> None:
    parts = sound_parts()
    whole = parts.write_tar(tmp_path / "whole.tar").read_bytes()
    digest = open_bundle(str(tmp_path / "whole.tar")).manifest_digest
    rng = random.Random(7)
    flipped = tmp_path / "flipped.tar"
    found = 0
    for _ in range(400):
        position = rng.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[position] ^= 1 << rng.randrange(8)
        flipped.write_bytes(damaged)
        if _outcome(flipped) == "whole":  # tar padding, a time or an owner: the content is what the digest says
            assert open_bundle(str(flipped)).manifest_digest == digest
        else:
            found += 1
    assert found > 80


@pytest.mark.parametrize("name", ["oci-layout", "index.json", "blobs", "blobs/sha256", "blob"])
def test_links_in_a_layout_are_refused(tmp_path: Path, name: str) -> None:
    layout = sound_parts().write_layout(tmp_path / "layout")
    path = max((layout / "blobs/sha256").iterdir(), key=lambda p: p.stat().st_size) if name == "blob" else layout / name
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert _outcome(layout) in ("bundle.hostile-file", "bundle.not-a-bundle")


def test_a_link_that_the_user_names_is_followed(tmp_path: Path) -> None:
    digest = open_bundle(str(sound_parts().write_layout(tmp_path / "layout"))).manifest_digest
    sound_parts().write_tar(tmp_path / "b.tar")
    for name in ("layout", "b.tar"):
        link = tmp_path / f"link-{name}"
        link.symlink_to(tmp_path / name)
        assert _outcome(link) == "whole"
        assert open_bundle(str(link)).manifest_digest == digest


def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    layout = sound_parts().write_layout(tmp_path / "layout")
    (layout / "index.json").unlink()
    os.mkfifo(layout / "index.json")
    assert _outcome(layout) == "bundle.hostile-file"
    os.mkfifo(tmp_path / "b.tar")
    assert _outcome(tmp_path / "b.tar") == "bundle.hostile-file"


@pytest.mark.parametrize("action", ["pull", "pull-tar", "unpack", "pack", "pack-tar"])
@pytest.mark.parametrize("damage", ["flipped", "longer"])
def test_what_arrives_from_a_directory_was_checked(
    tmp_path: Path, reproducer: Path, layout: Path, action: str, damage: str
) -> None:
    """On one disk blobs are linked: a damaged one must not arrive under a final name all the same."""
    source = (reproducer / "capture" if action.startswith("pack") else layout) / "blobs/sha256"
    blob = max(source.iterdir(), key=lambda p: p.stat().st_size)
    data = bytearray(blob.read_bytes())
    blob.unlink()  # the other directory has a link to the same file
    if damage == "flipped":
        data[len(data) // 2] ^= 1
    blob.write_bytes(data if damage == "flipped" else data + b"x")
    before = set(tmp_path.iterdir())
    commands = {
        "pull": ["pull", f"oci:{layout}", "-o", f"oci:{tmp_path}/out"],
        "pull-tar": ["pull", f"oci:{layout}", "-o", f"{tmp_path}/out.kcap.tar"],
        "unpack": ["unpack", f"oci:{layout}", f"{tmp_path}/out"],
        "pack": ["pack", str(reproducer), "-o", f"oci:{tmp_path}/out"],
        "pack-tar": ["pack", str(reproducer), "-o", f"{tmp_path}/out.kcap.tar"],
    }
    assert cli.run(commands[action]) == 4
    assert set(tmp_path.iterdir()) == before


def test_a_file_that_others_can_change_is_copied(tmp_path: Path, layout: Path) -> None:
    """A link to it would be another file once it was checked."""
    blob = max((layout / "blobs/sha256").iterdir(), key=lambda p: p.stat().st_size)
    blob.chmod(0o666)
    copy_bundle(open_bundle(str(layout)), LayoutLocation(tmp_path / "out"))
    linked = {path.name for path in (tmp_path / "out/blobs/sha256").iterdir() if path.stat().st_nlink > 1}
    assert blob.name not in linked
    assert len(linked) >= 3


def test_links_in_a_reproducer_are_not_sealed(tmp_path: Path, reproducer: Path) -> None:
    (reproducer / "src" / "link").symlink_to("/etc/passwd")
    assert cli.run(["pack", str(reproducer), "-o", f"oci:{tmp_path}/l"]) == 4
    (reproducer / "src" / "link").unlink()
    (reproducer / "src" / "folder").symlink_to("/etc")
    assert cli.run(["pack", str(reproducer), "-o", f"oci:{tmp_path}/l"]) == 4
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize("damage", ["missing", "short", "flipped"])
def test_a_damaged_reproducer_is_not_sealed_into_a_tar(tmp_path: Path, reproducer: Path, damage: str) -> None:
    blob = max((reproducer / "capture/blobs/sha256").iterdir(), key=lambda p: p.stat().st_size)
    data = blob.read_bytes()
    blob.unlink()
    if damage != "missing":
        blob.write_bytes(data[:-1] if damage == "short" else data[:9] + bytes([data[9] ^ 1]) + data[10:])
    with pytest.raises(BundleError) as caught:
        seal(ReproducerLocation(reproducer), TarLocation(tmp_path / "b.kcap.tar"))
    expected = {"missing": "bundle.missing-blob", "short": "bundle.truncated", "flipped": "bundle.digest-mismatch"}
    assert caught.value.code == expected[damage]
    assert [path.name for path in tmp_path.iterdir()] == ["repro"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("form", ["layout", "tar"])
@pytest.mark.parametrize("action", ["pack", "pull", "unpack"])
def test_full_disk(
    tmp_path: Path, small_disk: Path, capsys: pytest.CaptureFixture[str], action: str, form: str
) -> None:
    folder = make_reproducer(tmp_path / "big", big_bytes=20 << 20)
    output = f"oci:{small_disk}/out" if form == "layout" else f"{small_disk}/out.kcap.tar"
    sealed = tmp_path / "sealed.kcap.tar"
    seal(ReproducerLocation(folder), TarLocation(sealed))
    with fake_registry() as fake:
        if action == "pull":
            push(open_bundle(str(sealed)), parse_reference(f"{fake.host}/a/b:v1"))
        commands = {
            "pack": ["pack", str(folder), "-o", output],
            "pull": ["pull", f"{fake.host}/a/b:v1", "-o", output],
            "unpack": ["unpack", str(sealed), f"{small_disk}/out"],
        }
        assert cli.run(commands[action]) == 3
    error = capsys.readouterr().err
    assert "host.disk-full" in error
    # the full file system, not a temporary folder that is gone by now, nor the one that was read
    assert f"hint: df -h {small_disk}; du " in error
    assert "partial" not in error.split("hint:")[1]
    assert list(small_disk.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path, reproducer: Path) -> None:
    with pytest.raises(HostError) as caught:
        seal(ReproducerLocation(reproducer), TarLocation(tmp_path / "no" / "such" / "b.kcap.tar"))
    assert caught.value.code == "host.no-folder"
    assert caught.value.hint == f"mkdir -p {tmp_path}/no/such"


def test_ctrl_c_leaves_nothing(tmp_path: Path, reproducer: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    for location in (LayoutLocation(tmp_path / "l"), TarLocation(tmp_path / "b.kcap.tar")):
        with pytest.raises(KeyboardInterrupt):
            seal(ReproducerLocation(reproducer), location, progress=interrupt)
    seal(ReproducerLocation(reproducer), TarLocation(tmp_path / "ok.kcap.tar"))
    bundle = open_bundle(str(tmp_path / "ok.kcap.tar"))
    with pytest.raises(KeyboardInterrupt):
        unpack(bundle, tmp_path / "u", progress=interrupt)
    assert {path.name for path in tmp_path.iterdir()} == {"repro", "ok.kcap.tar"}


def test_layouts_survive_a_copy(tmp_path: Path, layout: Path) -> None:
    shutil.copytree(layout, tmp_path / "copy")
    assert _outcome(tmp_path / "copy") == "whole"
    assert isinstance(open_bundle(tmp_path / "copy").manifest_digest, str)


def test_garbage_is_a_kerncap_error(tmp_path: Path) -> None:
    rng = random.Random(3)
    for size in (0, 1, 511, 512, 513, 5000):
        (tmp_path / "x.tar").write_bytes(rng.randbytes(size))
        with pytest.raises(KerncapError):
            open_bundle(str(tmp_path / "x.tar"))


@pytest.mark.parametrize("record", [5000 * b"1" + b" path=x\n", 5000 * b"0" + b"11 path=x\n", b"1 path=x\n"])
def test_a_pax_record_whose_length_is_none(record: bytes) -> None:
    head = bytearray(header("pax", len(record)))
    head[156:157] = b"x"
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    data = bytes(head) + record.ljust(padded(len(record)), b"\0") + END
    with pytest.raises(BundleError) as refused:
        list(read_members(io.BytesIO(data), len(data), what="x.tar"))
    assert (refused.value.code, "pax record" in refused.value.message) == ("bundle.malformed", True)


@pytest.fixture(params=["fifo", "socket", "device", "directory"])
def irregular(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Something that is no regular file: opening or reading it would wait, never end, or fail without a name."""
    path = tmp_path / "irregular.csv"
    if request.param == "fifo":
        os.mkfifo(path)
    elif request.param == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    elif request.param == "device":
        path = Path("/dev/zero")
    else:
        path.mkdir()
    return path


@pytest.mark.timeout(60)
def test_what_is_no_regular_file_is_refused_at_once(irregular: Path, tmp_path: Path) -> None:
    """Wherever a person or another process names a file."""
    what = "not a regular file|Is a directory"
    with pytest.raises(OSError, match=what):
        open_named(irregular)
    with pytest.raises(OSError, match=what):
        is_code_object(irregular)
    for facts in (facts_of, function_facts):
        with pytest.raises(UsageError, match=what) as caught:
            facts(irregular, "_Z1kv")
        assert (caught.value.code, caught.value.exit_code) == ("usage.no-such-file", 2)
    with pytest.raises(UsageError, match=what) as caught:
        import_rocprof(irregular)
    assert caught.value.code == "usage.profile-import"
    with pytest.raises(CompileError) as refused:
        find_database(None, irregular)
    assert (refused.value.code, refused.value.exit_code) == ("compile.no-database", 8)
    with pytest.raises(CompileError, match="response file") as refused:
        take_apart(["clang++", f"@{irregular}", "-c", "k.hip"], tmp_path, tmp_path / "k.hip")
    assert refused.value.code == "compile.response-file"
    entry = Entry(irregular, tmp_path, ("clang++", "-c", str(irregular)), None)
    with pytest.raises(CompileError) as refused:
        find_unit([entry], Wanted("_Z1kv", "k()", "gfx942"), tmp_path, {irregular})
    assert refused.value.code == "compile.source-file"


@pytest.mark.timeout(60)
def test_a_bundle_that_is_no_regular_file_is_refused_at_once(irregular: Path, tmp_path: Path) -> None:
    for command in (["inspect"], ["verify"], ["replay"], ["recompile", "-o", str(tmp_path / "x"), "--trust"]):
        assert cli.run([command[0], str(irregular), *command[1:]]) in (2, 4)
    code = make_reproducer(tmp_path / "sound.kcap")
    assert cli.run(["diff", str(irregular), str(code)]) in (2, 4)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "name", ["reproducer.json", "compile.json", "vfs.yaml", "capture/capture.json", "capture/index.json", "src/x.h"]
)
def test_a_fifo_in_a_reproducer_is_refused_at_once(tmp_path: Path, name: str) -> None:
    made = make_reproducer(tmp_path / "sound.kcap")
    (made / name).unlink(missing_ok=True)
    os.mkfifo(made / name)
    codes = [
        cli.run(["inspect", str(made)]),
        cli.run(["pack", str(made), "-o", str(tmp_path / "x.kcap.tar")]),
        cli.run(["recompile", str(made), "-o", str(tmp_path / "x"), "--trust"]),
    ]
    assert all(code in (0, 2, 4, 8) for code in codes)
    assert any(codes)


@pytest.mark.timeout(60)
def test_a_fifo_for_a_blob_is_refused_at_once(tmp_path: Path) -> None:
    made = make_reproducer(tmp_path / "sound.kcap")
    blobs = [path for path in made.rglob("*") if path.is_file() and path.stat().st_size and "blobs" in path.parts]
    assert blobs
    for blob in blobs:
        blob.unlink()
        os.mkfifo(blob)
    assert cli.run(["verify", "--deep", str(made)]) == 4
