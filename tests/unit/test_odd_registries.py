"""Registries that are slow, drip, or came before the referrers API; what is said of an address that lets anybody in."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake, fake_registry

from kerncap.bundle import open_bundle
from kerncap.bundle.manifest import OCI_MANIFEST, Descriptor, sha256_digest
from kerncap.bundle.store import BlobLocation
from kerncap.cli import main as cli
from kerncap.errors import BundleError, TransportError
from kerncap.transport import open_any, push, referrers_of
from kerncap.transport.failures import Patience
from kerncap.transport.reference import parse_reference
from kerncap.transport.referrers import fallback_tag
from kerncap.transport.registry import KerncapRegistry

pytestmark = pytest.mark.usefixtures("nothing_of_the_user")

_ONCE = {"attempts": 1, "connect_attempts": 1, "backoff_s": 0.01}


@contextmanager
def _server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """`answer` has each connection, in a thread of its own."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # or the kernel takes it all
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def accept() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def _takes(bytes_per_s: float) -> Callable[[socket.socket], None]:
    """A registry that takes a body at this speed."""

    def answer(connection: socket.socket) -> None:
        file = connection.makefile("rb")
        while line := file.readline():
            length = 0
            while (header := file.readline()) not in (b"\r\n", b""):
                if header.lower().startswith(b"content-length:"):
                    length = int(header.partition(b":")[2])
            while length:
                piece = file.read1(min(length, 65536))
                length -= len(piece)
                time.sleep(len(piece) / bytes_per_s)
            status = {b"HEAD": b"404 No", b"POST": b"202 Go on\r\nLocation: /v2/a/b/blobs/uploads/1"}
            said = status.get(line.split()[0], b"201 Created")
            connection.sendall(b"HTTP/1.1 " + said + b"\r\nContent-Length: 0\r\n\r\n")

    return answer


def test_a_slow_line_pushes_all_the_same(tmp_path: Path) -> None:
    """The time-out of connecting is none of sending: 1 MiB takes longer here."""
    data = bytes(8 << 20)
    (tmp_path / "blob").write_bytes(data)
    blob = Descriptor("x", sha256_digest(data), len(data))
    patience = Patience(connect_s=0.2, read_s=30.0, **_ONCE)  # type: ignore[arg-type]
    with _server(_takes(2.5e6)) as host:
        registry = KerncapRegistry(parse_reference(f"{host}/a/b:v1"), patience=patience)
        sent: list[int] = []
        registry.push_blob(blob, BlobLocation(tmp_path / "blob", 0, len(data)), what="b", add=sent.append)
    assert sum(sent) == len(data)


@pytest.mark.parametrize(
    ("start", "code"),
    [
        (b"", "transport.timeout"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "transport.timeout"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 1000000\r\n\r\n", "transport.not-found"),
    ],
)
def test_an_answer_that_drips_comes_to_an_end(start: bytes, code: str) -> None:
    """Each byte is in time, the answer never is."""

    def drip(connection: socket.socket) -> None:
        connection.sendall(start)
        try:
            while True:
                connection.sendall(b"H")
                time.sleep(0.05)
        except OSError:
            return

    patience = Patience(connect_s=30.0, read_s=30.0, piece_s=0.5, **_ONCE)  # type: ignore[arg-type]
    with _server(drip) as host:
        registry = KerncapRegistry(parse_reference(f"{host}/a/b:v1"), patience=patience)
        before = time.monotonic()
        with pytest.raises(TransportError) as caught:
            registry.get_manifest_bytes()
        assert caught.value.code == code
        assert time.monotonic() - before < 10


def test_an_address_that_lets_anybody_in_is_not_said(fake: Fake) -> None:
    """Behind its question mark stands a signature; TLS does not come about there."""

    def elsewhere(handler: Any) -> bool:
        return handler.command == "GET" and (
            handler.answer(307, Location=f"https://{fake.host}/x?X-Amz-Signature=SECRET") or True
        )

    fake.fault = elsewhere
    with pytest.raises(TransportError) as caught:
        open_any(f"{fake.host}/a/b:v1")
    assert caught.value.code == "transport.tls"
    assert "SECRET" not in str(caught.value.to_json())


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_authorities_that_are_not_there(
    fake: Fake, tmp_path: Path, variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "none.pem"))
    where = f"https://{fake.host}/x"
    fake.fault = lambda handler: handler.command == "GET" and (handler.answer(307, Location=where) or True)
    assert cli.run(["inspect", f"{fake.host}/a/b:v1"]) == 7
    said = capsys.readouterr().err
    assert "transport.tls" in said
    assert f"hint: ls -l {tmp_path / 'none.pem'}" in said


def test_a_cookie_goes_nowhere(tmp_path: Path, fake: Fake, layout: Path) -> None:
    """Cookies know no ports: another server on the host that a redirect leads to would get it. (oras keeps none.)"""
    name = f"{fake.host}/a/b:v1"
    push(open_bundle(str(layout)), parse_reference(name))
    with fake_registry() as other:
        other.blobs = fake.blobs

        def elsewhere(handler: Any) -> bool:
            if handler.command != "GET" or "/blobs/" not in handler.path:
                return False
            where = f"http://{other.host}{handler.path}"
            handler.answer(307, Location=where, Set_Cookie="session=SECRET; Path=/")
            return True

        fake.fault = elsewhere
        assert cli.run(["pull", name, "-o", f"oci:{tmp_path}/out"]) == 0
        assert other.count("GET", "/blobs/") > 1
        assert not any("Cookie" in headers for _, _, headers in other.requests + fake.requests)


# -- referrers ------------------------------------------------------------


@pytest.fixture
def reference(fake: Fake, layout: Path, tmp_path: Path) -> str:
    """Of a bundle in a registry without the API, with one signature."""
    name = f"{fake.host}/a/b:v1"
    push(open_bundle(str(layout)), parse_reference(name))
    assert cli.run(["sign", "--keygen", str(tmp_path / "me")]) == 0
    assert cli.run(["sign", name, "--key", str(tmp_path / "me.pem")]) == 0
    return name


@pytest.mark.parametrize("answer", [(404, ""), (405, ""), (406, ""), (501, ""), (200, "text/html; charset=utf-8")])
def test_a_registry_without_the_api_whatever_it_answers(
    fake: Fake, reference: str, tmp_path: Path, answer: tuple[int, str]
) -> None:
    status, media_type = answer

    def knows_none(handler: Any) -> bool:
        headers = {"Content_Type": media_type} if media_type else {}
        return "/referrers/" in handler.path and (handler.answer(status, b"<html>", **headers) or True)

    fake.fault = knows_none
    assert cli.run(["verify", reference, "--key", str(tmp_path / "me.pub.pem")]) == 0


@pytest.mark.parametrize(
    "link",
    [
        '<{url}>; rel="next"',
        "<{url}>;rel=next",
        '<{url}>; title="a; b=c"; rel="last next"',
        '</v2/>; rel="prev", <{url}>; REL="Next"',
    ],
)
def test_the_next_page_is_found_among_other_links(fake: Fake, reference: str, tmp_path: Path, link: str) -> None:
    """A list that is cut short would be believed to hold no signature."""
    digest = open_any(reference).manifest_digest
    assert digest is not None
    found = json.loads(fake.manifests[fallback_tag(digest)])["manifests"]

    def pages(handler: Any) -> bool:
        if "/referrers/" not in handler.path:
            return False
        if "page=2" in handler.path:
            handler.answer(200, json.dumps({"manifests": found}).encode())
        else:
            said = link.format(url=f"{handler.path}?page=2")
            handler.answer(200, b'{"manifests": []}', Link=said)
        return True

    fake.fault = pages
    assert cli.run(["verify", reference, "--key", str(tmp_path / "me.pub.pem")]) == 0


def test_a_list_that_lies_about_sizes_moves_no_more(
    fake: Fake, reference: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`inspect` has a budget, and the list says what is to be counted."""
    digest = open_any(reference).manifest_digest
    assert digest is not None
    nodes = []
    for number in range(8):
        raw = json.dumps({"subject": {"digest": digest}, "n": number, "pad": "x" * (3 << 20)}).encode()
        fake.manifests[sha256_digest(raw)] = raw
        nodes.append({"mediaType": OCI_MANIFEST, "digest": sha256_digest(raw), "size": 100})
    fake.manifests[fallback_tag(digest)] = json.dumps({"manifests": nodes}).encode()
    fake.sent_bytes = 0
    taken: list[int] = []
    original = KerncapRegistry._pieces

    def counted(self: Any, *args: Any) -> Iterator[bytes]:
        for piece in original(self, *args):
            taken.append(len(piece))
            yield piece

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KerncapRegistry, "_pieces", counted)
        capsys.readouterr()
        assert cli.run(["inspect", reference, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["referrers"]
    assert [one["problem"]["code"] for one in found] == ["trust.malformed"] * 8
    assert sum(taken) < 200_000


def test_a_list_is_bounded_as_a_whole(fake: Fake, reference: str) -> None:
    """A page is at most 4 MiB; a thousand pages of that would be 4 GB."""
    fake.requests.clear()

    def big(handler: Any) -> bool:
        if "/referrers/" not in handler.path:
            return False
        number = fake.count("GET", "/referrers/")
        node = {"mediaType": OCI_MANIFEST, "digest": f"sha256:{number:064x}", "size": 10}
        body = json.dumps({"manifests": [node | {"annotations": {"a": "x" * (1 << 20)}}]}).encode()
        handler.answer(200, body, Link=f'</v2/a/b/referrers/x?page={number}>; rel="next"')
        return True

    fake.fault = big
    bundle = open_any(reference)
    assert bundle.manifest_digest is not None
    with pytest.raises(BundleError) as caught:
        referrers_of(bundle).referring_to(bundle.manifest_digest)
    assert caught.value.code == "bundle.limit"
    assert fake.count("GET", "/referrers/") < 6


# -- what lies where a pull goes on ------------------------------------------------------------


@pytest.mark.parametrize("linked", ["blobs", "blobs/sha256"])
def test_an_unfinished_pull_of_somebody_else_leads_nowhere(
    tmp_path: Path, fake: Fake, layout: Path, linked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may have come with an archive or a clone, with links in it."""
    name = f"{fake.host}/a/b:v1"
    push(open_bundle(str(layout)), parse_reference(name))
    mine = tmp_path / "mine"
    (mine / "sha256").mkdir(parents=True)
    for path in (mine / "letter", mine / "sha256/letter"):
        path.write_text("dear")
    partial = tmp_path / ".out.partial"
    (partial / linked).parent.mkdir(parents=True)
    (partial / linked).symlink_to(mine)
    assert cli.run(["pull", name, "-o", f"oci:{tmp_path}/out"]) == 4
    assert "bundle.hostile-file" in capsys.readouterr().err
    assert sorted(str(path.relative_to(mine)) for path in mine.rglob("*")) == ["letter", "sha256", "sha256/letter"]
    assert not (tmp_path / "out").exists()
    # What was there is gone: the next one begins anew.
    assert cli.run(["pull", name, "-o", f"oci:{tmp_path}/out"]) == 0
