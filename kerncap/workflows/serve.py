"""A session that other processes use, over a local socket: one load of a bundle, many verdicts, any language.

In: a Session, a socket's path; one JSON document a line (docs/interfaces.md, Server). Out: one document a line.
Called by `kerncap serve`; the client of the Python API is `remote`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import queue
import shlex
import socket
import socketserver
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kerncap.bundle.files import alone_in
from kerncap.errors import (
    CompileError,
    HostError,
    KerncapError,
    UsageError,
    bug,
    out_of_memory,
    refused_by_system,
    typed,
)
from kerncap.workflows.code import code_document
from kerncap.workflows.session import Session

log = logging.getLogger(__name__)

_MOST_PATH_BYTES = 107  # Source: unix(7), sun_path
_MOST_REQUEST_BYTES = 1 << 20
REQUEST = "kerncap.request/1"
_LAST_ANSWER_S = 2.0
_ANOTHER_PLACE = "--socket /tmp/kerncap.sock"
_EVALUATE: Final[Mapping[str, tuple[type, ...]]] = {
    "hsaco": (str, type(None)),
    "source": (str, type(None)),
    "iterations": (int,),
    "atol": (int, float),
    "rtol": (int, float),
    "ulp": (int,),
    "kernel": (str, type(None)),
    "check": (str, type(None)),
    "config": (str, type(None)),
    "programs": (list, type(None)),
}
_OPTIONS = ("device", "timeout", "only")
_CODE: Final[Mapping[str, tuple[type, ...]]] = {"hsaco": (str, type(None))}
_MEMBERS: Final[Mapping[str, Mapping[str, tuple[type, ...]]]] = {"evaluate": _EVALUATE, "code": _CODE, "stop": {}}


def serve(session: Session, path: Path, on_ready: Callable[[], None]) -> None:
    """Answer requests until one says `stop`, or KeyboardInterrupt. The socket is the user's alone, and is removed.

    Requests are answered one at a time, in the order of their arrival, on the calling thread: what ends it ends the
    compiler, the container and the replay of the request at hand as well.
    Raises: UsageError `usage.socket-path`, `usage.output-exists`; HostError `host.socket-in-use`.
    """
    with _listening(path) as listener, _Server(listener) as server:
        acceptor = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        acceptor.start()
        try:
            on_ready()
            last = _answer_until_stop(session, path, server.requests)
        finally:
            server.shutdown()
            acceptor.join()
            server.end()
    # Who asked for it finds nobody there any more.
    last.answer.put({"schema": "kerncap.stopped/1"})
    last.sent.wait(_LAST_ANSWER_S)


@dataclass
class _Request:
    """One line of a client, and where it waits for the answer."""

    line: bytes
    answer: queue.SimpleQueue[dict[str, Any] | None] = field(default_factory=queue.SimpleQueue)
    sent: threading.Event = field(default_factory=threading.Event)


def _answer_until_stop(session: Session, place: Path, requests: queue.SimpleQueue[_Request]) -> _Request:
    """The request to stop, which is not answered yet."""
    while True:
        request = requests.get()
        answer = _answer(session, place, request.line)
        if answer is None:
            return request
        request.answer.put(answer)


def _answer(session: Session, place: Path, line: bytes) -> dict[str, Any] | None:
    """None: it is to stop. Whatever fails is an answer too."""
    options: dict[str, Any] = {}
    try:
        operation, options = _parsed(line)
        if operation == "stop":
            return None
        if operation == "code":
            return code_document(session.code(**options))
        return session.evaluate(**options).to_json()
    except KerncapError as error:
        failure = error
    except OSError as error:
        failure = refused_by_system(error)
    except MemoryError:
        failure = out_of_memory()
    except Exception as error:
        log.exception("a request could not be answered")
        failure = bug(error)
    hint = hint_for_client(failure, bundle=session.bundle, socket_path=place, source=options.get("source"))
    return {**failure.to_json(), "hint": hint}


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Reads requests and writes answers, a thread a connection."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listener: socket.socket) -> None:
        super().__init__(str(listener.getsockname()), _Connection, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()

    def end(self) -> None:
        """Nobody waits for an answer that will not come."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.requests.get_nowait().answer.put(None)


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while line := self.rfile.readline(_MOST_REQUEST_BYTES + 1):
                if len(line) > _MOST_REQUEST_BYTES:
                    self._say(_refused(f"it is longer than {_MOST_REQUEST_BYTES} bytes").to_json())
                    return
                request = _Request(line)
                self.server.requests.put(request)
                answer = request.answer.get()
                if answer is None:
                    return
                self._say(answer)
                request.sent.set()

    def _say(self, document: Mapping[str, Any]) -> None:
        self.wfile.write(json.dumps(document, ensure_ascii=True).encode() + b"\n")


def _parsed(line: bytes) -> tuple[str, dict[str, Any]]:
    """Raises: UsageError `usage.request`, also for what this kerncap does not know."""
    try:
        document = json.loads(line)
        json.dumps(document, ensure_ascii=False).encode()  # fails on half a character, which no path can have
    except (ValueError, RecursionError) as error:
        raise _refused(f"it is no JSON: {error}") from None
    if not isinstance(document, dict) or document.pop("schema", None) != REQUEST:
        raise _refused(f"its schema is not {REQUEST}")
    operation = document.pop("operation", None)
    if not isinstance(operation, str) or operation not in _MEMBERS:
        raise _refused(f"its operation is {str(operation)[:40]!r}, expected one of {', '.join(_MEMBERS)}")
    for name, value in document.items():
        types = _MEMBERS[operation].get(name)
        if types is None:
            raise _refused(f"{operation} has no member {name[:40]!r}")
        if not isinstance(value, types) or isinstance(value, bool) or (isinstance(value, str) and "\0" in value):
            raise _refused(f"{name} is {str(value)[:40]!r}")
    for name in ("hsaco", "source"):
        if document.get(name) is not None and not os.path.isabs(document[name]):
            raise _refused(f"{name} is {document[name][:200]!r}, expected an absolute path")
    return operation, document


def _refused(why: str) -> UsageError:
    return UsageError(f"the request is not understood: {why}", code="usage.request", hint=_request())


def _request(**members: object) -> str:
    return json.dumps({"schema": REQUEST, "operation": "evaluate", **members})


def hint_for_client(error: KerncapError, *, bundle: str, socket_path: Path, source: str | None) -> str:
    """A hint for somebody who sends requests: what could be sent, or a command with the names that the server knows.

    What is an option of `kerncap validate` is a member of a request; other options are the server's own.
    """
    try:
        words = shlex.split(error.hint, comments=True)
    except ValueError:
        words = []
    named = {word.removeprefix("--"): value.rstrip(",") for word, value in itertools.pairwise(words)}
    members = {name: value for name, value in named.items() if name in _EVALUATE}
    own = [word for name in _OPTIONS if f"--{name}" in words for word in (f"--{name}", named[name])]
    if words[:1] == ["kerncap"] or not (members or own):
        return error.hint.replace("COMMAND", "serve").replace("BUNDLE", typed(source or bundle))
    if isinstance(error, CompileError):
        return f"{typed('kerncap', 'recompile', source or bundle)} -o FILE {error.hint}"
    if own:
        return typed("kerncap", "serve", bundle, "--socket", socket_path, *own)
    return _request(**{name: _member(name, value) for name, value in members.items()})


def _member(name: str, value: str) -> object:
    types = _EVALUATE[name]
    if str in types:
        return "/PATH/TO/" + value if value.isupper() else value
    return float(value) if float in types else int(value)


@contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """A socket that nobody else may use; one that a killed server left behind is replaced."""
    if len(os.fsencode(path)) > _MOST_PATH_BYTES:
        text = f"{path}: the path of a socket has at most {_MOST_PATH_BYTES} bytes"
        raise UsageError(text, code="usage.socket-path", hint=_ANOTHER_PLACE)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            # Of servers that begin at once, none may take the other's new socket for a dead one.
            with alone_in(path.absolute().parent):
                _remove_dead(path)
                mask = os.umask(0o177)
                try:
                    listener.bind(str(path))
                finally:
                    os.umask(mask)
                listener.listen()
                inode = path.stat().st_ino
        except OSError as error:
            text = f"{path}: cannot listen there: {error.strerror or error}"
            raise UsageError(text, code="usage.socket-path", hint=_ANOTHER_PLACE) from None
        try:
            yield listener
        finally:
            with contextlib.suppress(OSError):
                if path.stat().st_ino == inode:
                    path.unlink()
    finally:
        listener.close()


def _remove_dead(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise UsageError(f"{path} is there and is no socket", code="usage.output-exists", hint="--socket PATH")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
    raise HostError(f"another server listens on {path}", code="host.socket-in-use", hint="--socket PATH")
