"""Doctor: each check says how things are and what mends them; exit code 3 only when nothing can replay."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fake_registry import Fake
from registry_server import PROGRAM, running_registry

from kerncap.bundle.documents import validate
from kerncap.cli import main as cli
from kerncap.errors import HostError
from kerncap.runtime import doctor
from kerncap.runtime.doctor import Check, Host, Report, disk, engines, software
from kerncap.transport.reference import parse_reference
from kerncap.workflows import doctor as workflow

NAMES = ("docker", "sandbox", "images", "kernel-driver", "hsa-runtime", "native-files", "disk")
GOOD = {name: Check(name, "ok", "fine") for name in NAMES}


def report(**bad: Check) -> Report:
    return Report(tuple((GOOD | {check.name: check for check in bad.values()}).values()))


def test_without_an_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    engine, sandbox, seccomp, images = engines.docker_checks(Host())
    assert {engine.state, sandbox.state, seccomp.state, images.state} == {"fail"}
    assert engine.mend == "unset DOCKER_HOST  # or name an engine that answers"
    assert images.mend == "kerncap image build"


def test_an_engine_that_cannot_hold_containers_to_limits() -> None:
    good = {"MemoryLimit": True, "PidsLimit": True, "SecurityOptions": ["name=seccomp,profile=default"]}
    assert engines.sandbox(good).state == "ok"
    for lack, word in (({"MemoryLimit": False}, "memory"), ({"PidsLimit": False}, "processes")):
        check = engines.sandbox(good | lack)
        assert check.state == "warn"
        assert word in check.detail
        assert check.mend
    rootless = good | {"MemoryLimit": False, "SecurityOptions": ["name=rootless"]}
    assert "Delegate=" in str(engines.sandbox(rootless).mend)


@pytest.mark.parametrize(
    ("options", "state"),
    [
        (["name=apparmor", "name=seccomp,profile=default"], "ok"),
        (["name=seccomp,profile=builtin"], "ok"),
        (["name=seccomp,profile=/etc/docker/own.json"], "ok"),
        (["name=seccomp,profile=unconfined"], "warn"),
        (["name=apparmor"], "warn"),
        (None, "warn"),
    ],
)
def test_seccomp(options: list[str] | None, state: str) -> None:
    check = engines.seccomp({"SecurityOptions": options})
    assert check.state == state
    assert state == "ok" or check.mend


PODMAN = {
    "host": {
        "cgroupControllers": ["cpu", "io", "memory", "pids"],
        "cgroupVersion": "v2",
        "security": {"rootless": True, "seccompEnabled": True},
    },
    "version": {"Version": "5.4.2"},
}


def test_podman() -> None:
    check = engines.podman_says(json.dumps(PODMAN).encode())
    assert check.state == "ok"
    assert check.detail.startswith("podman 5.4.2, rootless, cgroup v2")
    host = PODMAN["host"]
    bare = PODMAN | {"host": host | {"cgroupControllers": []}}
    assert "no limits of cpu, memory, pids" in engines.podman_says(json.dumps(bare).encode()).detail
    open_ = PODMAN | {"host": host | {"security": {"rootless": True, "seccompEnabled": False}}}
    assert engines.podman_says(json.dumps(open_).encode()).state == "warn"
    for broken in (b"", b"[]", b"{}", b'{"host": 1, "version": 2}'):
        check = engines.podman_says(broken, "Error: no runtime\n")
        assert (check.state, check.mend) == ("warn", "podman info")
        assert "no runtime" in check.detail


def test_the_engines_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "var/lib/docker").mkdir(parents=True)
    info = {"DockerRootDir": "/var/lib/docker"}
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    (check,) = engines.engine_disk(info, Host(root=tmp_path))
    assert check.name == "engine-disk"
    assert engines.engine_disk(info, Host(root=tmp_path / "other")) == []
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere:2375")
    assert engines.engine_disk(info, Host(root=tmp_path)) == []


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
    check = software.native_files()
    assert check.state == "fail"
    assert "kerncap-replay" in check.detail
    for name in ("kerncap-isa", "kerncap-replay", "libkerncap-vgpu.so"):
        (tmp_path / name).write_bytes(b"")
    assert software.native_files().state == "ok"


def test_low_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 0

    for free, state in ((100 << 30, "ok"), (5 << 30, "warn"), (1 << 20, "fail")):
        Usage.free = free
        monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage)
        assert disk.disk().state == state
        assert disk.room_for(8 << 30).state == ("ok" if free > 8 << 30 else "fail")


def test_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = disk.free_in("disk", [tmp_path / "gone"])
    assert (check.state, check.mend) == ("fail", f"ls -ld {tmp_path}/gone")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    here.rmdir()
    assert disk.disk().state == "fail"


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = report(a=Check("docker", "fail", "none", "scripts/setup"), b=Check("native-files", "warn", "none", "x"))
    monkeypatch.setattr(doctor, "examine", lambda *a, **more: nothing)
    assert cli.run(["doctor", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "kerncap.doctor/1"
    assert document["can"]["run"] is False
    assert {"name", "state", "detail", "mend"} == set(document["checks"][0])
    monkeypatch.setattr(doctor, "examine", lambda *a, **more: report())
    assert cli.run(["doctor"]) == 0
    assert "yes  replay in a container" in capsys.readouterr().out


@pytest.fixture
def good_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda *a, **more: report())


@pytest.mark.usefixtures("good_host")
@pytest.mark.parametrize("form", ["layout", "tar_file", "reproducer"])
def test_a_bundle(form: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(request.getfixturevalue(form))
    assert cli.run(["doctor", path, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="doctor")
    assert document["bundle"] == path
    assert document["device"].startswith("vgpu:")
    names = [check["name"] for check in document["of_bundle"]]
    assert names == ["target", "target-id", "memory", "vram", "addresses", "maps", "limits"]
    assert cli.run(["doctor", path]) == 0
    assert f"{path} on vgpu:" in capsys.readouterr().out


@pytest.mark.usefixtures("good_host")
def test_a_bundle_that_cannot_be_replayed_is_3(layout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["doctor", f"oci:{layout}", "--device", "vgpu:gfx1201", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="doctor")
    assert document["can"] == {"hold": True, "run": False, "replay": False, "capture": True}
    (check,) = document["of_bundle"]
    assert (check["name"], check["state"]) == ("target", "fail")
    assert "what works: a GPU that is a " in check["detail"]


def test_names_that_are_none_are_usage_errors(tmp_path: Path) -> None:
    assert cli.run(["doctor", str(tmp_path / "none"), "--json"]) == 2
    assert cli.run(["doctor", "--device", "cpu"]) == 2


@pytest.mark.usefixtures("good_host")
def test_a_bundle_that_is_damaged_is_4(layout: Path) -> None:
    (layout / "index.json").write_text("{")
    assert cli.run(["doctor", f"oci:{layout}", "--json"]) == 4


def registry_check(found: Report) -> Check:
    check = found.of_bundle[0]
    assert check.name == "registry"
    assert not found.works
    assert check.mend
    return check


@pytest.mark.usefixtures("good_host", "nothing_of_the_user")
def test_a_registry_that_is_dead() -> None:
    check = registry_check(workflow.examine("127.0.0.1:1/a/b:1"))
    assert check.detail.startswith("the registry is dead, or a firewall is between: ")


@pytest.mark.usefixtures("good_host", "nothing_of_the_user")
def test_a_registry_that_has_it_not(fake: Fake) -> None:
    check = registry_check(workflow.examine(f"{fake.host}/a/b:1"))
    assert check.detail.startswith("the registry lives and does not have it: ")


@pytest.mark.skipif(PROGRAM is None, reason="no docker-registry here")
@pytest.mark.usefixtures("good_host", "nothing_of_the_user")
def test_a_registry_that_wants_a_password(tmp_path: Path) -> None:
    with running_registry(tmp_path / "registry", with_password=True) as host:
        check = registry_check(workflow.examine(f"{host}/a/b:1"))
        assert check.detail.startswith("the registry lives and refuses these credentials: ")
        assert check.mend == f"docker login {host}"


@pytest.mark.skipif(PROGRAM is None, reason="no docker-registry here")
@pytest.mark.usefixtures("good_host", "nothing_of_the_user")
def test_a_registry_whose_certificate_nobody_trusts(tmp_path: Path) -> None:
    with running_registry(tmp_path / "registry", with_tls=True) as host:
        check = registry_check(workflow.examine(f"{host}/a/b:1"))
        assert check.detail.startswith("the registry lives, but TLS with it does not come about: ")
        assert str(check.mend).startswith("export REQUESTS_CA_BUNDLE=")


@pytest.mark.usefixtures("good_host", "nothing_of_the_user")
def test_a_bundle_in_a_registry(tar_file: Path, fake: Fake) -> None:
    from kerncap.bundle import open_bundle
    from kerncap.transport import push

    push(open_bundle(str(tar_file)), parse_reference(f"{fake.host}/a/b:1"))
    fake.requests.clear()
    found = workflow.examine(f"{fake.host}/a/b:1")
    assert found.works
    assert [check.name for check in found.of_bundle][:3] == ["registry", "room", "target"]
    blobs = [path for method, path, _ in fake.requests if method == "GET" and "/blobs/" in path]
    assert len(blobs) <= 2, "config and index only"


def test_an_error_of_a_check() -> None:
    error = Check("maps", "fail", "too many", "sysctl").error()
    assert isinstance(error, HostError)
    assert (error.code, error.message, error.hint) == ("host.maps", "maps: too many", "sysctl")


def test_what_fails_of_the_bundle_stops_both_ways() -> None:
    bad = replace(report(), of_bundle=(Check("maps", "fail", "x", "y"),))
    assert (bad.can["run"], bad.can["replay"], bad.works) == (False, False, False)
    assert replace(report(), of_bundle=(Check("maps", "warn", "x", "y"),)).works
