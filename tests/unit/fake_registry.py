"""A small registry that misbehaves on demand; it holds blobs and manifests in memory and writes down every request."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Fake:
    """`fault(handler)` runs before the normal answer and returns True when it has answered itself."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    fault: Callable[[Any], bool] = lambda handler: False
    host: str = ""
    token_scheme: bool = False
    tokens: dict[str, str] = field(default_factory=dict)  # the scope of each
    expired: set[str] = field(default_factory=set)
    referrers_page: int | None = None
    """How many referrers a page of the API has; None: there is no such API."""
    sent_bytes: int = 0
    """In bodies of answers."""

    def count(self, method: str, pattern: str) -> int:
        return sum(1 for m, path, _ in self.requests if m == method and re.search(pattern, path))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    @property
    def fake(self) -> Fake:
        fake: Fake = self.server.fake
        return fake

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.fake.sent_bytes += len(body)
            self.wfile.write(body)

    def drop(self) -> None:
        """Break the connection."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def handle_any(self) -> None:
        self.fake.requests.append((self.command, self.path, dict(self.headers.items())))
        if self.fake.fault(self):
            return
        if self.fake.token_scheme and not self._token_is_good():
            return
        path = urlsplit(self.path).path
        if path == "/token":
            self._give_token()
        elif "/blobs/uploads/" in path:
            self._upload(path)
        elif "/blobs/" in path:
            self._blob(path)
        elif "/manifests/" in path:
            self._manifest(path)
        elif "/referrers/" in path:
            self._referrers(path)
        else:
            self.answer(200, b"{}")

    do_GET = do_HEAD = do_POST = do_PUT = handle_any

    def _blob(self, path: str) -> None:
        data = self.fake.blobs.get(path.rsplit("/", 1)[1])
        if data is None:
            return self.answer(404)
        if self.command == "HEAD":
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            return self.end_headers()
        match = re.fullmatch(r"bytes=([0-9]+)-([0-9]*)", self.headers.get("Range", ""))
        if match:
            start, end = int(match[1]), int(match[2] or len(data) - 1) + 1
            return self.answer(206, data[start:end], Content_Range=f"bytes {start}-{end - 1}/{len(data)}")
        return self.answer(200, data)

    def _upload(self, path: str) -> None:
        if self.command == "POST":
            return self.answer(202, Location=path + "one?state=x")
        data = self.body()
        digest = parse_qs(urlsplit(self.path).query)["digest"][0]
        if digest != "sha256:" + hashlib.sha256(data).hexdigest():
            return self.answer(400, b'{"errors":[{"code":"DIGEST_INVALID","message":"no"}]}')
        self.fake.blobs[digest] = data
        return self.answer(201)

    def _manifest(self, path: str) -> None:
        name = path.rsplit("/", 1)[1]
        if self.command == "PUT":
            raw = self.body()
            self.fake.manifests[name] = self.fake.manifests["sha256:" + hashlib.sha256(raw).hexdigest()] = raw
            subject = json.loads(raw).get("subject")
            noted = subject is not None and self.fake.referrers_page is not None
            return self.answer(201, **({"OCI_Subject": subject["digest"]} if noted else {}))
        data = self.fake.manifests.get(name)
        return self.answer(404) if data is None else self.answer(200, data)

    def _referrers(self, path: str) -> None:
        page = self.fake.referrers_page
        if page is None:
            return self.answer(404)
        subject = path.rsplit("/", 1)[1]
        found = []
        for digest, raw in sorted(self.fake.manifests.items()):
            document = json.loads(raw)
            if digest.startswith("sha256:") and document.get("subject", {}).get("digest") == subject:
                node = {"mediaType": document["mediaType"], "digest": digest, "size": len(raw)}
                found.append(node | {"artifactType": document["artifactType"]})
        start = int(parse_qs(urlsplit(self.path).query).get("from", ["0"])[0])
        more = {"Link": f'<{path}?from={start + page}>; rel="next"'} if start + page < len(found) else {}
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json"}
        return self.answer(200, json.dumps(index | {"manifests": found[start : start + page]}).encode(), **more)

    def _give_token(self) -> None:
        scope = parse_qs(urlsplit(self.path).query)["scope"][0]
        token = f"token{len(self.fake.requests)}"
        self.fake.tokens[token] = scope
        # The life in the answer is a lie when tests let a token expire early.
        self.answer(200, f'{{"token":"{token}","expires_in":3600}}'.encode())

    def _token_is_good(self) -> bool:
        """As distribution does: HEAD and GET want pull, the rest wants push."""
        if urlsplit(self.path).path == "/token":
            return True
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        scope = "" if token in self.fake.expired else self.fake.tokens.get(token, "")
        if ("push" if self.command in ("POST", "PUT") else "pull") in scope:
            return True
        self.body()
        realm = f'Bearer realm="http://{self.fake.host}/token",service="fake",scope="repository:x:pull"'
        self.answer(401, WWW_Authenticate=realm)
        return False


@contextmanager
def fake_registry() -> Iterator[Fake]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    fake = Fake(host=f"127.0.0.1:{server.server_address[1]}")
    server.fake = fake  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
