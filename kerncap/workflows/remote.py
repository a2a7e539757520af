"""The client of `kerncap serve`: a session that another process has open.

In: a socket's path. Out: a Verdict for each code object or source. `kerncap.connect` of the Python API.
"""

from __future__ import annotations

import json
import os
import socket
from types import TracebackType
from typing import Any

from kerncap.errors import HostError, error_from_code, typed
from kerncap.results import Verdict, parse_verdict
from kerncap.workflows.code import CodeFacts, facts_from_document
from kerncap.workflows.serve import REQUEST


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
        ulp: int = 0,
        kernel: str | None = None,
        check: str | None = None,
        config: str | None = None,
        programs: tuple[int, int, int] | list[int] | None = None,
    ) -> Verdict:
        """As `Session.evaluate`; the server must see the same files.

        Raises: what the server's session raised; HostError `host.no-server` when it is gone.
        """
        options = {
            "iterations": iterations,
            "atol": atol,
            "rtol": rtol,
            "ulp": ulp,
            "kernel": kernel,
            "check": check,
            "config": config,
            "programs": None if programs is None else list(programs),
        }
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
        request = {"schema": REQUEST, "operation": operation, **options}
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            line = self._file.readline()
        except (OSError, ValueError):  # ValueError: it was closed
            line = b""
        except BaseException:
            # Its answer would come later and be taken for the next request's.
            self.close()
            raise
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
    """Not `abspath`, which takes `..` behind a symbolic link for another folder."""
    return None if path is None else os.path.join(os.getcwd(), path)
