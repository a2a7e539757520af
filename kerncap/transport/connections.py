"""The open connections of one registry, so that a transfer which is called off does not wait for the other side.

In: a requests session. Out: the same session, whose connections can all be cut at once. Called by registry.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import weakref
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool


class Connections:
    """Knows every connection of the session; methods may be called from any thread."""

    def __init__(self, session: requests.Session) -> None:
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        self._cut = False
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


def _pool_classes(connections: Connections) -> dict[str, type[HTTPConnectionPool]]:
    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            connections.opened(self)

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            connections.opened(self)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}
