"""Answers that are no HTTP, no JSON or cut short, of a registry and of its token server: an error in words."""

from __future__ import annotations

import gzip
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_registry import fake_registry

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import LayoutLocation
from kerncap.cli import main as cli
from kerncap.errors import BundleError, TransportError, UsageError
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


pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


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


def _most_bytes(fault: Callable[[Any], bool]) -> tuple[int, str]:
    """How much memory a command took at once that such a registry answers, and the error's code."""
    with fake_registry() as fake:
        fake.fault = fault
        tracemalloc.start()
        try:
            with pytest.raises(TransportError) as caught:
                open_any(f"{fake.host}/a/b:v1", patience=_QUICK)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    return most, caught.value.code


def test_the_body_of_a_redirect_is_not_read() -> None:
    sent: list[int] = []

    def fault(handler: Any) -> bool:
        handler.close_connection = True
        handler.wfile.write(b"HTTP/1.1 307 Go\r\nLocation: /v2/a/b\r\n\r\n")
        try:
            while sum(sent) < 200 << 20:
                handler.wfile.write(bytes(1 << 16))
                sent.append(1 << 16)
        except OSError:
            pass
        return True

    most, code = _most_bytes(fault)
    assert code == "transport.protocol"
    assert most < 32 << 20
    assert sum(sent) < 100 << 20


def test_a_token_that_unpacks_to_anything_is_none() -> None:
    bomb = gzip.compress(bytes(200 << 20))

    def fault(handler: Any) -> bool:
        if handler.path.startswith("/token"):
            handler.answer(200, bomb, Content_Encoding="gzip")
        else:
            handler.answer(401, WWW_Authenticate=f'Bearer realm="http://{handler.headers["Host"]}/token"')
        return True

    most, code = _most_bytes(fault)
    assert code == "transport.unauthorized"
    assert most < 32 << 20


@pytest.mark.parametrize("where", ["/blobs/uploads/", "/manifests/"])
def test_a_registry_that_stores_something_else(tar_file: Path, where: str) -> None:
    def fault(handler: Any) -> bool:
        if handler.command != "PUT" or where not in handler.path:
            return False
        handler.body()
        handler.answer(201, Docker_Content_Digest="sha256:" + "0" * 64)
        return True

    with fake_registry() as fake:
        fake.fault = fault
        with pytest.raises(TransportError) as caught:
            push(open_bundle(str(tar_file)), parse_reference(f"{fake.host}/a/b:v1"), patience=_QUICK)
        assert caught.value.code == "transport.protocol"
        assert fake.manifests == {}


def test_what_lets_one_write_is_not_said(tar_file: Path) -> None:
    """The address of an upload may hold a signature; and one with a password in it is none."""

    def refuse(handler: Any) -> bool:
        if handler.command == "POST":
            handler.answer(202, Location="/v2/a/b/blobs/uploads/1?signature=secret")
        elif handler.command == "PUT":
            handler.body()
            handler.answer(403)
        return handler.command in ("POST", "PUT")

    def name_password(handler: Any) -> bool:
        if handler.command == "POST":
            handler.answer(202, Location=f"http://user:secret@{handler.headers['Host']}/v2/x")
        return bool(handler.command == "POST")

    for fault, code in ((refuse, "transport.unauthorized"), (name_password, "transport.protocol")):
        with fake_registry() as fake:
            fake.fault = fault
            with pytest.raises(TransportError) as caught:
                push(open_bundle(str(tar_file)), parse_reference(f"{fake.host}/a/b:v1"), patience=_QUICK)
        assert caught.value.code == code
        if fault is refuse:
            assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "host", ["[:::::]", "[1::2::3]", "reg..example", "reg.example-", "-reg.example", "a" * 64 + ".example", "[::1]:0"]
)
def test_a_host_that_is_none(host: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_any(f"{host}/a/b:v1", patience=_QUICK)
    assert caught.value.code == "usage.bad-reference"


def test_loopback_in_capitals_is_loopback() -> None:
    assert parse_reference("LocalHost:5000/a").loopback
    assert parse_reference("[0:0::1]:5000/a").loopback
    assert not parse_reference("localhost.example:5000/a").loopback


@pytest.mark.parametrize("broken", [0, 1])
def test_a_hint_names_the_registry(tar_file: Path, capsys: pytest.CaptureFixture[str], broken: int) -> None:
    with fake_registry() as one, fake_registry() as other:
        assert cli.run(["push", str(tar_file), f"{one.host}/a/b:v1"]) == 0
        wrong = (one, other)[broken]
        wrong.fault = lambda handler: handler.answer(302, Location=handler.path) or True
        assert cli.run(["copy", f"{one.host}/a/b:v1", f"{other.host}/a/b:v1"]) == 7
        assert f"curl -sv http://{wrong.host}/v2/" in capsys.readouterr().err
