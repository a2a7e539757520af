"""The bill of materials: valid SPDX 2.3 by spdx-tools, the licences that files name, the same for the same bundle."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from fake_registry import fake_registry
from spdx_tools.spdx.model import RelationshipType
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
from synthetic import make_reproducer, write_json

from kerncap.bundle import open_bundle
from kerncap.bundle.documents import validate
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.seal import seal
from kerncap.cli import main as cli
from kerncap.errors import UsageError
from kerncap.transport import push
from kerncap.transport.reference import parse_reference
from kerncap.trust.kinds import SPDX
from kerncap.workflows.trust import sbom_of

_FILES = {
    "plain.h": "// SPDX-License-Identifier: MIT\n",
    "block.h": "/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */ int x;\n",
    "choice.py": "# SPDX-License-Identifier: (MIT OR GPL-2.0-only) AND BSD-3-Clause\n",
    "two.h": "// SPDX-License-Identifier: MIT\n// SPDX-License-Identifier: Zlib\n",
    "none.h": "int nothing;\n",
    "odd.h": "// SPDX-License-Identifier: Frobnicate-9 AND (\n",
    "unknown.h": "// SPDX-License-Identifier: NotALicense-1.0\n",
    "empty.h": "// SPDX-License-Identifier: */\n",
    "control.h": "// SPDX-License-Identifier: MIT\x1b[2J\x07\n",
    "binary.h": "// SPDX-License-Identifier: M\xa9T\n",
    "long.h": "// SPDX-License-Identifier: " + "MIT AND " * 5000 + "MIT\n",
    "deep.h": "// SPDX-License-Identifier: " + "(" * 190 + "MIT" + ")" * 190 + "\n",
    "many.h": "".join(f"// SPDX-License-Identifier: X-{number}\n" for number in range(1000)),
    "nothing": "",
}


def _make(folder: Path, files: dict[str, str] = _FILES) -> Path:
    make_reproducer(folder / "repro")
    for name, text in files.items():
        (folder / "repro/src/root/app" / name).write_text(text, encoding="latin-1")
    write_json(folder / "repro/compile.json", {"compiler": {"version": "clang version 17.0.6"}})
    seal(ReproducerLocation(folder / "repro"), LayoutLocation(folder / "sealed"))
    return folder / "sealed"


def _problems(path: Path) -> list[str]:
    return [message.validation_message for message in validate_full_spdx_document(parse_file(str(path)))]


def _file(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [file for file in document["files"] if file["fileName"] == f"./src/root/app/{name}"]
    node: dict[str, Any] = found
    return node


def test_the_document_is_valid_and_says_what_the_files_say(tmp_path: Path) -> None:
    sealed = _make(tmp_path)
    assert cli.run(["sbom", str(sealed), "-o", str(tmp_path / "x.spdx.json")]) == 0
    assert _problems(tmp_path / "x.spdx.json") == []
    document = json.loads((tmp_path / "x.spdx.json").read_bytes())

    def licences(name: str) -> list[str]:
        found: list[str] = _file(document, name)["licenseInfoInFiles"]
        return found

    assert licences("plain.h") == ["MIT"]
    assert licences("block.h") == ["Apache-2.0 WITH LLVM-exception"]
    assert licences("choice.py") == ["BSD-3-Clause", "GPL-2.0-only", "MIT"]
    assert "(MIT OR GPL-2.0-only) AND BSD-3-Clause" in _file(document, "choice.py")["licenseComments"]
    assert licences("two.h") == ["MIT", "Zlib"]
    for name in ("none.h", "nothing", "empty.h"):
        assert licences(name) == ["NOASSERTION"], name
    texts = {node["licenseId"]: node["extractedText"] for node in document["hasExtractedLicensingInfos"]}
    for name in ("odd.h", "unknown.h", "control.h", "binary.h", "long.h"):
        (reference,) = licences(name)
        assert reference.startswith("LicenseRef-"), name
        assert texts[reference].startswith("SPDX-License-Identifier: ")
        assert texts[reference].isprintable()
    assert len(licences("many.h")) == 64
    for file in document["files"]:
        data = (tmp_path / "repro" / file["fileName"]).read_bytes()
        sums = {one["algorithm"]: one["checksumValue"] for one in file["checksums"]}
        assert sums == {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}
        assert file["licenseConcluded"] == "NOASSERTION"
    versions = {package["name"]: package["versionInfo"] for package in document["packages"]}
    bundle = open_bundle(str(sealed))
    assert versions["kerncap-bundle"] == bundle.manifest_digest
    assert versions["compiler"] == "clang version 17.0.6"
    assert {name: versions[name] for name in bundle.capture.runtime} == dict(bundle.capture.runtime)


def test_a_bundle_without_source(tmp_path: Path) -> None:
    make_reproducer(tmp_path / "repro", with_source=False)
    seal(ReproducerLocation(tmp_path / "repro"), LayoutLocation(tmp_path / "sealed"))
    (tmp_path / "x.spdx.json").write_bytes(sbom_of(open_bundle(str(tmp_path / "sealed"))))
    assert _problems(tmp_path / "x.spdx.json") == []
    parsed = parse_file(str(tmp_path / "x.spdx.json"))
    assert parsed.files == []
    assert parsed.packages[0].files_analyzed is False
    kinds = {relationship.relationship_type for relationship in parsed.relationships}
    assert kinds == {RelationshipType.DESCRIBES, RelationshipType.BUILD_TOOL_OF}


def test_the_same_bundle_gives_the_same_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = (sbom_of(open_bundle(str(_make(tmp_path / name)))) for name in "ab")
    assert first == second
    assert json.loads(first)["creationInfo"]["created"] == "1970-01-01T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    third = sbom_of(open_bundle(str(tmp_path / "a/sealed")))
    assert json.loads(third)["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    for wrong in ("", "-1", "now", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with pytest.raises(UsageError) as caught:
            sbom_of(open_bundle(str(tmp_path / "a/sealed")))
        assert caught.value.code == "usage.source-date-epoch"


@pytest.mark.parametrize("text", ["[]", "{", '{"compiler": 3}', '{"compiler": {"version": 7}}', "[" * 100_000])
def test_a_hostile_compile_document_is_no_version(tmp_path: Path, text: str) -> None:
    make_reproducer(tmp_path / "repro")
    (tmp_path / "repro/compile.json").write_text(text)
    seal(ReproducerLocation(tmp_path / "repro"), LayoutLocation(tmp_path / "sealed"))
    document = json.loads(sbom_of(open_bundle(str(tmp_path / "sealed"))))
    assert "compiler" not in {package["name"] for package in document["packages"]}


def test_it_is_attached_and_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    sealed = _make(tmp_path, {"a.h": "// SPDX-License-Identifier: MIT\n"})
    with fake_registry() as fake:
        name = f"{fake.host}/a/b:v1"
        push(open_bundle(str(sealed)), parse_reference(name))
        for place in (str(sealed), name):
            assert cli.run(["sbom", place, "--attach", "--json"]) == 0
            document = json.loads(capsys.readouterr().out)
            validate(document, "printed", what="sbom")
            assert document["document"] is None
            assert cli.run(["inspect", place, "--json"]) == 0
            (referrer,) = json.loads(capsys.readouterr().out)["referrers"]
            assert (referrer["kind"], referrer["artifact_type"]) == ("sbom", SPDX)
            assert referrer["digest"] == document["referrer"]
        manifest = json.loads(fake.manifests[document["referrer"]])
        assert fake.blobs[manifest["layers"][0]["digest"]] == sbom_of(open_bundle(str(sealed)))
    assert cli.run(["sbom", str(sealed)]) == 0
    assert json.loads(capsys.readouterr().out)["spdxVersion"] == "SPDX-2.3"
    assert cli.run(["sbom", str(sealed), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "printed", what="sbom")
    assert document["document"]["spdxVersion"] == "SPDX-2.3"
    (tmp_path / "there").write_text("mine")
    assert cli.run(["sbom", str(sealed), "-o", str(tmp_path / "there")]) == 2
    assert (tmp_path / "there").read_text() == "mine"
    assert cli.run(["sbom", str(tmp_path / "repro")]) == 2
