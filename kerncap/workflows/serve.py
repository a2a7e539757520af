"""A session that other processes use, over a local socket: one load of a bundle, many verdicts, any language.

In: a Session, a socket's path; one JSON document a line (docs/interfaces.md, Server). Out: one document a line.
Called by `kerncap serve`; `connect` is the client of the Python API.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import socketserver
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from kerncap.errors import HostError, KerncapError, UsageError, error_from_code, typed
from kerncap.results import Verdict, parse_verdict
from kerncap.workflows.code import CodeFacts, code_document, facts_from_document
from kerncap.workflows.session import Session

_MOST_PATH_BYTES = 107  # Source: unix(7), sun_path
_MOST_REQUEST_BYTES = 1 << 20
_SCHEMA = "kerncap.request/1"
_EVALUATE: Final[Mapping[str, tuple[type, ...]]] = {
    "hsaco": (str, type(None)),
    "source": (str, type(None)),
    "iterations": (int,),
    "atol": (int, float),
    "rtol": (int, float),
    "kernel": (str, type(None)),
    "check": (str, type(None)),
}
_CODE: Final[Mapping[str, tuple[type, ...]]] = {"hsaco": (str, type(None))}
_MEMBERS: Final[Mapping[str, Mapping[str, tuple[type, ...]]]] = {"evaluate": _EVALUATE, "code": _CODE, "stop": {}}


def serve(session: Session, path: Path, on_ready: Callable[[], None]) -> None:
    """Answer requests until one says `stop`, or KeyboardInterrupt. The socket is the user's alone, and is removed.

    Requests are answered one at a time, in the order of their arrival.
    Raises: UsageError `usage.socket-path`; HostError `host.socket-in-use`.
    """
    with _listening(path) as listener, _Server(listener, session) as server:
        on_ready()
        server.serve_forever(poll_interval=0.1)


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listener: socket.socket, session: Session) -> None:
        super().__init__(str(listener.getsockname()), _Connection, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.session, self.turn = session, threading.Lock()


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while line := self.rfile.readline(_MOST_REQUEST_BYTES + 1):
                if len(line) > _MOST_REQUEST_BYTES:
                    self._say(_refused(f"it is longer than {_MOST_REQUEST_BYTES} bytes").to_json())
                    return
                self._say(self._answer(line))

    def _say(self, document: Mapping[str, Any]) -> None:
        self.wfile.write(json.dumps(document, ensure_ascii=True).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            operation, options = _request(line)
            if operation == "stop":
                # Not in this thread, which the server waits for.
                threading.Thread(target=self.server.shutdown, daemon=True).start()
                return {"schema": "kerncap.stopped/1"}
            with self.server.turn:
                if operation == "code":
                    return code_document(self.server.session.code(**options))
                return self.server.session.evaluate(**options).to_json()
        except KerncapError as error:
            return error.to_json() | {"exit_code": error.exit_code}


def _request(line: bytes) -> tuple[str, dict[str, Any]]:
    """Raises: UsageError `usage.request`, also for what this kerncap does not know."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _refused(f"it is no JSON: {error}") from None
    if not isinstance(document, dict) or document.pop("schema", None) != _SCHEMA:
        raise _refused(f"its schema is not {_SCHEMA}")
    operation = document.pop("operation", None)
    if not isinstance(operation, str) or operation not in _MEMBERS:
        raise _refused(f"its operation is {str(operation)[:40]!r}, expected one of {', '.join(_MEMBERS)}")
    for name, value in document.items():
        types = _MEMBERS[operation].get(name)
        if types is None:
            raise _refused(f"{operation} has no member {name[:40]!r}")
        if not isinstance(value, types) or isinstance(value, bool):
            raise _refused(f"{name} is {str(value)[:40]!r}")
    for name in ("hsaco", "source"):
        if document.get(name) is not None and not os.path.isabs(document[name]):
            raise _refused(f"{name} is {document[name][:200]!r}, expected an absolute path")
    return operation, document


def _refused(why: str) -> UsageError:
    return UsageError(f"the request is not understood: {why}", code="usage.request", hint="kerncap serve --help")


@contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """A socket that nobody else may use; one that a killed server left behind is replaced."""
    if len(os.fsencode(path)) > _MOST_PATH_BYTES:
        text = f"{path}: the path of a socket has at most {_MOST_PATH_BYTES} bytes"
        raise UsageError(text, code="usage.socket-path", hint="--socket /tmp/kerncap.sock")
    _remove_dead(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        mask = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
        inode = path.stat().st_ino
        listener.listen()
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


class RemoteSession:
    """A session of `kerncap serve`, as `Session` is one of this process. Not for several threads at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises: HostError `host.no-server`."""
        self._path = os.fspath(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(self._path)
        except OSError as error:
            self._socket.close()
            raise HostError(
                f"no server answers on {self._path}: {error.strerror or error}",
                code="host.no-server",
                hint=typed("kerncap", "serve", "BUNDLE", "--socket", self._path),
            ) from None
        self._file = self._socket.makefile("rb")

    def evaluate(
        self,
        hsaco: str | os.PathLike[str] | None = None,
        *,
        source: str | os.PathLike[str] | None = None,
        iterations: int = 2,
        atol: float = 0.0,
        rtol: float = 0.0,
        kernel: str | None = None,
        check: str | None = None,
    ) -> Verdict:
        """As `Session.evaluate`; the server must see the same files.

        Raises: what the server's session raised; HostError `host.no-server` when it is gone.
        """
        options = {"iterations": iterations, "atol": atol, "rtol": rtol, "kernel": kernel, "check": check}
        return parse_verdict(self._ask("evaluate", hsaco=_absolute(hsaco), source=_absolute(source), **options))

    def code(self, hsaco: str | os.PathLike[str] | None = None) -> CodeFacts:
        """As `Session.code`."""
        return facts_from_document(self._ask("code", hsaco=_absolute(hsaco)))

    def stop(self) -> None:
        """End the server."""
        self._ask("stop")

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _ask(self, operation: str, **options: Any) -> dict[str, Any]:
        request = {"schema": _SCHEMA, "operation": operation, **options}
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            line = self._file.readline()
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            hint = typed("kerncap", "serve", "BUNDLE", "--socket", self._path)
            raise HostError(f"the server on {self._path} is gone", code="host.no-server", hint=hint)
        answer: dict[str, Any] = json.loads(line)
        if answer["schema"] == "kerncap.error/1":
            raise error_from_code(answer["code"], answer["message"], answer["hint"])
        return answer

    def __enter__(self) -> RemoteSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def connect(path: str | os.PathLike[str]) -> RemoteSession:
    """The session that `kerncap serve --socket PATH` has open."""
    return RemoteSession(path)


def _absolute(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.path.abspath(path)
