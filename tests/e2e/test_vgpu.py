"""The virtual GPU under unmodified runtimes: HSA and HIP programs, faults, errors, options, processes.

The programs check their own results; here it is checked what they and the library say. Both suites, all targets.
"""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from vgpu_programs import HIP_TARGETS, HSA_TARGETS, SIGABRT, SIGSEGV, TARGETS, Programs, passed

# What rocminfo says on an MI210, an MI300X, an MI350X, an RX 7900 XTX and an RX 9070 XT.
ROCMINFO = {
    "gfx90a": "64(0x40) 104 4 32(0x20) 2048(0x800) 8 67108864(0x4000000)KB 16(0x10)KB,8192(0x2000)KB",
    "gfx942": "64(0x40) 304 4 32(0x20) 2048(0x800) 32 201326592(0xc000000)KB "
    "32(0x20)KB,4096(0x1000)KB,262144(0x40000)KB",
    "gfx950": "64(0x40) 256 4 32(0x20) 2048(0x800) 32 301989888(0x12000000)KB "
    "32(0x20)KB,4096(0x1000)KB,262144(0x40000)KB",
    "gfx1100": "32(0x20) 96 2 32(0x20) 1024(0x400) 6 25165824(0x1800000)KB 32(0x20)KB,6144(0x1800)KB,98304(0x18000)KB",
    "gfx1201": "32(0x20) 64 2 32(0x20) 1024(0x400) 4 16777216(0x1000000)KB 32(0x20)KB,8192(0x2000)KB,65536(0x10000)KB",
}
LDS = {"gfx950": "160(0xa0) KB"}
ROCMINFO_FIELDS = ("Wavefront Size", "Compute Unit", "SIMDs per CU", "Max Waves Per CU", "Max Work-item Per CU")


@pytest.mark.soak
@pytest.mark.parametrize("target", HSA_TARGETS)
def test_rocminfo_lists_the_agent(programs: Programs, target: str) -> None:
    done = programs.run(target, "rocminfo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"amdgcn-amd-amdhsa--{target}" in done.stdout
    assert done.stderr == ""
    agent = done.stdout[done.stdout.index("Agent 2") :]
    lines = [line.strip().partition(":") for line in agent.splitlines()]
    said = {name: value.replace(" ", "") for name, _, value in reversed(lines)}
    caches = ",".join(said[name] for name in ("L1", "L2", "L3") if name in said)
    fields = [*(said[name] for name in ROCMINFO_FIELDS), said["Shader Engines"], said["Size"], caches]
    assert " ".join(fields) == ROCMINFO[target]
    assert (said["Name"], said["Device Type"], said["Feature"]) == (target, "GPU", "KERNEL_DISPATCH")
    assert said["Workgroup Max Size"] == "1024(0x400)"
    pools = [value.strip() for name, _, value in lines if name == "Segment"]
    # For gfx12 the runtime itself lists no second pool of device memory.
    extended = [] if target.startswith("gfx12") else ["GLOBAL; FLAGS: EXTENDED FINE GRAINED"]
    assert pools == ["GLOBAL; FLAGS: COARSE GRAINED", *extended, "GROUP"]
    group = [name for name, _, _ in lines].index(f"Pool {len(pools)}")
    assert lines[group + 2][2].strip() == LDS.get(target, "64(0x40) KB")


@pytest.mark.soak
@pytest.mark.parametrize("target", HIP_TARGETS)
def test_hip_programs(programs: Programs, target: str) -> None:
    passed(programs.run_hip(target))


ONE_TARGET = ["gfx942", *(pytest.param(t, marks=pytest.mark.full) for t in ("gfx90a", "gfx1100"))]


@pytest.mark.soak
@pytest.mark.parametrize("target", ONE_TARGET)
def test_hip_programs_with_a_large_bar(programs: Programs, target: str) -> None:
    passed(programs.run_hip(f"{target},bar=large"))


@pytest.mark.soak
@pytest.mark.parametrize("target", HSA_TARGETS)
def test_hsa_programs(programs: Programs, target: str) -> None:
    passed(programs.run_hsa(target, "dispatch", "profiling", "interrupts", "virtual_memory", "scratch"))


@pytest.mark.soak
def test_timestamps_are_the_same_from_run_to_run(programs: Programs) -> None:
    said = []
    for threads in (1, 2):
        done = programs.run_hip(f"gfx942,threads={threads}", "timestamps")
        passed(done)
        line = next(line for line in done.stdout.splitlines() if "events:" in line)
        said.append([float(word) for word in line.split()[1:4]])
    # Of 10 ns ticks through the runtime's fit of the clocks.
    assert said[0] == pytest.approx(said[1], abs=1e-4)
    passed(programs.run_hip("gfx942,time=wall", "wall_timestamps"))


@pytest.mark.soak
def test_two_gpus(programs: Programs) -> None:
    passed(programs.run_hip("gfx942,gpus=2", "peers"))


@pytest.mark.soak
def test_memory_of_another_gpu_without_peer_access_is_a_fault(programs: Programs) -> None:
    done = programs.run_hip("gfx942,gpus=2", "foreign_memory")
    assert done.returncode == SIGABRT, done.stdout + done.stderr
    assert "Memory access fault by GPU node-2" in done.stderr


@pytest.mark.soak
def test_device_memory_is_out_of_the_cpus_reach(programs: Programs) -> None:
    done = programs.run_hip("gfx942", "host_reads_device")
    assert done.returncode == SIGSEGV, done.stdout + done.stderr


def test_device_memory_through_a_large_bar(programs: Programs) -> None:
    passed(programs.run_hip("gfx942,bar=large", "host_reads_device"))


@pytest.mark.soak
@pytest.mark.parametrize("target", TARGETS)
def test_a_page_fault_is_the_runtimes_own(programs: Programs, target: str) -> None:
    done = programs.run_hip(target, "page_fault")
    assert done.returncode == SIGABRT, done.stdout + done.stderr
    assert "Memory access fault by GPU node-1" in done.stderr
    assert "address 0x123456789000" in done.stderr
    assert f"kerncap-vgpu: vgpu.page-fault: {target}: store of unmapped" in done.stderr


@pytest.mark.soak
def test_queue_errors_reach_the_callback(programs: Programs) -> None:
    done = programs.run_hsa("gfx942", "queue_errors")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("kerncap-vgpu: vgpu.bad-dispatch: ") == 5
    assert "kerncap-vgpu: vgpu.unknown-packet: AQL packet of type 4" in done.stderr


@pytest.mark.soak
@pytest.mark.parametrize("target", HSA_TARGETS)
def test_errors_of_waves_reach_the_callback(programs: Programs, target: str) -> None:
    done = programs.run_hsa(target, "wave_errors")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count(f"kerncap-vgpu: vgpu.aperture-violation: {target}: ") == 2
    assert done.stderr.count(f"kerncap-vgpu: vgpu.trap: {target}: ") == 1
    assert "misaligned atomic" in done.stderr


@pytest.mark.soak
@pytest.mark.parametrize("section", ["unmapped_fault", "read_only_fault"])
def test_page_faults_reach_the_handler_of_system_events(programs: Programs, section: str) -> None:
    done = programs.run_hsa("gfx942", section)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("kerncap-vgpu: vgpu.page-fault: gfx942: store of unmapped or read-only") == 1


@pytest.mark.soak
@pytest.mark.parametrize("target", HSA_TARGETS)
def test_memory_that_is_not_for_code_is_not_executed(programs: Programs, target: str) -> None:
    done = programs.run_hsa(target, "execute_fault")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"kerncap-vgpu: vgpu.page-fault: {target}: instruction fetch from unmapped or not executable" in done.stderr


@pytest.mark.parametrize("target", HSA_TARGETS)
def test_what_is_imported_may_be_code(programs: Programs, target: str) -> None:
    passed(programs.run_hsa(target, "imported_code"))


@pytest.mark.soak
def test_the_largest_grids_do_not_pass_for_done(programs: Programs) -> None:
    done = programs.run_hsa("gfx942", "endless_grids")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.soak
@pytest.mark.parametrize("target", HSA_TARGETS)
def test_an_illegal_instruction_is_named(programs: Programs, target: str) -> None:
    done = programs.run_hsa(target, "illegal_instruction")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("kerncap-vgpu: ")]
    assert len(lines) == 1
    for part in ("instruction: ", target, "bfffffff"):
        assert part in lines[0]


@pytest.mark.soak
def test_out_of_device_memory(programs: Programs) -> None:
    passed(programs.run_hip("gfx1100", "out_of_memory"))


@pytest.mark.soak
def test_forks_and_other_programs(programs: Programs) -> None:
    passed(programs.run_hip("gfx942", "forked"))


@pytest.mark.soak
def test_a_process_may_end_while_a_kernel_runs(programs: Programs) -> None:
    done = programs.run_hip("gfx942", "leave_running")
    assert (done.returncode, done.stdout) == (5, "leaving\n"), done.stderr


@pytest.mark.soak
def test_a_process_may_end_before_the_runtime_has_waited_for_its_work(programs: Programs) -> None:
    container = programs.container
    program = container.work / "exit_pending"
    container.run(["hipcc", container.root / "tests" / "programs" / "exit_pending.hip", "-o", program], check=True)
    done = programs.run("gfx942", program, timeout_s=120)
    assert (done.returncode, done.stdout) == (5, "leaving\n"), done.stderr


def test_an_idle_gpu_costs_little(programs: Programs) -> None:
    done = programs.run_hip("gfx942", "idle")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.soak
def test_store_trace(programs: Programs) -> None:
    trace = programs.container.work / "trace.jsonl"
    trace.unlink(missing_ok=True)
    passed(programs.run_hsa(f"gfx942,trace={trace}", "dispatch"))
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [line["dispatch"] for line in lines] == list(range(len(lines)))
    fills = [line for line in lines if [length for _, length in line["written"]] == [256]]
    assert len(fills) == 2
    assert fills[0]["kernel_object"] == fills[1]["kernel_object"]
    assert fills[0]["written"] == fills[1]["written"]
    read = [va for va, _ in fills[0]["read_first"]]
    assert fills[0]["written"][0][0] not in read, "the kernel does not read what it writes"
    assert read, "it reads its arguments"


@pytest.mark.parametrize(
    ("config", "said"),
    [("gfx906", "unknown target 'gfx906'"), ("gfx942,bar=huge", "unknown option 'bar=huge'")],
)
def test_a_wrong_configuration_is_no_device(programs: Programs, config: str, said: str) -> None:
    done = programs.run(config, "rocminfo")
    assert f"kerncap-vgpu: vgpu.bad-configuration: KERNCAP_VGPU: {said}" in done.stderr
    assert "gfx9" not in done.stdout


SYSFS = """
import os, stat
card = "/sys/class/drm/card0"
assert os.listdir("/sys/class/drm") == ["card0", "renderD128"]
assert stat.S_ISLNK(os.lstat(card).st_mode) and stat.S_ISDIR(os.stat(card).st_mode)
assert os.readlink(card).endswith("/0000:03:00.0/drm/card0"), os.readlink(card)
assert stat.S_ISREG(os.stat(card + "/device/vendor").st_mode)
assert open(card + "/device/vendor").read() == "0x1002\\n"
assert stat.S_ISCHR(os.stat("/dev/kfd").st_mode) and os.stat("/dev/dri/renderD128").st_rdev == os.makedev(226, 128)
for missing in ("/sys/class/drm/card1", card + "/device/gpu_busy_percent", "/dev/dri/renderD129"):
    assert not os.path.exists(missing), missing
assert os.stat("/dev/null").st_rdev == os.makedev(1, 3), "what is not the virtual GPU's is as it was"
print("EXIT-SUCCESS")
"""


def test_files_of_the_device_have_a_status(programs: Programs) -> None:
    """What management libraries (rocm_smi) go by: stat, lstat, readlink of the cards and of the device nodes."""
    passed(programs.run("gfx942", "python3", "-c", SYSFS))


# What the shell and coreutils go by: statx, faccessat, euidaccess; and openat.
SYSFS_SHELL = """
set -e
[ "$(stat -c %F:%t:%T /dev/kfd /dev/dri/renderD128 | tr '\n' ' ')" = "$1" ]
[ "$(stat -c %F /sys/class/drm/card0; stat -L -c %F /sys/class/drm/card0)" = $'symbolic link\ndirectory' ]
[ "$(stat -c %F:%s /sys/class/drm/card0/device/vendor)" = "regular file:4096" ]
for file in /dev/kfd /sys/class/drm/card0/device/vendor; do
  [ -r $file ]; /usr/bin/test -r $file; ls -d $file
done
if stat /sys/class/drm/card1 || [ -r /dev/dri/renderD129 ] || /usr/bin/test -r /sys/class/drm/card1; then exit 1; fi
[ "$(stat -c %t:%T /dev/null)" = 1:3 ]
[ -w /dev/null ]; /usr/bin/test -w /dev/null
[ "$(cat /sys/class/drm/card0/device/vendor)" = 0x1002 ]
echo EXIT-SUCCESS
"""


def test_shells_and_coreutils_see_the_files_of_the_device(programs: Programs) -> None:
    nodes = "character special file:eb:0 character special file:e2:80 "
    passed(programs.run("gfx942", "bash", "-c", SYSFS_SHELL, "-", nodes))


# Symbols of programs built with an older C library, and what they leave to the one at hand.
OLD_STAT = """
import ctypes, os, stat
libc, out = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(144)
def mode(): return int.from_bytes(out.raw[24:28], "little")  # st_mode
for symbol, kind in (("__xstat", stat.S_ISDIR), ("__lxstat", stat.S_ISLNK), ("__xstat64", stat.S_ISDIR)):
    assert getattr(libc, symbol)(1, b"/sys/class/drm/card0", out) == 0 and kind(mode()), symbol
    assert getattr(libc, symbol)(1, b"/dev/dri/renderD129", out) == -1 and ctypes.get_errno() == 2, symbol
    assert getattr(libc, symbol)(1, b"/dev/null", out) == 0 and stat.S_ISCHR(mode()), symbol
assert libc.__fxstatat(1, -100, b"/dev/kfd", out, 0) == 0 and stat.S_ISCHR(mode())
print("EXIT-SUCCESS")
"""


def test_older_programs_see_the_files_of_the_device(programs: Programs) -> None:
    passed(programs.run("gfx942", "python3", "-c", OLD_STAT))


def test_without_a_configuration_nothing_changes(programs: Programs) -> None:
    preload = {"LD_PRELOAD": str(programs.container.native_dir / "libkerncap-vgpu.so")}
    done = programs.container.run(["ls", "/dev"], env=preload)
    assert (done.returncode, done.stderr) == (0, "")
    assert "kfd" not in done.stdout
    assert programs.container.run(["cat", "/dev/kfd"], env=preload).returncode == 1


@pytest.mark.parametrize("api", ["hsa", "hip"])
def test_in_a_container_with_nothing(programs: Programs, suite: str, api: str) -> None:
    """Default seccomp profile, read-only root, no capabilities, and only the writable /tmp that HIP itself needs."""
    container = programs.container
    argv = ["docker", "run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL"]
    argv += ["--user", f"{os.getuid()}:{os.getgid()}", "--security-opt", "no-new-privileges", "--init"]
    argv += ["--volume", f"{container.root}:{container.root}:ro", "--volume", f"{container.work}:{container.work}:ro"]
    argv += ["--env", f"LD_PRELOAD={container.native_dir / 'libkerncap-vgpu.so'}", "--env", "KERNCAP_VGPU=gfx942"]
    argv += ["--tmpfs", "/tmp"] if api == "hip" else []
    argv += [f"{os.environ.get('KERNCAP_IMAGE_NAMESPACE', 'kerncap')}/dev:{suite}"]
    if api == "hip":
        argv += [str(programs.hip), "copies", "kernels"]
    else:
        argv += [str(programs.hsa), str(programs.kernels["gfx942"]), "dispatch", "scratch"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EXIT-SUCCESS" in done.stdout
