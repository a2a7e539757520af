"""Proxies by environment: HTTP_PROXY, HTTPS_PROXY, NO_PROXY; loopback is never asked for through one."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake
from proxy_server import Proxy, proxy_server
from registry_server import PROGRAM, running_registry

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import LayoutLocation
from kerncap.bundle.verify import verify
from kerncap.errors import TransportError
from kerncap.transport import copy_bundle, open_any, push
from kerncap.transport.failures import Patience
from kerncap.transport.reference import parse_reference

QUICK = Patience(connect_s=30.0, read_s=60.0, attempts=3, connect_attempts=2, backoff_s=0.05)
NAME = "registry.test"


pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with proxy_server() as running:
        yield running


@pytest.fixture
def bundle(tar_file: Path) -> Bundle:
    return open_bundle(str(tar_file))


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_plain_http(
    tmp_path: Path, proxy: Proxy, fake: Fake, bundle: Bundle, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """With credentials for the proxy, which the registry does not get."""
    monkeypatch.setenv(variable, f"http://me:secret@{proxy.address}")
    proxy.hosts = {f"{NAME}:5000": fake.host}
    push(bundle, parse_reference(f"{NAME}:5000/a/b:v1"), plain_http=True, patience=QUICK)
    remote = open_any(f"{NAME}:5000/a/b:v1", plain_http=True, patience=QUICK)
    copy_bundle(remote, LayoutLocation(tmp_path / "l"))
    assert verify(open_bundle(str(tmp_path / "l")), deep=True).problems == ()
    assert {host for _, host in proxy.requests} == {f"{NAME}:5000"}
    assert len(proxy.requests) == len(fake.requests)
    assert set(proxy.authorizations) == {"Basic " + base64.b64encode(b"me:secret").decode()}
    assert not any("Proxy-Authorization" in headers for _, _, headers in fake.requests)


@pytest.mark.skipif(PROGRAM is None, reason="docker-registry is not installed (apt: docker-registry)")
def test_tls_goes_through_a_tunnel(
    tmp_path: Path, proxy: Proxy, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate is that of the registry: the proxy sees nothing of what is said."""
    with running_registry(tmp_path / "registry", with_tls=True) as host:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "registry" / "cert.pem"))
        proxy.hosts = {f"{NAME}:443": host, f"{NAME}:5000": host}
        for name in (f"{NAME}/a/b:v1", f"{NAME}:5000/a/b:v2"):
            push(bundle, parse_reference(name), patience=QUICK)
            assert open_any(name, patience=QUICK).manifest_digest == bundle.manifest_digest
        assert {method for method, _ in proxy.requests} == {"CONNECT"}
        assert {host for _, host in proxy.requests} == {f"{NAME}:443", f"{NAME}:5000"}
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(TransportError) as caught:
            open_any(f"{NAME}/a/b:v1", patience=QUICK)
        assert caught.value.code == "transport.tls"


@pytest.mark.parametrize("no_proxy", ["{name}", ".test", "other.example,{name}", "*"])
def test_no_proxy(proxy: Proxy, fake: Fake, bundle: Bundle, monkeypatch: pytest.MonkeyPatch, no_proxy: str) -> None:
    find = socket.getaddrinfo

    def found_here(host: Any, *more: Any, **options: Any) -> Any:
        return find("127.0.0.1" if host == NAME else host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", found_here)
    monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.address}")
    monkeypatch.setenv("NO_PROXY", no_proxy.format(name=NAME))
    port = fake.host.rpartition(":")[2]
    push(bundle, parse_reference(f"{NAME}:{port}/a/b:v1"), plain_http=True, patience=QUICK)
    assert fake.manifests
    assert proxy.requests == []


def test_loopback_needs_none(proxy: Proxy, fake: Fake, bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://{proxy.address}")
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=QUICK)
    assert fake.manifests
    assert proxy.requests == []


@pytest.mark.parametrize("why", ["refuses", "is down"])
def test_a_proxy_that_does_not_let_through(proxy: Proxy, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        down = f"127.0.0.1:{held.getsockname()[1]}"
        monkeypatch.setenv("HTTPS_PROXY", f"http://{down if why == 'is down' else proxy.address}")
        with pytest.raises(TransportError) as caught:
            open_any(f"{NAME}/a/b:v1", patience=QUICK)
    assert caught.value.code == "transport.proxy"
    assert "NO_PROXY" in (caught.value.hint or "")
    assert ("403" in caught.value.message) == (why == "refuses")


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:9", ":::", "http://", "ftp://127.0.0.1:9"])
def test_what_is_no_proxy_is_said_at_once(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """It becomes none by trying again."""
    monkeypatch.setenv("HTTPS_PROXY", address)
    waited: list[float] = []
    monkeypatch.setattr("kerncap.transport.failures.Attempts.wait", lambda *words: waited.append(1) or _raise(words[1]))
    with pytest.raises(TransportError) as caught:
        open_any(f"{NAME}/a/b:v1", patience=QUICK)
    assert caught.value.code == "transport.proxy"
    assert not waited


def _raise(failed: Any) -> None:
    raise failed.error
