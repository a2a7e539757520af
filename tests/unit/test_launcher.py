"""`--launcher`: a command in front of kerncap-replay, with the terminal, and without the virtual GPU."""

from __future__ import annotations

import os
import pty
import select
import shlex
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

from kerncap import native, proc
from kerncap.cli import main as cli
from kerncap.errors import HostError, UsageError
from kerncap.workflows.launcher import PRELOAD_VARIABLE, Launcher, parse_launcher, words_of
from kerncap.workflows.run import RunOptions, _device_and_launcher

_ROOT = Path(__file__).resolve().parents[2]
VGPU = native.Device("vgpu", "gfx942")


def test_words() -> None:
    assert words_of("gdb -ex 'break main' --args") == ("gdb", "-ex", "break main", "--args")
    for text in ("", "   ", "''", "gdb 'x"):
        with pytest.raises(UsageError) as error:
            words_of(text)
        assert error.value.code == "usage.launcher"
        assert error.value.hint.startswith("--launcher ")


def test_its_program_is_looked_for() -> None:
    launcher = parse_launcher("env FOO=1 BAR='a b'")
    assert launcher is not None
    assert Path(launcher.words[0]).is_absolute()
    assert launcher.name == "env"
    assert str(launcher).endswith("env FOO=1 'BAR=a b'")
    assert parse_launcher(None) is None
    with pytest.raises(HostError) as error:
        parse_launcher("no-such-program --x")
    assert (error.value.code, error.value.exit_code) == ("host.no-launcher", 3)
    assert error.value.hint == "command -v no-such-program"


@pytest.mark.parametrize("command", ["replay", "validate"])
def test_exit_codes(command: str, layout: Path) -> None:
    assert cli.run([command, f"oci:{layout}", "--launcher", "no-such-program"]) == 3
    assert cli.run([command, f"oci:{layout}", "--launcher", "'"]) == 2
    assert cli.run(["run", f"oci:{layout}", "--launcher", "'"]) == 2


@pytest.mark.parametrize(("before", "after"), [("", None), ("/mine.so", "/mine.so")])
def test_the_virtual_gpu_is_for_kerncap_replay(tmp_path: Path, before: str, after: str | None) -> None:
    (tmp_path / "libkerncap-vgpu.so").write_bytes(b"")
    files = native.NativeFiles(tmp_path)
    base = {"PATH": "/bin"} | ({"LD_PRELOAD": before} if before else {})
    launcher = Launcher(("/usr/bin/strace",))
    env = launcher.environment(VGPU, files, native.device_environment(VGPU, files, base))
    assert env.get("LD_PRELOAD") == after
    assert env[PRELOAD_VARIABLE] == str(tmp_path / "libkerncap-vgpu.so")
    assert env[native.VGPU_VARIABLE] == "gfx942"
    gpu = native.Device("gpu")
    assert launcher.environment(gpu, files, dict(base)) == base


def test_a_gpu_may_be_the_launchers_own() -> None:
    emulator, debugger = Launcher(("/opt/rocm/bin/rocjitsu", "--")), Launcher(("/usr/bin/gdb",))
    assert emulator.device("auto") == native.Device("gpu")
    assert debugger.device("auto") is None
    assert debugger.device("gpu:1") == native.Device("gpu", index=1)
    assert emulator.device("vgpu:gfx942") is None


def test_in_a_container_it_is_looked_for_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from kerncap.runtime import containers

    monkeypatch.setattr(containers, "gpu_present", lambda: False)
    assert _device_and_launcher(RunOptions()) == ("auto", ())
    chosen = _device_and_launcher(RunOptions(launcher="-x y", device="vgpu:gfx942"))
    assert chosen == ("vgpu:gfx942", ("--launcher=-x y",))
    own = _device_and_launcher(RunOptions(launcher="rocjitsu --", device="gpu"))
    assert own == (None, ("--launcher=rocjitsu --", "--device", "gpu"))
    monkeypatch.setattr(containers, "gpu_present", lambda: True)
    assert _device_and_launcher(RunOptions(launcher="perf stat", device="gpu"))[0] == "gpu"


def test_stdout_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    done = proc.run_attached(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=10)
    said = capfd.readouterr()
    assert (done.returncode, said.out, said.err) == (3, "", "out\nerr\n")
    assert not done.ok
    with pytest.raises(HostError):
        proc.run_attached(["/no/such/program"], timeout_s=10)


def test_without_a_terminal_there_is_a_time_limit(tmp_path: Path) -> None:
    start = time.monotonic()
    pid_file = tmp_path / "pid"
    done = proc.run_attached(["sh", "-c", f"sleep 60 & echo $! > {pid_file}; wait"], timeout_s=0.5)
    assert done.timed_out
    assert time.monotonic() - start < 10
    assert not Path(f"/proc/{int(pid_file.read_text())}/cmdline").is_file() or not _alive(int(pid_file.read_text()))


def _alive(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.05)
    return True


def on_a_terminal(program: str, talk: list[tuple[str, bytes]]) -> tuple[int, str]:
    """Run a Python program with a terminal of its own: wait for each text, then type. Exit status, what was seen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(_ROOT)
        os.execv(sys.executable, [sys.executable, "-c", textwrap.dedent(program)])
    seen = b""
    try:
        for expected, typed in talk:
            while expected.encode() not in seen:
                piece = _read(terminal, seen)
                assert piece, (expected, seen)
                seen += piece
            os.write(terminal, typed)
        while piece := _read(terminal, seen):
            seen += piece
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), seen.decode()
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(terminal)


def _read(terminal: int, seen: bytes) -> bytes:
    """Nothing: the other side is closed."""
    assert select.select([terminal], [], [], 20)[0], seen
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def test_a_person_can_type_at_it() -> None:
    program = """
        from kerncap import proc
        done = proc.run_attached(["sh", "-c", "echo ready; read line; echo got $line; stty -echo"], timeout_s=0.1)
        print("code", done.returncode, input("again? "))
    """
    code, seen = on_a_terminal(program, [("ready", b"hello\n"), ("again?", b"yes\n")])
    assert code == 0
    assert "got hello" in seen
    assert "code 0 yes" in seen


def test_ctrl_c_is_for_the_debugger() -> None:
    program = """
        from kerncap import proc
        script = "sleep 0.3; trap 'echo trapped' INT; echo ready; read line; echo got $line"
        done = proc.run_attached(["bash", "-c", script], timeout_s=None)
        print("code", done.returncode)
    """
    code, seen = on_a_terminal(program, [("ready", b"\x03"), ("trapped", b"more\n")])
    assert code == 0
    assert "got more" in seen
    assert "code 0" in seen


def test_ctrl_c_that_ends_it_ends_the_command() -> None:
    program = """
        from kerncap import proc
        try:
            proc.run_attached(["sh", "-c", "sleep 0.3; echo ready; exec sleep 60"], timeout_s=None)
        except KeyboardInterrupt:
            print("interrupted")
    """
    code, seen = on_a_terminal(program, [("ready", b"\x03")])
    assert code == 0
    assert "interrupted" in seen


def test_ctrl_z_stops_both_and_both_go_on() -> None:
    """A shell in between, as a person has one."""
    program = """
        import os
        os.environ["PS1"] = "PROMPT: "
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    """
    script = 'sleep 0.3; echo re""ady; read x; echo "go""t $x"'
    inner = f'from kerncap import proc; proc.run_attached(["sh", "-c", {script!r}], timeout_s=None)'
    line = f"{sys.executable} -c {shlex.quote(inner)}\n".encode()
    talk = [("PROMPT: ", line), ("ready", b"\x1a"), ("Stopped", b"fg\n"), ("fg", b"more\n"), ("got more", b"exit\n")]
    code, seen = on_a_terminal(program, talk)
    assert code == 0
    assert "got more" in seen
