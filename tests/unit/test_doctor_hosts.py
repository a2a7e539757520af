"""The doctor on hosts that are not here: each check says how things are, and what mends them."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from fake_host import GIB, RENDER_GID, Builder, FakeHost

from kerncap import native
from kerncap.bundle import open_bundle
from kerncap.errors import HostError, UsageError
from kerncap.runtime import doctor
from kerncap.runtime.doctor import agents, bundle_checks, engines, gpu, software
from kerncap.runtime.doctor.report import Check, size
from kerncap.workflows import doctor as workflow

ISA = "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
NEED = doctor.Need(ISA, 4 * GIB, 3, 0x7F0000000000, 0x7F0100000000)


@pytest.fixture
def built(tmp_path: Path) -> Builder:
    return Builder(tmp_path / "host")


@pytest.fixture
def with_gpu(built: Builder) -> Builder:
    built.driver()
    built.gpu("gfx942", vram=192 * GIB)
    return built


def checks(host: FakeHost) -> dict[str, Check]:
    found = gpu.gpu_checks(host)
    assert all(check.state == "ok" or check.mend for check in found), found
    return {check.name: check for check in found}


def of_bundle(host: FakeHost, need: doctor.Need = NEED, device: str = "auto") -> dict[str, Check]:
    chosen, target = bundle_checks.choose_device(need, device, host)
    found = [target, *(bundle_checks.checks_on(need, chosen, host) if chosen else ())]
    assert all(check.state == "ok" or check.mend for check in found), found
    names = [check.name for check in found]
    assert len(names) == len(set(names)), names
    return {check.name: check for check in found}


def failing(found: dict[str, Check]) -> list[str]:
    return [name for name, check in found.items() if check.state == "fail"]


def test_no_gpu_is_two_lines(built: Builder) -> None:
    found = checks(built.host())
    assert list(found) == ["kernel-driver", "virtual-gpu"]
    assert found["kernel-driver"].state == "warn"
    assert "vgpu:" in str(found["kernel-driver"].mend)


def test_a_gpu_without_its_driver(built: Builder) -> None:
    built.write("/sys/bus/pci/devices/0000:03:00.0/vendor", "0x1002\n")
    built.write("/sys/bus/pci/devices/0000:03:00.0/class", "0x038000\n")
    built.write("/sys/bus/pci/devices/0000:04:00.0/vendor", "0x10de\n")
    built.write("/sys/bus/pci/devices/0000:04:00.0/class", "0x030000\n")
    check = checks(built.host())["kernel-driver"]
    assert (check.state, check.mend) == ("fail", "sudo modprobe amdgpu  # then dmesg | grep amdgpu")
    assert "0000:03:00.0" in check.detail
    assert "0000:04" not in check.detail


def test_a_whole_host(with_gpu: Builder) -> None:
    with_gpu.gpu("gfx1100", vram=24 * GIB, sramecc=False)
    found = checks(with_gpu.host())
    assert {name for name, check in found.items() if check.state != "ok"} <= {"virtual-gpu"}
    assert found["kernel-driver"].detail == "amdgpu 6.10.5, Linux 6.12.1"
    assert found["kfd"].detail == "/dev/kfd (group 109 render, mode 660)"
    assert found["render-nodes"].detail.count("/dev/dri/renderD") == 2
    assert f"gpu:0 {ISA} (192.0 GiB, 191.0 GiB free)" in found["agents"].detail
    assert "gpu:1 amdgcn-amd-amdhsa--gfx1100 (24.0 GiB" in found["agents"].detail
    assert found["xnack"].detail == "gpu:0 off"
    assert failing(of_bundle(with_gpu.host())) == []


def test_a_driver_of_the_kernel_has_no_version_of_its_own(built: Builder) -> None:
    built.driver(version=None)
    assert checks(built.host())["kernel-driver"].detail == "amdgpu of the kernel itself, Linux 6.12.1"


@pytest.mark.parametrize(
    ("groups", "nodes", "mend"),
    [
        ((1000,), {}, "sudo usermod -aG render $USER  # then log in again"),
        ((1000,), {"/dev/kfd": (0, 4711, 0o660)}, "sudo groupadd -g 4711 gpu"),
        ((1000, RENDER_GID), {"/dev/kfd": (0, RENDER_GID, 0o600)}, "sudo chmod g+rw /dev/kfd"),
    ],
)
def test_kfd_without_access(
    with_gpu: Builder, groups: tuple[int, ...], nodes: dict[str, tuple[int, int, int]], mend: str
) -> None:
    host = with_gpu.host(groups=groups, nodes=nodes)
    check = checks(host)["kfd"]
    assert check.state == "fail"
    assert str(check.mend).startswith(mend)
    assert f"of the groups {', '.join(map(str, sorted(groups)))}" in check.detail
    assert "kfd" in failing(of_bundle(host))
    # Only whoever uses the GPU needs it.
    assert failing(of_bundle(host, device="vgpu:gfx942")) == []
    # Root needs no group.
    assert checks(replace(host, uid=0))["kfd"].state == "ok"


def test_a_login_that_is_older_than_its_groups(with_gpu: Builder) -> None:
    with_gpu.write("/etc/group", f"render:x:{RENDER_GID}:bob,ada\n")
    check = checks(with_gpu.host(groups=(1000,)))["kfd"]
    assert str(check.mend).startswith("newgrp render")


def test_in_a_container_the_group_is_a_number(with_gpu: Builder) -> None:
    with_gpu.write("/.dockerenv", "")
    with_gpu.write("/etc/group", "root:x:0:\n")
    check = checks(with_gpu.host(groups=(1000,)))["kfd"]
    assert check.mend == f"docker run --group-add {RENDER_GID} ..."


def test_a_render_node_that_is_missing(built: Builder) -> None:
    built.driver()
    built.gpu("gfx942", node=False)
    assert checks(built.host())["render-nodes"].state == "fail"
    assert failing(of_bundle(built.host())) == ["render-nodes"]


def test_a_render_node_of_another_gpu_does_not_count(with_gpu: Builder) -> None:
    with_gpu.gpu("gfx1100")
    host = with_gpu.host(nodes={"/dev/dri/renderD129": (0, 4711, 0o660)})
    assert checks(host)["render-nodes"].state == "fail"
    assert failing(of_bundle(host)) == []


def test_no_kfd_with_a_driver(with_gpu: Builder) -> None:
    (with_gpu.root / "dev/kfd").unlink()
    check = checks(with_gpu.host())["kfd"]
    assert (check.state, check.mend) == ("fail", "dmesg | grep -i kfd")
    with_gpu.write("/run/.containerenv", "")
    assert "--device /dev/kfd" in str(checks(with_gpu.host())["kfd"].mend)


def test_gpus_that_are_hidden_from_the_runtime(with_gpu: Builder) -> None:
    """They are counted as the runtime counts them: a bundle's checks are those of the GPU that it would run on."""
    with_gpu.gpu("gfx90a")
    host = with_gpu.host(environ={"ROCR_VISIBLE_DEVICES": "1"})
    check = checks(host)["agents"]
    assert (check.state, check.mend) == ("warn", "unset ROCR_VISIBLE_DEVICES")
    assert check.detail.startswith("gpu:0 amdgcn-amd-amdhsa--gfx90a:")
    assert "hides 1 more" in check.detail
    assert of_bundle(host, replace(NEED, isa="amdgcn-amd-amdhsa--gfx90a"))["target"].detail == "gfx90a on gpu:0"
    assert "using the virtual GPU" in of_bundle(host)["target"].detail
    none = checks(with_gpu.host(environ={"ROCR_VISIBLE_DEVICES": ""}))["agents"]
    assert (none.state, none.detail) == ("warn", "ROCR_VISIBLE_DEVICES= shows no GPU")


@pytest.mark.parametrize(
    ("target", "noretry", "environ", "isa"),
    [
        ("gfx942", -1, {}, "gfx942:sramecc+:xnack-"),
        ("gfx942", -1, {"HSA_XNACK": "1"}, "gfx942:sramecc+:xnack+"),
        ("gfx90a", 0, {}, "gfx90a:sramecc+:xnack+"),
        ("gfx90a", 0, {"HSA_XNACK": "0"}, "gfx90a:sramecc+:xnack-"),
        ("gfx908", -1, {"HSA_XNACK": "1"}, "gfx908:sramecc+:xnack-"),
        ("gfx908", 0, {}, "gfx908:sramecc+:xnack+"),
        ("gfx90c", -1, {}, "gfx90c:xnack-"),
        ("gfx1100", 0, {"HSA_XNACK": "1"}, "gfx1100"),
        ("gfx1030", -1, {}, "gfx1030"),
    ],
)
def test_full_isa_names(built: Builder, target: str, noretry: int, environ: dict[str, str], isa: str) -> None:
    built.driver(noretry=noretry)
    built.gpu(target)
    (agent,) = agents.agents(built.host(environ=environ))
    assert agent.isa == f"amdgcn-amd-amdhsa--{isa}"


def test_without_ecc(built: Builder) -> None:
    built.driver()
    built.gpu("gfx906", sramecc=False)
    (agent,) = agents.agents(built.host())
    assert agent.isa.endswith("gfx906:sramecc-:xnack-")


def test_code_that_needs_xnack(with_gpu: Builder) -> None:
    need = replace(NEED, isa="amdgcn-amd-amdhsa--gfx942:xnack+")
    check = of_bundle(with_gpu.host(), need)["xnack"]
    assert (check.state, check.mend) == ("fail", "export HSA_XNACK=1")
    assert "it lacks xnack+" in check.detail
    assert failing(of_bundle(with_gpu.host(environ={"HSA_XNACK": "1"}), need)) == []
    # The virtual GPU has none.
    assert failing(of_bundle(with_gpu.host(), need, "vgpu:gfx942")) == ["xnack"]


def test_code_that_needs_xnack_off(with_gpu: Builder) -> None:
    assert of_bundle(with_gpu.host(environ={"HSA_XNACK": "1"}))["xnack"].mend == "export HSA_XNACK=0"


def test_xnack_of_older_gpus_is_the_drivers(built: Builder) -> None:
    built.driver()
    built.gpu("gfx908")
    check = of_bundle(built.host(), replace(NEED, isa="amdgcn-amd-amdhsa--gfx908:xnack+"))["xnack"]
    assert check.mend == "sudo modprobe -r amdgpu && sudo modprobe amdgpu noretry=0"


def test_xnack_that_only_the_runtime_knows_stops_nothing(built: Builder) -> None:
    built.driver()
    built.gpu("gfx90c")
    need = replace(NEED, isa="amdgcn-amd-amdhsa--gfx90c:xnack+")
    assert of_bundle(built.host(), need)["xnack"].state == "warn"


def test_code_that_needs_ecc(built: Builder) -> None:
    built.driver()
    built.gpu("gfx942", sramecc=False)
    check = of_bundle(built.host())["target-id"]
    assert (check.state, check.mend) == ("fail", "--device vgpu:gfx942  # or a gfx942 with ECC on")


@pytest.mark.parametrize("device", ["gpu", "gpu:0", "vgpu:gfx90a"])
def test_another_target_is_refused_with_what_would_work(built: Builder, device: str) -> None:
    built.driver()
    built.gpu("gfx1100")
    found = of_bundle(built.host(), device=device)
    assert list(found) == ["target"]
    check = found["target"]
    assert (check.state, check.mend) == ("fail", "--device vgpu:gfx942")
    for way in ("a GPU that is a gfx942", "--device vgpu:gfx942", "gfx9-4-generic", "gfx950", "compiled for the GPU"):
        assert way in check.detail, way


def test_a_target_that_nothing_here_runs(built: Builder) -> None:
    check = of_bundle(built.host(), replace(NEED, isa="amdgcn-amd-amdhsa--gfx1030"))["target"]
    assert check.state == "fail"
    assert "gfx10-3-generic" in check.detail
    assert "--device vgpu" not in check.detail


def test_code_for_a_generic_target(built: Builder) -> None:
    need = replace(NEED, isa="amdgcn-amd-amdhsa--gfx9-4-generic:sramecc+")
    assert of_bundle(built.host(), need)["target"].detail.endswith("on vgpu:gfx942")
    check = of_bundle(built.host(), need, "vgpu:gfx1100")["target"]
    assert "a GPU that is one of gfx942, gfx950" in check.detail


def test_auto_passes_over_a_gpu_that_does_not_fit(built: Builder) -> None:
    built.driver()
    built.gpu("gfx1100")
    check = of_bundle(built.host())["target"]
    assert check.state == "ok"
    assert "using the virtual GPU" in check.detail


def test_a_device_that_is_none(built: Builder) -> None:
    with pytest.raises(UsageError):
        of_bundle(built.host(), device="cpu")


@pytest.mark.parametrize(("memory", "state"), [(190 * GIB, "ok"), (191 * GIB + 1, "warn"), (192 * GIB + 1, "fail")])
def test_video_memory(with_gpu: Builder, memory: int, state: str) -> None:
    need = replace(NEED, memory_bytes=memory)
    found = of_bundle(with_gpu.host(), need)
    assert found["vram"].state == state
    assert "memory" not in found  # the host's own


@pytest.mark.parametrize(
    ("memory", "state"), [(60 * GIB, "ok"), (61 * GIB, "warn"), (66 * GIB, "ok"), (67 * GIB, "fail")]
)
def test_host_memory_under_the_virtual_gpu(built: Builder, memory: int, state: str) -> None:
    swap = 2 * GIB
    available = 70 * GIB if state == "ok" else 60 * GIB
    built.memory(total=64 * GIB, available=available, swap=swap)
    assert of_bundle(built.host(), replace(NEED, memory_bytes=memory))["memory"].state == state


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"/sys/fs/cgroup/memory.max": "max\n"}, None),
        ({"/sys/fs/cgroup/memory.max": f"{2 * GIB}\n"}, 2 * GIB),
        ({"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/memory.max": f"{3 * GIB}\n"}, 3 * GIB),
        (
            {"/proc/self/cgroup": "4:cpu,memory:/x\n", "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": f"{GIB}\n"},
            GIB,
        ),
        ({"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ({"/proc/self/cgroup": "0::/../../etc\n\nnonsense\n"}, None),
    ],
)
def test_the_cgroup_bounds_memory(built: Builder, files: dict[str, str], limit: int | None) -> None:
    for path, text in files.items():
        built.write(path, text)
    host = built.host()
    assert host.memory_limit() == limit
    check = of_bundle(host)["memory"]
    assert check.state == ("ok" if limit is None else "fail")
    if limit is not None:
        assert f"the cgroup allows {size(limit)}" in check.detail
        assert "--memory" in str(check.mend)


def test_zeros_take_no_memory(built: Builder, layout: Path) -> None:
    bundle = open_bundle(f"oci:{layout}")
    need = doctor.need_of(bundle)
    assert 0 < need.nonzero_bytes() <= need.memory_bytes == bundle.index.raw_bytes
    built.memory(total=GIB, available=GIB)
    assert of_bundle(built.host(), replace(need, memory_bytes=2 * GIB))["memory"].state == "ok"
    assert of_bundle(built.host(), replace(need, memory_bytes=2 * GIB, index=None))["memory"].state == "fail"


def test_vram_of_a_virtual_gpu(built: Builder) -> None:
    assert failing(of_bundle(built.host(), device="vgpu:gfx942,vram=4096")) == []
    check = of_bundle(built.host(), device="vgpu:gfx942,vram=4095")["vram"]
    assert (check.state, check.mend) == ("fail", "--device vgpu:gfx942")


def test_addresses_below_what_is_allowed(built: Builder) -> None:
    need = replace(NEED, lowest=0x1000)
    check = of_bundle(built.host(), need)["addresses"]
    assert (check.state, check.mend) == ("fail", "sudo sysctl -w vm.mmap_min_addr=4096")
    built.write("/proc/self/status", "CapEff:\t0000000000020000\n")  # CAP_SYS_RAWIO
    assert of_bundle(built.host(), need)["addresses"].state == "ok"


def test_addresses_of_five_levels(built: Builder) -> None:
    need = replace(NEED, highest=(1 << 47) - 4095)
    check = of_bundle(built.host(), need)["addresses"]
    assert check.state == "fail"
    assert "5-level paging" in str(check.mend)
    built.write("/proc/cpuinfo", "flags\t\t: fpu la57 sse2\n")
    assert of_bundle(built.host(), need)["addresses"].state == "ok"
    assert of_bundle(built.host(), replace(NEED, highest=(1 << 47) - 4096))["addresses"].state == "ok"


@pytest.mark.parametrize(("spans", "state"), [(1000, "ok"), (40_000, "warn"), (65_531, "fail")])
def test_many_regions(built: Builder, spans: int, state: str) -> None:
    check = of_bundle(built.host(), replace(NEED, spans=spans))["maps"]
    assert check.state == state
    if state != "ok":
        assert int(str(check.mend).rpartition("=")[2]) >= 2 * spans + 1000


def test_limits_of_the_process(built: Builder) -> None:
    host = built.host(limits={"AS": 2 * GIB})
    assert of_bundle(host)["limits"].mend == "ulimit -v unlimited"
    assert failing(of_bundle(host)) == ["limits"]
    few = of_bundle(built.host(limits={"NOFILE": 64}))["limits"]
    assert (few.state, few.mend) == ("warn", "ulimit -n 1024")


def test_strict_commitment(built: Builder) -> None:
    built.write("/proc/sys/vm/overcommit_memory", "2\n")
    built.memory(total=64 * GIB, available=60 * GIB, CommitLimit=32 * GIB, Committed_AS=30 * GIB)
    check = of_bundle(built.host())["limits"]
    assert (check.state, check.mend) == ("warn", "sudo sysctl -w vm.overcommit_memory=0")
    assert "2.0 GiB of 4.0 GiB" in check.detail


def test_a_bundle_without_memory(built: Builder) -> None:
    assert failing(of_bundle(built.host(), doctor.Need(ISA, 0, 0, 0, 0))) == []


def test_spans_of_a_bundle(layout: Path) -> None:
    bundle = open_bundle(f"oci:{layout}")
    need = doctor.need_of(bundle)
    regions = [region for region in bundle.index.regions if region.kind != "variable"]
    assert need.lowest == min(region.va for region in regions) // 4096 * 4096
    assert need.highest >= max(region.va + region.size for region in regions)
    assert need.highest % 4096 == 0
    assert 1 <= need.spans <= len(regions)
    assert need.isa == bundle.capture.code_object.isa


def test_what_stops_a_replay_is_the_doctors_line(built: Builder, caplog: pytest.LogCaptureFixture) -> None:
    device = native.Device("vgpu", "gfx942")
    doctor.require(NEED, device, built.host())
    with pytest.raises(HostError) as error:
        doctor.require(replace(NEED, spans=70_000), device, built.host())
    assert (error.value.code, error.value.exit_code) == ("host.maps", 3)
    assert error.value.message == "maps: 70000 ranges of captured addresses, vm.max_map_count is 65530"
    assert error.value.hint.startswith("sudo sysctl -w vm.max_map_count=")
    with caplog.at_level(logging.WARNING):
        doctor.require(replace(NEED, spans=40_000), device, built.host())
    assert "maps: 40000" in caplog.text


def test_without_nodes_where_a_container_opens_them(with_gpu: Builder) -> None:
    host = with_gpu.host(groups=(1000,))
    device = native.Device("gpu")
    with pytest.raises(HostError, match="no access to /dev/kfd"):
        doctor.require(NEED, device, host)
    doctor.require(NEED, device, host, nodes=False)


def test_a_container_has_no_variables_of_this_process(with_gpu: Builder) -> None:
    need = replace(NEED, isa="amdgcn-amd-amdhsa--gfx942:xnack+")
    host = with_gpu.host(environ={"HSA_XNACK": "1"})
    doctor.require(need, native.Device("gpu"), host)
    with pytest.raises(HostError) as error:
        doctor.require(need, native.Device("gpu"), host, nodes=False)
    assert (error.value.code, error.value.hint) == (
        "host.xnack",
        "--device gpu:0 --launcher 'env HSA_XNACK=1'",
    )


def test_the_virtual_gpus_names() -> None:
    names = {target: agents.virtual_isa(target).rpartition("--")[2] for target in native.VGPU_TARGETS}
    assert names["gfx942"] == "gfx942:sramecc+:xnack-"
    assert names["gfx1100"] == "gfx1100"
    assert set(names) == set(native.VGPU_TARGETS)


def test_rocminfo() -> None:
    text = """
Agent 1
  Name:                    AMD EPYC
  ISA Info:
Agent 2
  Name:                    gfx942
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
      Machine Models:          HSA_MACHINE_MODEL_LARGE
    ISA 2
      Name:                    amdgcn-amd-amdhsa--gfx9-4-generic:sramecc+:xnack-
Agent 3
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1100
"""
    assert gpu.isa_names(text) == [ISA, "amdgcn-amd-amdhsa--gfx1100"]
    assert gpu.isa_names("ROCk module is NOT loaded, possibly no GPU devices") == []


def stub(folder: Path, name: str, script: str) -> dict[str, str]:
    """An environment whose PATH has this program first."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (
            "printf 'ISA 1\\n  Name:   amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-\\n'",
            ["amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"],
        ),
        ("echo 'ROCk module is NOT loaded' >&2; exit 1", None),
    ],
)
def test_rocminfo_is_asked(tmp_path: Path, script: str, told: list[str] | None) -> None:
    assert gpu._told_by_rocminfo(doctor.Host(environ=stub(tmp_path / "bin", "rocminfo", script))) == told


def test_rocminfo_that_says_another_name(with_gpu: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    for told, state in ((ISA, "ok"), ("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack+", "warn")):
        monkeypatch.setattr(gpu, "_told_by_rocminfo", lambda host, told=told: [told])
        assert checks(with_gpu.host())["agents"].state == state


def test_podman_is_asked(tmp_path: Path) -> None:
    environ = stub(tmp_path / "bin", "podman", "echo 'Error: cannot set up namespace' >&2; exit 125")
    (check,) = engines.podman(doctor.Host(environ=environ))
    assert (check.state, check.mend) == ("warn", "podman info")
    assert "cannot set up namespace" in check.detail
    assert engines.podman(doctor.Host(environ={"PATH": str(tmp_path)})) == []


def test_the_whole_report_of_a_host_with_gpus(with_gpu: Builder, layout: Path) -> None:
    """Of a bundle whose target the host's GPU has."""
    target = native.target_of_isa(open_bundle(f"oci:{layout}").capture.code_object.isa)
    assert target == "gfx942"
    found = workflow.examine(f"oci:{layout}", host=with_gpu.host())
    names = [check.name for check in found.checks]
    assert names[:5] == ["kernel-driver", "kfd", "render-nodes", "agents", "xnack"]
    assert len(names) == len(set(names))
    assert {"docker", "sandbox", "seccomp", "images", "user-namespaces", "disk", "address-space"} <= set(names)
    assert found.device == "gpu:0"
    assert [check.name for check in found.of_bundle] == [
        *("target", "kfd", "render-nodes", "target-id", "vram", "addresses", "maps", "limits")
    ]
    assert all(check.state == "ok" or check.mend for check in (*found.checks, *found.of_bundle))


@pytest.mark.parametrize(
    ("file", "version"), [("libhsa-runtime64.so.1.14.60400", "version 1.14.60400"), ("libhsa-runtime64.so.1", "")]
)
def test_hsa_runtime(built: Builder, file: str, version: str) -> None:
    assert software.hsa_runtime(built.host()).state == "warn"
    built.write(f"/opt/rocm/lib/{file}", "")
    link = built.root / "opt/rocm/lib/libhsa-runtime64.so.1"
    if not link.exists():
        link.symlink_to(file)
    built.write("/opt/rocm/.info/version", "6.4.0-47\n")
    check = software.hsa_runtime(built.host())
    assert check.state == "ok"
    assert version in check.detail
    assert check.detail.endswith("ROCm 6.4.0-47")
    assert str(built.root) not in check.detail


def test_rocjitsu_where_it_is_installed(built: Builder) -> None:
    assert software.rocjitsu(built.host()) == []
    built.write("/opt/rocm/bin/rocjitsu", "")
    (built.root / "opt/rocm/bin/rocjitsu").chmod(0o755)
    assert software.rocjitsu(built.host())[0].state == "warn"
    for name in ("gfx942_cdna3.json", "gfx942_cdna3_kmd.json", "gfx1100_w7900.json"):
        built.write(f"/opt/rocm/share/rocjitsu/configs/{name}", "{}")
    (check,) = software.rocjitsu(built.host(), "gfx942")
    launcher = "/opt/rocm/bin/rocjitsu --config /opt/rocm/share/rocjitsu/configs/gfx942_cdna3_kmd.json --"
    assert check == Check("rocjitsu", "ok", f"kerncap replay BUNDLE --launcher '{launcher}'")
    (other,) = software.rocjitsu(built.host(), "gfx90a")
    assert other.state == "warn"
    assert "no configuration for gfx90a" in other.detail


@pytest.mark.parametrize(
    ("path", "text", "mend"),
    [
        ("/proc/sys/user/max_user_namespaces", "0\n", "sudo sysctl -w user.max_user_namespaces=15000"),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0\n", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1\n",
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("/etc/subuid", "bob:1:1\n", "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ada"),
    ],
)
def test_user_namespaces(built: Builder, path: str, text: str, mend: str) -> None:
    assert engines.user_namespaces(built.host()).state == "ok"
    built.write(path, text)
    check = engines.user_namespaces(built.host())
    assert (check.state, check.mend) == ("warn", mend)


def test_numbers_that_are_none(built: Builder) -> None:
    """Files of a kernel that is not known here."""
    for path in ("vm/mmap_min_addr", "vm/max_map_count", "vm/overcommit_memory"):
        built.write(f"/proc/sys/{path}", "many\n")
    built.write("/proc/meminfo", "MemTotal: lots\nnonsense\n:\n")
    built.driver()
    node = "/sys/devices/virtual/kfd/kfd/topology/nodes/1"
    built.write(f"{node}/properties", "gfx_target_version 90402\ncapability x y\n")
    built.write("/dev/dri/renderD128", "")
    assert checks(built.host())["agents"].detail.endswith("gfx942:sramecc-:xnack-")
    assert of_bundle(built.host(), device="vgpu:gfx942")["memory"].state == "ok"


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 40, "5.0 TiB")])
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text
