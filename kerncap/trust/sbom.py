"""The bill of materials of a bundle's source, as SPDX 2.3 in JSON.

In: an open sealed bundle, its source in a folder. Out: a document, the same for the same bundle: each file with its
digests and the licences that its SPDX-License-Identifier lines name; the compiler and the runtimes as packages.
Licences are what the files say, and nobody has concluded anything from them.
Source: spdx.github.io/spdx-spec/v2.3. Called by the trust workflow.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kerncap.bundle import Bundle
from kerncap.bundle.code import SourceFile
from kerncap.bundle.files import COPY_BYTES, host_errors, open_regular
from kerncap.errors import HostError, UsageError

EPOCH_VARIABLE = "SOURCE_DATE_EPOCH"
_CREATED_ANNOTATION = "org.opencontainers.image.created"
_NOASSERTION = "NOASSERTION"
_LOOKED_AT_BYTES = 1 << 20
_MAX_LINES = 64
_MAX_EXPRESSION = 400
# Source: SPDX 2.3, annex E: the tag, then an expression to the end of the line or of the comment.
_IDENTIFIER = re.compile(rb"SPDX-License-Identifier:[ \t]*([^\r\n]{1,1024})")
_END_OF_COMMENT = re.compile(r"\s*(?:\*+/|-->|#}|%>|\"\"\"|''').*$")


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    sha1: str
    sha256: str
    licenses: tuple[str, ...]
    expressions: tuple[str, ...]
    """As the file has them: `MIT OR GPL-2.0-only`, of which `licenses` are the parts."""


def document_of_sbom(bundle: Bundle, folder: Path, files: Iterable[SourceFile], tool: str) -> dict[str, Any]:
    """`folder` holds the source files; `tool` is the name and version of this program.

    Raises: HostError `host.no-license-expression`; UsageError `usage.source-date-epoch`; BundleError.
    """
    manifest = bundle.manifest
    assert manifest is not None, "a sealed bundle"
    texts = LicenseTexts()
    read = [_read(folder, file, texts, bundle.name) for file in sorted(files, key=lambda file: file.name)]
    identifiers = {file.name: f"SPDXRef-File-{number}" for number, file in enumerate(read)}
    packages = [_package(bundle, read, identifiers), *_tools(bundle, folder)]
    root = packages[0]["SPDXID"]
    document: dict[str, Any] = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"kerncap bundle {manifest.digest}",
        "documentNamespace": f"https://kerncap.dev/spdx/{manifest.digest.removeprefix('sha256:')}",
        "creationInfo": {"created": _created(manifest.annotations), "creators": [f"Tool: {tool.replace(' ', '-')}"]},
        "packages": packages,
        "files": [_file_node(file, identifiers[file.name]) for file in read],
        "relationships": [
            _relationship("SPDXRef-DOCUMENT", "DESCRIBES", root),
            *(_relationship(package["SPDXID"], "BUILD_TOOL_OF", root) for package in packages[1:]),
            *(_relationship(root, "CONTAINS", identifiers[file.name]) for file in read),
        ],
    }
    if texts.own:
        document["hasExtractedLicensingInfos"] = [
            {"licenseId": name, "extractedText": text, "name": _NOASSERTION} for name, text in sorted(texts.own.items())
        ]
    return document


def to_bytes(document: Mapping[str, Any]) -> bytes:
    """For people and tools alike; the same for the same document."""
    return (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode("ascii")


def _read(folder: Path, file: SourceFile, texts: LicenseTexts, what: str) -> _File:
    path = folder / file.name
    first = hashlib.sha1(usedforsecurity=False)  # SPDX 2.3 demands it of every file
    second = hashlib.sha256()
    head = b""
    with open_regular(path, what=what) as opened, host_errors(path):
        while piece := opened.read(COPY_BYTES):
            first.update(piece)
            second.update(piece)
            if len(head) < _LOOKED_AT_BYTES:
                head += piece
    expressions: dict[str, None] = {}
    found: dict[str, None] = {}
    for line in license_expressions(head):
        expression, parts = texts.parse(line)
        expressions[expression] = None
        found.update(dict.fromkeys(parts))
    return _File(file.name, first.hexdigest(), second.hexdigest(), tuple(sorted(found)), tuple(expressions))


def license_expressions(head: bytes) -> Iterator[str]:
    """What the SPDX-License-Identifier lines of a file say, up to 64 of them."""
    for number, match in enumerate(_IDENTIFIER.finditer(head)):
        if number == _MAX_LINES:
            return
        text = _END_OF_COMMENT.sub("", match[1].decode("utf-8", "replace")).strip()
        if text:
            yield text


@functools.cache
def _licensing() -> Any:
    """SPDX's list of licences. Raises: HostError `host.no-license-expression`."""
    try:
        from license_expression import get_spdx_licensing
    except ImportError:
        raise HostError(
            "a bill of materials needs the Python package license-expression, which is not here",
            code="host.no-license-expression",
            hint="apt-get install python3-license-expression  # or: pip install license-expression",
        ) from None
    return get_spdx_licensing()


class LicenseTexts:
    """Expressions as SPDX has them; what it has not becomes a LicenseRef with the words as they were found."""

    def __init__(self) -> None:
        self._spdx = _licensing()
        self.own: dict[str, str] = {}

    def parse(self, text: str) -> tuple[str, list[str]]:
        """The expression, and each licence in it, with its exception."""
        parsed = None
        if len(text) <= _MAX_EXPRESSION:
            # The library raises errors of many kinds for what is no expression, IndexError and TypeError among them.
            with contextlib.suppress(Exception):
                parsed = self._spdx.parse(text, validate=True, strict=True)
        if parsed is None:
            name = self._reference(text)
            return name, [name]
        return str(parsed), [str(part) for part in self._spdx.license_symbols(parsed, unique=True, decompose=False)]

    def _reference(self, text: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")[:60] or "unnamed"
        name = f"LicenseRef-{plain}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        shown = "".join(char if char.isprintable() else "?" for char in text)
        self.own[name] = f"SPDX-License-Identifier: {shown}"
        return name


def _file_node(file: _File, identifier: str) -> dict[str, Any]:
    compound = [expression for expression in file.expressions if expression not in file.licenses]
    node = {
        "SPDXID": identifier,
        "fileName": f"./{file.name}",
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": file.sha1},
            {"algorithm": "SHA256", "checksumValue": file.sha256},
        ],
        "licenseConcluded": _NOASSERTION,
        "licenseInfoInFiles": list(file.licenses) or [_NOASSERTION],
        "copyrightText": _NOASSERTION,
    }
    return node | ({"licenseComments": f"as the file has it: {'; '.join(compound)}"} if compound else {})


def _package(bundle: Bundle, files: list[_File], identifiers: Mapping[str, str]) -> dict[str, Any]:
    """The bundle itself. Without files nothing was analysed, and SPDX wants it said."""
    manifest = bundle.manifest
    assert manifest is not None
    node: dict[str, Any] = {
        "SPDXID": "SPDXRef-Bundle",
        "name": "kerncap-bundle",
        "versionInfo": manifest.digest,
        "downloadLocation": _NOASSERTION,
        "filesAnalyzed": bool(files),
        "licenseConcluded": _NOASSERTION,
        "licenseDeclared": _NOASSERTION,
        "copyrightText": _NOASSERTION,
        "checksums": [{"algorithm": "SHA256", "checksumValue": manifest.digest.removeprefix("sha256:")}],
        "comment": "the checksum is that of the bundle's OCI manifest; the files are those of its code layer",
    }
    if files:
        # Source: SPDX 2.3, 7.9: sha1 of the sorted sha1 of all files, one after the other.
        joined = "".join(sorted(file.sha1 for file in files)).encode("ascii")
        code = hashlib.sha1(joined, usedforsecurity=False).hexdigest()
        found = sorted({name for file in files for name in file.licenses}) or [_NOASSERTION]
        node |= {
            "packageVerificationCode": {"packageVerificationCodeValue": code},
            "licenseInfoFromFiles": found,
            "hasFiles": [identifiers[file.name] for file in files],
        }
    return node


def _tools(bundle: Bundle, folder: Path) -> list[dict[str, Any]]:
    """What compiled and captured, by the versions that the bundle records."""
    versions = dict(bundle.capture.runtime)
    if bundle.capture.triton is not None:
        versions["triton"] = bundle.capture.triton
    compiler = _compiler(folder)
    if compiler is not None:
        versions["compiler"] = compiler
    return [
        {
            "SPDXID": f"SPDXRef-Tool-{number}",
            "name": name,
            "versionInfo": version,
            "downloadLocation": _NOASSERTION,
            "filesAnalyzed": False,
            "licenseConcluded": _NOASSERTION,
            "licenseDeclared": _NOASSERTION,
            "copyrightText": _NOASSERTION,
        }
        for number, (name, version) in enumerate(sorted(versions.items()))
    ]


def _compiler(folder: Path) -> str | None:
    """Of compile.json, a stranger's: the version is text or it is left out."""
    path = folder / "compile.json"
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_bytes()[:_LOOKED_AT_BYTES])
        version = document["compiler"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return version[:1024] if isinstance(version, str) and version else None


def _relationship(element: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": other}


def _created(annotations: Mapping[str, str]) -> str:
    """SOURCE_DATE_EPOCH, else what the manifest says, else the first second of 1970: never the clock."""
    text = os.environ.get(EPOCH_VARIABLE)
    if text is not None:
        if not re.fullmatch(r"[0-9]{1,11}", text):
            raise UsageError(
                f"{EPOCH_VARIABLE} is {text[:40]!r}, expected seconds since 1970",
                code="usage.source-date-epoch",
                hint=f"export {EPOCH_VARIABLE}=$(date +%s)",
            )
        return datetime.fromtimestamp(int(text), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = annotations.get(_CREATED_ANNOTATION, "")
    is_time = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", said)
    return said if is_time else "1970-01-01T00:00:00Z"
