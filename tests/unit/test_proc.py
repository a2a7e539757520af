"""kerncap.proc against real programs that misbehave."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from kerncap import proc
from kerncap.errors import HostError


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_status_and_stdin() -> None:
    done = proc.run(
        _python("import sys; d=sys.stdin.read(); print(d*2); print('e',file=sys.stderr); sys.exit(3)"),
        timeout_s=30,
        stdin=b"ab" * 100_000,
    )
    assert (done.returncode, done.ok) == (3, False)
    assert done.text == "ab" * 200_000 + "\n"
    assert done.error_text == "e\n"


def test_streams_pieces_and_keeps_only_the_tail() -> None:
    seen: list[bytes] = []
    done = proc.run(_python("print('x'*300000)"), timeout_s=30, on_stdout=seen.append, keep_bytes=1000)
    assert sum(map(len, seen)) == 300001
    assert done.stdout == b"x" * 999 + b"\n"


def test_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import subprocess,sys,time,signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "c=subprocess.Popen([sys.executable,'-c','import time; time.sleep(600)'])\n"
        f"open({str(pid_file)!r},'w').write(str(c.pid))\n"
        "time.sleep(600)\n"
    )
    for limit_s in (1.0, 10.0, 60.0):  # a busy machine may need more than one to start the child
        done = proc.run(_python(code), timeout_s=limit_s)
        assert done.timed_out
        assert not done.ok
        assert limit_s <= done.duration_s < 300
        if pid_file.exists() and pid_file.read_text():
            break
    child = int(pid_file.read_text())
    deadline = time.monotonic() + 60
    while not _gone(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _gone(child)


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_cancel() -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    done = proc.run(_python("import time; time.sleep(600)"), timeout_s=300, cancel=cancel)
    assert done.cancelled
    assert done.duration_s < 300


def test_a_grandchild_that_keeps_the_pipe_does_not_hold_us() -> None:
    code = "import subprocess,sys; p=subprocess.Popen(['sleep','600']); print(p.pid, flush=True)"
    done = proc.run(_python(code), timeout_s=300)
    os.kill(int(done.text), 9)
    assert done.returncode == 0
    assert done.duration_s < 300


def test_missing_program_says_its_name() -> None:
    with pytest.raises(HostError) as caught:
        proc.run(["no-such-program-here"], timeout_s=5)
    assert caught.value.code == "host.program-missing"
    assert "no-such-program-here" in caught.value.message


_ECHO = "import sys\nprint('ready', flush=True)\nfor line in sys.stdin: print('got', line.strip(), flush=True)"


def test_a_service_answers_line_by_line() -> None:
    with proc.Service([sys.executable, "-c", _ECHO]) as service:
        assert service.answer(60) == "ready"
        for word in ("one", "zwölf"):
            service.tell(word)
            assert service.answer(60) == f"got {word}"
    service.close()


def test_a_service_that_ends_says_how() -> None:
    code = "import sys\nprint('ready', flush=True)\nsys.stdin.readline()\nprint('why', file=sys.stderr)\nsys.exit(3)"
    with proc.Service([sys.executable, "-c", code]) as service:
        assert service.answer(60) == "ready"
        service.tell("x")
        ended = service.answer(60)
        assert isinstance(ended, proc.Completed)
        assert (ended.returncode, ended.error_text.strip(), ended.timed_out) == (3, "why", False)
        service.tell("x")


def test_a_service_that_does_not_answer_is_ended() -> None:
    code = "import time\nprint('half', end='', flush=True)\ntime.sleep(600)"
    with proc.Service([sys.executable, "-c", code]) as service:
        ended = service.answer(0.5)
        assert isinstance(ended, proc.Completed)
        assert ended.timed_out
        assert ended.returncode == -signal.SIGTERM
