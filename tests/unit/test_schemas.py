"""The JSON Schemas of what native and Python exchange: what the code writes obeys them, what is wrong does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kerncap.bundle.documents import validate
from kerncap.errors import BundleError, ReplayError, TransportError
from kerncap.native import ReplayRun, replay_request
from kerncap.results import (
    CheckResult,
    Finding,
    Judgement,
    Mismatch,
    Site,
    Verdict,
    parse_replay_result,
    parse_verdict,
)

_HERE = Path("/somewhere")
_DIGEST = "sha256:" + "a" * 64
_MISMATCH = {"region": 0, "region_va": 4096, "offset": 8, "length": 2, "expected": "0000", "actual": "0100"}


def _request(**changes: Any) -> dict[str, Any]:
    runs = [
        ReplayRun(),
        ReplayRun(hsaco=_HERE / "v.hsaco", poisoned=((0, 0, 8),)),
        ReplayRun(perturbed=((0, 0, 8, "f32"),), expect_post=False, dump=_HERE / "dump"),
        ReplayRun(hsaco=_HERE / "v.hsaco", perturbed=((0, 0, 8, "f32"),), expect_dump=_HERE / "dump"),
    ]
    blobs = {_DIGEST: {"path": "/b", "offset": 0, "size": 5}}
    return replay_request(_HERE / "capture.json", _HERE / "index.json", blobs, runs) | changes


def _result(**changes: Any) -> dict[str, Any]:
    run = {
        "iterations": 1,
        "kernel_object_va": 4096,
        "bytes_compared": 1000,
        "changed_bytes": 40,
        "mismatch_bytes": 2,
        "mismatches": [_MISMATCH],
        "iterations_agree": True,
        "noise": [[0, 0, 4]],
        "variables": [[2, 4096]],
        "fault": {"va": 4096, "kind": "memory"},
        "timing_ns": [5],
    }
    document = {
        "schema": "kerncap.replay-result/1",
        "status": "ok",
        "error": None,
        "device": {"agent": "gfx942", "isa": "amdgcn-amd-amdhsa--gfx942", "product": "p"},
        "runs": [run],
        "duration_s": 0.5,
    }
    return document | changes


_SITE = Site(4096, "ds_read_b32 v0, v1", (1, 2, 3), 4, 5, "a.hip:6")
_FINDING = Finding("race", "race-in-workgroup", False, 7, "m", _SITE, _SITE, "lds", 8, 4, None, None)
_CHECKS = CheckResult(("race",), (_FINDING,), ("l",), 9)


def _verdict(**changes: Any) -> dict[str, Any]:
    verdict = Verdict(
        verdict="differs",
        passed=False,
        bundle=_DIGEST,
        kernel="k",
        device="vgpu:gfx942",
        hsaco=None,
        changed_bytes=4,
        written_bytes=None,
        bytes_compared=100,
        judgements=(Judgement("captured", False, False, 2),),
        not_judged={"poisoned": "the write set is unknown"},
        mismatches=(Mismatch(**_MISMATCH),),  # type: ignore[arg-type]
        mismatch_bytes=2,
        iterations=1,
        noise_bytes=0,
        timing_ns=(5,),
        duration_s=0.1,
        checks=_CHECKS,
    )
    return verdict.to_json() | changes


def test_what_the_code_writes_is_valid() -> None:
    validate(_request(), "replay-request", what="request")
    validate(_result(), "replay-result", what="result")
    validate(_verdict(), "verdict", what="verdict")
    validate(TransportError("m", code="transport.tls", hint="h").to_json(), "error", what="error")
    assert parse_replay_result(_result()).runs[0].fault_va == 4096
    assert parse_verdict(_verdict()).checks == _CHECKS
    assert parse_verdict(_verdict(verdict="faithful", passed=True)).exit_code == 1
    assert parse_verdict(_verdict(verdict="faithful", passed=True, checks=None)).exit_code == 0
    assert parse_verdict(_verdict(checks=None)).exit_code == 1


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ("replay-request", _request(runs=[])),
        ("replay-request", _request(capture="relative.json")),
        ("replay-request", _request(blobs={"md5:1": {"path": "/b", "offset": 0, "size": 5}})),
        ("replay-result", _result(status="fine")),
        ("replay-result", _result(error={"code": "No Dots", "message": "m"})),
        ("verdict", _verdict(verdict="perfect")),
        ("verdict", _verdict(verdict="within-tolerance", bytes_compared=0)),
        ("verdict", _verdict(judged=[])),
        ("verdict", _verdict(checks={"checks": ["warp"]})),
        ("verdict", _verdict(mismatches=[_MISMATCH] * 17)),
        ("error", {"schema": "kerncap.error/1", "code": "x"}),
    ],
)
def test_what_is_wrong_is_refused(schema: str, document: dict[str, Any]) -> None:
    with pytest.raises(BundleError):
        validate(document, schema, what=schema)


@pytest.mark.parametrize(
    ("word", "passed", "read"),
    [
        ("differs", True, False),
        ("faithful", False, False),
        ("equivalent", False, False),
        ("within-tolerance", False, False),
        ("splendid", True, False),
        ("differs", False, True),
        ("faithful", True, True),
        ("nondeterministic", True, True),
        ("nondeterministic", False, True),
    ],
)
def test_a_verdict_does_not_contradict_itself(word: str, passed: bool, read: bool) -> None:
    """Whoever reads one, from a container or a file, must not take `differs` for good."""
    document = _verdict(verdict=word, passed=passed)
    if read:
        assert parse_verdict(document).passed is passed
        return
    with pytest.raises(ReplayError) as caught:
        parse_verdict(document)
    assert caught.value.code == "replay.bad-result"
