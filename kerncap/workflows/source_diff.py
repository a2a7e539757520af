"""What of a bundle's source was changed: the edited files against the captured ones, line by line.

In: two places with source, one of them sealed or both not. Out: a Comparison. Called by the report workflow. The source
is a stranger's: it is read as files of a fixed folder, never run, and what is very long is cut.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from kerncap import proc
from kerncap.bundle import Bundle
from kerncap.bundle.code import SINGLE_FILES, SourceFile
from kerncap.errors import KerncapError
from kerncap.report import Comparison, FileChange
from kerncap.scratch import Scratch
from kerncap.transport import open_any

log = logging.getLogger(__name__)

MAX_FILES = 64
MAX_LINES = 2000
"""Of all files together."""
_MAX_FILE_BYTES = 4 << 20
_MAX_DOCUMENT_BYTES = 16 << 20
_MAX_LINE = 500
_TIMEOUT_S = 60.0


def compare_source(bundle: Bundle, other: str | None, recompiled: bool, *, plain_http: bool) -> Comparison | None:
    """`other`: the sealed bundle that `bundle` was unpacked from, or the reproducer that the variant was made from; the
    captured side is the sealed one. None where there is no source, or nothing is known to have been changed."""
    if other is not None:
        beside = open_any(other, plain_http=plain_http)
        captured, judged = (beside, bundle) if beside.sealed and not bundle.sealed else (bundle, beside)
        return _compare(captured, judged)
    if not bundle.source_count:
        return None
    if not bundle.sealed:
        with bundle.source_folder() as folder:
            return _edited(folder, bundle.source_files())
    if recompiled:
        return Comparison("The captured source, compiled again: no line of it was changed.")
    return None


def _compare(captured: Bundle, judged: Bundle) -> Comparison:
    if not captured.source_count or not judged.source_count:
        missing = captured if not captured.source_count else judged
        return Comparison(f"Not compared: {missing.name} carries no source.")
    with ExitStack() as stack:
        folders = [stack.enter_context(side.source_folder()) for side in (captured, judged)]
        before, after = ({f.name: f for f in side.source_files() if _is_source(f)} for side in (captured, judged))
        changed = [name for name in sorted(before.keys() | after.keys()) if _sha(before, name) != _sha(after, name)]
        title = f"{judged.name} against the captured source of {captured.name}"
        if not changed:
            return Comparison(f"{title}: no file was changed.")
        files = tuple(_changes(changed[:MAX_FILES], folders[0], folders[1], before, after))
    more = f", {MAX_FILES} of them shown" if len(changed) > MAX_FILES else ""
    return Comparison(f"{title}: {len(changed)} of {len(before.keys() | after.keys())} files differ{more}.", files)


def _is_source(file: SourceFile) -> bool:
    return file.name not in SINGLE_FILES


def _sha(files: dict[str, SourceFile], name: str) -> str | None:
    return files[name].sha256 if name in files else None


def _changes(
    names: list[str], captured: Path, judged: Path, before: dict[str, SourceFile], after: dict[str, SourceFile]
) -> Iterator[FileChange]:
    left = MAX_LINES
    with Scratch("kerncap-diff-") as scratch:
        nothing = Path(scratch, "nothing")
        nothing.touch()
        for name in names:
            what = "added" if name not in before else "removed" if name not in after else "changed"
            sides = [
                folder / name if name in files else nothing for folder, files in ((captured, before), (judged, after))
            ]
            big = any(files[name].size > _MAX_FILE_BYTES for files in (before, after) if name in files)
            lines = None if big or not left else _unified(sides[0], sides[1])
            if lines is None:
                yield FileChange(name, what, (), cut=True)
                continue
            shown = tuple(line if len(line) <= _MAX_LINE else line[:_MAX_LINE] + "…" for line in lines[:left])
            left -= len(shown)
            yield FileChange(name, what, shown, cut=len(lines) > len(shown))


def _unified(before: Path, after: Path) -> list[str] | None:
    """By diff(1), which is quick on any text; None where it does not come to an end."""
    argv: list[str | Path] = ["diff", "--text", "-U3", "--label", "before", "--label", "after", "--", before, after]
    try:
        done = proc.run(argv, timeout_s=_TIMEOUT_S, keep_bytes=16 << 20)
    except KerncapError as error:
        log.info("no diff: %s", error)
        return None
    if done.timed_out or done.returncode not in (0, 1):
        log.info("no diff of %s: %s", after, done.error_text.strip()[-300:])
        return None
    return done.text.split("\n")[2:-1]


def _edited(folder: Path, files: tuple[SourceFile, ...]) -> Comparison:
    """Of a reproducer alone: which files are no longer those that compile.json recorded."""
    recorded = _recorded(folder)
    if not recorded:
        return Comparison("What was captured is not recorded here: name the sealed bundle to compare with it.")
    found = {file.name: f"sha256:{file.sha256}" for file in files if _is_source(file)}
    names = sorted(name for name, digest in recorded.items() if found.get(name) != digest)
    if not names:
        return Comparison("The reproducer's source, as it was captured: no file of it was changed.")
    changes = tuple(
        FileChange(name, "changed" if name in found else "removed", (), cut=True) for name in names[:MAX_FILES]
    )
    text = f"{len(names)} files are not as they were captured; name the sealed bundle to see their lines."
    return Comparison(text, changes)


def _recorded(folder: Path) -> dict[str, str]:
    """The digest of each captured file by its place, as compile.json has them; empty where it is none of ours."""
    try:
        with (folder / "compile.json").open("rb") as file:
            document: Any = json.loads(file.read(_MAX_DOCUMENT_BYTES))
        return {str(one["path"]): str(one["digest"]) for one in document["files"] if one["path"] is not None}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
