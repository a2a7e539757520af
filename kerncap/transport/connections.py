"""The open connections of one registry, so that a transfer which is called off does not wait for the other side.

In: a requests session. Out: the same session, whose connections can all be cut at once, or one alone whose answer does
not get on; a body is sent in small parts, each of which has its time. Called by wire.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import weakref
from collections.abc import Callable
from http.client import HTTPException
from types import TracebackType
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from kerncap.transport.failures import Patience

_SENT_AT_ONCE_BYTES = 256 << 10


class Connections:
    """Knows every connection of the session; methods may be called from any thread."""

    def __init__(self, session: requests.Session, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        self._cut = False
        self._patrol = Patrol(self.patience.piece_s)
        for scheme in ("http", "https"):
            session.mount(f"{scheme}://", _Adapter(self))

    def opened(self, connection: HTTPConnection) -> None:
        with self._lock:
            self._open.add(connection)
            if self._cut:
                _shut(connection)

    def cut(self) -> None:
        """Every read and write that waits for the other side ends now, on connections to come, too."""
        with self._lock:
            self._cut = True
            for connection in self._open:
                _shut(connection)

    def watched(self, response: requests.Response) -> Watched:
        """Around each read of a piece of this answer."""
        return Watched(self._patrol, response.raw.connection)

    def head_of(self, connection: Any, read_head: Callable[[], Any]) -> Any:
        """The head of an answer, which can drip as well as the rest. Raises: TimeoutError."""
        watched = Watched(self._patrol, connection)
        try:
            with watched:
                return read_head()
        except (OSError, HTTPException) as error:
            if watched.too_slow:
                raise TimeoutError(str(error)) from None
            raise


class Watched:
    """Cuts a connection that takes too long for one thing: `too_slow` says so afterwards."""

    def __init__(self, patrol: Patrol, connection: Any) -> None:
        self._patrol = patrol
        self._connection = connection  # None: the answer is whole already
        self.since_s = 0.0
        self.too_slow = False

    def __enter__(self) -> None:
        self.since_s = time.monotonic()
        self._patrol.add(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._patrol.remove(self)

    def cut(self) -> None:
        self.too_slow = True
        _shut(self._connection)


class Patrol:
    """One thread that looks at everything that is waited for, while there is something: a thread for each piece of each
    answer would take longer than the piece."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._watched: set[Watched] = set()
        self._walks = False

    def add(self, watched: Watched) -> None:
        with self._lock:
            self._watched.add(watched)
            if not self._walks:
                self._walks = True
                threading.Thread(target=self._walk, name="kerncap-patrol", daemon=True).start()

    def remove(self, watched: Watched) -> None:
        with self._lock:
            self._watched.discard(watched)

    def _walk(self) -> None:
        while True:
            time.sleep(min(1.0, self._limit_s / 4))
            with self._lock:
                if not self._watched:
                    self._walks = False
                    return
                for one in self._watched:
                    if time.monotonic() - one.since_s > self._limit_s:
                        one.cut()


def _shut(connection: Any) -> None:
    """The socket below TLS: what another thread does with the TLS object stays whole, and learns of the end."""
    sock = getattr(connection, "sock", None)
    if isinstance(sock, socket.socket):
        with contextlib.suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


class _Adapter(HTTPAdapter):
    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        super().__init__()

    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        super().init_poolmanager(*args, **more)
        self.poolmanager.pool_classes_by_scheme = _pool_classes(self._connections)

    def proxy_manager_for(self, *args: Any, **more: Any) -> Any:
        manager = super().proxy_manager_for(*args, **more)
        manager.pool_classes_by_scheme = _pool_classes(self._connections)
        return manager


def _send_parts(connection: Any, send: Callable[[Any], None], data: Any, part_s: float) -> None:
    """urllib3 sends a body with the time-out of connecting, and a time-out is for all that one call sends: a line that
    takes 1 MiB in more than that would never push anything."""
    view = memoryview(data) if isinstance(data, (bytes, bytearray, memoryview)) else None
    if view is None or view.nbytes <= _SENT_AT_ONCE_BYTES:
        parts = [data]
    else:
        parts = [view[at : at + _SENT_AT_ONCE_BYTES] for at in range(0, view.nbytes, _SENT_AT_ONCE_BYTES)]
    for part in parts:
        if connection.sock is not None:
            connection.sock.settimeout(part_s)
        send(part)


def _pool_classes(connections: Connections) -> dict[str, type[HTTPConnectionPool]]:
    part_s = connections.patience.read_s

    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            connections.opened(self)

        def send(self, data: Any) -> None:
            _send_parts(self, super().send, data, part_s)

        def getresponse(self) -> Any:
            return connections.head_of(self, super().getresponse)

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            connections.opened(self)

        def send(self, data: Any) -> None:
            _send_parts(self, super().send, data, part_s)

        def getresponse(self) -> Any:
            return connections.head_of(self, super().getresponse)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}
