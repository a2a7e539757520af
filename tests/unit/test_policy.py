"""The policy `--key` wherever a bundle is used, and what somebody does between the check and the use."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake
from signing import attach, make_key, signed, statement
from synthetic import make_reproducer

from kerncap.bundle import open_bundle
from kerncap.bundle.location import LayoutLocation, ReproducerLocation, parse_source
from kerncap.bundle.manifest import OCI_MANIFEST, REF_NAME
from kerncap.bundle.seal import seal
from kerncap.cli import main as cli
from kerncap.cli import trusted as trusted_module
from kerncap.errors import TrustError
from kerncap.runtime.containers.job import Job
from kerncap.runtime.containers.line import mounts_of
from kerncap.transport import open_any, push
from kerncap.transport.reference import parse_reference
from kerncap.trust.keys import PrivateKey, load_public_keys
from kerncap.workflows import trust
from kerncap.workflows.session import Session

pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


@pytest.fixture
def key(tmp_path: Path) -> PrivateKey:
    return make_key(tmp_path, "me")[0]


@pytest.fixture
def public(tmp_path: Path, key: PrivateKey) -> str:
    return str(tmp_path / "me.pub.pem")


@pytest.fixture
def two(tmp_path: Path, layout: Path, key: PrivateKey) -> Path:
    """A layout with two bundles: `good` is signed, `evil` is not."""
    seal(ReproducerLocation(make_reproducer(tmp_path / "r2", seed=2)), LayoutLocation(tmp_path / "l2", "evil"))
    index, other = (json.loads((place / "index.json").read_bytes()) for place in (layout, tmp_path / "l2"))
    index["manifests"][0]["annotations"] = {REF_NAME: "good"}
    index["manifests"] += other["manifests"]
    (layout / "index.json").write_text(json.dumps(index))
    shutil.copytree(tmp_path / "l2/blobs", layout / "blobs", dirs_exist_ok=True)
    trust.attach_signature(open_bundle(f"oci:{layout}:good"), key)
    return layout


def _swap_tags(layout: Path) -> None:
    index = json.loads((layout / "index.json").read_bytes())
    for node in index["manifests"]:
        tag = node.get("annotations", {}).get(REF_NAME)
        if tag is not None:
            node["annotations"][REF_NAME] = {"good": "evil", "evil": "good"}[tag]
    (layout / "index.json").write_text(json.dumps(index))


def test_every_command_that_uses_a_bundle_has_the_policy(
    tmp_path: Path, layout: Path, public: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written, compiled, served or run of what nobody signed."""
    out, name = str(tmp_path / "out"), str(layout)
    for words in (
        ["verify", name],
        ["pull", name, "-o", f"oci:{out}"],
        ["copy", name, f"oci:{out}"],
        ["unpack", name, out],
        ["recompile", name, "-o", out],
        ["serve", name, "--socket", out],
        ["replay", name],
        ["validate", name],
        ["run", name],
    ):
        assert cli.run([*words, "--key", public]) == 4, words
        assert "trust.unsigned" in capsys.readouterr().err
        assert not Path(out).exists()


def test_a_session_has_the_policy(layout: Path, key: PrivateKey, public: str) -> None:
    for name in (str(layout), f"oci:{layout}"):
        with pytest.raises(TrustError) as caught:
            Session(name, device="vgpu:gfx942", keys=[public])
        assert caught.value.code == "trust.unsigned"
    trust.attach_signature(open_bundle(str(layout)), key)
    assert trust.require_trusted(str(layout), [Path(public)]).startswith(f"oci:{layout}@sha256:")


def test_what_is_signed_is_unpacked_and_copied(
    tmp_path: Path, fake: Fake, layout: Path, key: PrivateKey, public: str
) -> None:
    trust.attach_signature(open_bundle(str(layout)), key)
    assert cli.run(["unpack", str(layout), str(tmp_path / "open"), "--key", public]) == 0
    assert cli.run(["copy", str(layout), f"{fake.host}/a/b:v1", "--recursive", "--key", public]) == 0
    assert cli.run(["copy", f"{fake.host}/a/b:v1", f"{fake.host}/c/d:v1", "--key", public]) == 0
    assert cli.run(["copy", str(layout), f"oci:{tmp_path}/bare", "--key", public]) == 0
    # The signature was not taken along there.
    assert cli.run(["copy", f"{tmp_path}/bare", f"{fake.host}/e/f:v1", "--key", public]) == 4


@pytest.mark.parametrize("command", ["unpack", "pull", "verify"])
def test_a_tag_of_a_layout_that_moves_after_the_check_changes_nothing(
    tmp_path: Path, two: Path, public: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, good = f"oci:{two}:good", open_bundle(f"oci:{two}:good").manifest_digest
    original = trusted_module.check_signature

    def then_moves(*words: Any, **more: Any) -> Any:
        done = original(*words, **more)
        _swap_tags(two)
        return done

    monkeypatch.setattr(trusted_module, "check_signature", then_moves)
    out = tmp_path / "out"
    words = {"unpack": [str(out)], "pull": ["-o", f"oci:{out}"], "verify": []}[command]
    assert cli.run([command, name, *words, "--key", public]) == 0
    if command == "pull":
        assert open_bundle(str(out)).manifest_digest == good
    if command == "unpack":
        assert open_bundle(str(out)).index_json == open_bundle(f"oci:{two}@{good}").index_json
    assert open_bundle(name).manifest_digest != good


def test_a_container_is_told_the_digest(two: Path) -> None:
    digest = open_bundle(f"oci:{two}:good").manifest_digest
    assert digest is not None
    named = trust.pinned(f"oci:{two}:good", digest)
    assert named == f"oci:{two}:good@{digest}"
    location = parse_source(named)
    assert isinstance(location, LayoutLocation)
    inside, _ = mounts_of(Job("image", "validate", location.path, tag=location.tag, digest=location.digest))
    assert inside == f"oci:/bundle@{digest}"


def test_a_layout_is_named_by_digest(
    tmp_path: Path, two: Path, key: PrivateKey, capsys: pytest.CaptureFixture[str]
) -> None:
    good, evil = (open_bundle(f"oci:{two}:{tag}").manifest_digest for tag in ("good", "evil"))
    assert open_bundle(f"oci:{two}@{evil}").manifest_digest == evil
    assert open_bundle(f"oci:{two}:evil@{good}").manifest_digest == good  # as in a registry
    for words, code in (
        (["inspect", f"oci:{two}@sha256:{'0' * 64}"], "usage.no-such-digest"),
        (["copy", f"oci:{two}:good", f"oci:{tmp_path}/new@{good}"], "usage.output-form"),
    ):
        assert cli.run(words) == 2
        assert code in capsys.readouterr().err
    assert not list(tmp_path.glob("new*"))
    # A folder of that name is what is meant.
    odd = tmp_path / f"x@{good}"
    shutil.copytree(two, odd)
    assert open_bundle(f"oci:{odd}:evil").manifest_digest == evil


def test_a_hint_names_the_bundle_with_its_tag(
    two: Path, tmp_path: Path, public: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Typed without it, it would be about another one or none."""
    assert cli.run(["verify", f"oci:{two}:evil", "--key", public]) == 4
    hint = capsys.readouterr().err.partition("hint: ")[2].split()
    assert hint == ["kerncap", "sign", f"oci:{two}:evil", "--key", "PRIVATE.pem"]
    assert cli.run([*hint[1:-1], str(tmp_path / "me.pem")]) == 0
    assert cli.run(["verify", f"oci:{two}:evil", "--key", public]) == 0


@pytest.mark.parametrize("form", ["oci:{}", "{}"])
def test_packing_what_is_sealed(layout: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["pack", form.format(layout), "-o", str(tmp_path / "out.kcap.tar")]) == 2
    said = capsys.readouterr().err
    assert "usage.already-sealed" in said
    hint = said.partition("hint: ")[2].split()
    assert hint[1:3] == ["copy", f"oci:{layout}"]
    assert cli.run([*hint[1:3], str(tmp_path / "out.kcap.tar")]) == 0


# -- keys ------------------------------------------------------------


def test_a_file_of_several_keys(tmp_path: Path, layout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """None of them is passed over in silence."""
    keys = [make_key(tmp_path, name, algorithm) for name, algorithm in (("a", "ed25519"), ("b", "ecdsa-p256"))]
    many = tmp_path / "trusted.pem"
    many.write_text("# ours\n" + "\n".join(public.read_text() for _, public in keys))
    assert [key.key_id for key in load_public_keys([many])] == [private.key_id for private, _ in keys]
    trust.attach_signature(open_bundle(str(layout)), keys[1][0])
    assert cli.run(["verify", str(layout), "--key", str(many)]) == 0
    cut = many.read_text().rstrip()[:-10]
    for bad in (cut, many.read_text() + (tmp_path / "a.pem").read_text(), ""):
        many.write_text(bad)
        assert cli.run(["verify", str(layout), "--key", str(many)]) == 2
        assert "usage.key" in capsys.readouterr().err


def test_a_public_key_is_no_private_one_that_others_can_read(
    layout: Path, public: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["sign", str(layout), "--key", public]) == 2
    assert "chmod" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "keys/"])
def test_keys_have_a_name(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Else they would be hidden files."""
    (tmp_path / "keys").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert cli.run(["sign", "--keygen", name]) == 2
        said = capsys.readouterr().err
        assert cli.run(said.partition("hint: ")[2].split()[1:]) == 0
    assert not list(tmp_path.rglob(".*"))


# -- what lies beside a good signature ------------------------------------------------------------


def _no_blob(layout: Path, digest: str) -> None:
    (layout / "blobs/sha256" / digest[7:]).unlink()


def _other_bytes(layout: Path, digest: str) -> None:
    path = layout / "blobs/sha256" / digest[7:]
    path.write_bytes(b"x" * path.stat().st_size)


def _a_link(layout: Path, digest: str) -> None:
    path = layout / "blobs/sha256" / digest[7:]
    path.rename(layout / "elsewhere")
    path.symlink_to(layout / "elsewhere")


@pytest.mark.parametrize("break_it", [_no_blob, _other_bytes, _a_link])
def test_a_broken_referrer_makes_a_good_signature_count_no_less(
    layout: Path,
    key: PrivateKey,
    public: str,
    tmp_path: Path,
    break_it: Callable[[Path, str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """SPEC.md, section 12."""
    bundle = open_bundle(str(layout))
    digest = bundle.manifest_digest
    assert digest is not None
    broken = attach(bundle, signed(make_key(tmp_path, "other")[0], statement(digest)))
    trust.attach_signature(bundle, key)
    break_it(layout, broken)
    assert cli.run(["verify", str(layout), "--key", public]) == 0
    capsys.readouterr()
    assert cli.run(["inspect", str(layout), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["referrers"]
    assert {one["digest"]: one["problem"] is not None for one in found}[broken]
    # Nor does it go along in silence.
    assert cli.run(["copy", str(layout), f"oci:{tmp_path}/out", "--recursive"]) == 4


def test_signing_again_mends_a_damaged_signature(layout: Path, key: PrivateKey, public: str, tmp_path: Path) -> None:
    """As a full disk or a hand may leave it: what is attached is there and whole, or it is an error."""
    bundle = open_bundle(str(layout))
    before = {path.name for path in (layout / "blobs/sha256").iterdir()}
    trust.attach_signature(bundle, key)
    for name in {path.name for path in (layout / "blobs/sha256").iterdir()} - before:
        path = layout / "blobs/sha256" / name
        good = path.read_bytes()
        for bad in (b"", good[:-1], good[:-1] + b"?"):
            path.write_bytes(bad)
            assert cli.run(["sign", str(layout), "--key", str(tmp_path / "me.pem")]) == 0
            assert path.read_bytes() == good
            assert cli.run(["verify", str(layout), "--key", public]) == 0


def test_a_good_signature_is_found_among_big_ones(
    fake: Fake, layout: Path, key: PrivateKey, public: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is attached to a bundle cannot make a check fetch as much as somebody likes."""
    name = f"{fake.host}/a/b:v1"
    push(open_bundle(str(layout)), parse_reference(name))
    remote = open_any(name)
    for number in range(20):
        attach(remote, b'{"payload": "' + b"%04d" % number * (900 << 10) + b'"}')
    fake.sent_bytes = 0
    assert cli.run(["verify", name, "--key", public]) == 4
    assert "bundle.limit" in capsys.readouterr().err
    assert fake.sent_bytes < 65 << 20
    trust.attach_signature(remote, key)
    fake.sent_bytes = 0
    assert cli.run(["verify", name, "--key", public]) == 0
    assert fake.sent_bytes < 65 << 20


def test_a_layout_full_of_big_manifests_is_not_read(
    layout: Path, public: str, capsys: pytest.CaptureFixture[str]
) -> None:
    index = json.loads((layout / "index.json").read_bytes())
    node = {"mediaType": OCI_MANIFEST, "size": 4 << 20, "artifactType": "application/vnd.example"}
    index["manifests"] += [node | {"digest": f"sha256:{number:064x}"} for number in range(17)]
    (layout / "index.json").write_text(json.dumps(index))
    assert cli.run(["verify", str(layout), "--key", public]) == 4
    assert "bundle.limit" in capsys.readouterr().err
    assert cli.run(["verify", str(layout)]) == 0


def test_what_a_killed_signer_had_begun_is_removed(layout: Path, tmp_path: Path, public: str) -> None:
    begun = [layout / f".index.json.{1}.part", layout / "blobs/sha256" / f".{'a' * 64}.1.part"]
    others = [layout / ".notes.part", layout / "blobs/sha256/.mine.1.part"]
    for path in begun + others:
        path.write_bytes(b"half")
    assert cli.run(["sign", str(layout), "--key", str(tmp_path / "me.pem")]) == 0
    assert [path.exists() for path in begun + others] == [False, False, True, True]


# -- other programs ------------------------------------------------------------


def test_what_a_signing_program_prints_is_no_result(
    tmp_path: Path, fake: Fake, layout: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    name = f"{fake.host}/a/b:v1"
    push(open_bundle(str(layout)), parse_reference(name))
    (tmp_path / "bin").mkdir()
    stand_in = tmp_path / "bin/cosign"
    stand_in.write_text('#!/bin/sh\necho Pushing signature\necho \'{"digest": "sha256:0"}\'\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    capfd.readouterr()
    assert cli.run(["sign", name, "--with", "cosign", "--json"]) == 0
    said = capfd.readouterr()
    assert json.loads(said.out)["program"] == "cosign"
    assert "Pushing signature" in said.err
