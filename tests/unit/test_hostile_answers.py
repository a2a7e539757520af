"""Answers that are no HTTP, no JSON or cut short, of a registry and of its token server: an error in words."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_registry import fake_registry

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import LayoutLocation
from kerncap.errors import BundleError, TransportError
from kerncap.transport import copy_bundle, open_any, push
from kerncap.transport.failures import Patience
from kerncap.transport.reference import parse_reference

_QUICK = Patience(connect_s=30.0, read_s=30.0, attempts=2, connect_attempts=1, backoff_s=0.01)
_NESTED = b"[" * 100_000 + b"]" * 100_000

_ANSWERS = {
    "no gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nxxxxx",
    "several codings": b"HTTP/1.1 200 OK\r\nContent-Encoding: br, zstd, deflate\r\nContent-Length: 5\r\n\r\nxxxxx",
    "shorter than promised": b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"token":',
    "absurd length": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\n{}",
    "negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -7\r\n\r\n{}",
    "no chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "nested": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(_NESTED) + _NESTED,
    "number": b'HTTP/1.1 200 OK\r\n\r\n{"token":"a","expires_in":' + b"9" * 5000 + b"}",
    "no status": b"\0\xff\xfe\r\n\r\n",
    "nothing": b"",
    "long line": b"HTTP/1.1 200 " + b"x" * 70_000 + b"\r\n\r\n",
    "no address": b"HTTP/1.1 302 Found\r\nLocation: http://[::1/\r\nContent-Length: 0\r\n\r\n",
    "no text": b"HTTP/1.1 302 Found\r\nLocation: http://\xff\xfe/\r\nContent-Length: 0\r\n\r\n",
}


@pytest.fixture(autouse=True)
def _no_credentials_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def _says(answer: bytes, where: str) -> Callable[[Any], bool]:
    """Answers with these bytes, and no more, whatever is asked below `where`."""

    def fault(handler: Any) -> bool:
        if where not in handler.path or handler.command in ("HEAD", "POST", "PUT"):
            return False
        handler.close_connection = True
        handler.wfile.write(answer)
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_WR)
        return True

    return fault


@pytest.mark.parametrize("where", ["/token", "/manifests/", "/blobs/"])
@pytest.mark.parametrize("answer", list(_ANSWERS))
def test_an_answer_that_is_none(tmp_path: Path, tar_file: Path, where: str, answer: str) -> None:
    bundle: Bundle = open_bundle(str(tar_file))
    with fake_registry() as fake:
        push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=_QUICK)
        fake.token_scheme = where == "/token"
        fake.fault = _says(_ANSWERS[answer], where)
        with pytest.raises((TransportError, BundleError)) as caught:
            copy_bundle(open_any(f"{fake.host}/a/b:v1", patience=_QUICK), LayoutLocation(tmp_path / "l"))
        assert caught.value.code != "bundle.limit" or answer == "nested"
        assert not (tmp_path / "l").exists()
        if where == "/token":
            assert isinstance(caught.value, TransportError)
            with pytest.raises(TransportError):
                push(bundle, parse_reference(f"{fake.host}/a/b:v2"), patience=_QUICK)
            assert {name for name in fake.manifests if not name.startswith("sha256:")} == {"v1"}


def test_a_token_server_that_fails_once_is_asked_again(tar_file: Path) -> None:
    asked = []

    def break_once(handler: Any) -> bool:
        if "/token" not in handler.path or asked.append(handler.path) or len(asked) > 1:
            return False
        return _says(_ANSWERS["shorter than promised"], "/token")(handler)

    with fake_registry() as fake:
        fake.token_scheme, fake.fault = True, break_once
        push(open_bundle(str(tar_file)), parse_reference(f"{fake.host}/a/b:v1"), patience=_QUICK)
        assert len(asked) > 1
        assert {name for name in fake.manifests if not name.startswith("sha256:")} == {"v1"}
