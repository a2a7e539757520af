"""A bundle of a registry that is used while it arrives: what comes, in which order, who waits and for how long."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake
from synthetic import BlobWriter, make_reproducer, read_json, region, write_json

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.content import read_after, read_before
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.seal import seal
from kerncap.bundle.store import ARRIVING, blob_name
from kerncap.errors import BundleError, KerncapError, TransportError
from kerncap.transport import open_any, push
from kerncap.transport.arriving import arriving, blobs_in_order
from kerncap.transport.failures import Patience
from kerncap.transport.reference import parse_reference

QUICK = Patience(connect_s=30.0, read_s=60.0, attempts=2, connect_attempts=1, backoff_s=0.05)
SIZE = 100_000


@pytest.fixture
def sealed(tmp_path: Path) -> Bundle:
    """Two more regions, each with a blob for its state before and one for that behind; before a sequence's, unused."""
    folder = make_reproducer(tmp_path / "made")
    index = read_json(folder / "capture" / "index.json")
    writer = BlobWriter(folder / "capture", index["blobs"])
    chunks = []
    for number in range(4):
        chunks.append(writer.add(os.urandom(SIZE)))
        chunks[-1]["b"] = len(writer.blobs)
        writer.flush()
        assert len(writer.blobs) == number + 2
    for number in range(2):
        pre, post = chunks[2 * number], {"at": 0, **chunks[2 * number + 1]}
        index["regions"].append(region(0x7F5000000000 + number * (1 << 20), SIZE, [pre], [post]))
    write_json(folder / "capture" / "index.json", index)
    seal(ReproducerLocation(folder), LayoutLocation(tmp_path / "sealed"))
    return open_bundle(str(tmp_path / "sealed"))


def _remote(fake: Fake, sealed: Bundle) -> Bundle:
    push(sealed, parse_reference(f"{fake.host}/a/b:v1"))
    fake.requests.clear()
    return open_any(f"{fake.host}/a/b:v1", patience=QUICK)


def _hold_back(fake: Fake, digest: str, until: threading.Event) -> None:
    def wait(handler: Any) -> bool:
        if handler.command == "GET" and digest in handler.path:
            until.wait(60)
        return False

    fake.fault = wait


def test_memory_before_comes_first_and_nothing_that_is_not_needed(tmp_path: Path, fake: Fake, sealed: Bundle) -> None:
    remote = _remote(fake, sealed)
    digests = [blob.digest for blob in sealed.index.blobs]
    # Blob 0 holds both states of the first region; then before, before, behind, behind.
    assert [blob.digest for blob in blobs_in_order(remote, between=False)] == [digests[i] for i in (0, 1, 3, 2, 4)]
    with arriving(remote, tmp_path / "l") as arrival:
        arrival.wait()
    assert sealed.manifest is not None
    assert sealed.manifest.code is not None
    asked = [path.rsplit("/", 1)[1] for _, path, _ in fake.requests]
    assert sealed.manifest.code.digest not in asked
    assert all(digest in asked for digest in digests)
    assert not (tmp_path / "l" / ARRIVING).exists()
    opened = open_bundle(str(tmp_path / "l"))
    assert opened.arriving is None
    assert opened.blob_locations().keys() == {blob.digest for blob in sealed.data_blobs}
    with pytest.raises(BundleError) as caught:
        opened.source_files()
    assert caught.value.code == "bundle.missing-blob"


def test_with_its_source(tmp_path: Path, fake: Fake, sealed: Bundle) -> None:
    with arriving(_remote(fake, sealed), tmp_path / "l", source=True) as arrival:
        assert open_bundle(arrival.location).source_files() == sealed.source_files()


def test_a_reader_waits_for_what_it_needs_and_for_nothing_else(tmp_path: Path, fake: Fake, sealed: Bundle) -> None:
    remote = _remote(fake, sealed)
    held = sealed.index.blobs[4].digest
    come = threading.Event()
    _hold_back(fake, held, come)
    with arriving(remote, tmp_path / "l") as arrival:
        opened = open_bundle(arrival.location)
        for number in (3, 4):
            assert read_before(opened, number, 0, SIZE) == read_before(sealed, number, 0, SIZE)
        assert opened.arriving is not None
        assert arrival.underway
        promised = opened.promised_locations()[held]
        assert promised.path == tmp_path / "l" / blob_name(held)
        assert not promised.path.exists()
        read: list[bytes] = []
        reader = threading.Thread(target=lambda: read.append(read_after(opened, 4, 0, SIZE)))
        reader.start()
        time.sleep(0.3)
        assert reader.is_alive()
        come.set()
        reader.join(60)
        assert read == [read_after(sealed, 4, 0, SIZE)]


@pytest.mark.parametrize("why", ["gone", "changed", "fails"])
def test_who_waits_is_told_why_it_does_not_come(tmp_path: Path, fake: Fake, sealed: Bundle, why: str) -> None:
    remote = _remote(fake, sealed)
    digest = sealed.index.blobs[4].digest
    if why == "gone":
        del fake.blobs[digest]
    elif why == "changed":
        fake.blobs[digest] = fake.blobs[digest][:-1] + bytes([fake.blobs[digest][-1] ^ 1])
    else:
        fake.fault = lambda handler: digest in handler.path and (handler.answer(500) or True)
    start = time.monotonic()
    with pytest.raises(KerncapError) as caught, arriving(remote, tmp_path / "l") as arrival:
        read_after(open_bundle(arrival.location), 4, 0, SIZE)
    assert time.monotonic() - start < 30
    codes = {"gone": "bundle.missing-blob", "changed": "bundle.digest-mismatch", "fails": "transport.server"}
    assert caught.value.code == codes[why]
    if why == "gone":
        assert "missing in the registry" in caught.value.message
    assert not (tmp_path / "l" / blob_name(digest)).exists()


def test_another_error_stays_what_it_is(tmp_path: Path, fake: Fake, sealed: Bundle) -> None:
    remote = _remote(fake, sealed)
    fake.fault = lambda handler: sealed.index.blobs[4].digest in handler.path and (handler.answer(500) or True)

    def fail_after_the_transfer() -> None:
        with arriving(remote, tmp_path / "l") as arrival:
            while arrival.underway:
                time.sleep(0.01)
            raise TransportError("something else", code="transport.busy")

    with pytest.raises(TransportError) as caught:
        fail_after_the_transfer()
    assert caught.value.code == "transport.busy"


def test_what_nobody_waits_for_is_called_off(tmp_path: Path, fake: Fake, sealed: Bundle) -> None:
    remote = _remote(fake, sealed)
    never = threading.Event()
    _hold_back(fake, sealed.index.blobs[4].digest, never)
    start = time.monotonic()
    with arriving(remote, tmp_path / "l") as arrival:
        assert arrival.underway
    assert not arrival.underway
    assert time.monotonic() - start < 20
    assert not (tmp_path / "l" / ARRIVING).exists()
    never.set()


def test_a_marker_that_nobody_holds_is_not_waited_for(tmp_path: Path, sealed: Bundle, layout: Path) -> None:
    """Of a command that was killed, or a stranger's."""
    digest = open_bundle(str(layout)).index.blobs[0].digest
    (layout / blob_name(digest)).unlink()
    (layout / ARRIVING).write_bytes(b"")
    opened = open_bundle(str(layout))
    assert opened.arriving is None
    for ask in (opened.blob_locations, opened.promised_locations):
        with pytest.raises(BundleError) as caught:
            ask()
        assert caught.value.code == "bundle.missing-blob"
    with (layout / ARRIVING).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert opened.arriving == layout / ARRIVING
    (layout / ARRIVING).unlink()
    (layout / ARRIVING).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BundleError) as caught:
        opened.blob_locations()
    assert caught.value.code == "bundle.hostile-file"
