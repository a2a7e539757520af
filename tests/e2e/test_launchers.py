"""`--launcher` with programs of the dev image, on the virtual GPU: the same verdict, and what the launcher is for."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from workbench import Workbench

from kerncap.bundle.documents import validate

GOLDEN = "bundle_spec/golden/plain-gfx90a.kcap.tar"


@pytest.fixture
def bundle(workbench: Workbench) -> Path:
    return workbench.container.root / GOLDEN


def document(done: subprocess.CompletedProcess[str], command: str) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    validate(found, "printed", what=command)
    return found


def test_strace_sees_kerncap_replay(workbench: Workbench, bundle: Path) -> None:
    trace = workbench.work / "launcher trace.txt"
    launcher = f"strace -f -e trace=execve,ioctl -o '{trace}'"
    found = document(workbench.kerncap("replay", bundle, "--launcher", launcher, "--json"), "replay")
    assert (found["verdict"], found["device"]) == ("faithful", "vgpu:gfx90a")
    lines = trace.read_text().splitlines()
    first, again = [line for line in lines if "execve(" in line]
    assert "kerncap-replay" in first
    assert '"/proc/self/exe"' in again
    trace.unlink()


def test_gdb_breaks_in_kerncap_replay_and_in_the_virtual_gpu(workbench: Workbench, bundle: Path) -> None:
    launcher = "gdb -batch -ex 'break main' -ex run -ex continue -ex 'info sharedlibrary vgpu' -ex continue --args"
    done = workbench.kerncap("replay", bundle, "--launcher", launcher, "--json")
    assert document(done, "replay")["verdict"] == "faithful"
    assert done.stderr.count("Breakpoint 1, ") == 2, "once before the virtual GPU is there, once with it"
    assert "libkerncap-vgpu.so" in done.stderr
    assert "exited normally" in done.stderr


def test_the_launcher_itself_is_on_no_gpu(workbench: Workbench, bundle: Path) -> None:
    """Whatever the launcher is, it is not preloaded; what it preloads itself stays."""
    said = workbench.work / "said.txt"
    script = workbench.work / "own-launcher"
    script.write_text(f'#!/bin/sh\necho "preload=$LD_PRELOAD" > "{said}"\nLD_PRELOAD=libc.so.6 exec "$@"\n')
    script.chmod(0o755)
    found = document(workbench.kerncap("replay", bundle, "--launcher", str(script), "--json"), "replay")
    assert found["verdict"] == "faithful"
    assert said.read_text() == "preload=\n"


def test_validate_is_several_processes(workbench: Workbench, bundle: Path) -> None:
    said = workbench.work / "runs.txt"
    script = workbench.work / "counting-launcher"
    script.write_text(f'#!/bin/sh\necho a run | tee -a "{said}"\nexec "$@"\n')
    script.chmod(0o755)
    plain = document(workbench.kerncap("validate", bundle, "--json"), "validate")
    done = workbench.kerncap("validate", bundle, "--launcher", f"env FOO=1 {script}", "--json")
    found = document(done, "validate")
    assert found["verdict"] == plain["verdict"] == "faithful"
    assert found["judged"] == plain["judged"]
    assert said.read_text().count("a run") == done.stderr.count("a run") >= 1


def test_what_stopped_the_virtual_gpu_is_said(workbench: Workbench) -> None:
    """It comes through a file of its own: stderr is the launcher's, too."""
    bundle = workbench.container.root / "bundle_spec/golden/fault-gfx942.kcap.tar"
    plain = workbench.kerncap("replay", bundle, "--json")
    launched = workbench.kerncap("replay", bundle, "--launcher", "env", "--json")
    assert launched.returncode == plain.returncode
    first, second = json.loads(plain.stdout), json.loads(launched.stdout)
    assert {k: first.get(k) for k in ("verdict", "code")} == {k: second.get(k) for k in ("verdict", "code")}


def test_launchers_that_fail(workbench: Workbench, bundle: Path) -> None:
    assert "[host.no-launcher]" in workbench.error(3, "replay", bundle, "--launcher", "rocgdb-of-another")["stderr"]
    said = workbench.error(6, "replay", bundle, "--launcher", "true")["stderr"]
    assert "true ended with exit code 0, and kerncap-replay behind it left no result [replay.launcher]" in said
    said = workbench.error(6, "replay", bundle, "--launcher", "sh -c 'kill -SEGV $$'")["stderr"]
    assert "sh ended with signal 11" in said


def test_preflight_stops_a_replay(workbench: Workbench, bundle: Path) -> None:
    said = workbench.error(3, "replay", bundle, "--device", "vgpu:gfx942")["stderr"]
    assert "[host.wrong-gpu]" in said
    assert "what works: a GPU that is a gfx90a; the virtual GPU (--device vgpu:gfx90a)" in said
    few = ["sh", "-c", f"ulimit -n 200; exec python3 -m kerncap replay {bundle}"]
    done = workbench.container.run(few, check=True)
    assert "limits: ulimit -n allows 200 open files" in done.stderr


def test_doctor_in_the_image(workbench: Workbench, bundle: Path) -> None:
    done = workbench.kerncap("doctor", bundle, "--json")
    found = json.loads(done.stdout)
    validate(found, "printed", what="doctor")
    states = {check["name"]: check["state"] for check in found["checks"]}
    assert (states["hsa-runtime"], states["native-files"], states["virtual-gpu"]) == ("ok", "ok", "ok")
    assert found["can"]["replay"]
    assert done.returncode == 0
    runtime = next(check["detail"] for check in found["checks"] if check["name"] == "hsa-runtime")
    assert "version 1." in runtime


def test_the_virtual_gpus_isa_names_are_the_runtimes(workbench: Workbench) -> None:
    """What the doctor says of a virtual GPU is what an HSA program finds."""
    from kerncap.runtime.doctor import agents

    for name in ("plain-gfx90a", "variable-gfx942", "lds-gfx1100"):
        path = workbench.container.root / f"bundle_spec/golden/{name}.kcap.tar"
        launcher = workbench.work / "keeping-launcher"
        kept = workbench.work / "kept.json"
        launcher.write_text(f'#!/bin/sh\n"$@"\ncode=$?\ncp "$3" "{kept}"\nexit $code\n')
        launcher.chmod(0o755)
        found = document(workbench.kerncap("replay", path, "--launcher", str(launcher), "--json"), "replay")
        target = str(found["device"]).removeprefix("vgpu:")
        assert json.loads(kept.read_text())["device"]["isa"] == agents.virtual_isa(target)


def test_in_a_container(bundle: Path) -> None:
    """`kerncap run`: the launcher is looked up in the image."""
    argv = [sys.executable, "-m", "kerncap", "run", str(bundle), "--device", "vgpu:gfx90a", "--json", "--launcher"]
    done = subprocess.run([*argv, "env FOO=1"], capture_output=True, text=True, timeout=300)
    found = document(done, "run")
    assert (found["verdict"], found["device"]) == ("faithful", "vgpu:gfx90a")
    assert "'--launcher=env FOO=1'" in done.stderr
    done = subprocess.run([*argv, "no-such-program"], capture_output=True, text=True, timeout=300)
    assert (done.returncode, json.loads(done.stdout)["code"]) == (3, "host.no-launcher")


def test_a_person_at_gdb(workbench: Workbench, bundle: Path) -> None:
    """On a terminal: what is typed goes to the debugger, Ctrl-C does not end kerncap, a verdict comes in the end."""
    argv = ["docker", "exec", "-it", "--env", "TERM=dumb", workbench.container.name, "python3", "-m", "kerncap"]
    argv += ["replay", str(bundle), "--launcher", "gdb -q -nx --args", "--timeout", "600"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(argv[0], argv)
    seen = ""

    def until(text: str) -> None:
        nonlocal seen
        start = len(seen)
        while text not in seen[start:]:
            assert select.select([terminal], [], [], 60)[0], seen
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                pytest.fail(f"{text!r} did not come:\n{seen}")
            seen += piece.decode("utf-8", "replace")

    try:
        talk = [
            ("set confirm off", "(gdb) "),
            ("\x03", "Quit"),
            ("break main", "Breakpoint 1 at"),
            ("run", "Breakpoint 1, "),
        ]
        until("(gdb) ")
        for typed, expected in talk:
            os.write(terminal, typed.encode() + (b"" if typed == "\x03" else b"\n"))
            until(expected)
        os.write(terminal, b"continue\n")
        until("Breakpoint 1, ")  # in the process with the virtual GPU
        os.write(terminal, b"delete\ncontinue\n")
        until("exited normally")
        os.write(terminal, b"quit\n")
        until("verdict: faithful")
        _, status = os.waitpid(pid, 0)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
