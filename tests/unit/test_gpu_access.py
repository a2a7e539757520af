"""How a container gets at a GPU, on made-up hosts: device nodes, CDI, the runtime `amd`, one GPU of several."""

from __future__ import annotations

import json
import os
import shlex
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kerncap.errors import HostError, UsageError
from kerncap.runtime import engine
from kerncap.runtime.containers import Job
from kerncap.runtime.containers.access import Access, EngineAbilities, HostFiles, choose, engine_abilities, wants_gpu
from kerncap.runtime.containers.line import spec_of

PLAIN = EngineAbilities()
ALL = EngineAbilities(cdi=True, runtimes=("amd", "runc"))


@pytest.fixture
def host(tmp_path: Path) -> HostFiles:
    """Two GPUs, whose render nodes are 129 and 128: the driver's order is not that of the nodes."""
    (tmp_path / "dri").mkdir()
    (tmp_path / "cdi").mkdir()
    for name in ("kfd", "dri/renderD128", "dri/renderD129", "dri/card0"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o660)
        os.chown(tmp_path / name, -1, os.getgid() or 1234) if os.getuid() == 0 else None
    for node, version, minor in ((0, 0, 0), (1, 90402, 129), (2, 90010, 128)):
        folder = tmp_path / "topology" / str(node)
        folder.mkdir(parents=True)
        (folder / "properties").write_text(f"gfx_target_version {version}\ndrm_render_minor {minor}\n")
    return HostFiles(tmp_path / "kfd", tmp_path / "dri", tmp_path / "topology", (tmp_path / "cdi",))


def with_cdi(host: HostFiles, text: str | None = None, name: str = "amd.json") -> None:
    devices = [
        {"name": name, "containerEdits": {"deviceNodes": [{"path": str(host.dri / f"renderD{n}")} for n in numbers]}}
        for name, numbers in (("0", [128]), ("1", [129]), ("all", [128, 129]))
    ]
    document = {"cdiVersion": "0.6.0", "kind": "amd.com/gpu", "devices": devices}
    (host.cdi[0] / name).write_text(json.dumps(document) if text is None else text)


def test_auto_gets_every_node_and_their_numeric_groups(host: HostFiles) -> None:
    found = choose("auto", "auto", PLAIN, host)
    assert (found.way, found.inside) == ("devices", "auto")
    assert found.nodes == (str(host.kfd), str(host.dri / "renderD128"), str(host.dri / "renderD129"))
    assert found.groups == (host.kfd.stat().st_gid,)


def test_one_gpu_gets_its_own_render_node_only(host: HostFiles) -> None:
    """The driver shows it alone then, so that it is the first of those inside."""
    first, second = choose("gpu", "auto", PLAIN, host), choose("gpu:1", "auto", PLAIN, host)
    assert first.nodes == (str(host.kfd), str(host.dri / "renderD129"))
    assert second.nodes == (str(host.kfd), str(host.dri / "renderD128"))
    assert first.inside == second.inside == "gpu"
    with pytest.raises(HostError) as caught:
        choose("gpu:2", "auto", PLAIN, host)
    assert (caught.value.code, "gfx90a" in caught.value.message) == ("host.no-gpu", True)


def test_a_driver_that_does_not_say_which_node_gives_all(host: HostFiles) -> None:
    for folder in host.topology.iterdir():
        (folder / "properties").write_text("gfx_target_version 90402\n")
    found = choose("gpu:1", "auto", PLAIN, host)
    assert len(found.nodes) == 3
    assert found.inside == "gpu:1"


def test_cdi_comes_first_where_engine_and_host_have_it(host: HostFiles) -> None:
    assert choose("auto", "auto", ALL, host).way == "runtime"  # no specification yet
    with_cdi(host)
    assert choose("auto", "auto", EngineAbilities(), host).way == "devices"  # an engine that does not use it
    found = choose("auto", "auto", ALL, host)
    assert (found.way, found.cdi, found.nodes) == ("cdi", ("amd.com/gpu=all",), ())
    assert found.groups == (host.kfd.stat().st_gid,)
    one = choose("gpu:0", "auto", ALL, host)
    assert (one.cdi, one.inside) == (("amd.com/gpu=1",), "gpu")  # by its node, not by the number


def test_cdi_in_yaml_and_files_that_are_none(host: HostFiles, caplog: pytest.LogCaptureFixture) -> None:
    with_cdi(host, "{", "broken.json")
    with_cdi(host, "a: [", "broken.yaml")
    with_cdi(host, "[]", "list.json")
    with_cdi(host, "kind: nvidia.com/gpu\ndevices: [{name: '7'}]\n", "other.yaml")
    odd = "[3, {name: 4}, {name: '0'}, {name: '1', containerEdits: 5}]"
    with_cdi(host, f"kind: amd.com/gpu\ndevices: {odd}\n", "amd.yaml")
    assert choose("auto", "auto", ALL, host).cdi == ("amd.com/gpu=0", "amd.com/gpu=1")
    assert choose("gpu:1", "cdi", ALL, host).cdi == ("amd.com/gpu=1",)
    assert "broken.json is not used" in caplog.text
    assert "broken.yaml is not used" in caplog.text


def test_runtime_amd(host: HostFiles) -> None:
    found = choose("auto", "auto", EngineAbilities(runtimes=("amd", "runc")), host)
    assert (found.runtime, found.environment, found.nodes) == ("amd", (("AMD_VISIBLE_DEVICES", "all"),), ())
    one = choose("gpu:1", "runtime", ALL, host)
    assert (one.environment, one.inside) == ((("AMD_VISIBLE_DEVICES", "1"),), "gpu")


@pytest.mark.parametrize(("way", "word"), [("cdi", "no CDI specification"), ("runtime", "no runtime 'amd'")])
def test_a_way_that_is_named_and_not_there_is_refused(host: HostFiles, way: str, word: str) -> None:
    with pytest.raises(HostError) as caught:
        choose("auto", way, EngineAbilities(cdi=True, runtimes=("runc",)), host)
    assert caught.value.code == "host.gpu-access"
    assert word in caught.value.message
    assert "--gpu-access devices" in caught.value.hint


def test_cdi_that_the_engine_does_not_use_or_without_this_gpu(host: HostFiles) -> None:
    with_cdi(host)
    with pytest.raises(HostError, match="does not use CDI"):
        choose("auto", "cdi", PLAIN, host)
    with_cdi(host, "kind: amd.com/gpu\ndevices: [{name: '5'}]\n", "amd.json")
    (host.cdi[0] / "amd.json").rename(host.cdi[0] / "amd.yaml")
    with pytest.raises(HostError, match="no device for gpu:1"):
        choose("gpu:1", "cdi", ALL, host)


def test_devices_may_be_asked_for(host: HostFiles) -> None:
    with_cdi(host)
    assert choose("auto", "devices", ALL, host).way == "devices"
    with pytest.raises(UsageError) as caught:
        choose("auto", "nvidia", ALL, host)
    assert caught.value.code == "usage.gpu-access"


def test_the_virtual_gpu_gets_nothing_of_the_host(host: HostFiles, tmp_path: Path) -> None:
    found = choose("vgpu:gfx942", "auto", ALL, host)
    assert found == Access("none", found.why, "vgpu:gfx942")
    bare = HostFiles(tmp_path / "none", tmp_path / "dri", tmp_path / "topology", ())
    assert choose("auto", "auto", ALL, bare).way == "none"
    with pytest.raises(HostError) as caught:
        wants_gpu("gpu", bare)
    assert caught.value.code == "host.no-gpu"


def test_line_and_sdk_say_how(host: HostFiles, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir(mode=0o755)
    tmp_path.chmod(0o755)
    with_cdi(host)
    spec = spec_of(Job("i", "validate", bundle, device="gpu:0", access=choose("gpu:0", "cdi", ALL, host)))
    words, sdk = shlex.split(spec.docker_line()), spec.sdk_arguments()
    assert words[words.index("--device") + 1] == "amd.com/gpu=1"
    [request] = sdk["device_requests"]
    assert (request["Driver"], request["DeviceIDs"]) == ("cdi", ["amd.com/gpu=1"])
    assert sdk["devices"] == []
    assert words[-3:] == ["--device", "gpu", "--json"]
    spec = spec_of(Job("i", "validate", bundle, device="gpu:1", access=choose("gpu:1", "runtime", ALL, host)))
    words, sdk = shlex.split(spec.docker_line()), spec.sdk_arguments()
    assert words[words.index("--runtime") + 1] == sdk["runtime"] == "amd"
    assert words[words.index("--env") + 1] == "AMD_VISIBLE_DEVICES=1"
    assert sdk["environment"] == {"AMD_VISIBLE_DEVICES": "1"}
    spec = spec_of(Job("i", "validate", bundle, device="gpu:1", access=choose("gpu:1", "devices", ALL, host)))
    assert spec.sdk_arguments()["devices"] == [f"{n}:{n}:rwm" for n in (host.kfd, host.dri / "renderD128")]
    assert spec.sdk_arguments()["group_add"] == [str(host.kfd.stat().st_gid)]


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"Runtimes": {"runc": {}, "amd": {}}, "CDISpecDirs": ["/etc/cdi"]}, ALL),
        ({"Runtimes": {"runc": {}}, "CDISpecDirs": []}, EngineAbilities(runtimes=("runc",))),
        ({}, PLAIN),
    ],
)
def test_what_an_engine_says(monkeypatch: pytest.MonkeyPatch, info: dict[str, Any], expected: EngineAbilities) -> None:
    client = SimpleNamespace(info=lambda: info)
    monkeypatch.setattr(engine, "connect", lambda: nullcontext(client))
    assert engine_abilities() == expected
