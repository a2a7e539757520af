"""The conformance cases that concern index.json and capture.json, through the native reader (kerncap-replay)."""

from __future__ import annotations

import json
from pathlib import Path

import more_cases
import pytest
from cases import CAPTURE, INDEX, SEQUENCE, VALID, VERSIONS, Case, build
from containers import DevContainer
from craft import Parts, dump
from synthetic import store, write_json

from kerncap.native import ReplayRun, replay_request

# What the native reader never sees: layers that Python decompresses, and what Python alone checks.
_PYTHON_ONLY = {"index-bomb", "index-not-zstd", "index-cut", "record-holds-more", "write-set-outside"}
# These are refused later, when the device or the code object is known.
_PYTHON_ONLY |= {"isa-of-another-maker", "argument-outside", "argument-region-unknown"}
# Of the manifest, and of what no replay needs.
_PYTHON_ONLY |= {"code-object-of-no-layer", "code-object-size-lies", "device-of-another-class"}
_PYTHON_ONLY |= {"noise-outside", "read-first-of-no-region", "argument-behind-its-region"}
_EVERY = (*INDEX, *CAPTURE, *SEQUENCE, *more_cases.INDEX, *more_cases.CAPTURE)
_CASES = [case for case in _EVERY if case.name not in _PYTHON_ONLY]
_CASES += [case for case in VERSIONS if case.name in ("index-schema-2", "capture-schema-2")]


def _refusal(parts: Parts, container: DevContainer, folder: Path) -> tuple[int, str]:
    """Exit code and error code of a replay of a capture directory made of these parts."""
    write_json(folder / "capture.json", parts.capture)
    (folder / "index.json").write_bytes(parts.change_index_json(dump(parts.index)))
    blobs = {}
    for data in (parts.hsaco, *parts.more_hsacos, *parts.blobs):
        node = store(folder, data)
        place = folder / "blobs" / "sha256" / node["digest"].removeprefix("sha256:")
        blobs[node["digest"]] = {"path": str(place), "offset": 0, "size": node["size"]}
    request = replay_request(folder / "capture.json", folder / "index.json", blobs, [ReplayRun()], timeout_s=20)
    write_json(folder / "request.json", request)
    native = container.native_dir
    program = [native / "kerncap-replay", folder / "request.json", folder / "result.json"]
    env = {"KERNCAP_VGPU": "gfx942", "LD_PRELOAD": str(native / "libkerncap-vgpu.so")}
    done = container.run(program, env=env, timeout_s=60)
    return done.returncode, json.loads((folder / "result.json").read_text())["error"]["code"]


def test_a_sound_capture_gets_as_far_as_its_code_object(dev_container: DevContainer, tmp_path: Path) -> None:
    """Its 64 bytes are no real code object: the documents before it were accepted."""
    assert _refusal(build(Case("sound", lambda parts: None)), dev_container, tmp_path) == (4, "bundle.bad-code-object")


@pytest.mark.parametrize("case", [case for case in VALID if "shuffled" in case.name], ids=lambda case: case.name)
def test_both_readers_know_the_widths(case: Case, dev_container: DevContainer, tmp_path: Path) -> None:
    assert _refusal(build(case), dev_container, tmp_path) == (4, "bundle.bad-code-object")


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_both_readers_refuse_alike(case: Case, dev_container: DevContainer, tmp_path: Path) -> None:
    assert _refusal(build(case), dev_container, tmp_path) == (4, case.code)
