"""What oras 0.2.43 does wrong, one test each: with its own calls in place of ours every one of them fails.

Elsewhere: the token of the first request sent again for a push, tokens that expire (test_token_registry); content that
is not checked, status 429 and 503, registries that are down (test_transport); the digest of a subject (test_copy);
archives that are not reproducible (test_bundle).
"""

from __future__ import annotations

import ast
import base64
import json
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake, fake_registry

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import LayoutLocation
from kerncap.bundle.manifest import sha256_digest
from kerncap.bundle.verify import verify
from kerncap.errors import BundleError, TransportError
from kerncap.transport import copy_bundle, open_any, push
from kerncap.transport.failures import Patience
from kerncap.transport.reference import parse_reference

_PACKAGE = Path(__file__).resolve().parents[2] / "kerncap"
QUICK = Patience(connect_s=30.0, read_s=60.0, attempts=3, connect_attempts=2, backoff_s=0.05)


pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


@pytest.fixture
def fakes() -> Iterator[tuple[Fake, Fake]]:
    with fake_registry() as one, fake_registry() as other:
        yield one, other


@pytest.fixture
def fake(fakes: tuple[Fake, Fake]) -> Fake:
    return fakes[0]


@pytest.fixture
def bundle(tar_file: Path) -> Bundle:
    return open_bundle(str(tar_file))


def _login(tmp_path: Path, host: str, password: str) -> None:
    (tmp_path / "docker").mkdir(exist_ok=True)
    auth = base64.b64encode(f"me:{password}".encode()).decode()
    (tmp_path / "docker" / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))


def _change_manifest(fake: Fake, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(fake.manifests["v1"])
    change(document)
    fake.manifests["v1"] = json.dumps(document).encode()


_LAYER = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": "sha256:" + "a" * 64, "size": 3}
_HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a digest that is a path": (
        lambda m: m["layers"][-1].update(digest="sha256:../../../escaped.bin"),
        "bundle.malformed",
    ),
    "an archive to be extracted": (lambda m: m["layers"].append(_LAYER), "bundle.unknown-media-type"),
    "a title that is a path": (
        lambda m: m["layers"][0].update(annotations={"org.opencontainers.image.title": "../x"}),
        "bundle.hostile-path",
    ),
    "a title twice": (
        lambda m: m["layers"][0].update(annotations=m["config"]["annotations"]),
        "bundle.malformed",
    ),
}


@pytest.mark.parametrize("hostile", list(_HOSTILE))
def test_a_manifest_names_nothing_outside(tmp_path: Path, fake: Fake, bundle: Bundle, hostile: str) -> None:
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    change, code = _HOSTILE[hostile]
    _change_manifest(fake, change)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BundleError) as caught:
        copy_bundle(open_any(f"{fake.host}/a/b:v1", patience=QUICK), LayoutLocation(tmp_path / "deep" / "out"))
    assert caught.value.code == code
    assert sorted(tmp_path.rglob("*")) == before


def test_credentials_of_one_registry_do_not_go_to_the_token_server_of_another(
    tmp_path: Path, fakes: tuple[Fake, Fake], bundle: Bundle
) -> None:
    one, other = fakes
    _login(tmp_path, one.host, "secret of one")
    one.fault = lambda handler: (
        handler.headers.get("Authorization") is None
        and (handler.answer(401, WWW_Authenticate='Basic realm="x"') or True)
    )
    push(bundle, parse_reference(f"{one.host}/a/b:v1"), patience=QUICK)
    assert any("Authorization" in headers for _, _, headers in one.requests)
    other.token_scheme = True
    push(open_any(f"{one.host}/a/b:v1"), parse_reference(f"{other.host}/a/b:v1"), patience=QUICK)
    said = [headers.get("Authorization", "") for _, _, headers in other.requests]
    assert any(word.startswith("Bearer ") for word in said)
    assert not any(word.startswith("Basic ") for word in said)
    assert not any("Authorization" in headers for _, path, headers in other.requests if path.startswith("/token"))


def test_a_realm_that_is_no_address_is_no_host(tmp_path: Path, fake: Fake, bundle: Bundle) -> None:
    """The realm of Basic is text for people; that of Bearer must be an address."""
    _login(tmp_path, fake.host, "p")
    scheme = "Basic"

    def guard(handler: Any) -> bool:
        if handler.headers.get("Authorization", "").startswith("Basic "):
            return False
        handler.answer(401, WWW_Authenticate=f'{scheme} realm="basic-realm"')
        return True

    fake.fault = guard
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=QUICK)
    scheme = "Bearer"
    with pytest.raises(TransportError) as caught:
        open_any(f"{fake.host}/a/b:v1", patience=QUICK)
    assert caught.value.code == "transport.protocol"


def test_with_a_password_no_body_is_sent_twice(tmp_path: Path, fake: Fake, bundle: Bundle) -> None:
    """Only the first requests are without it; the registry says so before anything big is on its way."""
    _login(tmp_path, fake.host, "p")
    fake.fault = lambda handler: (
        handler.headers.get("Authorization") is None
        and (handler.answer(401, WWW_Authenticate='Basic realm="x"') or True)
    )
    start = time.monotonic()
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=QUICK)
    assert time.monotonic() - start < 60  # oras takes 131 s and fails
    assert bundle.manifest is not None
    blobs = list(bundle.manifest.blobs())
    assert fake.count("PUT", "/uploads/") == len(blobs)
    assert fake.count("PUT", "/manifests/") == 1
    assert fake.count("PATCH", "") == 0
    bodies = [int(h["Content-Length"]) for method, path, h in fake.requests if method == "PUT" and "/uploads/" in path]
    assert sum(bodies) == sum(blob.size for blob in blobs)


def test_an_upload_that_broke_is_sent_again_whole(fake: Fake, bundle: Bundle) -> None:
    """Never a piece of it again: distribution 2.8 appends that, whatever Content-Range says."""
    broken: list[str] = []

    def break_once(handler: Any) -> bool:
        size = int(handler.headers.get("Content-Length") or 0)
        if handler.command != "PUT" or "/uploads/" not in handler.path or size < 10_000 or broken:
            return False
        broken.append(handler.path)
        handler.rfile.read(5000)
        handler.drop()
        return True

    fake.fault = break_once
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=QUICK)
    assert broken
    assert bundle.manifest is not None
    assert set(fake.blobs) == {blob.digest for blob in bundle.manifest.blobs()}
    assert fake.count("PATCH", "") == 0
    assert not any("Content-Range" in headers for _, _, headers in fake.requests)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("method", ["HEAD", "GET", "POST", "PUT"])
def test_every_passing_failure_is_tried_again(
    tmp_path: Path, fake: Fake, bundle: Bundle, status: int, method: str
) -> None:
    """Once for each address, with a Retry-After that is a date of this very second."""
    seen: set[str] = set()

    def fail_once(handler: Any) -> bool:
        if handler.command != method or handler.path in seen:
            return False
        seen.add(handler.path)
        handler.body()
        handler.answer(status, Retry_After=formatdate(usegmt=True))
        return True

    fake.fault = fail_once
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=QUICK)
    copy_bundle(open_any(f"{fake.host}/a/b:v1", patience=QUICK), LayoutLocation(tmp_path / "l"))
    assert seen
    assert verify(open_bundle(str(tmp_path / "l"))).problems == ()


def test_retry_after_as_a_date_is_waited_for(fake: Fake, bundle: Bundle) -> None:
    refused: list[float] = []

    def refuse_once(handler: Any) -> bool:
        if handler.command != "PUT" or "manifests" not in handler.path or refused:
            return False
        refused.append(time.time())
        handler.body()
        handler.answer(429, Retry_After=formatdate(time.time() + 3, usegmt=True))
        return True

    fake.fault = refuse_once
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=QUICK)
    assert time.time() - refused[0] > 1.5  # a date has no fractions of seconds


def test_a_manifest_keeps_the_bytes_that_its_maker_wrote(tmp_path: Path, fake: Fake, bundle: Bundle) -> None:
    """Its digest is that of the raw bytes, of blanks and order, too."""
    assert bundle.manifest is not None
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    document = json.loads(bundle.manifest.raw)
    raw = json.dumps(dict(reversed(document.items())), indent=3).encode()
    fake.manifests["v1"] = raw
    copy_bundle(open_any(f"{fake.host}/a/b:v1"), LayoutLocation(tmp_path / "l"))
    assert open_bundle(str(tmp_path / "l")).manifest_digest == sha256_digest(raw)
    push(open_bundle(str(tmp_path / "l")), parse_reference(f"{fake.host}/a/b:v2"))
    assert fake.manifests["v2"] == raw


@pytest.mark.parametrize(
    ("text", "api_host", "repository"),
    [
        ("docker.io/someone/x:1", "registry-1.docker.io", "someone/x"),
        ("index.docker.io/x:1", "registry-1.docker.io", "library/x"),
        ("localhost/x", "localhost", "x"),
        ("registry:5000/x", "registry:5000", "x"),
        ("ghcr.io/a/b/c", "ghcr.io", "a/b/c"),
    ],
)
def test_where_a_reference_leads(text: str, api_host: str, repository: str) -> None:
    reference = parse_reference(text)
    assert (reference.api_host, reference.repository) == (api_host, repository)


def test_an_upload_elsewhere_gets_no_credentials(tmp_path: Path, fakes: tuple[Fake, Fake], bundle: Bundle) -> None:
    """A registry may send an upload to its storage; the address holds all that this one asks for."""
    one, other = fakes
    _login(tmp_path, one.host, "p")

    def guard(handler: Any) -> bool:
        if handler.headers.get("Authorization") is None:
            handler.answer(401, WWW_Authenticate='Basic realm="x"')
        elif handler.command == "POST":
            handler.answer(202, Location=f"http://{other.host}{handler.path}one?signature=x")
        else:
            return False
        return True

    one.fault = guard
    push(bundle, parse_reference(f"{one.host}/a/b:v1"), patience=QUICK)
    assert other.blobs
    assert not any("Authorization" in headers for _, _, headers in other.requests)


def test_whoever_a_redirect_leads_to_is_not_answered(tmp_path: Path, fakes: tuple[Fake, Fake], bundle: Bundle) -> None:
    """Its challenge would have the credentials sent to a token server that it names."""
    one, other = fakes
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))
    _login(tmp_path, one.host, "p")

    def guard_and_redirect(handler: Any) -> bool:
        if handler.headers.get("Authorization") is None:
            handler.answer(401, WWW_Authenticate='Basic realm="x"')
        elif handler.command == "GET" and "/blobs/" in handler.path:
            handler.answer(307, Location=f"http://{other.host}{handler.path}")
        else:
            return False
        return True

    def ask(handler: Any) -> bool:
        handler.answer(401, WWW_Authenticate=f'Bearer realm="http://{other.host}/token",service="x"')
        return True

    one.fault, other.fault = guard_and_redirect, ask
    with pytest.raises(TransportError) as caught:
        open_any(f"{one.host}/a/b:v1", patience=QUICK)
    assert caught.value.code == "transport.unauthorized"
    assert other.requests
    assert not any("Authorization" in headers for _, _, headers in other.requests)
    assert other.count("GET", "/token") == 0


def test_of_oras_only_the_skeleton_is_used() -> None:
    """Its push, pull, layout and archive code write outside, read blobs whole, check nothing and ask the wrong host."""
    imported: set[str] = set()
    for path in _PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
    assert {name for name in imported if name.split(".")[0] == "oras"} == {"oras.container", "oras.provider"}
