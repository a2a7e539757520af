"""Devices: texts, the kernel's topology, and which device a replay takes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kerncap import native
from kerncap.errors import HostError, UsageError
from kerncap.native import Device, Gpu, NativeFiles


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("auto", None),
        ("gpu", Device("gpu")),
        ("gpu:3", Device("gpu", index=3)),
        ("vgpu:gfx942", Device("vgpu", "gfx942")),
        ("vgpu:gfx90a,bar=large,gpus=2", Device("vgpu", "gfx90a", ("bar=large", "gpus=2"))),
        ("vgpu:gfx90a,vram=64", Device("vgpu", "gfx90a", ("vram=64",))),
    ],
)
def test_device_texts(text: str, device: Device | None) -> None:
    assert native.parse_device(text) == device


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gpu:",
        "gpu:x",
        "gpu:²",
        "gpu:" + 5000 * "1",
        "vgpu",
        "vgpu:",
        "vgpu:gfx906",
        "vgpu:gfx942,trace=/etc/x",
        "vgpu:gfx942,vram=63",
        "cpu",
    ],
)
def test_other_texts_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError) as error:
        native.parse_device(text)
    assert error.value.hint


@pytest.mark.parametrize(
    ("version", "target"),
    [(90010, "gfx90a"), (90402, "gfx942"), (110000, "gfx1100"), (90500, "gfx950"), (120001, "gfx1201")],
)
def test_targets_of_topology_versions(version: int, target: str) -> None:
    assert native.target_of_version(version) == target


def test_topology_without_cpu_nodes(tmp_path: Path) -> None:
    for node, version in (("0", 0), ("1", 90402), ("10", 110000), ("2", 90010)):
        (tmp_path / node).mkdir()
        (tmp_path / node / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {version}\n")
    gpus = native.real_gpus(tmp_path, Path("/dev/null"))
    assert gpus == [Gpu(0, "gfx942", 1), Gpu(1, "gfx90a", 2), Gpu(2, "gfx1100", 10)]
    assert native.real_gpus(tmp_path, tmp_path / "no-kfd") == []


@pytest.mark.parametrize(
    ("visible", "targets"),
    [
        (None, ["gfx942", "gfx90a", "gfx1100"]),
        ("", []),
        ("2,0", ["gfx1100", "gfx942"]),
        ("1, 1,0", ["gfx90a"]),
        ("0,7,1", ["gfx942"]),
        ("x", []),
        ("²", []),
        ("GPU-00000000000000ab", ["gfx90a"]),
        ("gpu-ab", []),
        ("GPU-00000000000000AC,0", ["gfx1100", "gfx942"]),
        ("GPU-", []),
    ],
)
def test_gpus_that_the_runtime_shows(tmp_path: Path, visible: str | None, targets: list[str]) -> None:
    for node, version, unique in (("0", 0, 0), ("1", 90402, 0xAA), ("2", 90010, 0xAB), ("3", 110000, 0xAC)):
        (tmp_path / node).mkdir()
        (tmp_path / node / "properties").write_text(f"gfx_target_version {version}\nunique_id {unique}\n")
    environ = {} if visible is None else {"ROCR_VISIBLE_DEVICES": visible}
    gpus = native.real_gpus(tmp_path, Path("/dev/null"), environ)
    assert [gpu.target for gpu in gpus] == targets
    assert [gpu.index for gpu in gpus] == list(range(len(targets)))
    for gpu in gpus:
        alone = {"ROCR_VISIBLE_DEVICES": native.visible_word(gpu.index, environ)}
        assert [one.node for one in native.real_gpus(tmp_path, Path("/dev/null"), alone)] == [gpu.node]


def with_gpus(monkeypatch: pytest.MonkeyPatch, *targets: str) -> None:
    gpus = [Gpu(i, target, i + 1) for i, target in enumerate(targets)]
    monkeypatch.setattr(native, "real_gpus", lambda: gpus)


def test_auto_takes_the_matching_gpu_and_never_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, "gfx1100", "gfx942")
    assert native.replay_device("auto", "gfx942") == (Device("gpu", index=1), None)
    device, remark = native.replay_device("auto", "gfx90a")
    assert device == Device("vgpu", "gfx90a")
    assert "gfx1100" in str(remark)


def test_auto_without_gpu_is_the_virtual_one_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch)
    device, remark = native.replay_device("auto", "gfx942")
    assert (device, remark) == (Device("vgpu", "gfx942"), None)
    assert str(native.without_gpu("auto", device)).startswith("no GPU is here (")
    assert native.without_gpu("vgpu:gfx942", device) is None
    assert native.without_gpu("auto", Device("gpu")) is None
    with pytest.raises(HostError) as error:
        native.replay_device("auto", "gfx1030")
    assert error.value.exit_code == 3


@pytest.mark.parametrize("choice", ["gpu", "gpu:1", "vgpu:gfx90a", "gpu:7"])
def test_a_named_device_of_another_target_is_refused(monkeypatch: pytest.MonkeyPatch, choice: str) -> None:
    with_gpus(monkeypatch, "gfx1100", "gfx90a")
    with pytest.raises(HostError) as error:
        native.replay_device(choice, "gfx942")
    assert error.value.exit_code == 3
    assert error.value.hint


def test_extract_needs_a_device_or_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch)
    with pytest.raises(HostError) as error:
        native.capture_device(None)
    assert (error.value.code, error.value.exit_code) == ("host.no-gpu", 3)
    assert native.capture_device("vgpu:gfx1100") == Device("vgpu", "gfx1100")
    with_gpus(monkeypatch, "gfx1100")
    assert native.capture_device(None) == Device("gpu")


def test_the_virtual_gpu_is_preloaded_into_one_environment_only(tmp_path: Path) -> None:
    (tmp_path / "libkerncap-vgpu.so").touch()
    base = {"LD_PRELOAD": "/lib/mine.so", "KERNCAP_VGPU": "gfx90a"}
    env = native.device_environment(Device("vgpu", "gfx942"), NativeFiles(tmp_path), base, Path("/t"))
    assert env["LD_PRELOAD"] == f"{tmp_path}/libkerncap-vgpu.so:/lib/mine.so"
    assert env["KERNCAP_VGPU"] == "gfx942,trace=/t"
    plain = native.device_environment(Device("gpu"), NativeFiles(tmp_path), base)
    assert plain == {"LD_PRELOAD": "/lib/mine.so"}


def test_missing_native_files_are_exit_3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNCAP_NATIVE_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(HostError) as error:
        native.find_native()
    assert error.value.code == "host.no-native-files"


def test_a_document_with_a_path_that_is_not_utf8(tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    document = {"a": "x", "b": [{"path": os.fsdecode(b"/tmp/caf\xe9/c")}], "d": "\u00e9"}
    with pytest.raises(HostError) as caught:
        native.write_document(request, document)
    assert caught.value.code == "host.path-not-utf8"
    assert caught.value.hint == "mv $'/tmp/caf\\xe9/c' NAME"
    native.write_document(request, {"d": "\u00e9"})
    assert json.loads(request.read_bytes()) == {"d": "\u00e9"}


def test_code_of_a_generic_target_runs_on_its_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "real_gpus", lambda: [])
    assert native.runs_on("gfx9-4-generic", "gfx942")
    assert native.runs_on("gfx942", "gfx942")
    assert not native.runs_on("gfx9-4-generic", "gfx90a")
    assert not native.runs_on("gfx942", "gfx9-4-generic")
    assert native.replay_device("auto", "gfx9-4-generic")[0].target == "gfx942"
    assert native.replay_device("vgpu:gfx950", "gfx9-4-generic")[0].target == "gfx950"
    with pytest.raises(HostError) as caught:
        native.replay_device("vgpu:gfx90a", "gfx9-4-generic")
    assert caught.value.hint == "--device vgpu:gfx942"
    with pytest.raises(HostError):
        native.replay_device("auto", "gfx9-generic")
