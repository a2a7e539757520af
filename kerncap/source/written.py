"""Paths of a compile as it wrote them, so that `__FILE__` comes out as it did: assertions and messages hold it.

In: `compile.json`, possibly a stranger's. Out: the words of the original command, checked against their absolute form;
compiler options that name the main file as the original did. Called by `recompile`.

Headers keep their names because an overlay shows them where they were (`use-external-names: false`), and clang looks
for them in the original's working directory. The main file must be real, because clang's driver does not look into
overlays: a macro prefix map gives it, and what it includes from beside itself, the names that they had.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.source.allowed import DIRECTORY_OPTIONS, FILE_OPTIONS, is_canonical
from kerncap.source.overlay import malformed
from kerncap.source.paths import as_looked_up

log = logging.getLogger(__name__)

_PREFIX_MAP = "-fmacro-prefix-map="
# `In file included from x.h:3:`, `x.h:3:5: error: ...`
_PLACE = re.compile(r"^(In file included from )?([^:\n]+)(?=:\d+[:,])", re.MULTILINE)


@dataclass(frozen=True)
class Written:
    """The words of `arguments` with their paths as the original compile had them; `cwd` is where that ran."""

    cwd: Path
    main: str
    arguments: tuple[str, ...]

    def naming(self, main: Path, root: Path) -> list[str]:
        """Compiler options: `main`, the real file, is named as the original was, and clang works in its folder.

        Line tables name the real files below `root`, which can be edited.
        """
        words = ["-Xclang", "-working-directory", "-Xclang", str(self.cwd), f"-fdebug-compilation-dir={root}{self.cwd}"]
        if "=" in str(main):
            log.info("%s: __FILE__ names this file, because of the = in its path", main)
            return words
        words += [f"-fdebug-prefix-map=/={root}/", f"-fdebug-prefix-map={root}/={root}/"]
        folder = os.path.dirname(self.main) or "."
        own = [word.removeprefix(_PREFIX_MAP).split("=", 1) for word in self.arguments if word.startswith(_PREFIX_MAP)]
        pairs = [(str(main.parent), _mapped(folder, own)), (str(main), _mapped(self.main, own))]
        # A project's own map of what lies below that folder.
        below = [(str(main.parent) + old[len(folder) :], new) for old, new in own if old.startswith(f"{folder}/")]
        # clang takes the last that fits, or the longest: this order is right for both.
        return [*words, *(f"{_PREFIX_MAP}{old}={new}" for old, new in sorted((*below, *pairs)))]

    def shown(self, message: str, files: Mapping[str, Path]) -> str:
        """What a compiler said, its places named by the real files, which can be edited."""

        def real(match: re.Match[str]) -> str:
            path = files.get(str(as_looked_up(self.cwd, match[2])))
            return (match[1] or "") + (str(path) if path else match[2])

        return _PLACE.sub(real, message)


def _mapped(path: str, own: Sequence[Sequence[str]]) -> str:
    """What a project's own prefix maps make of a path."""
    fits = [pair for pair in own if path.startswith(pair[0])]
    old, new = max(fits, key=lambda pair: pair[0], default=("", ""))
    return new + path[len(old) :]


def read_written(document: Mapping[str, Any]) -> Written:
    """Of a `compile.json` whose `main` and `arguments` are checked; without `as_written` the absolute forms.

    Raises: BundleError `bundle.malformed` where they are not the same paths.
    """
    main, arguments, cwd = document["main"], document["arguments"], document.get("cwd", "/")
    if not isinstance(cwd, str) or not is_canonical(cwd):
        raise malformed("compile.json has no absolute working directory")
    said = document.get("as_written")
    if said is None:
        return Written(Path(cwd), main, tuple(arguments))
    words = said.get("arguments") if isinstance(said, dict) else None
    if not isinstance(words, list) or len(words) != len(arguments) or not isinstance(said.get("main"), str):
        raise malformed("compile.json says nothing sensible of the compile as it was written")
    written = Written(Path(cwd), said["main"], tuple(words))
    if not _is_path(written.main, main, written.cwd):
        raise malformed(f"compile.json has another main file as it was written: {written.main[:200]!r}")
    option = ""
    for word, absolute in zip(words, arguments, strict=True):
        if not isinstance(word, str) or not _is_word(word, absolute, option, written.cwd):
            raise malformed(f"compile.json has another argument as it was written: {str(word)[:200]!r}")
        option = absolute
    return written


def _is_word(word: str, absolute: str, option: str, cwd: Path) -> bool:
    if word == absolute:
        return True
    if option in FILE_OPTIONS and absolute.endswith(f"/{os.path.normpath(word)}"):
        return True  # found through a folder of headers
    if option in DIRECTORY_OPTIONS or option in FILE_OPTIONS:
        return _is_path(word, absolute, cwd)
    return word.startswith("-I") and absolute.startswith("-I") and _is_path(word[2:], absolute[2:], cwd)


def _is_path(written: str, absolute: str, cwd: Path) -> bool:
    return "\0" not in written and not written.startswith("-") and str(as_looked_up(cwd, written)) == absolute
