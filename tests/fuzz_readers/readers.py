"""What reads a stranger's bytes, each as a function of bytes: it comes back or raises a KerncapError, and nothing else.

In: any bytes. Out: nothing, or an exception that is a fault of the reader. Called by campaign.py (atheris) and by
tests/unit/test_fuzz_readers.py (the corpus, and seeds).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "unit"), str(HERE.parents[1])]

import mutate  # noqa: E402
import zstandard  # noqa: E402
from choices import Choices  # noqa: E402
from craft import Parts, dump, frame, sound_parts  # noqa: E402
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: E402
from trust_readers import headers, policy  # noqa: E402

from kerncap.bundle import open_bundle  # noqa: E402
from kerncap.bundle.capture import parse_capture  # noqa: E402
from kerncap.bundle.code import read_code_layer  # noqa: E402
from kerncap.bundle.config import parse_config  # noqa: E402
from kerncap.bundle.index import parse_index  # noqa: E402
from kerncap.bundle.manifest import OCI_MANIFEST, Descriptor, is_digest, parse_manifest  # noqa: E402
from kerncap.bundle.referrers import build_referrer, parse_node, parse_referrer  # noqa: E402
from kerncap.bundle.tar import read_members  # noqa: E402
from kerncap.bundle.verify import verify  # noqa: E402
from kerncap.errors import KerncapError, UsageError  # noqa: E402
from kerncap.results import parse_replay_result, parse_verdict  # noqa: E402
from kerncap.source.overlay import read_overlay  # noqa: E402
from kerncap.transport.auth import parse_challenge  # noqa: E402
from kerncap.transport.reference import parse_reference  # noqa: E402
from kerncap.triton.pinned import read_pinned  # noqa: E402
from kerncap.trust.envelope import (  # noqa: E402
    DSSE,
    IN_TOTO,
    build_statement,
    parse_envelope,
    parse_statement,
    sign,
    signers,
)
from kerncap.trust.examine import predicate_of_signature  # noqa: E402
from kerncap.trust.keys import PrivateKey, PublicKey  # noqa: E402
from kerncap.trust.kinds import SIGNATURE_ARTIFACT, SIGNATURE_PREDICATE  # noqa: E402
from kerncap.trust.sbom import LicenseTexts, license_expressions  # noqa: E402
from kerncap.trust.verdicts import check_predicate, sentence  # noqa: E402

_SHM = "/dev/shm" if os.path.isdir("/dev/shm") else None


def _json(document: Any, choices: Choices) -> bytes:
    """Mostly a document with something else in it, sometimes text that is not quite JSON."""
    data = dump(mutate.mutated(document, choices))
    return mutate.damaged(data, choices) if choices.below(4) == 0 else data


def manifest(data: bytes) -> None:
    choices = Choices(data)
    sound = json.loads(next(content for name, content in sound_parts().members()[2:3]))
    parse_manifest(_json(sound, choices))


def config(data: bytes) -> None:
    choices, parts = Choices(data), sound_parts()
    sound = json.loads(parts.members()[3][1])
    parse_config(_json(sound, choices))


def index(data: bytes) -> None:
    parse_index(_json(sound_parts().index, Choices(data)))


def capture(data: bytes) -> None:
    parse_capture(_json(sound_parts().capture, Choices(data)))


def raw_documents(data: bytes) -> None:
    """The same parsers on bytes as they come."""
    choices = Choices(data)
    parts = sound_parts()
    members = parts.members()
    parse, sound = choices.one_of(
        [
            (parse_manifest, members[2][1]),
            (parse_config, members[3][1]),
            (parse_index, dump(parts.index)),
            (parse_capture, dump(parts.capture)),
        ]
    )
    parse(mutate.damaged(sound, choices) if choices.below(2) else choices.rest())


def pinned(data: bytes) -> None:
    from test_triton_records import pinned as sound

    read_pinned(_json(sound(), Choices(data)), what="triton.json")


def results(data: bytes) -> None:
    """What a container or kerncap-replay answers."""
    choices = Choices(data)
    if choices.below(2):
        parse_replay_result(mutate.mutated(_REPLAY_RESULT, choices))
    else:
        parse_verdict(mutate.mutated(_VERDICT, choices))


def names(data: bytes) -> None:
    """References, and what a registry says in its headers."""
    choices = Choices(data)
    header = b'Bearer realm="https://auth.example/token",service="r",scope="repository:x:pull"'
    named = b"registry.example:5000/team/kernels/attention:v1@sha256:" + b"0" * 64
    if choices.below(2):
        parse_challenge(mutate.damaged(header, choices).decode("latin-1"))
    elif choices.below(2):
        parse_reference(mutate.damaged(named, choices).decode("latin-1"))
    else:
        text = choices.rest().decode("latin-1")
        parse_challenge(text)
        parse_reference(text)


def overlay(data: bytes) -> None:
    choices = Choices(data)
    sound = {
        "version": 0,
        "case-sensitive": "true",
        "overlay-relative": "true",
        "roots": [{"name": "/p/k.hip", "type": "file", "external-contents": "src/root/p/k.hip"}],
    }
    with tempfile.TemporaryDirectory(dir=_SHM) as folder:
        Path(folder, "vfs.yaml").write_bytes(_json(sound, choices))
        read_overlay(Path(folder))


def code_layer(data: bytes) -> None:
    """A tar in zstd: its members, or its bytes."""
    choices = Choices(data)
    if choices.below(2):
        layer = mutate.damaged(sound_parts().code or b"", choices)
    else:
        layer = frame(mutate.damaged(_code_tar(choices), choices) if choices.below(2) else _code_tar(choices))
    with tempfile.TemporaryDirectory(dir=_SHM) as folder:
        read_code_layer(io.BytesIO(layer), what="code layer", into=Path(folder))
        outside = [path for path in Path(folder).rglob("*") if path.is_symlink()]
        assert not outside


def _code_tar(choices: Choices) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=choices.one_of([tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT])) as tar:
        for _ in range(choices.below(5)):
            name = choices.one_of(
                ["src/a", "src/a/b", "vfs.yaml", "src/../x", "/src/a", "src", "Makefile", "src/" + "n" * 90]
            )
            member = tarfile.TarInfo(name)
            member.type = choices.one_of(
                [tarfile.REGTYPE] * 5 + [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE]
            )
            member.linkname = choices.one_of(["", "src/a", "/etc/passwd", ".."])
            content = choices.take(choices.below(40))
            member.size = len(content) if member.isreg() else 0
            if choices.below(6) == 0:
                member.pax_headers = {
                    "path": choices.one_of(mutate.TEXTS[1:8]),
                    "size": str(choices.one_of(mutate.NUMBERS)),
                }
            with contextlib.suppress(ValueError, UnicodeError):  # what tarfile cannot say
                tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def tar_names(data: bytes) -> None:
    """A bundle's tar, as a list of members."""
    choices = Choices(data)
    sound = b"".join(_tar_bytes(sound_parts()))
    changed = mutate.damaged(sound, choices)
    for _ in read_members(io.BytesIO(changed), len(changed), what="bundle"):
        pass


def _tar_bytes(parts: Parts) -> list[bytes]:
    from kerncap.bundle.tar import END, header, padded

    pieces = [header(name, len(data)) + data.ljust(padded(len(data)), b"\0") for name, data in parts.members()]
    return [*pieces, END]


def sealed(data: bytes) -> None:
    """A whole bundle whose parts fit their digests again after something in them was changed: opened and verified."""
    choices = Choices(data)
    parts = sound_parts(with_source=choices.below(2) == 0)
    _change_parts(parts, choices)
    with tempfile.TemporaryDirectory(dir=_SHM) as folder:
        path = Path(folder, "b.kcap.tar")
        try:
            path.write_bytes(b"".join(_tar_bytes(parts)))
        except (KeyError, TypeError, IndexError, AttributeError, ValueError, UnicodeError, OverflowError):
            return  # what the crafting tools cannot write
        bundle = open_bundle(str(path))
        report = verify(bundle, deep=True)
        if not report.problems:
            bundle.blob_locations()


def _change_parts(parts: Parts, choices: Choices) -> None:
    kind = choices.below(7)
    if kind == 0:
        parts.capture = mutate.mutated(parts.capture, choices)
    elif kind == 1:
        parts.index = mutate.mutated(parts.index, choices)
    elif kind == 2:
        parts.config = {choices.one_of(["requires", "summary", "target", "specVersion"]): mutate.value(choices)}
    elif kind == 3:
        parts.blobs[0] = mutate.damaged(parts.blobs[0], choices)
        from synthetic import sha256

        parts.index["blobs"][0] = {"digest": "sha256:" + sha256(parts.blobs[0]), "size": len(parts.blobs[0])}
    elif kind == 4:
        parts.change_manifest_json = lambda data: _json(json.loads(data), choices)
    elif kind == 5:
        parts.change_index_layer = lambda data: mutate.damaged(data, choices)
    else:
        regions = parts.index["regions"]
        region = choices.one_of(regions)
        chunk = choices.one_of(region["pre"])
        chunk[choices.one_of(["l", "o", "n", "b", "v", "h", "k", "w"])] = mutate.value(choices)


def frames(data: bytes) -> None:
    """zstd frames that promise anything."""
    choices = Choices(data)
    parts = sound_parts()
    raw = choices.one_of([bytes(4096), bytes(range(256)) * 16, b""])
    stored = zstandard.ZstdCompressor(
        level=choices.one_of([-1, 1, 19]), write_content_size=bool(choices.below(2))
    ).compress(raw)
    stored = mutate.damaged(stored, choices) if choices.below(2) else stored
    chunk = parts.index["regions"][0]["pre"][0]
    delta = len(stored) - chunk["n"]
    parts.blobs[0] = stored + parts.blobs[0][chunk["n"] :]
    chunk["n"] = len(stored)
    for node in (parts.index["regions"][0]["post"][0], parts.index["regions"][1]["pre"][0]):
        node["o"] += delta
    from synthetic import sha256

    parts.index["blobs"][0] = {"digest": "sha256:" + sha256(parts.blobs[0]), "size": len(parts.blobs[0])}
    with tempfile.TemporaryDirectory(dir=_SHM) as folder:
        path = Path(folder, "b.kcap.tar")
        path.write_bytes(b"".join(_tar_bytes(parts)))
        verify(open_bundle(str(path)), deep=True)


def referrer(data: bytes) -> None:
    """The manifest of what refers to a bundle, and an entry of a list of such."""
    choices = Choices(data)
    raw, blobs = build_referrer(_SUBJECT, SIGNATURE_ARTIFACT, DSSE, b"{}", title="t", annotations={"a": "b"})
    found = parse_referrer(_json(json.loads(raw), choices), what="referrer")
    assert all(is_digest(blob.digest) for blob in found.blobs)
    assert is_digest(found.subject)
    parse_node(mutate.mutated(found.referrer.to_json(), choices), "list")
    assert len(blobs) == 1  # the empty config has the same bytes as this payload


def envelope(data: bytes) -> None:
    """An envelope with something changed: what is accepted says what was signed, word for word."""
    choices = Choices(data)
    statement = build_statement(_SUBJECT.digest, SIGNATURE_PREDICATE, predicate_of_signature())
    if choices.below(3) == 0:
        payload = _json(json.loads(statement), choices)
        examined = parse_envelope(sign(payload, _PRIVATE), what="envelope")
        assert signers(examined, [_PUBLIC]) == (_PUBLIC,)
        parse_statement(examined.payload, what="statement")
        return
    found = parse_envelope(_json(json.loads(sign(statement, _PRIVATE)), choices), what="envelope")
    if signers(found, [_PUBLIC]):
        assert (found.payload_type, found.payload) == (IN_TOTO, statement)
    parse_statement(found.payload, what="statement")


def verdict_predicate(data: bytes) -> None:
    """What can be shown of a stranger's verdict."""
    predicate = mutate.mutated(_PREDICATE, Choices(data))
    if isinstance(predicate, dict):
        check_predicate(predicate, what="predicate")
        sentence(predicate)


def license_lines(data: bytes) -> None:
    """Source files, looked through for the licences that they name."""
    choices = Choices(data)
    sound = b"/* SPDX-License-Identifier: (MIT OR GPL-2.0-only WITH Classpath-exception-2.0) AND LicenseRef-x */"
    texts = LicenseTexts()
    head = mutate.damaged(sound, choices) if choices.below(4) else sound[:28] + choices.rest()
    for line in license_expressions(head):
        expression, parts = texts.parse(line)
        assert expression.isascii()
        assert parts
    if texts.own:  # counted as refused: the words stand in the document, and no expression
        raise UsageError(next(iter(texts.own)), code="usage.license")


_SUBJECT = Descriptor(OCI_MANIFEST, "sha256:" + "8" * 64, 1400)
_SECRET = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_PRIVATE = PrivateKey("sha256:" + "1" * 64, _SECRET)
_PUBLIC = PublicKey("me.pub.pem", _PRIVATE.key_id, _SECRET.public_key())
_PREDICATE = {
    "schema": "kerncap.verdict-attestation/1",
    "verdict": "faithful",
    "passed": True,
    "target": "gfx942",
    "device": "gpu:0",
    "product": "p",
    "capturedOn": "gpu",
    "variant": "sha256:" + "2" * 64,
    "judged": ["captured", "poisoned"],
    "iterations": 2,
    "tolerance": {"atol": 0.5},
    "bytesCompared": 1,
    "mismatchBytes": 0,
    "runtimeImage": {"name": "i", "imageId": "sha256:" + "3" * 64, "repositoryDigest": "sha256:" + "4" * 64},
    "verifier": "kerncap 0.1.0",
}
_RUN = {
    "iterations": 1,
    "kernel_object_va": 4096,
    "bytes_compared": 1000,
    "changed_bytes": 40,
    "mismatch_bytes": 4,
    "mismatches": [{"region": 0, "region_va": 4096, "offset": 0, "length": 4, "expected": "00", "actual": "01"}],
    "iterations_agree": True,
    "noise": [[0, 0, 4]],
    "variables": [[0, 1]],
    "fault": None,
    "timing_ns": [5],
}
_REPLAY_RESULT = {
    "schema": "kerncap.replay-result/1",
    "status": "ok",
    "error": None,
    "runs": [_RUN],
    "duration_s": 0.5,
    "device": {"agent": "gfx942", "isa": "amdgcn-amd-amdhsa--gfx942", "product": "p"},
}
_OUTPUT = {
    "run": "captured",
    "argument": "out",
    "region": 0,
    "offset": 0,
    "type": "f16",
    "shape": [2, 3],
    "elements": 6,
    "differing": 1,
    "beyond": 1,
    "max_abs": 0.5,
    "max_rel": None,
    "max_ulp": 7,
    "nan": [0, 1],
    "inf": [0, 0],
    "first": [{"offset": 0, "index": [0, 0], "expected": "1", "actual": "nan"}],
}
_VERDICT = {
    "schema": "kerncap.verdict/1",
    "verdict": "differs",
    "passed": False,
    "bundle": None,
    "kernel": "k",
    "device": "gpu:0",
    "product": "p",
    "captured_on": "gpu",
    "hsaco": None,
    "changed_bytes": 0,
    "written_bytes": None,
    "bytes_compared": 1,
    "judgements": [
        {
            "name": "captured",
            "agrees": False,
            "within_tolerance": False,
            "mismatch_bytes": 1,
            "tolerated_bytes": 0,
            "nan_count": 0,
        }
    ],
    "not_judged": {},
    "mismatches": _RUN["mismatches"],
    "outputs": [_OUTPUT],
    "mismatch_bytes": 1,
    "iterations": 1,
    "noise_bytes": 0,
    "tolerance": None,
    "reasons": [],
    "timing_ns": [],
    "duration_s": 0.1,
    "checks": None,
}

READERS: dict[str, Callable[[bytes], None]] = {
    reader.__name__.replace("_", "-"): reader
    for reader in (
        manifest,
        config,
        index,
        capture,
        raw_documents,
        pinned,
        results,
        names,
        overlay,
        code_layer,
        tar_names,
        sealed,
        frames,
        referrer,
        envelope,
        verdict_predicate,
        license_lines,
        headers,
        policy,
    )
}


def read(reader: str, data: bytes) -> str | None:
    """The code with which it was refused, or None. Raises whatever a reader must not."""
    try:
        READERS[reader](data)
    except KerncapError as error:
        if not error.message:
            raise AssertionError("a refusal says why") from error
        return error.code
    return None
