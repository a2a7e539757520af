"""Compile arguments: expanded, sorted into what is kept, dropped and refused; one allow-list for both directions.

In: the words of one compile command. Out: the device compile arguments that a bundle may carry, all paths absolute.
Called by `closure` (own sources) and again by `recompile` (a stranger's bundle). A bundle's arguments reach a compiler
only through `check_allowed`: no plugin, no `@file`, no output, no linker, no shell.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kerncap.errors import CompileError

LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc", "buildcache"})
_PATH_OPTIONS = ("-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-iprefix", "-iwithprefix")
_DROPPED_WITH_VALUE = frozenset({"-o", "-MF", "-MT", "-MQ", "-MJ", "-L", "-l", "-x", "--offload-arch", "-Xlinker"})
_DROPPED = re.compile(
    r"(-c|-S|-E|-M|-MM|-MD|-MMD|-MP|-MG|-MV|-v|-###|--hip-link|-fPIC|-fPIE|-fpic|-fpie|-pie|-shared|-static"
    r"|-save-temps.*|--save-temps.*|--offload-arch=.*|--no-offload-arch=.*|--amdgpu-target=.*|--offload-(host|device)-only"
    r"|--cuda-(host|device)-only|--(no-)?gpu-bundle-output|-no-canonical-prefixes|-L.+|-l.+|-Wl,.*|-o.+|-pipe"
    r"|-f(file|debug|macro)-prefix-map=.*|-fdebug-compilation-dir=.*|-fdiagnostics-.*|-fcolor-diagnostics|-x.+"
    r"|-parallel-jobs=.*|-MF.+|-MT.+|-MQ.+|-stdlib=.*|-fuse-ld=.*|-rdynamic|-fno-gpu-rdc|-fansi-escape-codes)\Z"
)
_NAMED_REFUSALS = (
    (re.compile(r"-fgpu-rdc\Z"), "relocatable device code (-fgpu-rdc): one translation unit is not the whole kernel"),
    (re.compile(r"-f(pass-)?plugin|-load|-Xclang\Z.*load"), "compiler plugins"),
    (re.compile(r"@"), "response files inside a bundle"),
    (re.compile(r"-W[pa],"), "arguments for the preprocessor or assembler program"),
    (re.compile(r"-fmodule|-fprebuilt|-fimplicit-module|-include-pch|-fpch"), "modules and precompiled headers"),
    (re.compile(r"-fprofile|-fauto-profile|-fcs-profile|-fmemory-profile"), "profile data"),
    (re.compile(r"-(B|specs|gcc-toolchain|-gcc-toolchain|-sysroot|isysroot|resource-dir|ccc)"), "another tool chain"),
)
_ALLOWED = re.compile(
    r"(-[DU][A-Za-z_]\w*(\([^)]*\))?(=.*)?"
    r"|-std=[a-z0-9+:]+|-O[0-3sz]?|-Ofast|-g[a-z0-9=-]*|-w|-W[a-zA-Z0-9+=_#-]*|-pedantic(-errors)?|-pthread|-ansi"
    r"|-f[a-z0-9-]+(=[A-Za-z0-9_.,:+-]*)?|-m(?!llvm\b)[a-z0-9-]+(=[A-Za-z0-9_.,:+-]*)?"
    r"|--gpu-max-threads-per-block=[0-9]+|-no-hip-rt|-nogpuinc|-nogpulib|-munsafe-fp-atomics)\Z",
    re.DOTALL,
)
_MLLVM = re.compile(
    r"-?-(amdgpu|inline|unroll|slp|enable|disable|vectorize|misched|structurizecfg)[A-Za-z0-9-]*(=[\w.-]+)?\Z"
)
_XCLANG = re.compile(r"-f[a-z0-9-]+(=[A-Za-z0-9_.,:+-]*)?\Z")


@dataclass(frozen=True)
class Words:
    """One compile command, taken apart."""

    compiler: str
    kept: tuple[str, ...]
    main: Path
    output: Path | None


def split_command(text: str) -> list[str]:
    return shlex.split(text)


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
        if depth > 8:
            raise CompileError(f"response files nest too deeply at {path}", code="compile.response-file")
        try:
            inner = shlex.split(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise CompileError(
                f"the response file {path} cannot be read: {error}", code="compile.response-file"
            ) from None
        out += expand_response_files(inner, cwd, depth + 1)
    return out


def take_apart(words: Sequence[str], cwd: Path, main: Path) -> Words:
    """Sort the words of a compile command.

    Raises: CompileError `compile.unsupported-argument`, `compile.response-file`.
    """
    rest = list(words)
    while len(rest) > 1 and os.path.basename(rest[0]) in LAUNCHERS:
        rest.pop(0)
    compiler, rest = rest[0], expand_response_files(rest[1:], cwd)
    output: Path | None = None
    for i, word in enumerate(rest):
        if word == "-o" and i + 1 < len(rest):
            output = cwd / rest[i + 1]
    kept = list(_keep(rest, cwd, os.path.normpath(main)))
    check_allowed(kept)
    return Words(compiler, tuple(kept), Path(os.path.normpath(main)), output)


def _keep(rest: Sequence[str], cwd: Path, main: str) -> Iterator[str]:
    words = iter(rest)
    for word in words:
        if word in _DROPPED_WITH_VALUE:
            next(words, None)
        elif word in ("-mllvm", "-Xclang", "-D", "-U"):
            value = next(words, "")
            if word in ("-D", "-U"):
                yield word + value
            else:
                yield from (word, value)
        elif path := _path_value(word, words):
            option, value = path
            yield option + _absolute(value, cwd) if option == "-I" else option
            if option != "-I":
                yield _absolute(value, cwd)
        elif os.path.normpath(cwd / word) == main or _DROPPED.match(word):
            continue
        else:
            yield word


def _path_value(word: str, words: Iterator[str]) -> tuple[str, str] | None:
    for option in _PATH_OPTIONS:
        if word == option:
            return option, next(words, "")
        if word.startswith(option) and not word.startswith("-include-"):
            return option, word[len(option) :].removeprefix("=")
    return None


def _absolute(path: str, cwd: Path) -> str:
    return os.path.normpath(cwd / path)


def check_allowed(words: Sequence[str]) -> None:
    """Refuse, by name, whatever a bundle may not hand to a compiler.

    Raises: CompileError `compile.unsupported-argument`.
    """
    rest = iter(words)
    for word in rest:
        if word in _PATH_OPTIONS:
            value = next(rest, "")
            if not os.path.isabs(value):
                raise _refuse(f"{word} {value}", "a relative path")
        elif word.startswith("-I"):
            if not os.path.isabs(word[2:]):
                raise _refuse(word, "a relative path")
        elif word == "-mllvm":
            value = next(rest, "")
            if not _MLLVM.match(value):
                raise _refuse(f"-mllvm {value}", None)
        elif word == "-Xclang":
            value = next(rest, "")
            if not _XCLANG.match(value) or any(p.match(value) for p, _ in _NAMED_REFUSALS):
                raise _refuse(f"-Xclang {value}", None)
        else:
            for pattern, why in _NAMED_REFUSALS:
                if pattern.match(word):
                    raise _refuse(word, why)
            if not _ALLOWED.match(word):
                raise _refuse(word, None)


def _refuse(what: str, why: str | None) -> CompileError:
    reason = f": {why}" if why else ", which is not on the list of allowed ones"
    return CompileError(
        f"cannot carry the compile argument {what!r}{reason}",
        code="compile.unsupported-argument",
        hint="compile the kernel's file without it, or capture without --source-dir",
    )
