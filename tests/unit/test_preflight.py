"""The doctor's checks before every replay and run: nothing is started where one fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_host import Builder
from fake_registry import Fake

from kerncap import native
from kerncap.bundle import open_bundle
from kerncap.errors import HostError
from kerncap.runtime import containers
from kerncap.runtime.doctor import bundle_checks
from kerncap.transport import push
from kerncap.transport.reference import parse_reference
from kerncap.workflows import run as run_workflow
from kerncap.workflows.launcher import Launcher
from kerncap.workflows.preflight import checked_device, require_for_container
from kerncap.workflows.replay import Options, judge
from kerncap.workflows.run import RunOptions
from kerncap.workflows.session import Session

DEBUGGER = Launcher(("/usr/bin/gdb", "--args"))


@pytest.fixture
def few_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that cannot hold the bundle's ranges."""
    built = Builder(tmp_path / "host")
    built.write("/proc/sys/vm/max_map_count", "1\n")
    monkeypatch.setattr(bundle_checks, "Host", built.host)
    monkeypatch.setattr(native, "real_gpus", lambda *where: [])


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Exists once kerncap-replay or a container was started."""
    mark, folder = tmp_path / "started", tmp_path / "native"
    folder.mkdir()
    (folder / "libkerncap-vgpu.so").touch()
    (folder / "kerncap-replay").write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n")
    (folder / "kerncap-replay").chmod(0o755)
    monkeypatch.setenv(native.NATIVE_DIR_VARIABLE, str(folder))

    def run(*a: object, **more: object) -> None:
        mark.touch()
        raise AssertionError("a container was started")

    monkeypatch.setattr(containers, "run", run)
    return mark


@pytest.mark.usefixtures("few_maps")
def test_replay_run_and_session_do_not_begin(layout: Path, started: Path) -> None:
    name = f"oci:{layout}"
    for begin in (
        lambda: judge(name, Options()),
        lambda: judge(name, Options(launcher=DEBUGGER)),
        lambda: run_workflow.run(name, RunOptions()),
        lambda: Session(name).evaluate(),
    ):
        with pytest.raises(
            HostError, match=r"^maps: \d+ ranges of captured addresses, vm.max_map_count is 1$"
        ) as error:
            begin()
        assert (error.value.code, error.value.exit_code) == ("host.maps", 3)
        assert not started.exists()


@pytest.mark.usefixtures("few_maps", "nothing_of_the_user")
def test_of_a_reference_no_memory_is_fetched(tar_file: Path, fake: Fake, started: Path) -> None:
    bundle = open_bundle(str(tar_file))
    push(bundle, parse_reference(f"{fake.host}/a/b:1"))
    fake.requests.clear()
    data = {blob.digest for blob in bundle.data_blobs}
    for begin in (
        lambda: judge(f"{fake.host}/a/b:1", Options()),
        lambda: run_workflow.run(f"{fake.host}/a/b:1", RunOptions()),
    ):
        with pytest.raises(HostError, match=r"^maps: "):
            begin()
    asked = {path.rsplit("/", 1)[1] for method, path, _ in fake.requests if method == "GET"}
    assert asked
    assert not asked & data
    assert not started.exists()


def test_under_a_launcher_a_named_gpu_is_perhaps_its_own(layout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "real_gpus", lambda *where: [])
    bundle = open_bundle(f"oci:{layout}")
    with pytest.raises(HostError) as error:
        checked_device(bundle, "gpu")
    assert error.value.code == "host.no-gpu"
    assert checked_device(bundle, "gpu", DEBUGGER) == (native.Device("gpu"), None)
    device, _ = checked_device(bundle, "auto", DEBUGGER)
    assert device.kind == "vgpu"
    device, _ = checked_device(bundle, "auto", Launcher(("/opt/rocm/bin/rocjitsu", "--")))
    assert device == native.Device("gpu")


@pytest.mark.usefixtures("few_maps")
def test_a_bundle_that_cannot_be_read_is_the_containers(layout: Path, started: Path) -> None:
    (layout / "index.json").write_text("{")
    with pytest.raises(AssertionError, match="a container was started"):
        run_workflow.run(f"oci:{layout}", RunOptions())
    assert started.exists()


@pytest.mark.usefixtures("few_maps")
def test_an_engine_elsewhere_has_another_host(layout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = open_bundle(f"oci:{layout}")
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    with pytest.raises(HostError):
        require_for_container(bundle, "auto")
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere:2375")
    require_for_container(bundle, "auto")
