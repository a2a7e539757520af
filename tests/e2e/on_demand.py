"""A server under `kerncap attachable`, and captures of it on demand.

In: `ask NAME KERNEL [OPTION...]` lines, each one `kerncap trigger`. Out: what every command said, and its exit code.
Called by test_attach.py and test_armed_capture.py.
"""

from __future__ import annotations

from pathlib import Path

from workbench import Workbench

# $1: the program, $2: a folder. What each command says and its exit code lie in the folder afterwards.
_BEFORE = r"""
cd "$2"
kerncap() { python3 -m kerncap "$@"; }
ask() { name=$1; shift; kerncap trigger "$pid" "$@" > "$name.out" 2> "$name.err"; echo $? > "$name.code"; }
kerncap attachable --device vgpu:gfx942 -- "$1" "$2/stop" > server.out 2> server.err &
server=$!
for i in $(seq 300); do grep -q ready server.out && break; sleep 0.1; done
pid=$(sed -n 's/.*kerncap trigger \([0-9]*\) KERNEL.*/\1/p' server.err)
"""
_AFTER = r"""
touch stop
wait $server
echo $? > server.code
"""


def ask_server(workbench: Workbench, work: Path, asks: str) -> dict[str, tuple[int, str, str]]:
    """(exit code, stdout, stderr) by name, the server's too. Everything lies in `work`, which is made."""
    work.mkdir()
    argv = ["bash", "-c", _BEFORE + asks.strip() + _AFTER, "-", workbench.program("server"), work]
    workbench.container.run(argv, timeout_s=300)
    said = {}
    for path in work.glob("*.code"):
        code, out, err = (path.with_suffix(kind).read_text() for kind in (".code", ".out", ".err"))
        said[path.stem] = (int(code), out, err)
    return said
