"""Compile arguments of one's own build: expanded, sorted into what is kept, dropped and refused.

In: the words of one compile command. Out: the device compile arguments that a bundle may carry, all paths absolute and
all of them on the allow-list (`allowed`). Called by `closure` and `find`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kerncap.errors import CompileError
from kerncap.source.allowed import DIRECTORY_OPTIONS, FILE_OPTIONS, first_refused

LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc", "buildcache"})
_DROPPED_WITH_VALUE = frozenset(
    {"-o", "-MF", "-MT", "-MQ", "-MJ", "-L", "-l", "-x", "--offload-arch", "--cuda-gpu-arch", "-Xlinker", "-Xarch_host"}
)
# What only says where results go, how the host is linked or what is printed, or where this machine has its tools.
_DROPPED = re.compile(
    r"(-c|-S|-E|-M|-MM|-MD|-MMD|-MP|-MG|-MV|-v|-###|--hip-link|-fPIC|-fPIE|-fpic|-fpie|-pie|-shared|-static"
    r"|-save-temps.*|--save-temps.*|--offload-arch=.*|--no-offload-arch=.*|--amdgpu-target=.*|--offload-(host|device)-only"
    r"|--cuda-(host|device)-only|--(no-)?gpu-bundle-output|-no-canonical-prefixes|-L.+|-l.+|-Wl,.*|-o.+|-pipe"
    r"|-f(file|debug|macro)-prefix-map=.*|-fdebug-compilation-dir=.*|-fdiagnostics-.*|-f(no-)?color-diagnostics|-x.+"
    r"|-parallel-jobs=.*|-MF.+|-MT.+|-MQ.+|-stdlib=.*|-fuse-ld=.*|-rdynamic|-fno-gpu-rdc|-fansi-escape-codes"
    r"|-flto(=.*)?|-fno-lto|-fno-offload-lto|-ftime-(trace|report).*|-f(no-)?save-optimization-record.*|-fstack-usage"
    r"|--(no-)?offload-compress|--offload-compression-level=.*|--(no-)?offload-new-driver|-foffload-lto(=.*)?"
    r"|-f(no-)?fat-lto-objects|-Qunused-arguments|-Rpass.*|--verbose|-s|-g?z(=.*)?|-fuse-cuid=.*|--cuda-gpu-arch=.*"
    r"|--gcc-install-dir=.*|-Wa,.*"
    r"|-gsplit-dwarf.*|-gno-split-dwarf|-gen-reproducer.*|-f(no-)?crash-diagnostics.*"
    r"|--(rocm|hip|hip-device-lib|rocm-device-lib)-path=.*|--hip-version=.*|-?-rtlib=.*|-?-unwindlib=.*|--driver-mode=.*"
    r")\Z"
)


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
    refused = first_refused(kept)
    if refused is not None:
        raise CompileError(
            f"cannot carry the compile argument {refused}",
            code="compile.unsupported-argument",
            hint="kerncap extract KERNEL ...  # without --source-dir, or of a build without that argument",
        )
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
        elif word.startswith("-mllvm="):
            yield from ("-mllvm", word.removeprefix("-mllvm="))
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
    for option in (*DIRECTORY_OPTIONS, *FILE_OPTIONS):
        if word == option:
            return option, next(words, "")
        if word.startswith(option) and not word.startswith("-include-"):
            return option, word[len(option) :].removeprefix("=")
    return None


def _absolute(path: str, cwd: Path) -> str:
    return os.path.normpath(cwd / path)
