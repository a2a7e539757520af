"""Provenance and verdicts as statements beside a bundle, and what inspect says of them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from fake_registry import Fake
from signing import attach, envelope, make_key, signature, signed, statement
from synthetic import read_json, write_json

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.documents import validate
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.seal import seal
from kerncap.cli import main as cli
from kerncap.errors import HostError
from kerncap.results import Judgement, Verdict
from kerncap.transport import open_any, push, referrers_of
from kerncap.transport.reference import parse_reference
from kerncap.trust import kinds
from kerncap.trust.envelope import IN_TOTO
from kerncap.trust.keys import PrivateKey, load_public
from kerncap.trust.provenance import predicate_of_provenance
from kerncap.trust.verdicts import RuntimeImage
from kerncap.workflows import run as run_workflow
from kerncap.workflows import trust

IMAGE = ("sha256:" + "a" * 64, None)


pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


@pytest.fixture
def key(tmp_path: Path) -> PrivateKey:
    return make_key(tmp_path, "me")[0]


@pytest.fixture
def reference(fake: Fake, layout: Path) -> str:
    name = f"{fake.host}/a/b:v1"
    push(open_bundle(str(layout)), parse_reference(name))
    return name


def _verdict(bundle: str | None, **changes: Any) -> Verdict:
    members: dict[str, Any] = {
        "verdict": "faithful",
        "passed": True,
        "bundle": bundle,
        "kernel": "scale(float*, int)",
        "device": "vgpu:gfx942",
        "hsaco": None,
        "changed_bytes": 4,
        "written_bytes": 4096,
        "bytes_compared": 100,
        "judgements": (Judgement("captured", True, True, 0), Judgement("poisoned", True, True, 0)),
        "not_judged": {},
        "mismatches": (),
        "mismatch_bytes": 0,
        "iterations": 2,
        "noise_bytes": 0,
        "timing_ns": (5,),
        "duration_s": 0.1,
        "tolerance": {"atol": 0.0, "rtol": 0.0, "ulp": 0},
        "captured_on": "vgpu",
        "product": "Kerncap virtual gfx942",
    }
    return Verdict(**{**members, **changes})


def _inspected(name: str, capsys: pytest.CaptureFixture[str], *publics: Path) -> list[dict[str, Any]]:
    capsys.readouterr()
    keys = [word for path in publics for word in ("--key", str(path))]
    assert cli.run(["inspect", name, "--json", *keys]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="inspect")
    found: list[dict[str, Any]] = document["referrers"]
    return found


def test_provenance_tells_no_secrets_and_is_the_same_each_time(layout: Path) -> None:
    bundle = open_bundle(str(layout))
    predicate = predicate_of_provenance(bundle)
    text = json.dumps(predicate)
    for secret in ("--secret-free", "./app", "/home/somebody", "hunter2", "HSA_XNACK"):
        assert secret not in text
    assert predicate == predicate_of_provenance(open_bundle(str(layout)))
    definition, details = predicate["buildDefinition"], predicate["runDetails"]
    assert definition["externalParameters"]["kernel"] == "_Z5scalePfi"
    assert definition["externalParameters"]["commandClass"] == "hsa"
    assert definition["internalParameters"]["device"]["product"] == "Kerncap virtual gfx942"
    assert details["builder"]["version"]["tool"] == "kerncap 0.1.0"
    (code,) = definition["resolvedDependencies"]
    assert "sha256:" + code["digest"]["sha256"] == bundle.capture.code_object.digest
    # SLSA v1 demands these.
    assert set(definition) >= {"buildType", "externalParameters"}
    assert details["builder"]["id"].startswith("https://")


def test_provenance_is_attached_signed_or_not(
    tmp_path: Path, layout: Path, reference: str, key: PrivateKey, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in (str(layout), reference):
        assert cli.run(["attest", place, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        validate(document, "printed", what="attest")
        assert (document["kind"], document["key"]) == ("provenance", None)
        assert cli.run(["attest", place, "--key", str(tmp_path / "me.pem")]) == 0
        unsigned, by_us = _inspected(place, capsys)
        assert (unsigned["kind"], unsigned["claims"], unsigned["holds"]) == ("provenance", [], None)
        assert (by_us["kind"], by_us["claims"], by_us["holds"]) == ("provenance", [key.key_id], None)
        unsigned, by_us = _inspected(place, capsys, tmp_path / "me.pub.pem")
        assert (unsigned["holds"], unsigned["problem"]["code"]) == (False, "trust.unsigned")
        assert (by_us["holds"], by_us["signed_by"]) == (True, [key.key_id])
        assert by_us["predicate_type"] == kinds.PROVENANCE_PREDICATE


def test_push_with_provenance(
    tmp_path: Path, layout: Path, fake: Fake, key: PrivateKey, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"{fake.host}/p/q:v1"
    words = ["push", str(layout), name, "--provenance", "--key", str(tmp_path / "me.pem"), "--json"]
    assert cli.run(words) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="push")
    (found,) = _inspected(name, capsys, tmp_path / "me.pub.pem")
    assert (found["digest"], found["holds"]) == (document["provenance"], True)


def test_a_verdict_is_attached(
    tmp_path: Path,
    reference: str,
    key: PrivateKey,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("kerncap.runtime.containers.image_digests", lambda name: IMAGE)
    digest = open_any(reference).manifest_digest
    write_json(tmp_path / "v.json", _verdict(digest).to_json())
    words = ["attest", reference, "--verdict", str(tmp_path / "v.json"), "--image", "kerncap/runtime:trixie"]
    assert cli.run([*words, "--key", str(tmp_path / "me.pem"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="attest")
    assert document["kind"] == "verdict"
    (found,) = _inspected(reference, capsys, tmp_path / "me.pub.pem")
    assert (found["kind"], found["holds"], found["predicate_type"]) == ("verdict", True, kinds.VERDICT_PREDICATE)
    validate(found["predicate"], "verdict-attestation", what="predicate")
    image = {"name": "kerncap/runtime:trixie", "imageId": IMAGE[0], "repositoryDigest": None}
    assert found["predicate"]["runtimeImage"] == image
    assert cli.run(["inspect", reference, "--key", str(tmp_path / "me.pub.pem")]) == 0
    said = capsys.readouterr().out
    assert f"faithful on vgpu:gfx942 in kerncap/runtime:trixie ({IMAGE[0]})" in said
    assert str(tmp_path / "me.pub.pem") in said


def test_a_verdict_about_another_bundle_is_not_attached(
    tmp_path: Path, layout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, document in enumerate(
        (_verdict("sha256:" + "0" * 64).to_json(), _verdict(None).to_json(), {"schema": "kerncap.verdict/1"}, [])
    ):
        write_json(tmp_path / "v.json", document)
        assert cli.run(["attest", str(layout), "--verdict", str(tmp_path / "v.json")]) == 2
        said = capsys.readouterr().err
        assert ("usage.other-bundle" if number < 2 else "usage.verdict") in said
    assert cli.run(["attest", str(layout), "--verdict", str(tmp_path / "absent")]) == 2
    assert _inspected(str(layout), capsys) == []


@pytest.mark.parametrize("passed", [True, False])
def test_run_attests_what_came_out(
    tmp_path: Path,
    reference: str,
    key: PrivateKey,
    passed: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    digest = open_any(reference).manifest_digest
    sources: list[str] = []

    def judged(source: str, options: Any) -> Verdict:
        sources.append(source)
        return _verdict(digest) if passed else _verdict(digest, verdict="differs", passed=False)

    monkeypatch.setattr(run_workflow, "run", judged)
    monkeypatch.setattr("kerncap.runtime.containers.image_digests", lambda name: IMAGE)
    words = ["run", reference, "--attest", "--attest-key", str(tmp_path / "me.pem"), "--json"]
    assert cli.run(words) == (0 if passed else 1)
    assert json.loads(capsys.readouterr().out)["schema"] == "kerncap.verdict/1"
    # What was judged is what is attested, whatever becomes of the tag meanwhile.
    assert sources == [f"{reference}@{digest}"]
    (found,) = _inspected(reference, capsys, tmp_path / "me.pub.pem")
    assert found["predicate"]["verdict"] == ("faithful" if passed else "differs")
    assert found["holds"] is True


def test_run_does_not_attest_in_vain(
    tar_file: Path, layout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(source: str, options: Any) -> Verdict:
        raise AssertionError(source)

    monkeypatch.setattr(run_workflow, "run", never)
    assert cli.run(["run", str(tar_file), "--attest"]) == 2
    assert "usage.no-referrers" in capsys.readouterr().err
    images = iter([IMAGE, ("sha256:" + "b" * 64, None)])
    monkeypatch.setattr("kerncap.runtime.containers.image_digests", lambda name: next(images))
    digest = open_bundle(str(layout)).manifest_digest
    monkeypatch.setattr(run_workflow, "run", lambda source, options: _verdict(digest))
    assert cli.run(["run", str(layout), "--attest"]) == 3
    assert "host.image-changed" in capsys.readouterr().err
    assert _inspected(str(layout), capsys) == []


def _attach_verdict(bundle: Bundle, key: PrivateKey, **changes: Any) -> None:
    """With a predicate that a stranger has changed, and signed."""
    good = trust.predicate_of_verdict(bundle, _verdict(bundle.manifest_digest), RuntimeImage("i", IMAGE[0]), "t")
    document = statement(
        bundle.manifest_digest or "", predicateType=kinds.VERDICT_PREDICATE, predicate={**good, **changes}
    )
    attach(bundle, signed(key, document), artifact_type=IN_TOTO)


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "kerncap.verdict-attestation/2"},
        {"verdict": "perfect"},
        {"device": 5},
        {"device": "x" * 5000},
        {"runtimeImage": {"name": "x"}},
        {"runtimeImage": "x"},
        {"variant": "kernel.hsaco"},
        {"judged": []},
        {"mismatchBytes": -1},
    ],
)
def test_a_malformed_verdict_does_not_hold(
    tmp_path: Path, layout: Path, key: PrivateKey, changes: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    _attach_verdict(open_bundle(str(layout)), key, **changes)
    for publics in ([], [tmp_path / "me.pub.pem"]):
        (found,) = _inspected(str(layout), capsys, *publics)
        assert (found["holds"], found["problem"]["code"]) == (False, "trust.malformed")
    assert cli.run(["inspect", str(layout)]) == 0
    assert "does not hold: trust.malformed" in capsys.readouterr().out


def test_what_a_stranger_says_reaches_no_terminal_unescaped(
    layout: Path, key: PrivateKey, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = open_bundle(str(layout))
    _attach_verdict(bundle, key, device="\x1b[2Jfaithful\nreferrers", runtimeImage=None)
    payload = json.dumps(statement(bundle.manifest_digest or "")).encode()
    attach(bundle, envelope(payload, [signature(key, payload, key_id="\x1b]0;title\x07\nsigned by you")]))
    attach(bundle, b"x", artifact_type="application/\x1b[31mred", layer_type="text/plain")
    assert cli.run(["inspect", str(layout)]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\\x1b" in said
    assert not any(line.startswith("signed by you") for line in said.splitlines())


def test_inspect_lists_what_other_tools_attached(layout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = open_bundle(str(layout))
    for artifact_type in (*kinds.FOREIGN, "application/vnd.example"):
        attach(bundle, b"x", artifact_type=artifact_type, layer_type="application/octet-stream")
    found = _inspected(str(layout), capsys)
    assert [one["kind"] for one in found] == [*kinds.FOREIGN.values(), "other"]
    assert {one["holds"] for one in found} == {None}


def test_inspect_fetches_little_whatever_is_attached(
    fake: Fake, reference: str, key: PrivateKey, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = open_any(reference)
    noise = random.Random(1).randbytes(3 << 20)
    attach(bundle, noise, artifact_type="application/vnd.example", layer_type="application/octet-stream")
    attach(bundle, b'{"payload": "' + b"A" * (1 << 20) + b'"}')
    trust.attach_signature(bundle, key)
    fake.sent_bytes = 0
    found = _inspected(reference, capsys, tmp_path / "me.pub.pem")
    assert fake.sent_bytes < 100_000
    assert sorted(one["looked_at"] for one in found) == [False, True, True]
    assert [one["holds"] for one in found if one["kind"] == "signature"] == [None, True]
    for number in range(60):
        attach(bundle, signed(key, statement("sha256:" + f"{number:064x}")))
    fake.sent_bytes = 0
    found = _inspected(reference, capsys, tmp_path / "me.pub.pem")
    assert len(found) == 63
    assert fake.sent_bytes < 200_000
    assert cli.run(["inspect", reference]) == 0
    assert "too much is attached" in capsys.readouterr().out


def test_inspect_goes_without_a_list_that_cannot_be_had(
    fake: Fake, reference: str, key: PrivateKey, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.fault = lambda handler: "/referrers/" in handler.path and (handler.answer(400) or True)
    assert cli.run(["inspect", reference, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="inspect")
    assert document["referrers"] is None
    assert document["referrers_problem"]["code"] == "transport.refused"
    assert cli.run(["inspect", reference]) == 0
    assert "what refers to it is not known" in capsys.readouterr().out
    assert cli.run(["inspect", reference, "--key", str(tmp_path / "me.pub.pem")]) == 7


def test_inspect_of_a_reproducer_lists_nothing(reproducer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _inspected(str(reproducer), capsys) == []


def test_the_program_of_a_triton_kernel_is_named(tmp_path: Path, reproducer: Path) -> None:
    capture = read_json(reproducer / "capture/capture.json")
    write_json(reproducer / "capture/capture.json", {**capture, "triton": "3.6.0"})
    seal(ReproducerLocation(reproducer), LayoutLocation(tmp_path / "t"))
    predicate = predicate_of_provenance(open_bundle(str(tmp_path / "t")))
    assert predicate["buildDefinition"]["externalParameters"]["commandClass"] == "triton"


def test_a_missing_engine_is_said(layout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    with pytest.raises(HostError):
        trust.runtime_image("kerncap/runtime:trixie")


def test_the_key_of_a_person_is_not_taken_for_a_name(layout: Path, key: PrivateKey, tmp_path: Path) -> None:
    """Referrers say key ids; only files of keys make one of them a known key."""
    trust.attach_signature(open_bundle(str(layout)), key)
    (one,) = [load_public(tmp_path / "me.pub.pem")]
    assert one.key_id == key.key_id
    assert referrers_of(open_bundle(str(layout))).referring_to(open_bundle(str(layout)).manifest_digest or "")
