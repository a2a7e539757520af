"""Referrers beside a bundle in a layout: listed without a tag, taken along, never taken for a second bundle."""

from __future__ import annotations

import json
import os
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake
from signing import attach
from synthetic import make_reproducer

from kerncap.bundle import limits, open_bundle
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.manifest import ARTIFACT_TYPE, OCI_MANIFEST, Descriptor, sha256_digest
from kerncap.bundle.referrers import build_referrer, walk
from kerncap.bundle.seal import seal
from kerncap.bundle.verify import verify
from kerncap.cli import main as cli
from kerncap.errors import BundleError, KerncapError, UsageError
from kerncap.transport import copy_bundle, open_any, push, referrers_of
from kerncap.transport.reference import parse_reference
from kerncap.trust.kinds import SPDX

NOTE = "application/vnd.example.note"


pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


def _attach(layout: Path | str, text: bytes, kind: str = NOTE) -> str:
    return attach(open_any(str(layout)), text, artifact_type=kind, layer_type=kind)


def _listed(name: Path | str) -> list[str]:
    bundle = open_any(str(name))
    assert bundle.manifest_digest is not None
    return [one.referrer.digest for one in walk(referrers_of(bundle), bundle.manifest_digest)]


def _index(layout: Path) -> dict[str, Any]:
    index: dict[str, Any] = json.loads((layout / "index.json").read_bytes())
    return index


def test_a_layout_with_referrers_is_still_one_bundle(layout: Path) -> None:
    before = open_bundle(str(layout))
    digests = [_attach(layout, b"one"), _attach(layout, b"two", SPDX)]
    nodes = _index(layout)["manifests"]
    assert [node["digest"] for node in nodes[1:]] == digests
    assert [node["artifactType"] for node in nodes] == [ARTIFACT_TYPE, NOTE, SPDX]
    assert all("annotations" not in node for node in nodes[1:])
    after = open_bundle(str(layout))
    assert after.manifest_digest == before.manifest_digest
    assert verify(after, deep=True).problems == ()
    assert _listed(layout) == digests
    manifest = json.loads((layout / "blobs/sha256" / digests[0][7:]).read_bytes())
    assert manifest["subject"]["digest"] == before.manifest_digest


def test_each_bundle_of_a_layout_has_its_own(tmp_path: Path, layout: Path) -> None:
    """Two bundles under tags, as another tool lays them out."""
    seal(ReproducerLocation(make_reproducer(tmp_path / "two", seed=2)), LayoutLocation(tmp_path / "two.oci"))
    for path in (tmp_path / "two.oci/blobs/sha256").iterdir():
        if not (layout / "blobs/sha256" / path.name).exists():
            (layout / "blobs/sha256" / path.name).write_bytes(path.read_bytes())
    index = _index(layout)
    index["manifests"] += _index(tmp_path / "two.oci")["manifests"]
    for tag, node in zip(("a", "b"), index["manifests"], strict=True):
        node["annotations"] = {"org.opencontainers.image.ref.name": tag}
    (layout / "index.json").write_text(json.dumps(index))
    first, second = _attach(f"oci:{layout}:a", b"one"), _attach(f"oci:{layout}:b", b"two")
    assert _listed(f"oci:{layout}:a") == [first]
    assert _listed(f"oci:{layout}:b") == [second]
    with pytest.raises(UsageError) as caught:
        open_bundle(str(layout))
    assert caught.value.code == "usage.no-such-tag"


def test_what_refers_to_a_referrer_comes_along(tmp_path: Path, layout: Path, fake: Fake) -> None:
    note = _attach(layout, b"one")
    raw = (layout / "blobs/sha256" / note[7:]).read_bytes()
    above, blobs = build_referrer(Descriptor(OCI_MANIFEST, note, len(raw)), NOTE, NOTE, b"on it", title="on-it")
    nested = referrers_of(open_bundle(str(layout))).attach(above, blobs).digest
    wanted = [note, nested]
    name = f"{fake.host}/a/b:v1"
    for source, target in (
        (str(layout), f"oci:{tmp_path}/local"),
        (f"oci:{tmp_path}/local", name),
        (name, f"oci:{tmp_path}/back:tag"),
    ):
        assert cli.run(["copy", source, target, "--recursive"]) == 0
        assert _listed(target) == wanted
    back = f"oci:{tmp_path}/back:tag"
    assert verify(open_bundle(back), deep=True).problems == ()
    # Without --recursive the bundle goes alone.
    assert cli.run(["copy", back, f"oci:{tmp_path}/alone"]) == 0
    assert _listed(f"oci:{tmp_path}/alone") == []
    assert len(list((tmp_path / "alone/blobs/sha256").iterdir())) < len(
        list((tmp_path / "back/blobs/sha256").iterdir())
    )


def test_a_pull_that_broke_goes_on_with_its_referrers(tmp_path: Path, layout: Path, fake: Fake) -> None:
    note = _attach(layout, b"x" * 5000)
    name = f"{fake.host}/a/b:v1"
    push(open_bundle(str(layout)), parse_reference(name), recursive=True)
    payload = sha256_digest(b"x" * 5000)
    kept = fake.blobs.pop(payload)
    with pytest.raises(KerncapError):
        copy_bundle(open_any(name), LayoutLocation(tmp_path / "out"), recursive=True)
    assert not (tmp_path / "out").exists()
    fake.blobs[payload] = kept
    copy_bundle(open_any(name), LayoutLocation(tmp_path / "out"), recursive=True)
    assert _listed(tmp_path / "out") == [note]


def test_a_changed_referrer_is_refused(tmp_path: Path, layout: Path, fake: Fake) -> None:
    _attach(layout, b"one")
    (layout / "blobs/sha256" / sha256_digest(b"one")[7:]).write_bytes(b"two")
    for target in (f"oci:{tmp_path}/out", f"{fake.host}/a/b:v1"):
        assert cli.run(["copy", str(layout), target, "--recursive"]) == 4
    assert not (tmp_path / "out").exists()


def test_a_tar_file_of_a_layout_with_referrers_is_read(tmp_path: Path, layout: Path, tar_file: Path) -> None:
    """Kerncap puts none into a tar file: the same bundle is the same file. tar(1) may have."""
    digest = _attach(layout, b"one")
    copy_bundle(open_bundle(str(layout)), _tar(tmp_path / "ours.kcap.tar"))
    assert (tmp_path / "ours.kcap.tar").read_bytes() == tar_file.read_bytes()
    with tarfile.open(tmp_path / "theirs.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        for path in ("oci-layout", "index.json", "blobs"):
            archive.add(layout / path, arcname=path)
    theirs = open_bundle(str(tmp_path / "theirs.tar"))
    assert theirs.manifest_digest == open_bundle(str(layout)).manifest_digest
    assert _listed(tmp_path / "theirs.tar") == [digest]


def _tar(path: Path) -> Any:
    from kerncap.bundle.location import TarLocation

    return TarLocation(path)


def test_several_that_attach_at_once_lose_nothing(layout: Path) -> None:
    bundle = open_bundle(str(layout))
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for each in range(5):
                attach(bundle, b"%d %d" % (number, each), artifact_type=NOTE, layer_type=NOTE)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(_listed(layout))) == 20
    assert not [name for _, _, files in os.walk(layout) for name in files if name.endswith(".part")]


_OTHER = {"mediaType": OCI_MANIFEST, "digest": "sha256:" + "1" * 64, "size": 10, "artifactType": NOTE}


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ([_OTHER], "bundle.missing-blob"),
        ([{**_OTHER, "digest": "sha256:../../../etc/passwd"}], "bundle.malformed"),
        ([{**_OTHER, "size": 1 << 40}], "bundle.limit"),
        ([{**_OTHER, "size": -1}], "bundle.limit"),
        ([{**_OTHER, "digest": f"sha256:{number:064x}"} for number in range(limits.MAX_REFERRERS + 1)], "bundle.limit"),
    ],
)
def test_hostile_entries_are_refused_where_they_are_looked_at(
    tmp_path: Path, layout: Path, nodes: list[dict[str, Any]], code: str
) -> None:
    index = _index(layout)
    index["manifests"] += nodes
    (layout / "index.json").write_text(json.dumps(index))
    # The bundle itself is read whatever lies beside it.
    assert verify(open_bundle(str(layout))).problems == ()
    with pytest.raises(BundleError) as caught:
        _listed(layout)
    assert caught.value.code == code
    assert cli.run(["copy", str(layout), f"oci:{tmp_path}/out", "--recursive"]) == 4


def test_other_artifacts_of_a_layout_are_no_referrers(layout: Path) -> None:
    raw = json.dumps({"schemaVersion": 2, "artifactType": NOTE, "layers": []}).encode()
    (layout / "blobs/sha256" / sha256_digest(raw)[7:]).write_bytes(raw)
    index = _index(layout)
    index["manifests"].append({**_OTHER, "digest": sha256_digest(raw), "size": len(raw)})
    (layout / "index.json").write_text(json.dumps(index))
    assert _listed(layout) == []


def test_nothing_is_written_through_a_link(tmp_path: Path, layout: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    blobs = layout / "blobs/sha256"
    blobs.rename(tmp_path / "elsewhere/sha256")
    bundle = None
    (layout / "blobs").rmdir()
    (layout / "blobs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BundleError) as caught:
        bundle = open_bundle(str(layout))
    assert caught.value.code == "bundle.hostile-file"
    assert bundle is None


def test_a_layout_that_may_not_be_written(layout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (layout / "index.json").read_bytes()

    def refuse(self: Path, target: Any) -> Path:
        raise PermissionError(13, "Permission denied", str(target))

    bundle = open_bundle(str(layout))
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(KerncapError) as caught:
        attach(bundle, b"one")
    assert caught.value.code == "host.permission"
    assert (layout / "index.json").read_bytes() == before
    assert not list(layout.rglob("*.part"))
