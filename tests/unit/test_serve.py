"""What `kerncap serve` answers, without a device: a session that only refuses, requests over a real socket."""

from __future__ import annotations

import json
import os
import shlex
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from synthetic import make_reproducer

from kerncap.bundle import open_bundle
from kerncap.errors import BundleError, CompileError, HostError, KerncapError, ReplayError, UsageError, typed
from kerncap.workflows.replay import OnDevice
from kerncap.workflows.serve import REQUEST, hint_for_client, serve
from kerncap.workflows.session import Session


def session_of(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session on no device: what it refuses, it refuses before it looks at one."""
    monkeypatch.setattr(Session, "__init__", lambda self: None)
    session = Session()  # type: ignore[call-arg]
    session._subject = OnDevice(open_bundle(str(bundle)), cast(Any, None), "served.kcap")
    session._trust = True
    return session


def ask(session: Session, path: Path, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers of a server to these requests; the last, `stop`, is not among them."""
    answers: list[dict[str, Any]] = []

    def client() -> None:
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(str(path))
            lines = raw.makefile("rwb")
            for request in (*requests, {"operation": "stop"}):
                lines.write(json.dumps({"schema": REQUEST, **request}).encode() + b"\n")
                lines.flush()
                answers.append(json.loads(lines.readline()))

    thread = threading.Thread(target=client, daemon=True)
    serve(session, path, thread.start)
    thread.join(10)
    assert answers.pop() == {"schema": "kerncap.stopped/1"}
    return answers


@pytest.mark.timeout(60)
def test_requests_that_make_no_sense_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_of(make_reproducer(tmp_path / "served.kcap"), monkeypatch)
    os.mkfifo(tmp_path / "fifo")
    alone, both, colour, iterations, source, code = ask(
        session,
        tmp_path / "s",
        {"operation": "evaluate", "kernel": "no such one"},
        {"operation": "evaluate", "hsaco": "/x", "source": "/y"},
        {"operation": "evaluate", "colour": 1},
        {"operation": "evaluate", "iterations": 0},
        {"operation": "evaluate", "source": str(tmp_path / "fifo")},
        {"operation": "code", "hsaco": str(tmp_path / "fifo")},
    )
    assert (alone["code"], alone["exit_code"]) == ("usage.option-alone", 2)
    assert json.loads(alone["hint"]) == {
        "schema": REQUEST,
        "operation": "evaluate",
        "hsaco": "/PATH/TO/FILE",
        "kernel": "no such one",
    }
    assert both["code"] == "usage.option-alone"
    assert colour["code"] == "usage.request"
    assert json.loads(colour["hint"]) == {"schema": REQUEST, "operation": "evaluate"}
    assert iterations["code"] == "usage.number"
    assert json.loads(iterations["hint"])["iterations"] == 1
    assert source["code"] in ("bundle.hostile-file", "usage.no-such-bundle")
    assert str(tmp_path / "fifo") in source["message"]
    assert (code["code"], code["exit_code"]) == ("usage.no-such-file", 2)


Make = Callable[..., KerncapError]


@pytest.mark.parametrize(
    ("kind", "hint", "shown"),
    [
        (UsageError, None, "kerncap serve --help"),
        (BundleError, None, "kerncap verify 'b c.kcap' --deep  # then ask for a whole one where it came from"),
        (ReplayError, None, "kerncap replay 'b c.kcap' -v"),
        (CompileError, None, "kerncap recompile /src.kcap -o FILE -v"),
        (CompileError, "--timeout 3600", "kerncap recompile /src.kcap -o FILE --timeout 3600"),
        (ReplayError, "--timeout 240", "kerncap serve 'b c.kcap' --socket s --timeout 240"),
        (UsageError, "--device vgpu:gfx942", "kerncap serve 'b c.kcap' --socket s --device vgpu:gfx942"),
        (UsageError, "--check all --only 0", "kerncap serve 'b c.kcap' --socket s --only 0"),
        (HostError, "df -h /tmp", "df -h /tmp"),
        (HostError, "it's odd", "it's odd"),
        (UsageError, "--check all  # or memory", {"check": "all"}),
        (UsageError, "--hsaco FILE, of hipcc -c", {"hsaco": "/PATH/TO/FILE"}),
        (UsageError, "atol 1e-5", {"atol": 1e-5}),
        (UsageError, typed("--kernel", "void k<int>(int*)"), {"kernel": "void k<int>(int*)"}),
    ],
)
def test_hints_make_sense_to_a_client(kind: Make, hint: str | None, shown: str | dict[str, Any]) -> None:
    error = kind("x", code="usage.x", hint=hint)
    source = "/src.kcap" if kind is CompileError else None
    found = hint_for_client(error, bundle="b c.kcap", socket_path=Path("s"), source=source)
    if isinstance(shown, str):
        assert found == shown
        assert "COMMAND" not in found
        assert "BUNDLE" not in found
    else:
        assert json.loads(found) == {"schema": REQUEST, "operation": "evaluate", **shown}
    if found.startswith("kerncap"):
        assert shlex.split(found, comments=True)
