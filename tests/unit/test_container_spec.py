"""What a replay's container may see and do: the SDK's arguments and the printed `docker run` line say the same."""

from __future__ import annotations

import csv
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from kerncap.cli.options import check_image, check_memory
from kerncap.errors import HostError, UsageError
from kerncap.runtime import containers
from kerncap.runtime.containers import Job, devices, line
from kerncap.runtime.containers.image import _digest_of
from kerncap.runtime.containers.line import default_memory_bytes, spec_of

IMAGE = "kerncap/runtime:trixie"


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    folder = tmp_path / "my bundle"
    folder.mkdir()
    folder.chmod(0o755)
    return folder


def values(words: list[str], option: str) -> list[str]:
    return [words[i + 1] for i, word in enumerate(words) if word == option]


def test_line_and_sdk_say_the_same(layout: Path) -> None:
    hsaco = layout / "v.hsaco"
    hsaco.write_bytes(b"\x7fELF")
    job = Job(IMAGE, "validate", layout, hsaco=hsaco, device="vgpu:gfx942", memory_bytes=1 << 30, pids=77)
    spec = spec_of(job)
    words, sdk = shlex.split(spec.docker_line()), spec.sdk_arguments()
    end = words.index(IMAGE)
    assert words[end + 1 :] == sdk["command"]
    assert values(words, "--network") == [sdk["network_mode"]] == ["none"]
    assert values(words, "--dns") == sdk["dns"]
    assert "--read-only" in words
    assert sdk["read_only"] is True
    assert values(words, "--cap-drop") == sdk["cap_drop"] == ["ALL"]
    assert values(words, "--security-opt") == sdk["security_opt"] == ["no-new-privileges"]
    assert values(words, "--pids-limit") == [str(sdk["pids_limit"])] == ["77"]
    assert values(words, "--memory") == values(words, "--memory-swap") == [str(sdk["mem_limit"])]
    assert sdk["memswap_limit"] == sdk["mem_limit"]
    assert values(words, "--tmpfs") == [f"/tmp:{sdk['tmpfs']['/tmp']}"]
    mounts = [f"type=bind,source={m['Source']},target={m['Target']},readonly" for m in sdk["mounts"]]
    assert values(words, "--mount") == mounts
    assert all(m["ReadOnly"] for m in sdk["mounts"])
    assert [m["Target"] for m in sdk["mounts"]] == ["/bundle", "/variant.hsaco"]
    assert sdk["devices"] == []
    assert sdk["auto_remove"] is True


def test_a_path_with_a_comma_is_one_field_of_the_mount(tmp_path: Path) -> None:
    folder = tmp_path / 'a,source=b "c"'
    folder.mkdir()
    folder.chmod(0o755)
    words = shlex.split(spec_of(Job(IMAGE, "verify", folder, device=None)).docker_line())
    [mount] = values(words, "--mount")
    [fields] = csv.reader([mount])
    assert fields == ["type=bind", f"source={folder}", "target=/bundle", "readonly"]


def test_a_path_that_is_not_utf8_cannot_be_mounted(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    with pytest.raises(HostError) as caught:
        spec_of(Job(IMAGE, "verify", folder, device=None))
    assert (caught.value.code, caught.value.exit_code) == ("host.path-not-utf8", 3)
    assert caught.value.hint == f"mv $'{tmp_path}/caf\\xe9' NAME"


def test_command_inside(layout: Path) -> None:
    job = Job(IMAGE, "validate", layout, ("--iterations", "3"), tag="v1", device="vgpu:gfx90a", timeout_s=60)
    assert list(spec_of(job).command) == [
        *("--deadline", "60", "validate", "oci:/bundle:v1", "--iterations", "3", "--device", "vgpu:gfx90a", "--json")
    ]


def test_a_tar_keeps_its_suffix(tmp_path: Path) -> None:
    tar = tmp_path / "b.kcap.tar"
    tar.write_bytes(b"")
    tar.chmod(0o644)
    spec = spec_of(Job(IMAGE, "validate", tar))
    assert spec.volumes == ((tar, "/bundle.kcap.tar"),)
    assert "/bundle.kcap.tar" in spec.command


def test_gpu_brings_device_nodes_and_numeric_groups(layout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A file stands in for the driver's node: what counts is that its path and its numeric group arrive.
    kfd = layout / "kfd"
    kfd.write_bytes(b"")
    kfd.chmod(0o660)
    if os.getuid() == 0:
        os.chown(kfd, 0, 1234)
    monkeypatch.setattr(devices, "_KFD", kfd)
    monkeypatch.setattr(devices, "_DRI", layout)
    spec = spec_of(Job(IMAGE, "validate", layout, device="auto"))
    assert spec.devices == (str(kfd),)
    assert spec.groups == (kfd.stat().st_gid,)
    words = shlex.split(spec.docker_line())
    assert values(words, "--device")[0] == str(kfd)
    assert values(words, "--group-add") == [str(kfd.stat().st_gid)] == spec.sdk_arguments()["group_add"]
    assert spec_of(Job(IMAGE, "validate", layout, device="vgpu:gfx942")).devices == ()


def test_gpu_without_driver_is_refused(layout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_KFD", layout / "nothing")
    assert spec_of(Job(IMAGE, "validate", layout, device="auto")).devices == ()
    with pytest.raises(HostError) as caught:
        containers.docker_line(Job(IMAGE, "validate", layout, device="gpu:1"))
    assert caught.value.code == "host.no-gpu"


def test_a_line_names_what_lasts(layout: Path) -> None:
    """The registry reference instead of a pulled copy, and the file that an earlier line leaves."""
    hsaco = layout / "temporary.hsaco"
    hsaco.write_bytes(b"\x7fELF")
    job = Job(IMAGE, "validate", layout, ("--iterations", "3"), hsaco=hsaco, device="vgpu:gfx942")
    lasting = containers.Lasting("localhost:5000/a b:1", plain_http=True, hsaco=Path("/here/kept.hsaco"))
    words = shlex.split(containers.docker_line(job, lasting))
    assert values(words, "--mount") == ["type=bind,source=/here/kept.hsaco,target=/variant.hsaco,readonly"]
    assert values(words, "--network") == ["host"]
    assert "--read-only" not in words
    assert values(words, "--cap-drop") == ["ALL"]
    assert values(words, "--memory") == [str(default_memory_bytes())]
    inside = words[words.index(IMAGE) + 1 :]
    assert inside[:4] == ["--deadline", "300", "validate", "localhost:5000/a b:1"]
    assert inside[-1] == "--plain-http"
    compiling = Job(IMAGE, "recompile", layout, ("--trust",), device=None, collect="-o")
    line = containers.docker_line(compiling, containers.Lasting(collected=Path("a b.hsaco")))
    assert line.endswith("-o /tmp/collected --json | tar -xO file > 'a b.hsaco'")


def test_no_container_is_without_a_memory_limit(layout: Path) -> None:
    sdk = spec_of(Job(IMAGE, "recompile", layout, device=None)).sdk_arguments()
    assert sdk["mem_limit"] == default_memory_bytes() > 0


def test_private_bundle_is_refused_for_root(layout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout.chmod(0o700)
    monkeypatch.setattr(line.os, "getuid", lambda: 0)
    with pytest.raises(HostError) as caught:
        containers.docker_line(Job(IMAGE, "validate", layout))
    assert caught.value.code == "host.unreadable-bundle"
    monkeypatch.setattr(line.os, "getuid", lambda: 1234)
    assert "--user 1234:" in containers.docker_line(Job(IMAGE, "validate", layout))


@pytest.mark.parametrize("part", ["blobs", "blobs/sha256", "a blob", "index.json"])
def test_a_private_part_is_found_before_a_container_starts(
    layout: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(line.os, "getuid", lambda: 0)
    (layout / "blobs/sha256").mkdir(parents=True)
    for name in ("index.json", "blobs/sha256/00"):
        (layout / name).touch()
    assert containers.docker_line(Job(IMAGE, "validate", layout))
    path = layout / ("blobs/sha256/00" if part == "a blob" else part)
    path.chmod(path.stat().st_mode & ~0o077)
    with pytest.raises(HostError) as caught:
        containers.docker_line(Job(IMAGE, "validate", layout))
    assert caught.value.code == "host.unreadable-bundle"
    assert str(path) in caught.value.message
    assert caught.value.hint == f"chmod -R o+rX {shlex.quote(str(layout))}"


def test_private_files_that_no_command_reads_do_not_matter(reproducer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line.os, "getuid", lambda: 0)
    (reproducer / "notes").touch(0o600)
    assert containers.docker_line(Job(IMAGE, "validate", reproducer))


def test_missing_bundle_and_hsaco(layout: Path) -> None:
    for job, code in (
        (Job(IMAGE, "validate", layout / "none"), "host.no-bundle"),
        (Job(IMAGE, "validate", layout, hsaco=layout / "none"), "host.no-hsaco"),
    ):
        with pytest.raises(HostError) as caught:
            containers.docker_line(job)
        assert caught.value.code == code


def test_error_document_becomes_the_error() -> None:
    text = b'{"code": "bundle.digest-mismatch", "message": "m", "hint": "h", "schema": "kerncap.error/1"}'
    error = containers.error_of(containers.Outcome(4, text, b"", None), "validate")
    assert (error.code, error.message, error.hint, error.exit_code) == ("bundle.digest-mismatch", "m", "h", 4)
    vague = containers.error_of(containers.Outcome(127, b"", b"no such thing", None), "validate")
    assert vague.exit_code == 3
    assert "no such thing" in vague.message


@pytest.mark.parametrize("inside", ["oci:/bundle", "oci:/bundle:v1", f"oci:/bundle@sha256:{'1' * 64}", "/bundle"])
def test_an_error_inside_names_the_bundle_as_here(inside: str) -> None:
    """Once, with what chose it."""
    text = json.dumps({"code": "bundle.malformed", "message": f"{inside}: odd", "hint": f"kerncap verify {inside}"})
    error = containers.error_of(containers.Outcome(4, text.encode(), b"", None), "validate", "oci:mine:v1")
    assert (error.message, error.hint) == ("oci:mine:v1: odd", "kerncap verify oci:mine:v1")


def test_an_image_that_knows_no_digests_is_named() -> None:
    message = f"/bundle@sha256:{'1' * 64}: no such directory"
    text = json.dumps({"code": "usage.no-such-bundle", "message": message, "hint": "h"})
    error = containers.error_of(containers.Outcome(2, text.encode(), b"", None), "validate", "oci:mine:v1")
    assert (error.code, error.exit_code) == ("host.old-image", 3)


@pytest.mark.parametrize(
    ("image", "digest"),
    [("b.example:5000/k:v1", "2"), ("a.example/k", "1"), ("k:v1", "1"), (f"k@sha256:{'9' * 64}", "1")],
)
def test_the_digest_of_an_image_is_that_of_its_repository(image: str, digest: str) -> None:
    """The same image may come from several registries, under another digest in each."""
    names = [f"b.example:5000/k@sha256:{'2' * 64}", f"a.example/k@sha256:{'1' * 64}"]
    assert _digest_of(image, names) == f"sha256:{digest * 64}"
    assert _digest_of(image, []) is None


def test_a_container_that_was_killed_says_so() -> None:
    """By its memory limit, mostly: the hint is about that."""
    with pytest.raises(HostError) as caught:
        containers.raise_for_failure(containers.Outcome(137, b"", b"", None), "validate")
    assert caught.value.code == "host.container-killed"
    assert "--memory" in str(caught.value.hint)
    with pytest.raises(HostError) as caught:
        containers.raise_for_failure(containers.Outcome(126, b"", b"said", None), "validate")
    assert caught.value.code == "host.container"


@pytest.mark.parametrize("image", ["", "--privileged", "a b", "-v/:/x", "x\n", "x;y", "\u00e9"])
def test_what_is_no_image_is_refused_by_its_form(image: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_image(image)
    assert caught.value.code == "usage.image"


@pytest.mark.parametrize("image", ["kerncap/runtime:trixie", f"h:5000/a/b@sha256:{0:064}", f"sha256:{0:064}", "x"])
def test_what_is_an_image_passes(image: str) -> None:
    check_image(image)


def test_memory_has_bounds() -> None:
    for memory in (1, 10**23):
        with pytest.raises(UsageError):
            check_memory(memory)
    check_memory(1 << 30)


@pytest.mark.parametrize("user", [0, 1234])
def test_a_blob_that_gets_its_name_meanwhile_is_no_error(
    layout: Path, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    """A bundle that arrives while it is looked at: the name that was listed is another one by then."""
    listed = os.walk

    def walk(top: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        for at, folders, files in listed(top):
            yield at, folders, [*files, f"{0:064}.part"]

    monkeypatch.setattr("kerncap.runtime.containers.readable.os.walk", walk)
    monkeypatch.setattr(line.os, "getuid", lambda: user)
    assert spec_of(Job(IMAGE, "verify", layout, device=None)).volumes
