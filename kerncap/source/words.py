"""Words of a compile command before clang sorts them: launchers, response files, other spellings of options.

In: a command as a compile database has it. Out: the compiler's own words. Called by `arguments`, `closure`, `database`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from kerncap.bundle.files import read_named
from kerncap.errors import CompileError
from kerncap.source.paths import as_found

LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc", "buildcache", "gomacc"})
_COMPILER = re.compile(r"(hipcc|amdclang(\+\+)?|clang(\+\+)?)(-\d+|\.pl|\.bin)?\Z")
_VARIABLE = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
# Of the variables that a command may set, those which only a launcher reads, or which are for messages.
_HARMLESS = re.compile(r"S?CCACHE_|DISTCC_|ICECC_|BUILDCACHE_|LC_|(LANG|LANGUAGE|TERM|TMPDIR|CLICOLOR\w*)\Z")
_DEPTH = 8
# Source: clang's Options.td, the aliases with two dashes. Those of a value stand with `=` or before it.
_SPELLINGS = {
    "--std": "-std=",
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--include-directory": "-I",
    "--include": "-include",
    "--imacros": "-imacros",
    "--optimize": "-O",
    "--output": "-o",
}
_SAME = {"--compile": "-c", "--debug": "-g", "--optimize": "-O", "--pedantic": "-pedantic", "--ansi": "-ansi"}
# Source: llvm/lib/Support/CommandLine.cpp, TokenizeGNUCommandLine. No shell: a backslash escapes in any quotes.
_PIECE = re.compile(
    r"""\\(?P<escaped>.)|'(?P<single>(?:\\.|[^'])*)'?|"(?P<double>(?:\\.|[^"])*)"?|(?P<plain>[^ \t\r\n\0\\'"]+|\\\Z)"""
    r"""|(?P<blank>[ \t\r\n\0]+)""",
    re.DOTALL,
)


def split_command(text: str) -> list[str]:
    return shlex.split(text)


def split_response(text: str) -> list[str]:
    """The words of a response file, as clang reads it."""
    words: list[str] = []
    word = ""
    for piece in _PIECE.finditer(text):
        if piece.lastgroup != "blank":
            quoted = piece.lastgroup in ("single", "double")
            found = piece[piece.lastgroup or 0]
            word += re.sub(r"\\(.)", r"\1", found, flags=re.DOTALL) if quoted else found
        elif word:
            words.append(word)
            word = ""
    return [*words, word] if word else words


def expand_response_files(words: Sequence[str], cwd: Path, depth: int = 0) -> list[str]:
    """Replace each `@file` by its words.

    Raises: CompileError `compile.response-file`.
    """
    out: list[str] = []
    for word in words:
        if not word.startswith("@"):
            out.append(word)
            continue
        path = cwd / word[1:]
        if depth > _DEPTH:
            raise CompileError(f"response files nest too deeply at {path}", code="compile.response-file")
        try:
            inner = split_response(read_named(path).decode("utf-8-sig"))
        except (OSError, ValueError) as error:
            raise CompileError(
                f"the response file {path} cannot be read: {error}", code="compile.response-file"
            ) from None
        out += expand_response_files(inner, cwd, depth + 1)
    return out


def without_launcher(words: Sequence[str], cwd: Path) -> list[str]:
    """The command of the compiler itself, response files expanded; one named with a folder lies there, seen from `cwd`.

    Raises: CompileError `compile.response-file`, `compile.launcher`.
    """
    rest = _after_launchers(list(words))
    compiler = str(as_found(cwd / rest[0])) if "/" in rest[0] else rest[0]
    return [compiler, *expand_response_files(rest[1:], cwd)]


def usual_spellings(words: Sequence[str]) -> Iterator[str]:
    """`--std=c++17` is `-std=c++17`: options with two dashes as those that the rest of this package knows."""
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        option = _SPELLINGS.get(name)
        if word in _SAME:
            yield _SAME[word]
        elif option is None:
            yield word
        else:
            value = value if equals else next(rest, "")
            yield from ((option, value) if option in ("-include", "-imacros", "-o") else (option + value,))


def _after_launchers(words: list[str]) -> list[str]:
    rest = words
    while len(rest) > 1:
        name = os.path.basename(rest[0])
        if name in LAUNCHERS:  # ccache takes settings before the compiler, as NAME=VALUE
            rest = rest[1:]
            while len(rest) > 1 and _VARIABLE.match(rest[0]):
                rest = rest[1:]
        elif name == "env":
            rest = _after_variables(rest[1:])
        elif name.startswith("cmake") and rest[1:3] == ["-E", "env"]:
            rest = _after_variables(rest[3:])
        elif name == "time" or (name.startswith("cmake") and rest[1:3] == ["-E", "time"]):
            rest = rest[1 if name == "time" else 3 :]
        elif name == "nice":
            rest = rest[3 if rest[1] == "-n" else 2 if rest[1].startswith("-") else 1 :]
        else:
            break
    if not rest:
        raise _refused(words, "names no compiler")
    _check_compiler(rest, words)
    return rest


def _after_variables(rest: list[str]) -> list[str]:
    """What follows the variables that `env` sets.

    Raises: CompileError `compile.launcher` for one that may change the compile, and for options of `env`.
    """
    while rest and (match := _VARIABLE.match(rest[0])):
        if not _HARMLESS.match(match[1]):
            raise _refused(rest, f"sets {match[1]}, which may change the compile and cannot be carried")
        rest = rest[1:]
    rest = rest[1:] if rest[:1] == ["--"] else rest
    if rest and rest[0].startswith("-"):
        raise _refused(rest, f"has {rest[0]!r} before the compiler, which cannot be carried")
    return rest


def _check_compiler(rest: Sequence[str], words: Sequence[str]) -> None:
    """A program of another name may well be a compiler; not when one follows it, at once or behind `--`."""
    if _COMPILER.match(os.path.basename(rest[0])):
        return
    following = [rest[1:2], rest[rest.index("--") + 1 :][:1] if "--" in rest else []]
    after = next((w[0] for w in following if w and _COMPILER.match(os.path.basename(w[0]))), None)
    if after is not None:
        raise _refused(words, f"begins with {rest[0]!r}, a launcher that kerncap does not know, before {after!r}")


def _refused(words: Sequence[str], why: str) -> CompileError:
    return CompileError(
        f"the compile command {why}",
        code="compile.launcher",
        hint="edit compile_commands.json  # so that the command begins with the compiler",
    )
