"""copy: from registry to registry without local storage, blobs taken over within one, and what refers to a bundle."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake, fake_registry
from registry_server import PROGRAM, running_registry
from synthetic import make_reproducer

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import LayoutLocation, ReproducerLocation, TarLocation
from kerncap.bundle.manifest import OCI_MANIFEST, Descriptor, sha256_digest
from kerncap.bundle.seal import seal
from kerncap.bundle.store import BlobLocation
from kerncap.bundle.verify import verify
from kerncap.cli import main as cli
from kerncap.errors import BundleError, TransportError, UsageError
from kerncap.transport import copy_bundle, open_any, push
from kerncap.transport.failures import Patience
from kerncap.transport.reference import parse_reference
from kerncap.transport.referrers import fallback_tag, list_referrers, push_referrer
from kerncap.transport.registry import KerncapRegistry

needs_registry = pytest.mark.skipif(PROGRAM is None, reason="docker-registry is not installed (apt: docker-registry)")
QUICK = Patience(connect_s=30.0, read_s=60.0, attempts=3, connect_attempts=2, backoff_s=0.05)
_ROOT = Path(__file__).resolve().parents[2]
SBOM = "application/spdx+json"
VERDICT = "application/vnd.kerncap.verdict.v1+json"


pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("registry") / "r") as host:
        yield host


@pytest.fixture
def fakes() -> Iterator[tuple[Fake, Fake]]:
    with fake_registry() as one, fake_registry() as other:
        yield one, other


@pytest.fixture
def bundle(tar_file: Path) -> Bundle:
    return open_bundle(str(tar_file))


def _blobs(bundle: Bundle) -> list[Descriptor]:
    assert bundle.manifest is not None
    return list(bundle.manifest.blobs())


def _refer(registry: KerncapRegistry, subject: bytes | tuple[str, int], artifact_type: str, payload: bytes) -> str:
    """Attach an artifact of one layer, as cosign, notation and oras do; gives its digest."""
    digest, size = subject if isinstance(subject, tuple) else (sha256_digest(subject), len(subject))
    for data in (b"{}", payload):
        place = Path(registry.scratch) / sha256_digest(data)[7:]  # type: ignore[attr-defined]
        place.write_bytes(data)
        blob = Descriptor("application/octet-stream", sha256_digest(data), len(data))
        registry.push_blob(blob, BlobLocation(place, 0, len(data)), what="payload", add=lambda count: None)
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "artifactType": artifact_type,
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": sha256_digest(b"{}"), "size": 2},
        "layers": [{"mediaType": artifact_type, "digest": sha256_digest(payload), "size": len(payload)}],
        "subject": {"mediaType": OCI_MANIFEST, "digest": digest, "size": size},
    }
    return push_referrer(registry, json.dumps(document).encode()).digest


def _client(name: str, scratch: Path) -> KerncapRegistry:
    client = KerncapRegistry(parse_reference(name), patience=QUICK)
    client.scratch = scratch  # type: ignore[attr-defined]
    return client


def test_from_registry_to_registry_nothing_is_stored(
    tmp_path: Path, fakes: tuple[Fake, Fake], bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = fakes
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))
    before = sorted(tmp_path.rglob("*"))
    assert cli.run(["copy", f"{one.host}/a/b:v1", f"{other.host}/c/d:v2", "--json"]) == 0
    assert sorted(tmp_path.rglob("*")) == before
    document = json.loads(capsys.readouterr().out)
    assert document["target"] == f"{other.host}/c/d@{bundle.manifest_digest}"
    assert document["moved_bytes"] == document["total_bytes"]
    assert other.manifests["v2"] == one.manifests["v1"]
    assert other.blobs == one.blobs
    # Each blob went through once (config and index were read before, to know what it is).
    gets = [path for method, path, _ in one.requests if method == "GET" and "/blobs/" in path]
    assert len(gets) == len(_blobs(bundle)) + 2
    again = push(open_any(f"{one.host}/a/b:v1"), parse_reference(f"{other.host}/c/d:v3"))
    assert (again.moved_bytes, again.skipped_blobs) == (0, len(_blobs(bundle)))


@pytest.mark.parametrize("end", ["source", "target"])
def test_a_copy_whose_connection_breaks_goes_on(fakes: tuple[Fake, Fake], bundle: Bundle, end: str) -> None:
    one, other = fakes
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))
    broken: set[str] = set()

    def break_source(handler: Any) -> bool:
        data = one.blobs.get(handler.path.rsplit("/", 1)[1], b"")
        if handler.command != "GET" or len(data) < 10_000 or handler.path in broken:
            return False
        broken.add(handler.path)
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:5000])
        handler.drop()
        return True

    def break_target(handler: Any) -> bool:
        if handler.command != "PUT" or "/manifests/" in handler.path or handler.path in broken:
            return False
        broken.add(handler.path)
        handler.rfile.read(10)
        handler.drop()
        return True

    if end == "source":
        one.fault = break_source
    else:
        other.fault = break_target
    said: list[tuple[int, int]] = []
    target = parse_reference(f"{other.host}/c/d:v1")
    push(
        open_any(f"{one.host}/a/b:v1", patience=QUICK),
        target,
        patience=QUICK,
        progress=lambda done, total: said.append((done, total)),
    )
    assert broken
    # What was sent again is counted once: the bar ends where it should.
    size = sum(blob.size for blob in _blobs(bundle))
    assert said[-1] == (size, size)
    assert other.blobs == one.blobs
    if end == "source":
        ranges = [headers["Range"] for _, path, headers in one.requests if path in broken and "Range" in headers]
        assert ranges == ["bytes=5000-"] * len(broken)


@pytest.mark.parametrize("change", ["other bytes", "longer", "shorter"])
def test_a_copy_of_what_is_wrong_does_not_arrive(fakes: tuple[Fake, Fake], bundle: Bundle, change: str) -> None:
    one, other = fakes
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))
    digest = max(one.blobs, key=lambda d: len(one.blobs[d]))
    data = one.blobs[digest]
    changed = {"other bytes": data[:-1] + bytes([data[-1] ^ 1]), "longer": data + b"x", "shorter": data[:-1]}[change]
    source = open_any(f"{one.host}/a/b:v1", patience=QUICK)
    one.blobs[digest] = changed
    with pytest.raises((BundleError, TransportError)) as caught:
        push(source, parse_reference(f"{other.host}/c/d:v1"), patience=QUICK)
    assert caught.value.code == ("transport.short" if change == "shorter" else "bundle.digest-mismatch")
    assert digest not in other.blobs
    assert not other.manifests


def test_a_source_that_sends_from_the_start_again(fakes: tuple[Fake, Fake], bundle: Bundle) -> None:
    """Range is only a wish: some proxies do not know it."""
    one, other = fakes
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))
    broken: set[str] = set()

    def no_ranges(handler: Any) -> bool:
        data = one.blobs.get(handler.path.rsplit("/", 1)[1], b"")
        if handler.command != "GET" or len(data) < 10_000:
            return False
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        first = handler.path not in broken
        broken.add(handler.path)
        handler.wfile.write(data[:5000] if first else data)
        if first:
            handler.drop()
        return True

    one.fault = no_ranges
    push(open_any(f"{one.host}/a/b:v1", patience=QUICK), parse_reference(f"{other.host}/c/d:v1"), patience=QUICK)
    assert broken
    assert other.blobs == one.blobs


@needs_registry
def test_within_one_registry_no_data_moves(tmp_path: Path, registry: str, bundle: Bundle) -> None:
    push(bundle, parse_reference(f"{registry}/from/here:v1"))
    done = push(open_any(f"{registry}/from/here:v1"), parse_reference(f"{registry}/to/there:v1"))
    assert (done.mounted_blobs, done.moved_bytes, done.skipped_blobs) == (len(_blobs(bundle)), 0, 0)
    copy_bundle(open_any(f"{registry}/to/there:v1"), LayoutLocation(tmp_path / "l"))
    assert verify(open_bundle(str(tmp_path / "l")), deep=True).problems == ()


@needs_registry
def test_a_push_takes_over_what_another_repository_has(registry: str, bundle: Bundle) -> None:
    push(bundle, parse_reference(f"{registry}/base/one:v1"))
    named = parse_reference(f"{registry}/base/one")
    done = push(bundle, parse_reference(f"{registry}/derived/one:v1"), mount_from=named)
    assert (done.mounted_blobs, done.moved_bytes) == (len(_blobs(bundle)), 0)
    # Nothing is there: everything is sent, through the upload that the registry opened instead.
    nothing = parse_reference(f"{registry}/base/nothing")
    done = push(bundle, parse_reference(f"{registry}/derived/two:v1"), mount_from=nothing)
    assert (done.mounted_blobs, done.moved_bytes) == (0, done.total_bytes)
    with pytest.raises(UsageError) as caught:
        push(bundle, parse_reference(f"{registry}/derived/two:v1"), mount_from=parse_reference("elsewhere.example/a/b"))
    assert caught.value.code == "usage.mount"


@pytest.mark.parametrize("status", [401, 403, 404, 400])
def test_not_being_allowed_to_take_over_is_no_failure(fakes: tuple[Fake, Fake], bundle: Bundle, status: int) -> None:
    one, _ = fakes
    one.fault = lambda handler: "mount=" in handler.path and (handler.answer(status) or True)
    done = push(bundle, parse_reference(f"{one.host}/a/b:v1"), mount_from=parse_reference(f"{one.host}/x/y"))
    assert (done.mounted_blobs, done.moved_bytes) == (0, done.total_bytes)
    assert set(one.blobs) == {blob.digest for blob in _blobs(bundle)}


def test_a_mount_asks_for_both_scopes(fakes: tuple[Fake, Fake], bundle: Bundle) -> None:
    one, _ = fakes
    one.token_scheme = True
    push(bundle, parse_reference(f"{one.host}/a/b:v1"), mount_from=parse_reference(f"{one.host}/x/y"))
    asked = [path for _, path, _ in one.requests if path.startswith("/token")]
    both = "scope=repository%3Aa%2Fb%3Apull%2Cpush&scope=repository%3Ax%2Fy%3Apull"
    assert any(both in path for path in asked)


@pytest.mark.parametrize("page", [None, 1, 10])
def test_what_refers_to_a_bundle_comes_along(
    tmp_path: Path,
    fakes: tuple[Fake, Fake],
    bundle: Bundle,
    page: int | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With the referrers API, in pages too, and with the tag that stands in for it."""
    one, other = fakes
    one.referrers_page = page
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))
    assert bundle.manifest is not None
    client = _client(f"{one.host}/a/b:v1", tmp_path)
    sbom = _refer(client, bundle.manifest.raw, SBOM, b'{"sbom": 1}')
    verdict = _refer(client, bundle.manifest.raw, VERDICT, b'{"verdict": "faithful"}')
    signature = _refer(client, one.manifests[verdict], "application/vnd.signature", b"signed")
    found = list_referrers(client, bundle.manifest.digest)
    assert {one.digest for one in found} == {sbom, verdict}
    assert [one.digest for one in list_referrers(client, bundle.manifest.digest, VERDICT)] == [verdict]
    assert (fallback_tag(bundle.manifest.digest) in one.manifests) == (page is None)
    assert cli.run(["copy", f"{one.host}/a/b:v1", f"{other.host}/c/d:v1", "--recursive", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["referrers"] == 3
    there = _client(f"{other.host}/c/d:v1", tmp_path)
    assert {one.digest for one in list_referrers(there, bundle.manifest.digest)} == {sbom, verdict}
    assert [one.digest for one in list_referrers(there, verdict)] == [signature]
    for digest in (sbom, verdict, signature):
        assert other.manifests[digest] == one.manifests[digest]
    assert other.blobs == one.blobs


@needs_registry
def test_the_tag_that_stands_in_is_kept_on_a_real_registry(tmp_path: Path, registry: str, bundle: Bundle) -> None:
    name = f"{registry}/refer/red:v1"
    push(bundle, parse_reference(name))
    assert bundle.manifest is not None
    client = _client(name, tmp_path)
    assert list_referrers(client, bundle.manifest.digest) == []
    digests = [_refer(client, bundle.manifest.raw, VERDICT, b"%d" % number) for number in range(3)]
    assert [one.digest for one in list_referrers(client, bundle.manifest.digest)] == digests
    done = push(open_any(name), parse_reference(f"{registry}/refer/copied:v1"), recursive=True)
    assert done.referrers == 3
    copied = _client(f"{registry}/refer/copied:v1", tmp_path)
    assert [one.digest for one in list_referrers(copied, bundle.manifest.digest)] == digests


_NODE = {"mediaType": OCI_MANIFEST, "digest": "sha256:" + "1" * 64, "size": 10}


@pytest.mark.parametrize(
    "index",
    [
        {},
        {"manifests": {}},
        {"manifests": [3]},
        {"manifests": [{**_NODE, "digest": "sha256:../../x"}]},
        {"manifests": [{**_NODE, "size": -1}]},
        {"manifests": [{**_NODE, "size": 1 << 50}]},
        {"manifests": [{**_NODE, "artifactType": 3}]},
        {"manifests": [{**_NODE, "annotations": {"a": 3}}]},
        {"manifests": [{**_NODE, "mediaType": "application/vnd.unknown"}]},
        {"manifests": [_NODE] * 1001},
    ],
)
def test_a_hostile_list_of_referrers_is_refused(fakes: tuple[Fake, Fake], bundle: Bundle, index: Any) -> None:
    one, other = fakes
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))
    assert bundle.manifest_digest is not None
    one.manifests[fallback_tag(bundle.manifest_digest)] = json.dumps(index).encode()
    with pytest.raises(BundleError):
        push(open_any(f"{one.host}/a/b:v1"), parse_reference(f"{other.host}/c/d:v1"), recursive=True)


def test_a_list_of_referrers_without_end_is_refused(fakes: tuple[Fake, Fake], bundle: Bundle) -> None:
    one, other = fakes
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))

    def circles(handler: Any) -> bool:
        link = f'<{handler.path}>; rel="next"'
        return "/referrers/" in handler.path and (handler.answer(200, b'{"manifests":[]}', Link=link) or True)

    one.fault = circles
    with pytest.raises(TransportError) as caught:
        push(open_any(f"{one.host}/a/b:v1"), parse_reference(f"{other.host}/c/d:v1"), recursive=True)
    assert caught.value.code == "transport.protocol"


def test_empty_pages_of_referrers_come_to_an_end(fakes: tuple[Fake, Fake], bundle: Bundle) -> None:
    one, other = fakes
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))

    def onward(handler: Any) -> bool:
        link = f'</v2/a/b/referrers/x?page={len(one.requests)}>; rel="next"'
        return "/referrers/" in handler.path and (handler.answer(200, b'{"manifests":[]}', Link=link) or True)

    one.fault = onward
    with pytest.raises(TransportError) as caught:
        push(open_any(f"{one.host}/a/b:v1"), parse_reference(f"{other.host}/c/d:v1"), recursive=True)
    assert caught.value.code == "transport.protocol"
    assert one.count("GET", "/referrers/") < 20


def test_a_tar_file_takes_nothing_that_refers_to_a_bundle(
    tmp_path: Path, fakes: tuple[Fake, Fake], bundle: Bundle
) -> None:
    one, _ = fakes
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))
    for words in (["copy", f"{one.host}/a/b:v1", f"{tmp_path}/out.tar"], ["pull", f"{one.host}/a/b:v1", "-o", "x.tar"]):
        assert cli.run([*words, "--recursive"]) == 2
    assert not (tmp_path / "out.tar").exists()


def test_a_list_that_names_what_refers_to_something_else_is_refused(
    tmp_path: Path, fakes: tuple[Fake, Fake], bundle: Bundle
) -> None:
    """Else a list that names itself would be walked without end."""
    one, other = fakes
    push(bundle, parse_reference(f"{one.host}/a/b:v1"))
    assert bundle.manifest_digest is not None
    stray = _refer(_client(f"{one.host}/a/b:v1", tmp_path), ("sha256:" + "3" * 64, 10), SBOM, b"{}")
    node = {"mediaType": OCI_MANIFEST, "digest": stray, "size": len(one.manifests[stray]), "artifactType": SBOM}
    one.manifests[fallback_tag(bundle.manifest_digest)] = json.dumps({"manifests": [node]}).encode()
    with pytest.raises(BundleError) as caught:
        push(open_any(f"{one.host}/a/b:v1"), parse_reference(f"{other.host}/c/d:v1"), recursive=True)
    assert caught.value.code == "bundle.malformed"


def test_every_form_to_every_form(tmp_path: Path, fakes: tuple[Fake, Fake], tar_file: Path) -> None:
    one, _ = fakes
    there = f"{one.host}/a/b:v1"
    for source, target in (
        (str(tar_file), f"oci:{tmp_path}/l"),
        (f"oci:{tmp_path}/l", there),
        (there, f"{tmp_path}/back.kcap.tar"),
        (f"{tmp_path}/back.kcap.tar", f"oci:{tmp_path}/again:v1"),
    ):
        assert cli.run(["copy", source, target]) == 0
    assert (tmp_path / "back.kcap.tar").read_bytes() == tar_file.read_bytes()
    assert verify(open_bundle(f"oci:{tmp_path}/again:v1"), deep=True).problems == ()


@needs_registry
def test_memory_does_not_grow_with_the_bundle(tmp_path: Path) -> None:
    """push, pull and copy of 384 MB, each a process of its own: never more than 128 MiB resident."""
    folder = make_reproducer(tmp_path / "big", big_bytes=384 << 20)
    seal(ReproducerLocation(folder), TarLocation(tmp_path / "b.kcap.tar"))
    with running_registry(tmp_path / "one") as one, running_registry(tmp_path / "other") as other:
        for words in (
            ["push", str(tmp_path / "b.kcap.tar"), f"{one}/a/b:v1"],
            ["copy", f"{one}/a/b:v1", f"{other}/a/b:v1"],
            ["pull", f"{other}/a/b:v1", "-o", str(tmp_path / "back.kcap.tar")],
        ):
            program = (
                "import resource, subprocess, sys\n"
                "done = subprocess.run([sys.executable, '-m', 'kerncap', *sys.argv[1:]])\n"
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
                "sys.exit(done.returncode)"
            )
            argv = [sys.executable, "-c", program, *words]
            done = subprocess.run(argv, cwd=_ROOT, capture_output=True, text=True, check=True)
            assert int(done.stdout.splitlines()[-1]) << 10 < 128 << 20, words
    assert (tmp_path / "back.kcap.tar").read_bytes() == (tmp_path / "b.kcap.tar").read_bytes()
