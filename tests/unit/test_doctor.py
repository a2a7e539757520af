"""Doctor: each check says how things are and what mends them; exit code 3 only when nothing can replay."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kerncap.cli import main as cli
from kerncap.runtime import doctor
from kerncap.runtime.doctor import Check, Report

NAMES = ("docker", "sandbox", "images", "gpu", "hsa-runtime", "native-files", "disk")
GOOD = {name: Check(name, "ok", "fine") for name in NAMES}


def report(**bad: Check) -> Report:
    return Report(tuple((GOOD | {check.name: check for check in bad.values()}).values()))


def test_without_an_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    engine, sandbox, images = doctor._docker()
    assert (engine.state, sandbox.state, images.state) == ("fail", "fail", "fail")
    assert engine.mend == "unset DOCKER_HOST  # or name an engine that answers"
    assert images.mend == "kerncap image build"


def test_an_engine_that_cannot_hold_containers_to_limits() -> None:
    good = {"MemoryLimit": True, "PidsLimit": True, "SecurityOptions": ["name=seccomp,profile=default"]}
    assert doctor._sandbox(good).state == "ok"
    for lack, word in (({"MemoryLimit": False}, "memory"), ({"PidsLimit": False}, "processes")):
        check = doctor._sandbox(good | lack)
        assert check.state == "warn"
        assert word in check.detail
        assert check.mend
    assert "seccomp" in doctor._sandbox(good | {"SecurityOptions": None}).detail


def test_every_lack_has_what_mends_it() -> None:
    for check in doctor.examine().checks:
        assert check.state == "ok" or check.mend, check


def test_what_follows() -> None:
    assert report().can == {"hold": True, "run": True, "replay": True, "capture": True}
    no_hsa = report(a=Check("hsa-runtime", "warn", "none", "x"))
    assert no_hsa.can["run"]
    assert not no_hsa.can["replay"]
    some_images = report(a=Check("images", "warn", "one is missing", "make images"))
    assert some_images.can["run"]
    assert not report(a=Check("images", "fail", "none", "make images")).can["run"]


def test_native_files_named_but_incomplete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNCAP_NATIVE_DIR", str(tmp_path))
    (tmp_path / "libkerncap.so").write_bytes(b"")
    check = doctor._native_files()
    assert check.state == "fail"
    assert "kerncap-replay" in check.detail
    for name in ("kerncap-isa", "kerncap-replay", "libkerncap-vgpu.so"):
        (tmp_path / name).write_bytes(b"")
    assert doctor._native_files().state == "ok"


@pytest.mark.skipif(os.getuid() == 0, reason="root may open every device node")
def test_gpu_without_access(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    node = tmp_path / "kfd"
    node.write_bytes(b"")
    node.chmod(0)
    monkeypatch.setattr(doctor, "_KFD", node)
    monkeypatch.setattr(doctor, "_DRI", tmp_path / "dri")
    check = doctor._gpu()
    assert check.state == "fail"
    assert "usermod -aG" in (check.mend or "")


def test_low_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 0

    for free, state in ((100 << 30, "ok"), (5 << 30, "warn"), (1 << 20, "fail")):
        Usage.free = free
        monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: Usage)
        assert doctor._disk().state == state


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = report(a=Check("docker", "fail", "none", "scripts/setup"), b=Check("native-files", "warn", "none", "x"))
    monkeypatch.setattr(doctor, "examine", lambda: nothing)
    assert cli.run(["doctor", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "kerncap.doctor/1"
    assert document["can"]["run"] is False
    assert {"name", "state", "detail", "mend"} == set(document["checks"][0])
    monkeypatch.setattr(doctor, "examine", report)
    assert cli.run(["doctor"]) == 0
    assert "yes  replay in a container" in capsys.readouterr().out
