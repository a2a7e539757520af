"""push and pull against a real docker-registry and against one that misbehaves."""

from __future__ import annotations

import base64
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake, fake_registry
from registry_server import PASSWORD, PROGRAM, USER, running_registry
from synthetic import make_reproducer

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import LayoutLocation, ReproducerLocation, TarLocation, parse_output
from kerncap.bundle.outputs import resumable_directory, resumable_file
from kerncap.bundle.seal import seal
from kerncap.bundle.verify import verify
from kerncap.cli import main as cli
from kerncap.errors import BundleError, KerncapError, TransportError, UsageError
from kerncap.transport import copy_bundle, open_any, push
from kerncap.transport.failures import Patience
from kerncap.transport.reference import parse_reference

needs_registry = pytest.mark.skipif(PROGRAM is None, reason="docker-registry is not installed (apt: docker-registry)")
_ROOT = Path(__file__).resolve().parents[2]
# Little between two attempts; what answers late only because the machine is busy is not given up.
QUICK = Patience(connect_s=30.0, read_s=60.0, attempts=3, connect_attempts=2, backoff_s=0.05)


pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("registry") / "r") as host:
        yield host


@pytest.fixture
def bundle(tar_file: Path) -> Bundle:
    return open_bundle(str(tar_file))


def _login(tmp_path: Path, host: str, user: str, password: str) -> None:
    (tmp_path / "docker").mkdir(exist_ok=True)
    auth = base64.b64encode(f"{user}:{password}".encode()).decode()
    (tmp_path / "docker" / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))


def _pull(name: str, output: Path, patience: Patience = QUICK) -> Bundle:
    copy_bundle(open_any(name, patience=patience), LayoutLocation(output))
    return open_bundle(str(output))


@needs_registry
def test_round_trip_keeps_every_byte(tmp_path: Path, registry: str, bundle: Bundle, tar_file: Path) -> None:
    sent = push(bundle, parse_reference(f"{registry}/kernels/scale:v1"))
    assert sent.skipped_blobs == 0
    assert push(bundle, parse_reference(f"{registry}/kernels/scale:v2")).moved_bytes == 0
    remote = open_any(f"{registry}/kernels/scale:v2")
    assert remote.index == bundle.index
    copy_bundle(remote, TarLocation(tmp_path / "back.kcap.tar"))
    assert (tmp_path / "back.kcap.tar").read_bytes() == tar_file.read_bytes()
    layout = _pull(f"{registry}/kernels/scale@{sent.digest}", tmp_path / "layout")
    assert layout.manifest_digest == bundle.manifest_digest
    assert verify(layout, deep=True).problems == ()


@needs_registry
def test_wrong_digest_and_unknown_tag(tmp_path: Path, registry: str, bundle: Bundle) -> None:
    push(bundle, parse_reference(f"{registry}/kernels/missing:v1"))
    with pytest.raises(UsageError):
        push(bundle, parse_reference(f"{registry}/kernels/missing@sha256:{'0' * 64}"))
    with pytest.raises(TransportError) as caught:
        open_any(f"{registry}/kernels/missing:v9")
    assert caught.value.code == "transport.not-found"


@needs_registry
def test_htpasswd(tmp_path: Path, bundle: Bundle) -> None:
    with running_registry(tmp_path / "registry", with_password=True) as host:
        name = f"{host}/kernels/scale:v1"
        with pytest.raises(TransportError) as caught:
            push(bundle, parse_reference(name), patience=QUICK)
        assert (caught.value.code, caught.value.hint) == ("transport.unauthorized", f"docker login {host}")
        _login(tmp_path, host, USER, "wrong")
        with pytest.raises(TransportError) as caught:
            push(bundle, parse_reference(name), patience=QUICK)
        assert caught.value.code == "transport.unauthorized"
        _login(tmp_path, host, USER, PASSWORD)
        push(bundle, parse_reference(name), patience=QUICK)
        assert verify(_pull(name, tmp_path / "layout")).problems == ()


@needs_registry
def test_tls_on_loopback(tmp_path: Path, bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    with running_registry(tmp_path / "registry", with_tls=True, with_password=True) as host:
        _login(tmp_path, host, USER, PASSWORD)
        name = f"{host}/kernels/scale:v1"
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        with pytest.raises(TransportError) as caught:
            push(bundle, parse_reference(name), patience=QUICK)
        assert caught.value.code == "transport.tls"
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "registry" / "cert.pem"))
        push(bundle, parse_reference(name), patience=QUICK)
        assert verify(_pull(name, tmp_path / "layout")).problems == ()


@pytest.mark.parametrize("scheme", ["refused", "unanswered"])
def test_registry_down_is_exit_7_within_seconds(
    tar_file: Path, scheme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))  # held, so that nobody else listens there
        port = listener.getsockname()[1]
        if scheme == "unanswered":  # a full backlog: connections are neither accepted nor refused
            listener.listen(0)
            fillers = [socket.socket() for _ in range(3)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
        start = time.monotonic()
        assert cli.run(["push", str(tar_file), f"127.0.0.1:{port}/a/b:c"]) == 7
        # By the defaults 0.5 s between two attempts, 4 s for each that nobody answers; the rest is a busy machine's.
        assert time.monotonic() - start < 60
    assert "hint: curl" in capsys.readouterr().err


@pytest.mark.parametrize("fault", ["dies", "truncates", "stalls"])
def test_a_broken_blob_download_is_resumed(tmp_path: Path, fake: Fake, bundle: Bundle, fault: str) -> None:
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    broken: set[str] = set()
    pulled = threading.Event()

    def break_once(handler: Any) -> bool:
        path, data = handler.path, fake.blobs.get(handler.path.rsplit("/", 1)[1], b"")
        if handler.command != "GET" or len(data) < 10_000 or path in broken:
            return False
        broken.add(path)
        handler.send_response(200)
        handler.send_header("Content-Length", str(5000 if fault == "truncates" else len(data)))
        handler.end_headers()
        handler.wfile.write(data[:5000])
        handler.wfile.flush()
        if fault == "stalls":
            pulled.wait(120)
        handler.drop()
        return True

    fake.fault = break_once
    patience = replace(QUICK, read_s=1.0, attempts=10) if fault == "stalls" else QUICK
    assert verify(_pull(f"{fake.host}/a/b:v1", tmp_path / "l", patience), deep=True).problems == ()
    pulled.set()
    assert broken
    ranges = [headers.get("Range") for method, path, headers in fake.requests if path in broken and method == "GET"]
    assert ranges[0] is None
    # What came in the piece that stalled is lost with it, at most 1 MiB.
    assert ranges[-1] == (None if fault == "stalls" else "bytes=5000-")


def test_wrong_content_is_never_given_a_final_name(tmp_path: Path, fake: Fake, bundle: Bundle) -> None:
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    digest = max(fake.blobs, key=lambda d: len(fake.blobs[d]))
    data = bytearray(fake.blobs[digest])
    data[100] ^= 1
    fake.blobs[digest] = bytes(data)
    for location in (LayoutLocation(tmp_path / "out"), TarLocation(tmp_path / "out.kcap.tar")):
        before = set(tmp_path.iterdir())
        with pytest.raises(BundleError) as caught:
            copy_bundle(open_any(f"{fake.host}/a/b:v1", patience=QUICK), location)
        assert caught.value.code == "bundle.digest-mismatch"
        assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("change", ["longer", "shorter", "gone"])
def test_wrong_size_and_missing_blob(tmp_path: Path, fake: Fake, bundle: Bundle, change: str) -> None:
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    digest = max(fake.blobs, key=lambda d: len(fake.blobs[d]))
    if change == "gone":
        del fake.blobs[digest]
    else:
        fake.blobs[digest] = fake.blobs[digest] + b"x" if change == "longer" else fake.blobs[digest][:-1]
    with pytest.raises(KerncapError) as caught:
        _pull(f"{fake.host}/a/b:v1", tmp_path / "out")
    expected = {"longer": "bundle.digest-mismatch", "shorter": "transport.short", "gone": "bundle.missing-blob"}
    assert caught.value.code == expected[change]
    assert not (tmp_path / "out").exists()


def test_a_tampered_manifest_is_refused(tmp_path: Path, fake: Fake, bundle: Bundle) -> None:
    digest = push(bundle, parse_reference(f"{fake.host}/a/b:v1")).digest
    fake.manifests[digest] = fake.manifests["v1"].replace(b"gfx942", b"gfx90a")
    with pytest.raises(BundleError) as caught:
        open_any(f"{fake.host}/a/b@{digest}")
    assert caught.value.code == "bundle.digest-mismatch"


def test_retry_after_is_honoured(tmp_path: Path, fake: Fake, bundle: Bundle) -> None:
    refused: list[float] = []

    def refuse_twice(handler: Any) -> bool:
        if handler.command != "PUT" or "manifests" in handler.path or len(refused) >= 2:
            return False
        refused.append(time.monotonic())
        handler.body()
        handler.answer(503 if len(refused) == 1 else 429, Retry_After="1")
        return True

    fake.fault = refuse_twice
    start = time.monotonic()
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=QUICK)
    assert time.monotonic() - start >= 1.0
    assert len(refused) == 2
    assert fake.count("PATCH", "") == 0


def test_a_server_that_always_fails_is_transport_error(fake: Fake, bundle: Bundle) -> None:
    fake.fault = lambda handler: handler.command == "POST" and (handler.answer(500) or True)
    with pytest.raises(TransportError) as caught:
        push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=QUICK)
    assert caught.value.code == "transport.server"
    assert not fake.manifests


def test_credentials_do_not_follow_a_redirect_to_another_host(tmp_path: Path, fake: Fake, bundle: Bundle) -> None:
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    _login(tmp_path, fake.host, "u", "p")
    with fake_registry() as other:
        other.blobs = dict(fake.blobs)

        def guard_and_redirect(handler: Any) -> bool:
            if not handler.headers.get("Authorization"):
                handler.answer(401, WWW_Authenticate='Basic realm="x"')
            elif handler.command == "GET" and "/blobs/" in handler.path:
                handler.answer(307, Location=f"http://{other.host}{handler.path}")
            else:
                return False
            return True

        fake.fault = guard_and_redirect
        assert verify(_pull(f"{fake.host}/a/b:v1", tmp_path / "l")).problems == ()
        assert other.requests
        assert not any("Authorization" in headers for _, _, headers in other.requests)


@pytest.mark.parametrize("where", ["redirect", "upload", "realm"])
@pytest.mark.parametrize("address", ["http://[::1", "http://x:99999999/", "http://a..b/", "file:///etc/passwd"])
def test_addresses_that_a_registry_makes_up_are_refused(fake: Fake, bundle: Bundle, where: str, address: str) -> None:
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    fake.blobs.clear()

    def lie(handler: Any) -> bool:
        if where == "redirect" and "/blobs/" in handler.path:
            handler.answer(307, Location=address)
        elif where == "upload" and handler.command == "POST":
            handler.answer(202, Location=address)
        elif where == "realm":
            handler.answer(401, WWW_Authenticate=f'Bearer realm="{address}",service="x"')
        else:
            return False
        return True

    fake.fault = lie
    with pytest.raises(TransportError) as caught:
        push(bundle, parse_reference(f"{fake.host}/a/b:v2"), patience=QUICK)
    assert caught.value.code == "transport.protocol"
    assert fake.count("POST", "uploads") <= 2 * len(list(bundle.manifest.blobs()))  # type: ignore[union-attr]


def test_tokens_are_asked_by_scope_and_renewed(tmp_path: Path, fake: Fake, bundle: Bundle) -> None:
    fake.token_scheme = True
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=QUICK)
    assert set(fake.tokens.values()) == {"repository:a/b:pull,push"}
    fake.tokens.clear()
    remote = open_any(f"{fake.host}/a/b:v1", patience=QUICK)
    fake.expired |= set(fake.tokens)
    copy_bundle(remote, LayoutLocation(tmp_path / "l"))
    assert set(fake.tokens.values()) == {"repository:a/b:pull"}
    assert len(fake.tokens) >= 2


def test_blobs_are_uploaded_once_in_one_piece(fake: Fake, bundle: Bundle) -> None:
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    assert bundle.manifest is not None
    blobs = list(bundle.manifest.blobs())
    assert fake.count("PUT", "uploads") == len(blobs)
    assert fake.count("HEAD", "blobs") == len(blobs)
    assert fake.requests[-1][1].endswith("/manifests/v1")
    assert fake.manifests["v1"] == bundle.manifest.raw


def test_push_of_a_damaged_bundle_blames_the_bundle(tmp_path: Path, fake: Fake, layout: Path) -> None:
    bundle = open_bundle(str(layout))
    assert bundle.manifest is not None
    blob = bundle.locate(bundle.manifest.chunks[0]).path
    data = bytearray(blob.read_bytes())
    data[50] ^= 1
    blob.unlink()
    blob.write_bytes(data)
    with pytest.raises(BundleError) as caught:
        push(bundle, parse_reference(f"{fake.host}/a/b:v1"), patience=QUICK)
    assert caught.value.code == "bundle.digest-mismatch"
    assert not fake.manifests


def test_a_manifest_that_is_too_big_is_not_read(fake: Fake) -> None:
    fake.manifests["v1"] = b"{" + b" " * (5 << 20) + b"}"
    with pytest.raises(BundleError) as caught:
        open_any(f"{fake.host}/a/b:v1")
    assert caught.value.code == "bundle.limit"


def test_copies_between_layout_and_tar(tmp_path: Path, tar_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["push", str(tar_file), f"oci:{tmp_path}/l:v1"]) == 0
    assert cli.run(["pull", f"oci:{tmp_path}/l:v1", "-o", str(tmp_path / "back.kcap.tar")]) == 0
    assert (tmp_path / "back.kcap.tar").read_bytes() == tar_file.read_bytes()
    assert cli.run(["pull", str(tar_file), "-o", str(tmp_path / "back.kcap.tar")]) == 2
    assert "usage.output-exists" in capsys.readouterr().err
    for named in (f"oci:{tmp_path}/l:v1", f"oci:{tmp_path}/l", f"{tmp_path}/l", str(tar_file)):
        assert cli.run(["inspect", named, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["bundle"] == named


def test_push_beyond_loopback_asks(tar_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["push", str(tar_file), "registry.invalid/a/b:c"]) == 2
    text = capsys.readouterr().err
    assert "memory of the captured process: 1.0 MiB" in text
    assert "./app --secret-free" in text
    assert "--yes" in text


@pytest.mark.parametrize(
    ("text", "loopback"),
    [("localhost/a:b", True), ("127.0.0.9:5000/a/b", True), ("[::1]:5000/a", True), ("ghcr.io/a/b:c", False)],
)
def test_loopback_is_known(text: str, loopback: bool) -> None:
    assert parse_reference(text).loopback is loopback


@pytest.mark.parametrize(
    "text", ["a", "host/", "host.x/UPPER", "host.x/a:b:c", "host.x/a@sha256:12", "host.x/../b", "h?x/a", "host.x/a?b"]
)
def test_bad_references(text: str) -> None:
    with pytest.raises(UsageError):
        parse_reference(text)


def _small_blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    """A bundle of some 10 blobs."""
    monkeypatch.setattr("synthetic.CHUNK_BYTES", 100_000)
    monkeypatch.setattr("synthetic.BLOB_RAW_BYTES", 100_000)
    folder = make_reproducer(tmp_path / "small-blobs", big_bytes=800_000)
    seal(ReproducerLocation(folder), LayoutLocation(tmp_path / "sealed"))
    return open_bundle(str(tmp_path / "sealed"))


def _fetched(fake: Fake, bundle: Bundle) -> set[str]:
    """Digests of the blobs that were asked for, without config and index, which every pull reads first."""
    assert bundle.manifest is not None
    paths = [path for method, path, _ in fake.requests if method == "GET" and "/blobs/" in path]
    return {path.rsplit("/", 1)[1] for path in paths} - {bundle.manifest.config.digest, bundle.manifest.index.digest}


def _first_half(tmp_path: Path, fake: Fake, bundle: Bundle, output: str) -> set[str]:
    """A pull that breaks at the last blob; gives what it asked for."""
    assert bundle.manifest is not None
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    bad = bundle.manifest.chunks[-1].digest
    fake.fault = lambda handler: handler.command == "GET" and bad in handler.path and (handler.answer(500) or True)
    with pytest.raises(TransportError):
        copy_bundle(open_any(f"{fake.host}/a/b:v1", patience=QUICK), parse_output(output))
    fake.fault = lambda handler: False
    asked = _fetched(fake, bundle)
    fake.requests.clear()
    return asked - {bad}


def test_a_broken_pull_goes_on(tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = _small_blobs(tmp_path, monkeypatch)
    assert bundle.manifest is not None
    _first_half(tmp_path, fake, bundle, f"oci:{tmp_path}/out")
    assert not (tmp_path / "out").exists()
    partial = tmp_path / ".out.partial"
    arrived = {f"sha256:{path.name}" for path in (partial / "blobs/sha256").iterdir() if path.suffix == ""}
    assert len(arrived) >= 5
    # What the first attempt left is not trusted: one blob is damaged, one file belongs to nothing.
    damaged = bundle.manifest.chunks[0]
    (partial / "blobs/sha256" / damaged.digest[7:]).write_bytes(bytes(damaged.size))
    (partial / "blobs/sha256" / ("0" * 64)).write_bytes(b"stranger")
    copy_bundle(open_any(f"{fake.host}/a/b:v1"), LayoutLocation(tmp_path / "out"))
    ours = {bundle.manifest.config.digest, bundle.manifest.index.digest}
    assert _fetched(fake, bundle) == {
        blob.digest for blob in bundle.manifest.blobs() if blob.digest not in arrived | ours or blob == damaged
    }
    assert verify(open_bundle(str(tmp_path / "out")), deep=True).problems == ()
    assert not partial.exists()
    assert len(list((tmp_path / "out/blobs/sha256").iterdir())) == len(list(bundle.manifest.blobs())) + 1


def test_a_broken_pull_to_a_tar_goes_on(tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNCAP_CACHE_LIMIT", "0")  # what is fetched again would come from there
    bundle = _small_blobs(tmp_path, monkeypatch)
    assert bundle.manifest is not None
    out, partial = tmp_path / "out.kcap.tar", tmp_path / ".out.kcap.tar.partial"
    arrived = _first_half(tmp_path, fake, bundle, str(out))
    assert not out.exists()
    assert len(arrived) >= 5
    # One blob is damaged: it is fetched again, with those that had not arrived, and no other.
    damaged = bundle.manifest.chunks[0]
    wanted = tmp_path / "wanted.kcap.tar"
    copy_bundle(bundle, TarLocation(wanted))
    with partial.open("r+b") as file:
        file.seek(open_bundle(str(wanted)).locate(damaged).offset + damaged.size // 2)
        file.write(b"?")
    copy_bundle(open_any(f"{fake.host}/a/b:v1"), TarLocation(out))
    again = _fetched(fake, bundle)
    assert damaged.digest in again
    assert bundle.manifest.chunks[-1].digest in again
    assert len(again & arrived) <= 1 + 3  # beside the damaged one, three others may have been on their way
    assert out.read_bytes() == wanted.read_bytes()
    assert not partial.exists()


def test_a_partial_tar_of_something_else_is_not_used(tmp_path: Path, fake: Fake, bundle: Bundle) -> None:
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    partial = tmp_path / ".out.kcap.tar.partial"
    partial.write_bytes(b"\xff" * (1 << 20))
    copy_bundle(bundle, TarLocation(tmp_path / "wanted.kcap.tar"))
    copy_bundle(open_any(f"{fake.host}/a/b:v1"), TarLocation(tmp_path / "out.kcap.tar"))
    assert (tmp_path / "out.kcap.tar").read_bytes() == (tmp_path / "wanted.kcap.tar").read_bytes()
    # A link in its place could make us write anywhere.
    (tmp_path / "victim").write_bytes(b"keep")
    for make in (partial.symlink_to, partial.hardlink_to):
        make(tmp_path / "victim")
        (tmp_path / "out.kcap.tar").unlink(missing_ok=True)
        with pytest.raises(KerncapError) as caught:
            copy_bundle(open_any(f"{fake.host}/a/b:v1"), TarLocation(tmp_path / "out.kcap.tar"))
        assert caught.value.exit_code == 3
        assert (tmp_path / "victim").read_bytes() == b"keep"
        partial.unlink()


def test_a_killed_push_goes_on(tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = _small_blobs(tmp_path, monkeypatch)
    assert bundle.manifest is not None
    for blob in list(bundle.manifest.blobs())[:6]:
        location = bundle.locate(blob)
        fake.blobs[blob.digest] = location.path.read_bytes()
    done = push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    assert done.skipped_blobs == 6
    assert fake.count("PUT", "uploads") == done.blobs - 6


@pytest.mark.parametrize("form", ["layout", "tar"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_killed_pull_has_no_final_name(
    tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, form: str
) -> None:
    bundle = _small_blobs(tmp_path, monkeypatch)
    assert bundle.manifest is not None
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    last = bundle.manifest.chunks[-1].digest
    out = tmp_path / ("out" if form == "layout" else "out.kcap.tar")
    output = f"oci:{out}" if form == "layout" else str(out)
    killed = threading.Event()

    def slow(handler: Any) -> bool:
        if handler.command == "GET" and last in handler.path:
            killed.wait(120)
        return False

    fake.fault = slow
    command = [sys.executable, "-m", "kerncap", "pull", f"{fake.host}/a/b:v1", "-o", output]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 100
        while not fake.count("GET", last) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(number)
        sent = time.monotonic()
        process.communicate(timeout=100)
        assert time.monotonic() - sent < Patience().read_s / 2, "it waited for the registry's answer"
    killed.set()
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    assert not out.exists()
    before = fake.count("GET", "/blobs/")
    assert cli.run(["pull", f"{fake.host}/a/b:v1", "-o", output]) == 0
    assert verify(open_bundle(str(out)), deep=True).problems == ()
    # manifest and config are read again, and what was on its way; everything else was there
    assert fake.count("GET", "/blobs/") - before <= 2 + 4
    assert len(list(bundle.manifest.blobs())) > 8


def test_two_pulls_to_one_place(tmp_path: Path, fake: Fake, bundle: Bundle) -> None:
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    with resumable_directory(tmp_path / "out"), pytest.raises(UsageError) as caught:
        _pull(f"{fake.host}/a/b:v1", tmp_path / "out")
    assert caught.value.code == "usage.output-busy"
    place = TarLocation(tmp_path / "out.kcap.tar")
    with resumable_file(place.path), pytest.raises(UsageError) as caught:
        copy_bundle(open_any(f"{fake.host}/a/b:v1", patience=QUICK), place)
    assert caught.value.code == "usage.output-busy"


def test_many_blobs_go_through(tmp_path: Path, fake: Fake) -> None:
    folder = make_reproducer(tmp_path / "big", big_bytes=200 << 20)
    manifest = seal(ReproducerLocation(folder), LayoutLocation(tmp_path / "l"))
    assert len(manifest.chunks) == 4
    push(open_bundle(str(tmp_path / "l")), parse_reference(f"{fake.host}/a/b:v1"))
    assert verify(_pull(f"{fake.host}/a/b:v1", tmp_path / "back"), deep=True).problems == ()
