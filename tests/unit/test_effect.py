"""Whether a perturbed state made a difference to what the kernel writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.capture import Capture, WriteSet
from kerncap.bundle.content import read_after, read_before
from kerncap.errors import ReplayError
from kerncap.verdict.effect import makes_a_difference
from kerncap.verdict.infer import swapped_ranges
from kerncap.verdict.types import TypedRange


@pytest.fixture
def capture(reproducer: Path) -> Capture:
    # The dispatch writes bytes 0..8 and reads bytes 100..200.
    write_set = WriteSet("vgpu-trace", ((0, 0, 8),), ((0, 100, 100),))
    return replace(open_bundle(reproducer).capture, write_set=write_set)


def before(region: int, offset: int, length: int) -> bytes:
    return bytes(200)[offset : offset + length]


def after(region: int, offset: int, length: int) -> bytes:
    return (bytes([1] * 8) + bytes(192))[offset : offset + length]


def dump(folder: Path, content: bytes, ranges: list[list[int]]) -> Path:
    folder.mkdir()
    (folder / "changed.json").write_text(json.dumps({"schema": "kerncap.changed/1", "ranges": ranges}))
    (folder / "changed.bin").write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("content", "ranges", "perturbed", "expected"),
    [
        (b"\1" * 8, [[0, 0, 8, 0]], (0, 100, 96, "f32"), False),
        (b"\1" * 7 + b"\2", [[0, 0, 8, 0]], (0, 100, 96, "f32"), True),
        # Beyond what it writes nothing counts: the dump joins ranges.
        (b"\1" * 8 + b"\2" * 4, [[0, 0, 12, 0]], (0, 100, 96, "f32"), False),
        # What the application's dispatch changed stays as it was.
        (b"\1" * 4, [[0, 0, 4, 0]], (0, 100, 96, "f32"), True),
        (b"\1" * 4, [[0, 0, 4, 0]], (0, 4, 4, "f32"), True),
        (b"", [[0, 0, 8, 0]], (0, 100, 96, "f32"), True),
    ],
)
def test_what_is_written_differs(
    capture: Capture,
    tmp_path: Path,
    content: bytes,
    ranges: list[list[int]],
    perturbed: TypedRange,
    expected: bool,
) -> None:
    folder = dump(tmp_path / "dump", content, ranges)
    assert makes_a_difference(capture, folder, [perturbed], before, after) is expected


def test_an_unknown_write_set_is_never_in_vain(capture: Capture, tmp_path: Path) -> None:
    assert makes_a_difference(replace(capture, write_set=None), tmp_path, [], before, after)
    with pytest.raises(ReplayError):
        makes_a_difference(capture, tmp_path, [], before, after)


def test_floats_change_places_unless_they_are_sorted(capture: Capture, reproducer: Path) -> None:
    import struct

    index = open_bundle(reproducer).index
    rising = struct.pack("<25f", *range(25))
    mixed = struct.pack("<25f", *(i * 7 % 25 for i in range(25)))
    known = ((0, 100, 96, "f32"),)

    def swapped(data: bytes) -> tuple[TypedRange, ...]:
        return swapped_ranges(capture, index, lambda region, offset, length: data[offset - 100 :][:length], known)

    assert swapped(rising) == ()
    assert swapped(mixed) == ((0, 104, 88, "pair32"),)


def test_bytes_after_the_dispatch(reproducer: Path) -> None:
    bundle: Bundle = open_bundle(reproducer)
    changed = 0
    for number, region in enumerate(bundle.index.regions):
        old, new = (read(bundle, number, 0, region.size) for read in (read_before, read_after))
        assert len(old) == len(new) == region.size
        places = {at for chunk in region.post for at in range(chunk.at, chunk.at + chunk.length)}
        assert all(i in places for i in range(region.size) if old[i] != new[i])
        changed += old != new
    assert changed
