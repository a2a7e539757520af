"""Headers of the tool chain that a bundle need not carry: named by path and digest, found again where it is compiled.

In: the files that a compile read; or `compile.json`'s list of them. Out: which are the tool chain's; whether this
machine's are the same. Called by `closure` and `recompile`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kerncap.bundle.files import digest_of
from kerncap.errors import CompileError
from kerncap.source.allowed import is_canonical
from kerncap.source.overlay import malformed

CARRY, REFERENCE = "carry", "reference"
MODES = (CARRY, REFERENCE)
_PLACES = ("/usr/include/", "/usr/lib/", "/usr/lib64/", "/usr/share/", "/opt/rocm")
_MAX_HEADERS = 20_000
_MAX_HEADER_BYTES = 16 << 20
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


def is_toolchain(path: Path, projects: Iterable[Path]) -> bool:
    """It lies where packages install headers, and in none of these folders of the project."""
    here = {Path(form) for folder in projects for form in (os.path.abspath(folder), os.path.realpath(folder))}
    in_project = any(path.is_relative_to(folder) for folder in here)
    return str(path).startswith(_PLACES) and not in_project


def referenced(document: Mapping[str, Any]) -> dict[Path, str]:
    """Digest of each file that the bundle names and does not carry. The document may be a stranger's.

    Raises: BundleError `bundle.malformed`.
    """
    found: dict[Path, str] = {}
    files = document.get("files", [])
    if not isinstance(files, list):
        raise malformed("compile.json has no list of files")
    for file in files:
        if not isinstance(file, dict) or file.get("path", "") is not None:
            continue
        original, digest = file.get("original"), file.get("digest")
        if not isinstance(original, str) or not is_canonical(original) or not original.startswith(_PLACES):
            raise malformed(f"compile.json references {str(original)[:200]!r}, which is no header of a tool chain")
        if not isinstance(digest, str) or not _DIGEST.match(digest):
            raise malformed(f"compile.json has no digest of {original[:200]}")
        found[Path(original)] = digest
        if len(found) > _MAX_HEADERS:
            raise malformed(f"compile.json references more than {_MAX_HEADERS} headers")
    return found


def difference(wanted: Mapping[Path, str]) -> str | None:
    """How this machine's tool chain headers differ from the original's; None when they are the same.

    Raises: CompileError `compile.toolchain-headers` when some are not here.
    """
    missing = [path for path in wanted if not os.path.isfile(path)]  # also where the name is longer than any can be
    if missing:
        raise CompileError(
            f"{len(missing)} of the {len(wanted)} tool chain headers that the bundle references, and does not carry, "
            f"are not here: {str(missing[0])[:300]}",
            code="compile.toolchain-headers",
            hint="kerncap recompile BUNDLE -o FILE --image IMAGE  # a runtime image of the original's suite",
        )
    other = [path for path, digest in wanted.items() if not _is(path, digest)]
    if not other:
        return None
    return f"{len(other)} of {len(wanted)} tool chain headers differ from the original's, {other[0]} for one"


def _is(path: Path, digest: str) -> bool:
    """What cannot be read, or is larger than any header, is another file: a stranger's list may name anything."""
    try:
        return path.stat().st_size <= _MAX_HEADER_BYTES and digest_of(path) == digest
    except OSError:
        return False
