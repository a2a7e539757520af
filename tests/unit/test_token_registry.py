"""Token authorization against a real docker-registry: scopes, pull-only tokens, tokens that expire, identity tokens."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from registry_server import PASSWORD, PROGRAM, USER, running_registry
from synthetic import make_reproducer
from token_server import TokenServer, token_server

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.seal import seal
from kerncap.bundle.verify import verify
from kerncap.errors import TransportError
from kerncap.transport import copy_bundle, open_any, push
from kerncap.transport.failures import Patience
from kerncap.transport.reference import parse_reference

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="docker-registry is not installed (apt: docker-registry)"),
    pytest.mark.usefixtures("nothing_of_the_user"),
]
QUICK = Patience(connect_s=30.0, read_s=60.0, attempts=3, connect_attempts=2, backoff_s=0.05)


@pytest.fixture
def tokens(tmp_path: Path) -> Iterator[TokenServer]:
    with token_server(tmp_path / "tokens", USER, PASSWORD) as server:
        yield server


@pytest.fixture
def host(tmp_path: Path, tokens: TokenServer) -> Iterator[str]:
    with running_registry(tmp_path / "registry", auth=tokens.auth_config) as running:
        yield running


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    """Of a dozen blobs."""
    monkeypatch.setattr("synthetic.CHUNK_BYTES", 100_000)
    monkeypatch.setattr("synthetic.BLOB_RAW_BYTES", 100_000)
    folder = make_reproducer(tmp_path / "many", big_bytes=800_000)
    seal(ReproducerLocation(folder), LayoutLocation(tmp_path / "sealed"))
    return open_bundle(str(tmp_path / "sealed"))


def _login(tmp_path: Path, host: str, entry: dict[str, str] | None = None) -> None:
    auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    (tmp_path / "docker").mkdir(exist_ok=True)
    (tmp_path / "docker" / "config.json").write_text(json.dumps({"auths": {host: entry or {"auth": auth}}}))


def _slowly(done: int, total: int) -> None:
    time.sleep(0.4)


def test_a_push_whose_first_request_only_wants_to_pull(
    tmp_path: Path, tokens: TokenServer, host: str, bundle: Bundle
) -> None:
    """The first request is HEAD, for which `pull` would do: a client that keeps that token cannot push."""
    _login(tmp_path, host)
    push(bundle, parse_reference(f"{host}/a/b:v1"), patience=QUICK)
    assert {scope for _, scope, _ in tokens.asked} == {"repository:a/b:pull,push"}
    tokens.asked.clear()
    copy_bundle(open_any(f"{host}/a/b:v1", patience=QUICK), LayoutLocation(tmp_path / "l"))
    assert {scope for _, scope, _ in tokens.asked} == {"repository:a/b:pull"}
    assert verify(open_bundle(str(tmp_path / "l")), deep=True).problems == ()


@pytest.mark.parametrize("said_life_s", [None, 3600.0])
def test_tokens_that_expire_on_the_way(
    tmp_path: Path, tokens: TokenServer, host: str, bundle: Bundle, said_life_s: float | None
) -> None:
    """Renewed before they expire when the server says when that is, and when they are refused if it lies."""
    _login(tmp_path, host)
    tokens.life_s, tokens.said_life_s = 2.0, said_life_s
    start = time.monotonic()
    push(bundle, parse_reference(f"{host}/a/b:v1"), patience=QUICK, progress=_slowly)
    assert time.monotonic() - start > tokens.life_s
    assert len(tokens.asked) >= 2
    tokens.asked.clear()
    start = time.monotonic()
    copy_bundle(open_any(f"{host}/a/b:v1", patience=QUICK), LayoutLocation(tmp_path / "l"), progress=_slowly)
    assert time.monotonic() - start > tokens.life_s
    assert len(tokens.asked) >= 2
    assert verify(open_bundle(str(tmp_path / "l")), deep=True).problems == ()


def test_a_token_that_only_lets_pull(tmp_path: Path, tokens: TokenServer, host: str, bundle: Bundle) -> None:
    with pytest.raises(TransportError) as caught:
        push(bundle, parse_reference(f"{host}/a/b:v1"), patience=QUICK)
    assert (caught.value.code, caught.value.hint) == ("transport.unauthorized", f"docker login {host}")
    assert {who for _, _, who in tokens.asked} == {"nobody"}
    assert len(tokens.asked) <= 2 * 4  # a second token each thread may try, and no more
    _login(tmp_path, host)
    push(bundle, parse_reference(f"{host}/a/b:v1"), patience=QUICK)
    (tmp_path / "docker" / "config.json").unlink()
    assert open_any(f"{host}/a/b:v1", patience=QUICK).manifest_digest == bundle.manifest_digest


def test_a_wrong_password(tmp_path: Path, tokens: TokenServer, host: str, bundle: Bundle) -> None:
    _login(tmp_path, host, {"username": USER, "password": "wrong"})
    with pytest.raises(TransportError) as caught:
        push(bundle, parse_reference(f"{host}/a/b:v1"), patience=QUICK)
    assert caught.value.code == "transport.unauthorized"


@pytest.mark.parametrize("place", ["docker", "podman"])
def test_an_identity_token(
    tmp_path: Path, tokens: TokenServer, host: str, bundle: Bundle, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry: dict[str, Any] = {"auths": {f"https://{host}": {"identitytoken": tokens.refresh_token}}}
    file = {"docker": tmp_path / "docker/config.json", "podman": tmp_path / "run/containers/auth.json"}[place]
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(entry))
    push(bundle, parse_reference(f"{host}/a/b:v1"), patience=QUICK)
    assert {(method, who) for method, _, who in tokens.asked} == {("POST", "refresh")}


def test_a_copy_within_the_registry_asks_for_both(
    tmp_path: Path, tokens: TokenServer, host: str, bundle: Bundle
) -> None:
    _login(tmp_path, host)
    push(bundle, parse_reference(f"{host}/a/b:v1"), patience=QUICK)
    done = push(open_any(f"{host}/a/b:v1", patience=QUICK), parse_reference(f"{host}/c/d:v1"), patience=QUICK)
    assert done.mounted_blobs == done.blobs
    assert any(scope == "repository:c/d:pull,push repository:a/b:pull" for _, scope, _ in tokens.asked)
