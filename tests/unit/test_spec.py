"""SPEC.md is held to its word: its examples obey the schemas, its tables equal the code."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from craft import sound_parts

from kerncap.bundle import limits, open_bundle
from kerncap.bundle.capture import capture_from_json
from kerncap.bundle.config import parse_config
from kerncap.bundle.documents import canonical_json, load_schema, validate
from kerncap.bundle.index import KINDS, SEGMENTS, parse_index
from kerncap.bundle.manifest import ARTIFACT_TYPE, CHUNKS, CODE, CONFIG, HSACO, INDEX, parse_manifest
from kerncap.bundle.reader import RECORD_MEMBERS
from kerncap.bundle.referrers import parse_referrer
from kerncap.errors import BundleError
from kerncap.trust import kinds
from kerncap.trust.envelope import DSSE, IN_TOTO, parse_statement
from kerncap.trust.examine import predicate_of_signature

_ROOT = Path(__file__).resolve().parents[2]
_SPEC = (_ROOT / "bundle_spec" / "SPEC.md").read_text()
_SCHEMAS = sorted((_ROOT / "bundle_spec" / "schemas").glob("*.schema.json"))


def _example(name: str) -> Any:
    (text,) = re.findall(rf"```json {name}\n(.*?)```", _SPEC, re.DOTALL)
    return json.loads(text)


def test_every_example_is_known() -> None:
    names = ["manifest", "config", "content", "index", "sequence", "referrer", "statement"]
    assert re.findall(r"```json (\w+)", _SPEC) == names


def test_manifest_example() -> None:
    manifest = parse_manifest(canonical_json(_example("manifest")))
    assert manifest.code is not None
    assert len(manifest.chunks) == 1


def test_config_example() -> None:
    config = parse_config(canonical_json(_example("config")))
    assert not set(RECORD_MEMBERS) & set(config.capture)


def test_index_example() -> None:
    document = _example("index")
    validate(document, "index", what="example")
    index, _ = parse_index(canonical_json(document))
    assert index.raw_bytes == 8192
    assert set(document["record"]) <= set(RECORD_MEMBERS)


def test_sequence_example() -> None:
    isa = _example("config")["capture"]["code_object"]["isa"]
    capture = capture_from_json(_example("config")["capture"] | {"sequence": _example("sequence")})
    assert [step.code_object.isa for step in capture.steps] == [isa, isa]
    assert capture.steps[1].barriers_before[0].waits_for == (0,)


def test_examples_of_referrers() -> None:
    attached = parse_referrer(canonical_json(_example("referrer")), what="example")
    assert attached.referrer.artifact_type == kinds.SIGNATURE_ARTIFACT
    assert [layer.media_type for layer in attached.layers] == [DSSE]
    statement = parse_statement(canonical_json(_example("statement")), what="example")
    assert statement.subject == attached.subject
    assert statement.predicate_type == kinds.SIGNATURE_PREDICATE
    assert attached.referrer.annotations == {kinds.PREDICATE_ANNOTATION: kinds.SIGNATURE_PREDICATE}
    assert dict(statement.predicate) == dict(predicate_of_signature())


def test_section_12_has_the_limits_types_and_codes_of_the_code() -> None:
    section = _SPEC.split("## 12.")[1]
    for text in (
        f"more than {limits.MAX_REFERRERS:,}\n",
        f"a blob above {limits.MAX_REFERRER_BLOB_BYTES >> 20} MiB;",
        f"envelope above {limits.MAX_ENVELOPE_BYTES >> 20} MiB.",
    ):
        assert text in section
    for name in (kinds.SIGNATURE_ARTIFACT, kinds.SPDX, IN_TOTO, DSSE, *kinds.KIND_OF_PREDICATE):
        assert f"`{name}`" in section, name
    packages = [*(_ROOT / "kerncap/trust").glob("*.py"), _ROOT / "kerncap/workflows/trust.py"]
    raised = {code for path in packages for code in re.findall(r'"(trust\.[a-z-]+)"', path.read_text())}
    assert set(re.findall(r"^\| `(trust\.[a-z-]+)`", section, re.MULTILINE)) == raised


def test_content_example_has_the_members_of_a_real_one(tmp_path: Path) -> None:
    """craft.py writes the content document by the text of the specification; verify compares it with ours."""
    from kerncap.bundle.verify import verify

    assert verify(open_bundle(str(sound_parts().write_tar(tmp_path / "x.tar")))).problems == ()
    assert set(_example("content")) == {"schema", "code_object", "dispatch", "kernarg", "regions", "source"}


@pytest.mark.parametrize("path", _SCHEMAS, ids=lambda path: path.stem)
def test_schemas_are_schemas(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


def test_limits_of_the_text_are_those_of_the_code() -> None:
    section = _SPEC.split("## 7.")[1].split("## 8.")[0]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ")][2:]
    found = {re.split(r",| in ", name)[0].strip(): value.strip() for name, value in rows}
    assert found == {
        "manifest": f"{limits.MAX_MANIFEST_BYTES >> 20} MiB",
        "config": f"{limits.MAX_CONFIG_BYTES >> 10} KiB",
        "index.json of a layout": f"{limits.MAX_LAYOUT_INDEX_BYTES >> 20} MiB",
        "members of a tar file": f"{limits.MAX_TAR_MEMBERS:,}",
        "flags of a region": f"{limits.MAX_FLAGS}",
        "index layer": f"{limits.MAX_INDEX_STORED_BYTES >> 20} MiB stored, {limits.MAX_INDEX_JSON_BYTES >> 20} MiB raw",
        "blobs": f"{limits.MAX_BLOBS:,}, each {limits.MAX_BLOB_BYTES >> 20} MiB "
        f"(hsaco: {limits.MAX_HSACO_BYTES >> 30} GiB)",
        "regions": f"{limits.MAX_REGIONS:,}, each {limits.MAX_REGION_BYTES >> 40} TiB",
        "dispatches of a sequence": f"{limits.MAX_STEPS:,}",
        "chunks": f"{limits.MAX_CHUNKS:,}",
        "ranges": f"{limits.MAX_RANGES:,} each",
        "code layer": f"{limits.MAX_CODE_STORED_BYTES >> 20} MiB stored, {limits.MAX_CODE_BYTES >> 30} GiB raw, "
        f"{limits.MAX_CODE_FILES:,} files, {limits.MAX_CODE_PATH_BYTES:,} bytes a name",
    }


def test_codes_of_the_text_are_those_of_the_code() -> None:
    """Every refusal of the package and of the native parts stands in section 9, and nothing else does."""
    section = _SPEC.split("## 9.")[1].split("## 10.")[0]
    listed = re.findall(r"^\| `(bundle\.[a-z-]+)` \|", section, re.MULTILINE)
    source = "".join(path.read_text() for path in (_ROOT / "kerncap").rglob("*.py"))
    native = "".join(path.read_text() for path in (_ROOT / "native").rglob("*.[ch]pp") if "_test" not in path.name)
    raised = re.findall(r'"(bundle\.[a-z-]+)"', source + native)
    assert set(raised) == set(listed)
    assert len(listed) == len(set(listed))
    assert BundleError.exit_code == 4


def test_every_field_is_described() -> None:
    """FIELDS.md is made from the schemas, and no field of theirs is without a meaning."""
    made = subprocess.run([_ROOT / "scripts" / "spec-fields", "--check"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, f"scripts/spec-fields writes another FIELDS.md {made.stderr}"
    rows = [line.split(" | ") for line in (_ROOT / "bundle_spec" / "FIELDS.md").read_text().splitlines()]
    fields = [row for row in rows if row[0].startswith("| `")]
    assert len(fields) > 250
    assert [row[0] for row in fields if len(row) < 5 or not row[4].strip(" |")] == []


def test_every_schema_of_a_bundle_has_its_fields() -> None:
    """Of the documents that travel in a bundle or refer to one; the others are a program's own."""
    tables = re.findall(r"^## ([a-z-]+)$", (_ROOT / "bundle_spec" / "FIELDS.md").read_text(), re.MULTILINE)
    own = {"cell", "cell-result", "error", "launch", "printed", "replay-request", "replay-result", "verdict"}
    assert {path.name.removesuffix(".schema.json") for path in _SCHEMAS} - own == set(tables)


def test_manifest_schema_and_reader_agree() -> None:
    """The reader checks manifests by hand; the schema must say the same."""
    schema = load_schema("manifest")
    validate(_example("manifest"), "manifest", what="example")
    layers, descriptor = schema["properties"]["layers"], schema["$defs"]["descriptor"]["properties"]
    assert layers["maxItems"] == limits.MAX_BLOBS + 2 + limits.MAX_STEPS
    assert set(descriptor["mediaType"]["enum"]) == {CONFIG, INDEX, CODE, HSACO, CHUNKS}
    assert descriptor["size"]["maximum"] == limits.MAX_HSACO_BYTES
    assert schema["properties"]["artifactType"]["const"] == ARTIFACT_TYPE


@pytest.mark.parametrize(
    ("member", "value", "code"),
    [
        ("mediaType", "application/vnd.docker.distribution.manifest.v2+json", "bundle.unknown-media-type"),
        ("mediaType", None, "bundle.unknown-media-type"),
        ("schemaVersion", 1, "bundle.malformed"),
        ("artifactType", "application/vnd.kerncap.bundle.v2", "bundle.unsupported-version"),
        ("layers", [], "bundle.malformed"),
    ],
)
def test_a_manifest_that_breaks_its_schema_is_refused(member: str, value: Any, code: str) -> None:
    with pytest.raises(BundleError) as caught:
        parse_manifest(canonical_json(_example("manifest") | {member: value}))
    assert caught.value.code == code


def test_a_feature_comes_once() -> None:
    with pytest.raises(BundleError) as caught:
        parse_config(canonical_json(_example("config") | {"requires": ["alias", "alias"]}))
    assert caught.value.code == "bundle.malformed"
    assert parse_config(canonical_json(_example("config") | {"requires": ["alias", "shuffle"]})).requires


def test_index_schema_and_reader_agree() -> None:
    """The reader checks chunks by hand, for speed; the schema must say the same."""
    schema = load_schema("index")
    region = schema["properties"]["regions"]["items"]["properties"]
    chunk = schema["$defs"]["chunk"]["properties"]
    blob = schema["properties"]["blobs"]
    assert set(region["kind"]["enum"]) == KINDS
    assert set(region["segment"]["enum"]) == SEGMENTS
    assert chunk["l"]["maximum"] == limits.MAX_CHUNK_BYTES
    assert chunk["n"]["maximum"] == blob["items"]["properties"]["size"]["maximum"] == limits.MAX_BLOB_BYTES
    assert blob["maxItems"] == limits.MAX_BLOBS
    assert schema["properties"]["regions"]["maxItems"] == limits.MAX_REGIONS
    assert region["size"]["maximum"] == limits.MAX_REGION_BYTES
