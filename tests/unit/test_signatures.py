"""Signatures of bundles: what is accepted, and everything that must not pass for one."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake
from registry_server import PROGRAM, running_registry
from signing import attach, envelope, make_key, no_passphrase, signature, signed, statement
from synthetic import make_reproducer

from kerncap.bundle import Bundle, limits, open_bundle
from kerncap.bundle.documents import validate
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.manifest import ARTIFACT_TYPE
from kerncap.bundle.seal import seal
from kerncap.cli import main as cli
from kerncap.errors import TrustError, UsageError
from kerncap.transport import open_any, push, referrers_of
from kerncap.transport.reference import parse_reference
from kerncap.trust import kinds
from kerncap.trust.envelope import IN_TOTO
from kerncap.trust.examine import require_signature
from kerncap.trust.keys import ALGORITHMS, ECDSA_P256, PrivateKey, load_private, load_public, new_pair
from kerncap.workflows.trust import attach_provenance, attach_signature

needs_registry = pytest.mark.skipif(PROGRAM is None, reason="docker-registry is not installed (apt: docker-registry)")


pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


@pytest.fixture
def key(tmp_path: Path) -> PrivateKey:
    return make_key(tmp_path, "me")[0]


@pytest.fixture
def public(tmp_path: Path, key: PrivateKey) -> Path:
    return tmp_path / "me.pub.pem"


@pytest.fixture
def bundle(layout: Path) -> Bundle:
    return open_bundle(str(layout))


def _digest(bundle: Bundle) -> str:
    assert bundle.manifest_digest is not None
    return bundle.manifest_digest


def _code(bundle: Bundle, *publics: Path) -> str | None:
    """With which it is refused; None: it is trusted."""
    try:
        require_signature(referrers_of(bundle), _digest(bundle), [load_public(path) for path in publics])
    except TrustError as error:
        return error.code
    return None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_signature_holds_for_its_key_only(tmp_path: Path, bundle: Bundle, algorithm: str) -> None:
    mine, my_public = make_key(tmp_path, "mine", algorithm)
    _, other = make_key(tmp_path, "other", algorithm)
    assert _code(bundle, my_public) == "trust.unsigned"
    attach_signature(bundle, mine)
    assert _code(bundle, my_public) is None
    assert _code(bundle, other) == "trust.unknown-key"
    assert _code(bundle, other, my_public) is None
    # It did not become another bundle by it.
    assert open_bundle(bundle.name).manifest_digest == bundle.manifest_digest


def test_an_ed25519_signature_is_the_same_each_time(bundle: Bundle, key: PrivateKey) -> None:
    assert attach_signature(bundle, key) == attach_signature(bundle, key)
    assert len(referrers_of(bundle).referring_to(_digest(bundle))) == 1


def test_the_signature_of_another_bundle_does_not_count(
    tmp_path: Path, bundle: Bundle, key: PrivateKey, public: Path
) -> None:
    seal(ReproducerLocation(make_reproducer(tmp_path / "two", seed=2)), LayoutLocation(tmp_path / "two.oci"))
    two = open_bundle(str(tmp_path / "two.oci"))
    attach(bundle, signed(key, statement(_digest(two))))
    assert _code(bundle, public) == "trust.wrong-subject"
    # The very artifact, as it lies at the other bundle, is not even listed here.
    attach_signature(two, key)
    for path in (tmp_path / "two.oci/blobs/sha256").iterdir():
        (Path(bundle.name) / "blobs/sha256" / path.name).write_bytes(path.read_bytes())
    ours, theirs = (json.loads((Path(place) / "index.json").read_bytes()) for place in (bundle.name, two.name))
    ours["manifests"] += theirs["manifests"][1:]
    (Path(bundle.name) / "index.json").write_text(json.dumps(ours))
    assert _code(open_bundle(bundle.name), public) == "trust.wrong-subject"


def _wrong(change: Callable[[PrivateKey, str], bytes], code: str, name: str) -> Any:
    return pytest.param(change, code, id=name)


def _two_subjects(digest: str) -> list[dict[str, Any]]:
    return [{"digest": {"sha256": "0" * 64}}, {"digest": {"sha256": digest[7:]}}]


def _twice(digest: str) -> bytes:
    """The first `subject` is the right one, the last another: parsers differ in which they take."""
    right = json.dumps(statement(digest))
    return (right[:-1] + ', "subject": [{"digest": {"sha256": "' + "0" * 64 + '"}}]}').encode()


def _with_payload(key: PrivateKey, digest: str, payload: Any) -> bytes:
    return json.dumps({**json.loads(signed(key, statement(digest))), "payload": payload}).encode()


_HOSTILE = [
    _wrong(lambda k, d: signed(k, statement(d), payloadType="text/plain"), "trust.bad-signature", "other-type-named"),
    _wrong(
        lambda k, d: envelope(
            p := json.dumps(statement(d)).encode(),
            [signature(k, p, payload_type="text/plain")],
            payloadType="text/plain",
        ),
        "trust.wrong-statement",
        "other-type-signed",
    ),
    _wrong(
        lambda k, d: signed(k, statement(d, predicateType=kinds.VERDICT_PREDICATE, predicate={})),
        "trust.malformed",
        "verdict-as-signature",
    ),
    _wrong(
        lambda k, d: signed(k, statement(d, predicateType=kinds.PROVENANCE_PREDICATE)),
        "trust.wrong-statement",
        "provenance-as-signature",
    ),
    _wrong(lambda k, d: signed(k, statement(d, predicate={})), "trust.wrong-statement", "not-about-a-bundle"),
    _wrong(
        lambda k, d: signed(k, statement(d, predicate={"artifactType": ARTIFACT_TYPE + "x"})),
        "trust.wrong-statement",
        "about-another-artifact",
    ),
    _wrong(lambda k, d: signed(k, statement(d, _type="https://in-toto.io/Statement/v0.1")), "trust.malformed", "v0"),
    _wrong(lambda k, d: signed(k, statement(d, subject=_two_subjects(d))), "trust.malformed", "two-subjects"),
    _wrong(lambda k, d: signed(k, statement(d, subject=[])), "trust.malformed", "no-subject"),
    _wrong(
        lambda k, d: signed(k, statement(d, subject=[{"digest": {"sha1": d[7:47]}}])), "trust.malformed", "sha1-only"
    ),
    _wrong(
        lambda k, d: signed(k, statement(d, subject=[{"digest": {"sha256": d[7:].upper()}}])),
        "trust.malformed",
        "upper-case",
    ),
    _wrong(lambda k, d: signed(k, statement(d, predicate=None)), "trust.malformed", "no-predicate"),
    _wrong(lambda k, d: envelope(_twice(d), [signature(k, _twice(d))]), "trust.malformed", "subject-twice"),
    _wrong(lambda k, d: signed(k, statement(d))[:-1] + b', "payload": "e30="}', "trust.malformed", "payload-twice"),
    _wrong(lambda k, d: b"", "trust.malformed", "empty"),
    _wrong(lambda k, d: b"[]", "trust.malformed", "a-list"),
    _wrong(lambda k, d: b"[" * 100_000, "trust.malformed", "nested"),
    _wrong(lambda k, d: b"\xff\xfe", "trust.malformed", "no-text"),
    _wrong(lambda k, d: envelope(b"{}", []), "trust.malformed", "no-signatures"),
    _wrong(lambda k, d: envelope(b"{}", [3]), "trust.malformed", "a-number-as-signature"),
    _wrong(lambda k, d: envelope(b"{}", [{"sig": "!"}]), "trust.malformed", "no-base64"),
    _wrong(lambda k, d: envelope(b"{}", [{"sig": "e30=", "keyid": 7}]), "trust.malformed", "key-id-is-a-number"),
    _wrong(lambda k, d: envelope(b"{}", [{"sig": "e30="}] * 17), "trust.malformed", "too-many-signatures"),
    _wrong(
        lambda k, d: _with_payload(k, d, 5),
        "trust.malformed",
        "payload-is-a-number",
    ),
    _wrong(
        lambda k, d: _with_payload(k, d, "e3 0="),
        "trust.malformed",
        "blank-in-base64",
    ),
    _wrong(
        lambda k, d: envelope(json.dumps(statement(d)).encode(), [signature(k, b"{}")]),
        "trust.bad-signature",
        "signature-of-something-else",
    ),
    _wrong(
        lambda k, d: envelope(json.dumps(statement(d)).encode(), [{"keyid": k.key_id, "sig": ""}]),
        "trust.bad-signature",
        "empty-signature",
    ),
    _wrong(
        lambda k, d: envelope(json.dumps(statement(d)).encode(), [{"sig": "AAAA"}]), "trust.unknown-key", "no-key-id"
    ),
    _wrong(
        lambda k, d: json.dumps(
            {"payloadType": IN_TOTO, "payload": base64.b64encode(b" " * limits.MAX_ENVELOPE_BYTES).decode()}
        ).encode(),
        "trust.malformed",
        "huge",
    ),
]


@pytest.mark.parametrize(("change", "code"), _HOSTILE)
def test_what_is_no_signature_of_the_bundle_is_refused(
    bundle: Bundle, key: PrivateKey, public: Path, change: Callable[[PrivateKey, str], bytes], code: str
) -> None:
    attach(bundle, change(key, _digest(bundle)))
    assert _code(bundle, public) == code
    # And a good one beside it counts, whatever was there before.
    attach_signature(bundle, key)
    assert _code(open_bundle(bundle.name), public) is None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_changed_bit_is_noticed(tmp_path: Path, bundle: Bundle, algorithm: str) -> None:
    key, path = make_key(tmp_path, "k", algorithm)
    payload = json.dumps(statement(_digest(bundle))).encode()
    good = signature(key, payload)
    raw = base64.b64decode(good["sig"])
    known = load_public(path)
    from kerncap.trust.envelope import parse_envelope, signers

    assert signers(parse_envelope(envelope(payload, [good]), what="x"), [known]) == (known,)
    for position in range(len(raw)):
        changed = bytearray(raw)
        changed[position] ^= 1
        bad = {**good, "sig": base64.b64encode(changed).decode()}
        assert signers(parse_envelope(envelope(payload, [bad]), what="x"), [known]) == ()
    for position in range(0, len(payload), 7):
        other = bytearray(payload)
        other[position] ^= 1
        assert signers(parse_envelope(envelope(bytes(other), [good]), what="x"), [known]) == ()


def test_an_envelope_with_several_signatures(tmp_path: Path, bundle: Bundle, key: PrivateKey, public: Path) -> None:
    """One good one is enough; what a signature says of its key is not believed, in either direction."""
    other, other_public = make_key(tmp_path, "other", ECDSA_P256)
    _, third = make_key(tmp_path, "third")
    payload = json.dumps(statement(_digest(bundle))).encode()
    lies = signature(key, payload, key_id=other.key_id)
    attach(bundle, envelope(payload, [{"keyid": key.key_id, "sig": "AAAA"}, lies]))
    assert _code(bundle, public) is None
    assert _code(bundle, other_public) == "trust.bad-signature"
    assert _code(bundle, third) == "trust.unknown-key"
    attach(bundle, envelope(payload, [signature(other, payload), signature(key, payload)]))
    assert _code(open_bundle(bundle.name), other_public) is None


def test_an_url_safe_signature_is_read(bundle: Bundle, key: PrivateKey, public: Path) -> None:
    document = json.loads(signed(key, statement(_digest(bundle))))
    document["payload"] = document["payload"].translate(str.maketrans("+/", "-_"))
    document["signatures"][0]["sig"] = document["signatures"][0]["sig"].translate(str.maketrans("+/", "-_"))
    attach(bundle, json.dumps(document).encode())
    assert _code(bundle, public) is None


def test_a_signed_attestation_is_no_signature_of_the_bundle(bundle: Bundle, key: PrivateKey, public: Path) -> None:
    attach_provenance(bundle, key)
    assert _code(bundle, public) == "trust.unsigned"
    # Nor does the right statement count in an artifact of another type, which tools do not look for.
    attach(bundle, signed(key, statement(_digest(bundle))), artifact_type=IN_TOTO)
    assert _code(open_bundle(bundle.name), public) == "trust.unsigned"


def test_a_statement_without_signature_is_none(bundle: Bundle, public: Path) -> None:
    attach(bundle, json.dumps(statement(_digest(bundle))).encode(), layer_type=IN_TOTO)
    assert _code(bundle, public) == "trust.malformed"


@pytest.mark.parametrize("place", ["layout", "api", "tag"])
def test_commands_refuse_before_anything_is_used(
    tmp_path: Path,
    fake: Fake,
    layout: Path,
    key: PrivateKey,
    public: Path,
    place: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake.referrers_page = 10 if place == "api" else None
    name = str(layout) if place == "layout" else f"{fake.host}/a/b:v1"
    if place != "layout":
        push(open_bundle(str(layout)), parse_reference(name))
    fake.requests.clear()
    for words in (["verify", name], ["pull", name, "-o", f"oci:{tmp_path}/out"], ["replay", name], ["run", name]):
        assert cli.run([*words, "--key", str(public), "--json"]) == 4
        assert json.loads(capsys.readouterr().out)["code"] == "trust.unsigned"
    assert not (tmp_path / "out").exists()
    # Not even config and index were fetched.
    assert fake.count("GET", "/blobs/") == 0
    assert cli.run(["sign", name, "--key", str(tmp_path / "me.pem"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="sign")
    assert document["key"] == load_public(public).key_id
    assert cli.run(["verify", name, "--key", str(public), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="verify")
    assert document["signed_by"] == [load_public(public).key_id]
    assert cli.run(["pull", name, "-o", f"oci:{tmp_path}/out", "--recursive", "--key", str(public)]) == 0
    assert cli.run(["verify", f"oci:{tmp_path}/out", "--key", str(public)]) == 0


@needs_registry
def test_a_real_registry(tmp_path: Path, layout: Path, key: PrivateKey, public: Path) -> None:
    with running_registry(tmp_path / "r") as host:
        push(open_bundle(str(layout)), parse_reference(f"{host}/a/b:v1"))
        assert cli.run(["verify", f"{host}/a/b:v1", "--key", str(public)]) == 4
        assert cli.run(["sign", f"{host}/a/b:v1", "--key", str(tmp_path / "me.pem")]) == 0
        assert cli.run(["attest", f"{host}/a/b:v1", "--key", str(tmp_path / "me.pem")]) == 0
        assert cli.run(["verify", f"{host}/a/b:v1", "--key", str(public)]) == 0
        assert cli.run(["copy", f"{host}/a/b:v1", f"{host}/c/d:v1", "--recursive"]) == 0
        assert cli.run(["verify", f"{host}/c/d:v1", "--key", str(public)]) == 0
        # From a layout, signed there, with the signature.
        assert cli.run(["sign", str(layout), "--key", str(tmp_path / "me.pem")]) == 0
        assert cli.run(["push", str(layout), f"{host}/e/f:v1", "--recursive"]) == 0
        assert cli.run(["verify", f"{host}/e/f:v1", "--key", str(public)]) == 0


def test_a_tag_that_moves_after_the_check_changes_nothing(
    tmp_path: Path, fake: Fake, layout: Path, key: PrivateKey, public: Path
) -> None:
    name = f"{fake.host}/a/b:v1"
    good = open_bundle(str(layout))
    push(good, parse_reference(name))
    attach_signature(open_any(name), key)
    seal(ReproducerLocation(make_reproducer(tmp_path / "two", seed=2)), LayoutLocation(tmp_path / "two.oci"))
    push(open_bundle(str(tmp_path / "two.oci")), parse_reference(f"{fake.host}/a/b:evil"))
    asked: list[str] = []

    def moves(handler: Any) -> bool:
        if handler.command == "GET" and handler.path.endswith("/manifests/v1"):
            asked.append(handler.path)
            if len(asked) > 1:
                handler.answer(200, fake.manifests["evil"])
                return True
        return False

    fake.fault = moves
    assert cli.run(["pull", name, "-o", f"oci:{tmp_path}/out", "--key", str(public)]) == 0
    assert open_bundle(f"oci:{tmp_path}/out").manifest_digest == good.manifest_digest
    assert len(asked) == 1


def test_a_signed_bundle_with_a_changed_byte_is_not_replayed(
    layout: Path, key: PrivateKey, public: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = open_bundle(str(layout))
    attach_signature(bundle, key)
    assert bundle.manifest is not None
    blob = layout / "blobs/sha256" / bundle.manifest.chunks[0].digest[7:]
    data = bytearray(blob.read_bytes())
    data[len(data) // 2] ^= 1
    blob.write_bytes(data)
    for command in ("replay", "validate", "run", "verify"):
        assert cli.run([command, str(layout), "--key", str(public)]) == 4
        assert "bundle.digest-mismatch" in capsys.readouterr().err


def test_a_reproducer_and_a_tar_file(
    reproducer: Path, tar_file: Path, key: PrivateKey, public: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private = str(tmp_path / "me.pem")
    assert cli.run(["sign", str(reproducer), "--key", private]) == 2
    assert "usage.not-sealed" in capsys.readouterr().err
    assert cli.run(["replay", str(reproducer), "--key", str(public)]) == 2
    before = tar_file.read_bytes()
    assert cli.run(["sign", str(tar_file), "--key", private]) == 2
    assert "usage.no-referrers" in capsys.readouterr().err
    assert tar_file.read_bytes() == before
    assert cli.run(["verify", str(tar_file), "--key", str(public)]) == 4
    assert "a tar file carries none" in capsys.readouterr().err


# -- keys ------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pair_of_keys(tmp_path: Path, algorithm: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = str(tmp_path / "k")
    assert cli.run(["sign", "--keygen", name, "--algorithm", algorithm, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="keygen")
    assert stat.S_IMODE(os.stat(document["private"]).st_mode) == 0o600
    assert load_private(Path(document["private"]), no_passphrase).key_id == document["key"]
    assert load_public(Path(document["public"])).key_id == document["key"]
    before = Path(document["private"]).read_bytes()
    assert cli.run(["sign", "--keygen", name]) == 2
    Path(document["private"]).unlink()
    # The other half of a pair that is there: neither is touched, nothing half is left.
    assert cli.run(["sign", "--keygen", name]) == 2
    assert not Path(document["private"]).exists()
    assert before.startswith(b"-----BEGIN PRIVATE KEY-----")


def test_the_key_id_is_that_of_other_tools(tmp_path: Path, key: PrivateKey) -> None:
    import hashlib
    import subprocess

    words = ["openssl", "pkey", "-pubin", "-in", str(tmp_path / "me.pub.pem"), "-outform", "DER"]
    der = subprocess.run(words, check=True, capture_output=True).stdout
    assert key.key_id == "sha256:" + hashlib.sha256(der).hexdigest()


def test_keys_of_openssl(tmp_path: Path, bundle: Bundle) -> None:
    import subprocess

    for number, words in enumerate((["ED25519"], ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"])):
        private, public = tmp_path / f"{number}.pem", tmp_path / f"{number}.pub"
        subprocess.run(["openssl", "genpkey", "-algorithm", *words, "-out", str(private)], check=True)
        subprocess.run(["openssl", "pkey", "-in", str(private), "-pubout", "-out", str(public)], check=True)
        attach_signature(bundle, load_private(private, no_passphrase))
        assert _code(open_bundle(bundle.name), public) is None


def test_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: Path) -> None:
    private, _, key_id = new_pair(str(tmp_path / "k"), ECDSA_P256, "correct horse")
    assert b"ENCRYPTED" in private.read_bytes()
    asked: list[str] = []
    assert load_private(private, lambda question: asked.append(question) or "correct horse").key_id == key_id  # type: ignore[func-returns-value]
    assert str(private) in asked[0]
    for wrong in ("wrong", ""):
        with pytest.raises(UsageError) as caught:
            load_private(private, lambda question, wrong=wrong: wrong)  # type: ignore[misc]
        assert caught.value.code == "usage.passphrase"
    # Nobody is there to ask.
    assert cli.run(["sign", str(layout), "--key", str(private)]) == 2
    monkeypatch.setenv("KERNCAP_KEY_PASSPHRASE", "correct horse")
    assert load_private(private, no_passphrase).key_id == key_id
    assert cli.run(["sign", str(layout), "--key", str(private)]) == 0


def test_a_key_that_others_can_read_is_warned_about(
    tmp_path: Path, key: PrivateKey, layout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["sign", str(layout), "--key", str(tmp_path / "me.pem")]) == 0
    assert "chmod" not in capsys.readouterr().err
    (tmp_path / "me.pem").chmod(0o640)
    assert cli.run(["sign", str(layout), "--key", str(tmp_path / "me.pem")]) == 0
    assert f"chmod 600 {tmp_path / 'me.pem'}" in capsys.readouterr().err


def _rsa(path: Path, curve: str | None = None) -> None:
    import subprocess

    words = ["-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{curve}"] if curve else ["-algorithm", "RSA"]
    subprocess.run(["openssl", "genpkey", *words, "-out", str(path)], check=True, capture_output=True)


def test_what_is_no_key_of_ours_is_refused(tmp_path: Path, key: PrivateKey) -> None:
    _rsa(tmp_path / "rsa.pem")
    _rsa(tmp_path / "p384.pem", "P-384")
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "big").write_bytes(b"x" * 100_000)
    cases: list[tuple[str, str]] = [
        ("rsa.pem", "usage.key-type"),
        ("p384.pem", "usage.key-type"),
        ("text", "usage.key"),
        ("big", "usage.key"),
        ("absent", "usage.key"),
        (".", "usage.key"),
        ("me.pub.pem", "usage.key"),
    ]
    for name, code in cases:
        with pytest.raises(UsageError) as caught:
            load_private(tmp_path / name, no_passphrase)
        assert caught.value.code == code, name
    with pytest.raises(UsageError) as caught:
        load_public(tmp_path / "me.pem")
    assert "is a private key" in caught.value.message


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["sign"], "usage.no-key"),
        (["sign", "BUNDLE"], "usage.no-key"),
        (["sign", "BUNDLE", "--keygen", "x"], "usage.two-tasks"),
        (["sign", "BUNDLE", "--key", "k", "--pass-on", "x"], "usage.option-alone"),
        (["sign", "BUNDLE", "--with", "gpg"], "usage.signer"),
        (["sign", "BUNDLE", "--with", "cosign"], "usage.signer"),
        (["sign", "--keygen", "x", "--algorithm", "rsa"], "usage.key-type"),
        (["run", "BUNDLE", "--attest-key", "k"], "usage.option-alone"),
        (["push", "BUNDLE", "oci:y", "--key", "k"], "usage.option-alone"),
        (["attest", "BUNDLE", "--image", "k"], "usage.option-alone"),
    ],
)
def test_what_makes_no_sense(
    tmp_path: Path, layout: Path, words: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [{"BUNDLE": str(layout), "x": str(tmp_path / "x")}.get(word, word) for word in words]
    assert cli.run([*words, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == code
    assert not (tmp_path / "x.pem").exists()


# -- other tools ------------------------------------------------------------


@pytest.mark.parametrize("program", ["cosign", "notation"])
def test_another_tool_signs_by_digest(
    tmp_path: Path,
    fake: Fake,
    layout: Path,
    program: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A stand-in that writes down how it was called; the real ones were not run."""
    name = f"{fake.host}/a/b:v1"
    bundle = open_bundle(str(layout))
    push(bundle, parse_reference(name))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert cli.run(["sign", name, "--with", program]) == 3
    assert "host.no-signer" in capsys.readouterr().err
    stand_in = tmp_path / "bin" / program
    stand_in.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\n')
    stand_in.chmod(0o755)
    assert cli.run(["sign", name, "--with", program, "--key", "k", "--pass-on", "--verbose", "--json"]) == 0
    words = (tmp_path / "words").read_text().split()
    assert words[0] == "sign"
    assert words[-1] == f"{fake.host}/a/b@{bundle.manifest_digest}"
    assert {"--key", "k", "--verbose"} <= set(words)
    validate(json.loads(capsys.readouterr().out), "printed", what="sign")
    stand_in.write_text("#!/bin/sh\nexit 3\n")
    assert cli.run(["sign", name, "--with", program]) == 3
    assert "host.signer" in capsys.readouterr().err


def test_every_code_is_in_the_docs() -> None:
    """docs/trust.md, Errors: what the package, its workflow and its commands raise."""
    root = Path(__file__).resolve().parents[2]
    text = (root / "docs/trust.md").read_text("utf-8").split("## Errors")[1]
    listed = set(re.findall(r"`((?:trust|usage|host)\.[a-z-]+)`", text))
    paths = [*(root / "kerncap/trust").glob("*.py"), root / "kerncap/workflows/trust.py"]
    paths += [root / f"kerncap/cli/{name}.py" for name in ("sign", "attest", "sbom", "trusted")]
    found = {
        code for path in paths for code in re.findall(r'"((?:trust|usage|host)\.[a-z-]+)"', path.read_text("utf-8"))
    }
    # Of every command, in docs/architecture.md's families.
    assert found - listed == {"usage.option-alone", "usage.output-exists"}
    assert listed - found == {"usage.no-referrers"}
