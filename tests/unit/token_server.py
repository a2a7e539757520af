"""A token server for a real docker-registry: JSON web tokens signed with openssl, which the registry checks by itself.

Source: distribution's token authentication specification and its JWT format (docs/spec/auth/token.md, jwt.md).
"""

from __future__ import annotations

import base64
import json
import math
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

ISSUER, SERVICE = "kerncap tests", "registry of the tests"
# Source: distribution 2.8, registry/auth/token/token.go: Leeway: a token is taken this much longer than it says.
_LEEWAY_S = 60


@dataclass
class TokenServer:
    """Gives a user all that is asked for, who is nobody only `pull`; `life_s` is how long a token really holds."""

    folder: Path
    user: str
    password: str
    refresh_token: str = "a refresh token"
    life_s: float = 300.0
    said_life_s: float | None = None
    """What `expires_in` says; None: the truth."""
    everybody: tuple[str, ...] = ("pull",)
    realm: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """(method, scopes, who)."""

    @property
    def auth_config(self) -> str:
        """Of the registry."""
        return (
            f"auth: {{token: {{realm: '{self.realm}', service: '{SERVICE}', issuer: '{ISSUER}', "
            f"rootcertbundle: {self.folder / 'token.pem'}}}}}\n"
        )

    def make_key(self) -> None:
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tokens"]
        command += ["-keyout", "token.key", "-out", "token.pem"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def token(self, scopes: list[str], actions: tuple[str, ...] | None) -> str:
        """`actions`: what is granted at most; None: all that is asked for."""
        access = []
        for scope in scopes:
            kind, name, wanted = scope.split(":")
            granted = [one for one in wanted.split(",") if actions is None or one in actions]
            access.append({"type": kind, "name": name, "actions": granted})
        now = time.time()
        claims = {"iss": ISSUER, "sub": "", "aud": SERVICE, "jti": str(len(self.asked)), "access": access}
        claims |= {"exp": math.ceil(now + self.life_s - _LEEWAY_S), "nbf": int(now) - 5, "iat": int(now)}
        pem = (self.folder / "token.pem").read_text()
        certificate = "".join(pem.split("-----")[2].split())
        head = {"typ": "JWT", "alg": "RS256", "x5c": [certificate]}
        text = b".".join(_base64(json.dumps(part).encode()) for part in (head, claims))
        command = ["openssl", "dgst", "-sha256", "-sign", "token.key"]
        signed = subprocess.run(command, cwd=self.folder, input=text, check=True, capture_output=True).stdout
        return (text + b"." + _base64(signed)).decode()


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        tokens: TokenServer = self.server.tokens
        scopes = parse_qs(urlsplit(self.path).query)["scope"]
        given = self.headers.get("Authorization")
        right = "Basic " + base64.b64encode(f"{tokens.user}:{tokens.password}".encode()).decode()
        who = "nobody" if given is None else "user" if given == right else "stranger"
        tokens.asked.append(("GET", " ".join(scopes), who))
        if who == "stranger":
            return self._answer(401, {"errors": [{"code": "UNAUTHORIZED", "message": "wrong password"}]})
        return self._give("token", scopes, None if who == "user" else tokens.everybody)

    def do_POST(self) -> None:
        """Source: distribution's docs/spec/auth/oauth.md: an identity token is a refresh token."""
        tokens: TokenServer = self.server.tokens
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        scopes = form["scope"][0].split(" ")
        good = form["grant_type"] == ["refresh_token"] and form["refresh_token"] == [tokens.refresh_token]
        good = good and form["service"] == [SERVICE] and bool(form["client_id"])
        tokens.asked.append(("POST", " ".join(scopes), "refresh" if good else "stranger"))
        if not good:
            return self._answer(401, {})
        return self._give("access_token", scopes, None)

    def _give(self, key: str, scopes: list[str], actions: tuple[str, ...] | None) -> None:
        tokens: TokenServer = self.server.tokens
        life_s = tokens.life_s if tokens.said_life_s is None else tokens.said_life_s
        self._answer(200, {key: tokens.token(scopes, actions), "expires_in": int(life_s)})

    def _answer(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def token_server(folder: Path, user: str, password: str) -> Iterator[TokenServer]:
    folder.mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    tokens = TokenServer(folder, user, password, realm=f"http://127.0.0.1:{server.server_address[1]}/token")
    tokens.make_key()
    server.tokens = tokens  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield tokens
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
