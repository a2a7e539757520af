"""The store of blobs that pulls share: nothing is fetched twice, nothing damaged given out, nothing depends on it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from registry_server import PROGRAM, running_registry
from synthetic import make_reproducer

from kerncap.bundle import cache as caches
from kerncap.bundle import open_bundle
from kerncap.bundle.cache import BlobCache, cache_folder, cache_limit
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.manifest import CHUNKS, Descriptor, Manifest, sha256_digest
from kerncap.bundle.seal import seal
from kerncap.bundle.sink import LayoutSink
from kerncap.bundle.verify import verify
from kerncap.cli import main as cli
from kerncap.errors import UsageError

_ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20


@pytest.fixture
def reference(tmp_path: Path) -> Iterator[str]:
    if PROGRAM is None:
        pytest.skip("docker-registry is not installed")
    seal(
        ReproducerLocation(make_reproducer(tmp_path / "made", big_bytes=6 * MIB)), LayoutLocation(tmp_path / "made.oci")
    )
    with running_registry(tmp_path / "registry") as host:
        assert cli.run(["push", f"oci:{tmp_path}/made.oci", f"{host}/a/b:1"]) == 0
        yield f"{host}/a/b:1"


def _pull(reference: str, output: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert cli.run(["pull", reference, "-o", output, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert verify(open_bundle(output), deep=True).problems == ()
    return document


def _blobs() -> list[Path]:
    folder = cache_folder() / "blobs" / "sha256"
    return sorted(folder.iterdir()) if folder.exists() else []


def test_what_was_pulled_is_not_pulled_again(
    reference: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = _pull(reference, f"oci:{tmp_path}/one", capsys)
    assert first["moved_bytes"] == first["total_bytes"]
    for output in (f"oci:{tmp_path}/two", str(tmp_path / "three.kcap.tar")):
        again = _pull(reference, output, capsys)
        assert (again["moved_bytes"], again["digest"]) == (0, first["digest"])
    assert len(_blobs()) == first["blobs"]
    for blob in _blobs():
        assert blob.samefile(tmp_path / "two" / "blobs" / "sha256" / blob.name)


def test_a_tar_leaves_copies(reference: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _pull(reference, str(tmp_path / "one.kcap.tar"), capsys)
    assert _pull(reference, f"oci:{tmp_path}/two", capsys)["moved_bytes"] == 0
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "two/blobs/sha256").iterdir()} == {0o644}
    assert _blobs()[0].parent.stat().st_mode & 0o777 == 0o700


def test_a_damaged_blob_is_fetched_again(
    reference: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    _pull(reference, str(tmp_path / "one.kcap.tar"), capsys)
    big = max(_blobs(), key=lambda path: path.stat().st_size)
    short = min(_blobs(), key=lambda path: path.stat().st_size)
    with big.open("r+b") as file:
        file.seek(1000)
        file.write(b"damaged")
    short.write_bytes(b"")
    for output in (f"oci:{tmp_path}/two", str(tmp_path / "three.kcap.tar")):
        again = _pull(reference, output, capsys)
        if output.startswith("oci:"):
            assert 0 < again["moved_bytes"] < again["total_bytes"]
    assert "removed from the cache" in caplog.text
    assert all(sha256_digest(path.read_bytes())[7:] == path.name for path in _blobs())


def test_a_link_in_place_of_a_blob_is_not_followed(
    reference: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = _pull(reference, str(tmp_path / "one.kcap.tar"), capsys)
    big = max(_blobs(), key=lambda path: path.stat().st_size)
    big.rename(tmp_path / "elsewhere")
    big.symlink_to(tmp_path / "elsewhere")
    assert 0 < _pull(reference, f"oci:{tmp_path}/two", capsys)["moved_bytes"] < first["total_bytes"]


@pytest.mark.parametrize("limit", ["0", "100"])
def test_a_limit_that_holds_nothing(
    reference: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setenv("KERNCAP_CACHE_LIMIT", limit)
    _pull(reference, f"oci:{tmp_path}/one", capsys)
    assert sum(path.stat().st_size for path in _blobs()) <= int(limit)


def test_a_full_disk_is_said_and_does_no_harm(
    reference: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No links, and no room for copies beside the output."""
    real = os.statvfs

    def full(path: Any) -> Any:
        found = list(real(path))
        found[4] = 0
        return os.statvfs_result(found)

    monkeypatch.setattr(os, "statvfs", full)
    _pull(reference, str(tmp_path / "one.kcap.tar"), capsys)
    assert caplog.text.count("going on without the cache") == 1
    assert os.strerror(errno.ENOSPC) in caplog.text
    assert _blobs() == []


def test_where_nothing_can_be_written(
    reference: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("KERNCAP_CACHE_DIR", str(tmp_path / "file" / "cache"))
    _pull(reference, f"oci:{tmp_path}/one", capsys)
    _pull(reference, str(tmp_path / "one.kcap.tar"), capsys)


# -- without a registry ------------------------------------------------------------------------------------------------


def _sink(folder: Path, *blobs: bytes) -> tuple[LayoutSink, list[Descriptor]]:
    """A sink into which these blobs have arrived."""
    descriptors = [Descriptor(CHUNKS, sha256_digest(data), len(data)) for data in blobs]
    none = Descriptor(CHUNKS, "sha256:" + "0" * 64, 1)
    folder.mkdir()
    sink = LayoutSink(Manifest(b"", none.digest, none, none, None, (), tuple(descriptors), {}), folder)
    for descriptor, data in zip(descriptors, blobs, strict=True):
        sink.put_bytes(descriptor, data)
    return sink, descriptors


def test_a_link_that_a_killed_command_left_is_not_written_into(tmp_path: Path) -> None:
    _, (blob, *_) = _sink(tmp_path / "s", b"a" * 1000)
    other, _ = _sink(tmp_path / "t")
    whole = tmp_path / "s" / "blobs" / "sha256" / blob.digest[7:]
    os.link(whole, (tmp_path / "t" / "blobs" / "sha256" / blob.digest[7:]).with_suffix(".part"))
    with other.slot(blob) as slot:
        slot.write_at(0, b"b" * 1000)
    assert whole.read_bytes() == b"a" * 1000


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    sink, blobs = _sink(tmp_path / "s", *(bytes([i]) * 1000 for i in range(8)))
    cache = BlobCache(tmp_path / "c", 100_000)
    for age, blob in enumerate(blobs):
        cache.keep(sink, blob)
        stamp = time.time_ns() - (100 - age) * 10**9
        os.utime(tmp_path / "c" / "blobs" / "sha256" / blob.digest[7:], ns=(stamp, stamp))
    other, _ = _sink(tmp_path / "t")
    assert cache.take(other, blobs[0])  # used just now
    done = cache.prune(3000)
    assert (done.removed_blobs, done.removed_bytes, done.kept_bytes) == (5, 5000, 3000)
    assert [entry.digest for entry in cache.entries()] == [blobs[i].digest for i in (6, 7, 0)]
    assert not cache.take(other, blobs[1])
    # Who had a blob before has it still.
    assert (tmp_path / "s" / "blobs" / "sha256" / blobs[1].digest[7:]).stat().st_size == 1000


def test_it_stays_within_its_limit(tmp_path: Path) -> None:
    sink, blobs = _sink(tmp_path / "s", *(bytes([i]) * 1000 for i in range(40)))
    cache = BlobCache(tmp_path / "c", 10_000)
    for blob in blobs:
        cache.keep(sink, blob)
        assert sum(entry.size for entry in cache.entries()) <= 10_000
    assert len(cache.entries()) >= 8


_PROCESS = """
import os, sys
from pathlib import Path
sys.path[:0] = [{root!r}, {unit!r}]
from test_cache import _sink
from kerncap.bundle.cache import BlobCache
folder, number = Path(sys.argv[1]), int(sys.argv[2])
cache = BlobCache(folder / "c", 60_000)
for round in range(6):
    sink, blobs = _sink(folder / f"s{{number}}-{{round}}", *(bytes([i, round]) * 500 for i in range(50)))
    empty, _ = _sink(folder / f"t{{number}}-{{round}}")
    for blob in blobs:
        cache.keep(sink, blob)
        cache.take(empty, blob)
"""


def test_many_processes_at_once(tmp_path: Path) -> None:
    """More than fits, so that all of them remove what others are about to take."""
    program = _PROCESS.format(root=str(_ROOT), unit=str(_ROOT / "tests" / "unit"))
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(i)], stderr=subprocess.PIPE, text=True)
        for i in range(4)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
    entries = BlobCache(tmp_path / "c", 60_000).entries()
    # Each process counts what it adds itself: together they may exceed the limit by what the others added meanwhile.
    assert 0 < sum(entry.size for entry in entries) <= 4 * 60_000
    for entry in entries:
        assert sha256_digest((tmp_path / "c/blobs/sha256" / entry.digest[7:]).read_bytes()) == entry.digest


def test_a_killed_process_leaves_nothing_that_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed with its lock held and a blob half-written: the next one goes on, and prune removes the rest."""
    cache = BlobCache(tmp_path / "c", 100_000)
    program = f"""
import os, signal, sys
sys.path[:0] = [{str(_ROOT)!r}]
from pathlib import Path
from kerncap.bundle.cache import BlobCache
cache = BlobCache(Path({str(tmp_path / "c")!r}), 100_000)
(cache.folder / "blobs" / "sha256").mkdir(parents=True)
with cache._locked(2), cache._new_file() as (file, name):
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == -signal.SIGKILL
    (left,) = (tmp_path / "c" / "blobs" / "sha256").iterdir()
    assert cache.entries() == []
    cache.prune(100_000)
    assert left.exists()  # too young to know that nobody is about to lock it
    monkeypatch.setattr(caches, "SETTLED_S", 0)
    cache.prune(100_000)
    assert not left.exists()


def test_a_cache_that_is_only_read_gives_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a read-only file system, or somebody else's: when it was used cannot be written down."""
    sink, blobs = _sink(tmp_path / "s", b"a" * 1000, b"b" * 1000)
    cache = BlobCache(tmp_path / "c", 100_000)
    for blob in blobs:
        cache.keep(sink, blob)

    def refuse(*args: Any, **more: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "utime", refuse)
    other, _ = _sink(tmp_path / "t")
    assert [cache.take(other, blob) for blob in blobs] == [True, True]


def test_what_is_no_file_is_no_blob(tmp_path: Path) -> None:
    sink, blobs = _sink(tmp_path / "s", *(bytes([i]) * 1000 for i in range(4)))
    cache = BlobCache(tmp_path / "c", 100_000)
    for blob in blobs:
        cache.keep(sink, blob)
    folder, fifo, link, _ = (tmp_path / "c" / "blobs" / "sha256" / blob.digest[7:] for blob in blobs)
    for path in (folder, fifo, link):
        path.unlink()
    folder.mkdir()
    os.mkfifo(fifo)
    link.symlink_to("/dev/zero")
    assert [entry.digest for entry in cache.entries()] == [blobs[3].digest]
    other, _ = _sink(tmp_path / "t")
    assert [cache.take(other, blob) for blob in blobs] == [False, False, False, True]
    assert cache.prune(0).removed_blobs == 1


def test_a_transfer_does_not_wait_for_who_prunes(tmp_path: Path) -> None:
    """Stopped with Ctrl-Z it would hold the lock for ever."""
    sink, blobs = _sink(tmp_path / "s", *(bytes([i]) * 1000 for i in range(4)))
    cache = BlobCache(tmp_path / "c", 2500)
    cache.keep(sink, blobs[0])
    with BlobCache(tmp_path / "c", 2500)._locked(fcntl.LOCK_EX):
        for blob in blobs[1:]:
            cache.keep(sink, blob)
    assert len(cache.entries()) == 4
    cache.keep(*_one_more(tmp_path))
    assert len(cache.entries()) == 2


def _one_more(tmp_path: Path) -> tuple[LayoutSink, Descriptor]:
    sink, (blob,) = _sink(tmp_path / "more", b"more" * 250)
    return sink, blob


def test_what_was_begun_under_another_clock_is_removed(tmp_path: Path) -> None:
    sink, (blob,) = _sink(tmp_path / "s", b"a" * 1000)
    cache = BlobCache(tmp_path / "c", 100_000)
    cache.keep(sink, blob)
    begun = tmp_path / "c" / "blobs" / "sha256" / ".new-x"
    begun.write_bytes(b"half")
    ahead = time.time() + 10**6
    os.utime(begun, (ahead, ahead))
    cache.prune(100_000)
    assert not begun.exists()


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNCAP_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("KERNCAP_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "kerncap"
    for odd in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", odd)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache_folder() == tmp_path / ".cache" / "kerncap"


def test_a_user_without_a_home_has_no_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("KERNCAP_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    sink, (blob,) = _sink(tmp_path / "s", b"a" * 1000)
    cache = BlobCache()
    cache.keep(sink, blob)
    assert not cache.take(sink, blob)
    for command in ("ls", "prune", "path"):
        assert cli.run(["cache", command]) == 3
        assert "host.no-home" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "-1", "20G", "1e9", "9" * 30])
def test_a_limit_that_is_no_number(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("KERNCAP_CACHE_LIMIT", text)
    with pytest.raises(UsageError) as caught:
        cache_limit()
    assert caught.value.code == "usage.number"


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["cache", "ls"]) == 0
    assert cli.run(["cache", "prune"]) == 0
    assert "removed 0 blobs" in capsys.readouterr().err
    sink, blobs = _sink(tmp_path / "s", b"a" * 1000, b"b" * 1000)
    for blob in blobs:
        BlobCache().keep(sink, blob)
    assert cli.run(["cache", "ls", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {blob["digest"] for blob in listed["blobs"]} == {blob.digest for blob in blobs}
    assert cli.run(["cache", "prune", "--to", "1500", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kept_bytes"] == 1000
    assert cli.run(["cache", "prune", "--all", "--to", "1"]) == 2
    assert cli.run(["cache", "prune", "--all"]) == 0
    capsys.readouterr()
    assert cli.run(["cache", "path"]) == 0
    assert capsys.readouterr().out == f"{cache_folder()}\n"
    assert _blobs() == []


@pytest.mark.parametrize("how", ["blobs", "blobs/sha256", "itself"])
def test_the_blobs_of_a_bundle_are_not_pruned(
    how: str,
    tmp_path: Path,
    layout: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A link, or a variable, that leads to a bundle."""
    folder = layout if how == "itself" else tmp_path / "odd"
    if how != "itself":
        (folder / how).parent.mkdir(parents=True)
        (folder / how).symlink_to(layout / how)
    before = sorted(path.name for path in (layout / "blobs/sha256").iterdir())
    monkeypatch.setenv("KERNCAP_CACHE_DIR", str(folder))
    assert cli.run(["cache", "prune", "--all"]) == 3
    assert "host.no-cache" in capsys.readouterr().err
    assert sorted(path.name for path in (layout / "blobs/sha256").iterdir()) == before
