"""diff of two bundles: what is found, in every form, and how little of a registry's bundle is fetched for it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake
from synthetic import BlobWriter, fill, make_reproducer, read_json, region, store, write_json

from kerncap.bundle import open_bundle
from kerncap.bundle.documents import validate
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.seal import seal
from kerncap.cli import main as cli
from kerncap.transport import open_any, push
from kerncap.transport.reference import parse_reference
from kerncap.workflows.bundle_diff import BundleDiff, DiffOptions, diff_bundles
from kerncap.workflows.content_diff import match_regions

CHUNK = 1 << 16
Edit = Callable[[bytearray, bytearray], None]


def made(
    folder: Path,
    *,
    edit: Edit = lambda before, after: None,
    move: int = 0,
    chunk: int = CHUNK,
    change: Callable[[dict[str, Any], dict[str, Any]], None] = lambda capture, index: None,
) -> Path:
    """A reproducer with one more region, argument `a`, of 16 chunks, of which the dispatch changes the second."""
    make_reproducer(folder)
    capture, index = (read_json(folder / "capture" / f"{name}.json") for name in ("capture", "index"))
    before = bytearray(random.Random(3).randbytes(16 * CHUNK))
    after = bytearray(before)
    after[CHUNK + 8 : CHUNK + 16] = bytes(8)
    edit(before, after)
    writer = BlobWriter(folder / "capture", index["blobs"])
    pre = [writer.add(bytes(before[at : at + chunk])) for at in range(0, len(before), chunk)]
    post = [
        {"at": at, **writer.add(bytes(after[at : at + chunk]))}
        for at in range(0, len(before), chunk)
        if before[at : at + chunk] != after[at : at + chunk]
    ]
    writer.flush()
    index["regions"].append(region(0x7F5000000000 + move, len(before), pre, post))
    capture["kernarg"]["args"][0].update(region=3, region_offset=64)
    capture["kernarg"]["bytes"] = (0x7F5000000040 + move).to_bytes(8, "little").hex() + capture["kernarg"]["bytes"][16:]
    for one in index["regions"][:3]:
        one["va"] += move
    change(capture, index)
    write_json(folder / "capture" / "capture.json", capture)
    write_json(folder / "capture" / "index.json", index)
    return folder


def compared(one: Path, other: Path, **more: Any) -> BundleDiff:
    return diff_bundles(open_bundle(str(one)), open_bundle(str(other)), DiffOptions(**more))


def test_the_same_is_the_same_wherever_it_lies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = made(tmp_path / "one")
    seal(ReproducerLocation(one), LayoutLocation(tmp_path / "sealed"))
    assert compared(one, made(tmp_path / "again")).changes == []
    assert cli.run(["diff", f"oci:{tmp_path}/sealed", f"oci:{tmp_path}/sealed", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="diff")
    assert (document["same"], document["changes"], document["assembly"]) == (True, [], [])
    assert document["same_source"] is True


def test_another_start_of_the_application_is_the_same(tmp_path: Path) -> None:
    """Everything lies elsewhere; regions are found again by symbol, argument, or kind and size."""
    found = compared(made(tmp_path / "one"), made(tmp_path / "other", move=1 << 33))
    assert found.changes == []
    assert [(pair.before, pair.after, pair.what.split(",")[0]) for pair in found.pairs] == [
        (0, 0, "at 0x7f1000000000"),
        (1, 1, "at 0x7f2000000000"),
        (2, 2, "variable weights"),
        (3, 3, "argument a"),
    ]


def test_bytes_of_memory(tmp_path: Path) -> None:
    def edit(before: bytearray, after: bytearray) -> None:
        for memory in (before, after):
            memory[5 * CHUNK + 100] ^= 1
            memory[5 * CHUNK + 104] ^= 1  # of the same word or the next one: one range
            memory[9 * CHUNK - 2 : 9 * CHUNK + 2] = bytes(b ^ 255 for b in memory[9 * CHUNK - 2 : 9 * CHUNK + 2])
        after[CHUNK + 12] ^= 7

    found = compared(made(tmp_path / "one"), made(tmp_path / "other", edit=edit))
    before, after = found.contents
    assert (before.state, before.pair.what, before.differing_bytes) == ("before", "argument a", 6)
    assert before.ranges == ((5 * CHUNK + 100, 5), (9 * CHUNK - 2, 2), (9 * CHUNK, 2))
    assert before.chunk_bytes == 3 * CHUNK
    # Only what one of the dispatches changed is looked at behind it: else all would be said twice.
    assert (after.state, after.ranges, after.chunk_bytes) == ("after", ((CHUNK + 12, 1),), CHUNK)
    assert found.changes == [
        "region 3 (argument a), before the dispatch",
        "region 3 (argument a), after the dispatch",
    ]


def test_a_dispatch_that_no_longer_changes_something(tmp_path: Path) -> None:
    def edit(before: bytearray, after: bytearray) -> None:
        after[:] = before

    (after,) = compared(made(tmp_path / "one"), made(tmp_path / "other", edit=edit)).contents
    assert (after.state, after.ranges) == ("after", ((CHUNK + 8, 8),))


def test_other_chunks_of_the_same_bytes_are_the_same(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one"), made(tmp_path / "other", chunk=3 * CHUNK // 2)
    assert compared(one, other).changes == []

    def edit(before: bytearray, after: bytearray) -> None:
        for memory in (before, after):
            memory[7 * CHUNK + 5] ^= 1

    (found,) = compared(one, made(tmp_path / "edited", chunk=3 * CHUNK // 2, edit=edit)).contents
    assert (found.state, found.ranges) == ("before", ((7 * CHUNK + 5, 1),))


def test_no_more_is_read_than_may_be(tmp_path: Path) -> None:
    def edit(before: bytearray, after: bytearray) -> None:
        for memory in (before, after):
            memory[::CHUNK] = bytes(b ^ 1 for b in memory[::CHUNK])

    one, other = made(tmp_path / "one"), made(tmp_path / "other", edit=edit)
    before = compared(one, other, look_bytes=4 * CHUNK, most_ranges=2).contents[0]
    assert before.ranges == ((0, 1), (CHUNK, 1))
    assert (before.differing_bytes, before.more_ranges) == (4, 2)
    assert (before.chunk_bytes, before.unread_bytes) == (16 * CHUNK, 12 * CHUNK)
    assert compared(one, other, look_bytes=0).contents[0].unread_bytes == 16 * CHUNK


def _call(capture: dict[str, Any], index: dict[str, Any]) -> None:
    capture["dispatch"]["grid"] = [2048, 1, 1]
    capture["kernarg"]["bytes"] = capture["kernarg"]["bytes"][:16] + (2048).to_bytes(4, "little").hex() + "04000000"
    capture["runtime"] = {"hsa_version": "1.15", "tool": "kerncap 0.1.0"}
    capture["device"]["product"] = "AMD Instinct MI300X"


def test_call_and_versions(tmp_path: Path) -> None:
    found = compared(made(tmp_path / "one"), made(tmp_path / "other", change=_call))
    assert [str(change) for change in found.call] == [
        "grid: 1024 x 1 x 1 to 2048 x 1 x 1",
        "argument n: int 1024 to int 2048",
    ]
    assert [str(change) for change in found.versions] == [
        "device: Kerncap virtual gfx942 (vgpu) to AMD Instinct MI300X (vgpu)",
        "hsa_version: 1.14 to 1.15",
        "libzstd: only before: 1.5.7",
    ]


def test_a_pointer_to_another_place(tmp_path: Path) -> None:
    def change(capture: dict[str, Any], index: dict[str, Any]) -> None:
        capture["kernarg"]["args"][0]["region_offset"] = 128
        raw = bytearray.fromhex(capture["kernarg"]["bytes"])
        raw[0] = 128
        capture["kernarg"]["bytes"] = raw.hex()

    (found,) = compared(made(tmp_path / "one"), made(tmp_path / "other", change=change)).call
    assert found.before is not None
    assert found.before.endswith("(region 3 + 64)")
    assert found.after is not None
    assert found.after.endswith("(region 3 + 128)")


def test_regions_that_come_go_and_grow(tmp_path: Path) -> None:
    def change(capture: dict[str, Any], index: dict[str, Any]) -> None:
        index["regions"][1]["va"] -= 1 << 20
        index["regions"][1].update(size=3 << 20, pre=[fill(0x3F8000003F800000, 3 << 20)])
        index["regions"][2].update(symbol="biases")

    found = compared(made(tmp_path / "one"), made(tmp_path / "other", change=change))
    assert [str(change) for change in found.regions] == [
        "region 1: only before: 1048576 bytes at 0x7f2000000000",
        "region 2: only before: 64 bytes at 0x7f3000000000",
        "region 1: only after: 3145728 bytes at 0x7f1ffff00000",
        "region 2: only after: 64 bytes at 0x7f3000000000",
    ]
    assert found.contents == ()


def test_a_region_that_an_argument_names_and_that_grew(tmp_path: Path) -> None:
    def change(capture: dict[str, Any], index: dict[str, Any]) -> None:
        index["regions"][3]["size"] += 4096
        index["regions"][3]["pre"].append(fill(0, 4096))

    found = compared(made(tmp_path / "one"), made(tmp_path / "other", change=change))
    assert [str(one) for one in found.regions] == [f"region 3 (argument a): bytes: {16 * CHUNK} to {16 * CHUNK + 4096}"]
    assert found.contents == ()


def test_another_code_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without kerncap-isa on this machine the rest is compared all the same, and what is left out is said."""
    monkeypatch.setenv("KERNCAP_NATIVE_DIR", str(tmp_path / "nowhere"))

    def change(capture: dict[str, Any], index: dict[str, Any]) -> None:
        capture["code_object"].update(store(tmp_path / "other" / "capture", b"\x7fELF other"))

    one, other = made(tmp_path / "one"), made(tmp_path / "other", change=change)
    assert cli.run(["diff", str(one), str(other), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="diff")
    assert (document["same_code"], document["before"]) == (False, None)
    assert document["changes"] == ["the code objects are other bytes"]
    assert "kerncap-isa is not here" in document["code_remark"]
    assert cli.run(["diff", str(one), str(other)]) == 1
    said = capsys.readouterr()
    assert "code\n  other bytes\n" in said.out
    assert "kerncap-isa is not here" in said.err


def test_sources(tmp_path: Path) -> None:
    for name in ("one", "other"):
        made(tmp_path / name)
        (tmp_path / name / "src" / "root" / "app" / "scale.h").write_text(f"// {name}\n")
        seal(ReproducerLocation(tmp_path / name), LayoutLocation(tmp_path / f"{name}.sealed"))
    found = compared(tmp_path / "one.sealed", tmp_path / "other.sealed")
    assert found.changes == ["the source is another one"]
    assert compared(tmp_path / "one", tmp_path / "other.sealed").same_source is None


def test_of_a_registry_only_what_differs_is_fetched(
    tmp_path: Path, fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(before: bytearray, after: bytearray) -> None:
        for memory in (before, after):
            memory[5 * CHUNK] ^= 1

    for name, how in (("one", lambda before, after: None), ("other", edit)):
        made(tmp_path / name, edit=how)
        seal(ReproducerLocation(tmp_path / name), LayoutLocation(tmp_path / f"{name}.sealed"))
        push(open_bundle(str(tmp_path / f"{name}.sealed")), parse_reference(f"{fake.host}/a/b:{name}"))
    one, other = f"{fake.host}/a/b:one", f"{fake.host}/a/b:other"
    opened = [open_any(name) for name in (one, other)]
    documents = fake.sent_bytes
    fake.requests.clear()
    (found,) = diff_bundles(opened[0], opened[1], DiffOptions()).contents
    assert found.ranges == ((5 * CHUNK, 1),)
    assert fake.sent_bytes - documents < 3 * CHUNK  # a frame of each, of 32
    assert all("Range" in headers for _, _, headers in fake.requests)
    fake.requests.clear()
    assert cli.run(["diff", one, one]) == 0
    assert "the same call, code and memory" in capsys.readouterr().out
    assert cli.run(["diff", one, other]) == 1
    said = capsys.readouterr().out
    assert f"region 3 (argument a), before the dispatch: 1 differing byte in chunks of {CHUNK // 1024}.0 KiB" in said
    assert f"    {5 * CHUNK:#x}+0x1" in said
    assert cli.run(["diff", one, str(tmp_path / "other.sealed"), "--look", "0"]) == 1
    assert "not looked at (--look)" in capsys.readouterr().out


def test_many_regions_are_matched_in_no_time(tmp_path: Path) -> None:
    def change(shift: int) -> Callable[[dict[str, Any], dict[str, Any]], None]:
        def add(capture: dict[str, Any], index: dict[str, Any]) -> None:
            chunk = fill(0, 4096)
            base = 0x7E0000000000 + shift
            more = [region(base + i * 8192, 4096, [copy.copy(chunk)], []) for i in range(20_000)]
            index["regions"][:0] = more
            capture["kernarg"]["args"][0]["region"] += len(more)
            capture["write_set"] = None

        return add

    one = open_bundle(str(made(tmp_path / "one", change=change(0))))
    other = open_bundle(str(made(tmp_path / "other", change=change(4096))))
    assert len(match_regions(one, other)) == 20_004
