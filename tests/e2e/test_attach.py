"""Captures on demand, of a process that runs on before, between and after them."""

from __future__ import annotations

import json
import re

from captured_memory import CapturedMemory
from on_demand import ask_server
from workbench import Workbench

DEVICE = ("--device", "vgpu:gfx942")
COUNT = 1000

_ASKS = """
ask tick tick -o tick.kcap --json
ask tock tock --dispatch 2 -o tock.kcap
ask missing tac --timeout 1 -o missing.kcap
ask later tick --dispatch 1000000 --timeout 1 -o later.kcap
ask pattern 'tick(' --match regex -o pattern.kcap
# Killed while it waits: what it asked for must not be in the way of the next one.
python3 -m kerncap trigger "$pid" tac -o killed.kcap > killed.out 2> killed.err &
killed=$!
for i in $(seq 100); do ls -d .killed.kcap.*.partial && break; sleep 0.1; done
sleep 0.5
kill -9 $killed
ask again tick -o again.kcap --self-check 0
pid=1 ask stranger tick -o stranger.kcap
"""


def test_a_server_is_captured_from(workbench: Workbench) -> None:
    work = workbench.work / "attach"
    said = ask_server(workbench, work, _ASKS)
    code, out, err = said["server"]
    assert (code, "EXIT-SUCCESS" in out) == (0, True), out + err
    code, out, err = said["tick"]
    assert code == 0, err
    document = json.loads(out)
    assert document["self_check"]["verdict"] == "faithful"
    assert document["application"] == {"returncode": None, "status": "goes on"}
    for name in ("tock", "again"):
        assert said[name][0] == 0, said[name]
    code, _, err = said["missing"]
    assert code == 5, err
    assert "no dispatch matched 'tac'" in err
    assert "goes on after 1 s" in err
    assert "hint: --timeout" in err
    assert not (work / "missing.kcap").exists()
    # What it has seen since it was asked: at 20 ms a round, and not since the server's start.
    seen = re.search(r"in \d+ queues? and (\d+) dispatch", err)
    assert seen, err
    assert 0 < int(seen[1]) <= 2 * 60
    code, _, err = said["later"]
    assert code == 5, err
    counted = re.search(r"'tick' was dispatched (\d+) times", err)
    assert counted, err
    assert 0 < int(counted[1]) <= 60
    code, _, err = said["pattern"]
    assert code == 2, err
    assert "[usage.pattern]" in err
    code, _, err = said["stranger"]
    assert code == 5, err
    assert "was not started to be captured from" in err

    before, after = CapturedMemory(work / "tick.kcap" / "capture").integers(0, COUNT)
    assert [a - b for a, b in zip(after, before, strict=True)] == [i + 1 for i in range(COUNT)]
    later, _ = CapturedMemory(work / "again.kcap" / "capture").integers(0, COUNT)
    assert later[0] > before[0]
    for name in ("tick", "tock"):
        assert workbench.verdict("replay", work / f"{name}.kcap", *DEVICE)["verdict"] == "faithful"
        nothing = workbench.variant("server", "gfx942", "nothing")
        judged = workbench.verdict("validate", work / f"{name}.kcap", "--hsaco", nothing, *DEVICE)
        assert judged["verdict"] == "differs", name


_DAEMON = r"""
cd "$2"
background='setsid "$0" stop > server.out 2>&1 &'
python3 -m kerncap attachable --device vgpu:gfx942 -- sh -c "$background" "$1" > said.out 2> said.err &
attachable=$!
for i in $(seq 300); do grep -q ready server.out && break; sleep 0.1; done
pid=$(sed -n 's/.*can still be asked: \([0-9]*\)$/\1/p' said.err)
python3 -m kerncap trigger "$pid" tick -o daemon.kcap --self-check 0 > trigger.out 2> trigger.err
echo $? > trigger.code
kill -0 $attachable && touch waits
touch stop
wait $attachable
echo $? > attachable.code
"""


def test_a_daemon_can_be_asked_after_its_command_has_ended(workbench: Workbench) -> None:
    work = workbench.work / "attach-daemon"
    work.mkdir()
    workbench.container.run(["bash", "-c", _DAEMON, "-", workbench.program("server"), work], timeout_s=300)
    said = {path.name: path.read_text() for path in work.iterdir() if path.is_file()}
    assert said["trigger.code"] == "0\n", said
    assert (work / "daemon.kcap" / "capture" / "capture.json").is_file()
    assert "waits" in said
    assert said["attachable.code"] == "0\n", said
    assert "EXIT-SUCCESS" in said["server.out"]
