"""The VFS overlay of a reproducer: written for its own source, and read again as a stranger's.

In: the files that a compile read; or `vfs.yaml` of a reproducer directory. Out: the document; or a View of what it
shows a compiler. Called by `closure` and `recompile`. No compiler reads a stranger's `vfs.yaml`: it is written anew.

Source: llvm/Support/VirtualFileSystem.h, RedirectingFileSystem: with `overlay-relative` the external contents are
relative to the overlay file's own directory, so that the reproducer can lie anywhere. JSON is YAML.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kerncap.bundle.documents import parse_json
from kerncap.bundle.files import read_regular
from kerncap.errors import BundleError, typed
from kerncap.source.allowed import is_canonical

SOURCE_ROOT = PurePosixPath("src/root")
_MAX_DOCUMENT_BYTES = 16 << 20
_MAX_DEPTH = 64
_MAX_ADDED = 20_000
_MAX_FOLDER_CHARACTERS = 16 << 20
_MEMBERS = {
    "file": {"name", "type", "external-contents", "use-external-name"},
    "directory": {"name", "type", "contents"},
    "overlay": {"version", "case-sensitive", "overlay-relative", "use-external-names", "roots"},
}


def inside(path: Path) -> PurePosixPath:
    """Where a file of an absolute path lies in the reproducer."""
    return SOURCE_ROOT / path.as_posix().lstrip("/")


def overlay(
    files: Iterable[Path], external: Mapping[Path, str] | None = None, *, same_as: Mapping[Path, Path] | None = None
) -> dict[str, Any]:
    """An overlay that puts each carried file where the compile looked for it.

    `external` says where each really is, as an absolute path; else it lies in the reproducer, under its own name or
    that of the file that it is the same as.
    """
    folders: dict[str, list[Path]] = {}
    for path in files:
        folders.setdefault(str(path.parent), []).append(path)

    def real(path: Path) -> str:
        return str(inside((same_as or {}).get(path, path))) if external is None else external[path]

    return {
        "version": 0,
        "case-sensitive": "true",
        "overlay-relative": "true" if external is None else "false",
        "roots": [
            {
                "name": folder,
                "type": "directory",
                "contents": [
                    {"name": path.name, "type": "file", "external-contents": real(path)} for path in sorted(paths)
                ],
            }
            for folder, paths in sorted(folders.items())
        ],
    }


@dataclass(frozen=True)
class View:
    """What an overlay shows: absolute name -> the real file; and every folder that has one of them below it."""

    files: Mapping[str, Path]
    folders: frozenset[str]
    outside: frozenset[Path] = frozenset()
    """Files of this machine's tool chain that the compile may read as well, by name."""

    def beside(self, outside: Collection[Path]) -> View:
        """With files of the tool chain. Raises: BundleError `bundle.malformed`."""
        return View(self.files, self.folders | _folders_above(map(str, outside)), frozenset(outside))

    def document(self, root: Path, cwd: Path) -> dict[str, Any]:
        """The overlay for a compile: absolute paths, files named as they are asked for, also below the real `root`.

        Below `root` (the real folder of `src/root`) for what the main file includes from beside itself. `cwd` is there
        in any case: clang 17 to 21 crash in a working directory that does not exist.
        """
        external = {path: str(real) for name, real in self.files.items() for path in (Path(name), root / name[1:])}
        whole = overlay(external, external)
        if str(cwd) not in self.folders:
            whole["roots"].append({"name": str(cwd), "type": "directory", "contents": []})
        return {**whole, "use-external-names": "false"}


def read_overlay(directory: Path) -> View:
    """`vfs.yaml` of a reproducer; it may only lead to regular files in `src/`, and do nothing else.

    Raises: BundleError `bundle.hostile-overlay`, `bundle.malformed`, `bundle.outside-path`.
    """
    document = read_json(directory / "vfs.yaml")
    _only(document, "overlay")
    if document.get("version") != 0 or document.get("overlay-relative") not in ("true", True):
        raise _hostile("is not relative to the bundle")
    files: dict[str, Path] = {}
    for name, external in _entries(document.get("roots"), "/", 0):
        parts = external.split("/")
        if parts[0] != "src" or any(part in ("", ".", "..") for part in parts) or "\0" in external:
            raise _hostile(f"leads out of the bundle: {external[:200]!r}")
        real = directory.absolute() / external
        check_inside(directory, real)
        files[name] = real
    files |= _added(directory.absolute(), files)
    folders = _folders_above(files)
    if both := sorted(folders & files.keys()):
        raise _hostile(f"has {both[0][:200]!r} as a file and as a folder")
    return View(files, folders)


def _folders_above(names: Iterable[str]) -> frozenset[str]:
    """Every folder on the way to one of these absolute names.

    Raises: BundleError `bundle.malformed` where they are more than any project has: names of many short parts are small
    in a document, and their folders fill the memory.
    """
    found = {"/"}
    characters = 0
    for name in names:
        folder = os.path.dirname(name)
        while folder not in found:
            found.add(folder)
            characters += len(folder)
            if characters > _MAX_FOLDER_CHARACTERS:
                raise malformed(f"the names of the files have more than {_MAX_FOLDER_CHARACTERS} characters of folders")
            folder = os.path.dirname(folder)
    return frozenset(found)


def _added(directory: Path, known: Mapping[str, Path]) -> dict[str, Path]:
    """Files that somebody put into `src/root` since, as the edit loop does. Links are none, editors leave some.

    Raises: BundleError `bundle.outside-path` for a FIFO or device, which a compiler would wait for.
    """
    found: dict[str, Path] = {}
    root = directory / SOURCE_ROOT
    if root.is_symlink() or root.parent.is_symlink():
        return found
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            original = f"/{path.relative_to(root)}"
            if path.is_symlink() or known.get(original) == path:
                continue
            check_inside(directory, path)
            if is_canonical(original):
                found[original] = path
            if len(found) > _MAX_ADDED:
                raise malformed(f"{root} has more than {_MAX_ADDED} files that vfs.yaml does not name")
    return found


def check_inside(directory: Path, path: Path) -> None:
    """A regular file below `directory`, and no symbolic link on the way to it.

    Raises: BundleError `bundle.outside-path`, `bundle.malformed` when there is no such file.
    """
    at = directory
    relative = path.absolute().relative_to(directory.absolute())
    for part in relative.parts:
        at = at / part
        try:
            mode = at.lstat().st_mode
        except OSError as error:
            raise malformed(f"{at}: {error.strerror}") from None
        if stat.S_ISLNK(mode):
            raise BundleError(
                f"{at} is a symbolic link, which may lead out of the bundle",
                code="bundle.outside-path",
                hint=typed("ls", "-l", at),
            )
    if not stat.S_ISREG(mode):
        raise BundleError(f"{at} is not a regular file", code="bundle.outside-path", hint=typed("ls", "-l", at))


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Not escaped: LLVM's YAML reader takes the halves of an escaped character beyond U+FFFF for two characters."""
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def _entries(nodes: object, folder: str, depth: int) -> Iterator[tuple[str, str]]:
    """(absolute name, external contents) of every file below."""
    if not isinstance(nodes, list) or depth > _MAX_DEPTH:
        raise _hostile("has no list of entries, or too deep a one")
    for node in nodes:
        name = node.get("name") if isinstance(node, dict) else None
        if not isinstance(name, str) or not name:
            raise _hostile("has an entry without name")
        path = name if depth == 0 else f"{folder.rstrip('/')}/{name}"
        if not is_canonical(path):
            raise _hostile(f"has the name {path[:200]!r}, which is not absolute or not canonical")
        kind = node.get("type")
        if kind == "file" and isinstance(node.get("external-contents"), str):
            _only(node, "file")
            yield path, node["external-contents"]
        elif kind == "directory":
            _only(node, "directory")
            yield from _entries(node.get("contents"), path, depth + 1)
        else:
            raise _hostile(f"has an entry of type {kind!r}")


def _only(node: Mapping[str, Any], kind: str) -> None:
    unknown = sorted(set(node) - _MEMBERS[kind])
    if unknown:
        raise _hostile(f"has the member {unknown[0][:200]!r}")


def _hostile(what: str) -> BundleError:
    return BundleError(f"vfs.yaml {what}", code="bundle.hostile-overlay", hint="kerncap inspect BUNDLE")


def malformed(message: str) -> BundleError:
    """The error of a document that no kerncap wrote like this."""
    return BundleError(message, code="bundle.malformed", hint="kerncap verify BUNDLE")


def read_json(path: Path) -> dict[str, Any]:
    """A document of a stranger's directory.

    Raises: BundleError `bundle.malformed`, `bundle.limit`, and as read_regular.
    """
    data = read_regular(path, what=path.name, limit=_MAX_DOCUMENT_BYTES)
    return parse_json(data, what=path.name, limit=_MAX_DOCUMENT_BYTES)
