"""Finds the translation unit that defines a kernel.

In: a compile database and the kernel's names. Out: entries, the likeliest first. Called by `closure`, which
compiles them in this order until one has the exact mangled symbol: a text match alone is never believed.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kerncap.bundle.files import open_named, read_named
from kerncap.errors import CompileError
from kerncap.names import base_name, near_names
from kerncap.source.arguments import take_apart
from kerncap.source.database import Entry

_COMMENT_OR_STRING = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_HEADER_SUFFIXES = frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ""})
_MAX_TEXT_BYTES = 16 << 20


@dataclass(frozen=True)
class Candidates:
    """Translation units that may define a kernel, the likeliest first."""

    known: tuple[Entry, ...]
    """Main files of the code object, objects with the mangled name, text that defines it."""
    including: tuple[Entry, ...] = ()
    """Those that may include a header that defines it; empty where others are known."""


def candidates(
    entries: Sequence[Entry], mangled: str, demangled: str, source_dir: Path | None, units: Collection[Path] = ()
) -> Candidates:
    """Entries of the code object's own compile `units`, then those whose object holds the mangled name, then those
    whose text defines it, then those that may include it.

    Raises: CompileError `compile.kernel-not-found`.
    """
    name = base_name(demangled or mangled)
    by_unit = [e for e in entries if e.file in units]
    by_object = [e for e in _with_symbol(entries, mangled) if e not in by_unit]
    known = by_unit + by_object
    known += [e for e in entries if e not in known and defines(_text(e.file), name)]
    headers = [] if known else _headers_defining(source_dir, name)
    by_include = [e for e in entries if e not in known] if headers else []
    if not known and not by_include:
        near = near_names(name, {n for e in entries for n in kernels_of(_text(e.file))})
        alike = f"; these look alike: {', '.join(near)}" if near else ""
        if name.startswith("_Z"):
            alike = "; its name cannot be demangled here, so that only -g and object files of the build could tell"
        raise CompileError(
            f"none of the {len(entries)} translation units of the compile database defines {name}{alike}",
            code="compile.kernel-not-found",
            hint="kerncap extract KERNEL --compile-db FILE ...  # of the build that made this application",
        )
    return Candidates(tuple(known), tuple(by_include))


def _with_symbol(entries: Sequence[Entry], mangled: str) -> list[Entry]:
    """Looked for in several objects at a time: most of the time goes into reading them."""
    with ThreadPoolExecutor() as pool:
        has = list(pool.map(lambda entry: _object_has(entry, mangled), entries))
    return [entry for entry, found in zip(entries, has, strict=True) if found]


def _object_has(entry: Entry, mangled: str) -> bool:
    """The object file of this entry, if it was built, holds the mangled name as a whole string."""
    try:
        path = entry.output or take_apart(entry.words, entry.cwd, entry.file).output
        if path is None or not path.is_file() or path.stat().st_size == 0:
            return False
        with open_named(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return any(data.find(b"\0" + mangled.encode() + end) >= 0 for end in (b"\0", b".kd\0"))
    except (CompileError, OSError):
        return False


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_TEXT_BYTES:
            return ""
        return read_named(path).decode("utf-8", "replace")
    except OSError:
        return ""


def _headers_defining(source_dir: Path | None, name: str) -> list[Path]:
    if source_dir is None:
        return []
    paths = (p for p in source_dir.rglob("*") if p.suffix in _HEADER_SUFFIXES and p.is_file())
    return [p for p in paths if defines(_text(p), name)]


def strip_comments(text: str) -> str:
    """Without comments, and with empty string literals."""
    return _COMMENT_OR_STRING.sub(lambda m: '""' if m.group(0).startswith('"') else " ", text)


def defines(text: str, name: str) -> bool:
    """The text holds `__global__ ... name(...) {`, whatever attributes stand before the name."""
    if "__global__" not in text or name not in text:
        return False
    plain = strip_comments(text)
    for match in re.finditer(r"__global__\b[^;{}]*?\b" + re.escape(name) + r"\s*\(", plain):
        if _body_follows(plain, match.end()):
            return True
    return False


def _body_follows(text: str, at: int) -> bool:
    depth = 1
    while at < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    after = re.match(
        r"(?:\s|const|noexcept|__attribute__\s*\(\(.*?\)\)|requires\b[^;{]*)*(.)", text[at : at + 400], re.DOTALL
    )
    return after is not None and after.group(1) == "{"


def kernels_of(text: str) -> set[str]:
    """Names after `__global__` in a text, for messages."""
    plain = strip_comments(text)
    attribute = r"(?:__launch_bounds__|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)"
    return set(
        re.findall(r"__global__\s+(?:" + attribute + r"\s*)?void\s+(?:" + attribute + r"\s*)?(\w+)\s*[(<]", plain)
    )
