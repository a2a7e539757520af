"""inspect: typed arguments, memory by class, secrets; the text is escaped, the JSON is complete."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from synthetic import read_json, write_json

from kerncap.bundle import open_bundle
from kerncap.cli import main as cli
from kerncap.cli.bundle_text import describe_json, trigger_text
from kerncap.verdict.arguments import argument_types, argument_value


def _with_arguments(reproducer: Path, demangled: str, arguments: list[tuple[bytes, str, str]]) -> Any:
    """A capture with these arguments: raw bytes, kind, type of the metadata."""
    path = reproducer / "capture" / "capture.json"
    document = read_json(path)
    data, nodes = b"", []
    for raw, kind, type_name in arguments:
        nodes.append({"offset": len(data), "size": len(raw), "kind": kind, "name": "", "type": type_name})
        data += raw
    document["kernel"]["demangled"] = demangled
    document["kernarg"] = {"size": len(data), "bytes": data.hex(), "args": nodes}
    write_json(path, document)
    return open_bundle(str(reproducer)).capture


def test_types_come_from_metadata_else_from_the_name(reproducer: Path) -> None:
    capture = _with_arguments(
        reproducer,
        "void k<3>(float const*, int, float, unsigned char, S)",
        [
            (struct.pack("<Q", 0x1234), "global_buffer", ""),
            (struct.pack("<i", -5), "by_value", ""),
            (struct.pack("<f", 1.5), "by_value", ""),
            (b"\xff", "by_value", ""),
            (bytes(range(12)), "by_value", ""),
            (struct.pack("<I", 7), "hidden_block_count_x", ""),
        ],
    )
    types = argument_types(capture)
    values = [argument_value(capture, a, types.get(a.offset, "")) for a in capture.kernarg.args]
    assert values == ["0x1234", "-5", "1.5", "255", "000102030405060708090a0b", "7"]
    assert list(types.values()) == ["float const*", "int", "float", "unsigned char", "S"]


def test_a_name_that_does_not_fit_gives_no_types(reproducer: Path) -> None:
    capture = _with_arguments(reproducer, "k(int)", [(b"\1\2\3\4", "by_value", ""), (b"\0" * 8, "by_value", "double")])
    assert argument_types(capture) == {4: "double"}
    assert argument_value(capture, capture.kernarg.args[0], "") == "01020304"


def test_inspect_escapes_what_a_bundle_says(reproducer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = reproducer / "capture" / "capture.json"
    document = read_json(path)
    document["kernel"]["demangled"] = "evil\x1b]0;owned\x07\nfake: line"
    document["runtime"]["tool"] = "\u202egnp.exe"
    write_json(path, document)
    assert cli.run(["inspect", str(reproducer), "-v"]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "evil\\x1b]0;owned\\x07\\nfake: line" in text
    assert cli.run(["inspect", str(reproducer), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernel"]["demangled"].startswith("evil\x1b")


def test_the_json_counts_memory_by_class(layout: Path) -> None:
    document = describe_json(open_bundle(str(layout)))
    assert document["memory"]["pool, device"] == {
        "regions": 2,
        "bytes": 24096 + (1 << 20),
        "changed_chunk_bytes": 20000,
    }
    assert document["memory"]["variable, device"]["bytes"] == 64
    assert document["source_files"] == 3
    assert document["arguments"][0]["region"] == 0
    json.dumps(document)


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        ({"predicate": "arg[n]>9", "argument": "n", "value": 10}, "arg[n]>9 (n is 10)"),
        ({"predicate": "slower-than=3ms", "dispatch_ns": 4000000, "candidates": 1}, "slower-than=3ms (4000000 ns)"),
        (
            {"predicate": "slower-than=2x", "dispatch_ns": 50, "median_ns": 20},
            "slower-than=2x (50 ns, median 20 ns)",
        ),
        (
            {"predicate": "nan", "argument": "out", "type": "f16", "count": 3, "first_va": 4096},
            "nan (3 f16 of out, the first at 0x1000)",
        ),
        ({"predicate": "fault", "first_va": 8192}, "fault (at 0x2000)"),
    ],
)
def test_what_a_capture_was_made_for(trigger: dict[str, object], text: str) -> None:
    assert trigger_text(trigger) == text
