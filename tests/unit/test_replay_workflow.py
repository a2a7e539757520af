"""The replay workflow around kerncap-replay: hosts without it, and each way in which it can end.

A shell script stands in for kerncap-replay; the e2e tests run the real one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from synthetic import RUN

from kerncap import native
from kerncap.bundle import open_bundle
from kerncap.errors import HostError, ReplayError, UsageError
from kerncap.runtime import doctor
from kerncap.workflows.replay import Options, judge


def answer(*runs: dict[str, Any], **changes: Any) -> str:
    device = {"agent": "gfx942", "isa": "amdgcn-amd-amdhsa--gfx942", "product": "p"}
    document = {"schema": "kerncap.replay-result/1", "status": "ok", "error": None, "device": device}
    return json.dumps(document | {"runs": list(runs), "duration_s": 0.1} | changes)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A native directory whose kerncap-replay is the script that the test writes."""
    folder = tmp_path / "native"
    folder.mkdir()
    (folder / "libkerncap-vgpu.so").touch()
    monkeypatch.setenv(native.NATIVE_DIR_VARIABLE, str(folder))
    monkeypatch.setattr(native, "real_gpus", lambda: [])
    return folder / "kerncap-replay"


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_a_host_without_native_files_is_told_of_the_container(
    reproducer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(native.NATIVE_DIR_VARIABLE, "/nowhere")
    monkeypatch.setattr(native, "real_gpus", lambda: [])
    with pytest.raises(HostError) as error:
        judge(str(reproducer), Options())
    assert error.value.exit_code == 3
    assert error.value.hint == f"kerncap run {reproducer}"


def test_a_host_without_hsa_runtime_is_told_of_the_container(reproducer: Path, stand_in: Path) -> None:
    script(stand_in, 'echo "kerncap-replay: error while loading shared libraries: libhsa-runtime64.so.1" >&2; exit 127')
    with pytest.raises(HostError) as error:
        judge(str(reproducer), Options())
    assert error.value.code == "host.no-hsa-runtime"
    assert error.value.hint == f"kerncap run {reproducer}"


def test_the_request_names_everything_that_replay_needs(reproducer: Path, stand_in: Path, tmp_path: Path) -> None:
    script(
        stand_in,
        f'cp "$1" {tmp_path}/request.json; echo "$KERNCAP_VGPU" > {tmp_path}/device; echo \'{answer(RUN)}\' > "$2"',
    )
    verdict = judge(str(reproducer), Options(withhold_variables=True, iterations=3))
    assert verdict.verdict == "faithful"
    assert verdict.bundle is None
    assert (tmp_path / "device").read_text().strip() == "gfx942"
    request = json.loads((tmp_path / "request.json").read_text())
    assert request["schema"] == "kerncap.replay-request/1"
    assert request["withhold_variables"] is True
    assert request["runs"][0]["iterations"] == 3
    for blob in request["blobs"].values():
        assert Path(blob["path"]).stat().st_size >= blob["offset"] + blob["size"]


def test_a_sealed_bundle_gives_its_digest(layout: Path, stand_in: Path) -> None:
    script(stand_in, f"echo '{answer(RUN)}' > \"$2\"")
    assert str(judge(f"oci:{layout}", Options()).bundle).startswith("sha256:")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("kill -SEGV $$", "replay.crashed"),
        ("exit 6", "replay.crashed"),
        ('echo "{" > "$2"', "replay.bad-result"),
        (f"echo '{answer()}' > \"$2\"", "replay.bad-result"),
        (
            "echo '"
            + answer(status="error", error={"code": "vgpu.unimplemented-instruction", "message": "m", "hint": "h"})
            + '\' > "$2"; exit 6',
            "vgpu.unimplemented-instruction",
        ),
    ],
)
def test_replays_that_fail(reproducer: Path, stand_in: Path, body: str, code: str) -> None:
    script(stand_in, body)
    with pytest.raises(ReplayError) as error:
        judge(str(reproducer), Options())
    assert error.value.code == code
    assert error.value.exit_code == 6


def test_the_virtual_gpus_reason_comes_first(reproducer: Path, stand_in: Path) -> None:
    failed = answer(status="error", error={"code": "replay.queue-error", "message": "queue error", "hint": None})
    line = "kerncap-vgpu: vgpu.unimplemented-instruction: gfx942 scale pc=0x7f00 words=d3e80000: v_x"
    script(stand_in, f"echo '{line}' >&2; echo '{failed}' > \"$2\"; exit 6")
    with pytest.raises(ReplayError) as error:
        judge(str(reproducer), Options())
    assert error.value.code == "vgpu.unimplemented-instruction"
    assert "words=d3e80000" in error.value.message


def test_what_is_no_code_object_is_refused_before_anything_runs(
    reproducer: Path, stand_in: Path, tmp_path: Path
) -> None:
    script(stand_in, f"touch {tmp_path}/ran")
    for content in (b"__CLANG_OFFLOAD_BUNDLE__....", b"int main() {}", b""):
        (tmp_path / "v").write_bytes(content)
        with pytest.raises(UsageError):
            judge(str(reproducer), Options(hsaco=tmp_path / "v"))
    with pytest.raises(UsageError):
        judge(str(reproducer), Options(hsaco=tmp_path / "missing"))
    assert not (tmp_path / "ran").exists()


def test_a_check_on_a_real_gpu_is_refused_by_name(
    reproducer: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(stand_in, "exit 1")
    target = native.target_of_isa(open_bundle(str(reproducer)).capture.code_object.isa)
    monkeypatch.setattr(native, "real_gpus", lambda: [native.Gpu(0, target, 1)])
    monkeypatch.setattr(doctor, "require", lambda need, device: None)  # as if its device nodes were here
    with pytest.raises(UsageError) as error:
        judge(str(reproducer), Options(check="race"))
    assert error.value.code == "usage.check-needs-vgpu"
    assert error.value.hint == f"--device vgpu:{target}"
    assert "--check race" in error.value.message
