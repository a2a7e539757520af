"""A small HTTP proxy on loopback: forwards plain requests, tunnels CONNECT, and writes down whom it was asked for."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Proxy:
    """`hosts`: what the names of a test are really; anybody else is refused."""

    address: str = ""
    hosts: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _real(self, host: str) -> tuple[str, int] | None:
        proxy: Proxy = self.server.proxy
        proxy.requests.append((self.command, host))
        proxy.authorizations.append(self.headers.get("Proxy-Authorization"))
        name, _, port = proxy.hosts.get(host, "").partition(":")
        return (name, int(port)) if name else None

    def do_CONNECT(self) -> None:
        self.close_connection = True
        real = self._real(self.path)
        if real is None:
            return self.send_error(403)
        with socket.create_connection(real) as upstream:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_pump, args=(upstream, self.connection), daemon=True)
            back.start()
            _pump(self.connection, upstream)
            back.join(30)

    def forward(self) -> None:
        url = urlsplit(self.path)
        real = self._real(url.netloc)
        if real is None:
            return self.send_error(403)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {
            k: v for k, v in self.headers.items() if k.lower() not in ("proxy-authorization", "proxy-connection")
        }
        upstream = http.client.HTTPConnection(*real, timeout=60)
        upstream.request(self.command, url.path + (f"?{url.query}" if url.query else ""), body, headers)
        answer = upstream.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("date", "server", "transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(data)
        upstream.close()

    do_GET = do_HEAD = do_POST = do_PUT = forward


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(1 << 16):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@contextmanager
def proxy_server() -> Iterator[Proxy]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    proxy = Proxy(f"127.0.0.1:{server.server_address[1]}")
    server.proxy = proxy  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
