"""Compile arguments of one's own build: expanded, sorted into what is kept, dropped and refused.

In: the words of one compile command. Out: the device compile arguments that a bundle may carry, all of them on the
allow-list (`allowed`), their paths absolute and as they were written. Called by `closure` and `find`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kerncap.bundle.files import read_named
from kerncap.errors import CompileError
from kerncap.source.allowed import DIRECTORY_OPTIONS, FILE_OPTIONS, first_refused
from kerncap.source.paths import as_found, as_looked_up

LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc", "buildcache"})
_DROPPED_WITH_VALUE = frozenset(
    {"-o", "-MF", "-MT", "-MQ", "-MJ", "-L", "-l", "-x", "--offload-arch", "--cuda-gpu-arch", "-Xlinker", "-Xarch_host"}
)
# What only says where results go, how the host is linked or what is printed, or where this machine has its tools.
_DROPPED = re.compile(
    r"(-c|-S|-E|-M|-MM|-MD|-MMD|-MP|-MG|-MV|-v|-###|--hip-link|-fPIC|-fPIE|-fpic|-fpie|-pie|-shared|-static"
    r"|-save-temps.*|--save-temps.*|--offload-arch=.*|--no-offload-arch=.*|--amdgpu-target=.*|--offload-(host|device)-only"
    r"|--cuda-(host|device)-only|--(no-)?gpu-bundle-output|-no-canonical-prefixes|-L.+|-l.+|-Wl,.*|-o.+|-pipe"
    r"|-fdebug-prefix-map=.*|-fdebug-compilation-dir=.*|-fdiagnostics-.*|-f(no-)?color-diagnostics|-x.+"
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
    """A name to look for on the path, or an absolute path."""
    kept: tuple[str, ...]
    """With the absolute paths under which an overlay shows them."""
    written: tuple[str, ...]
    """The same words with the paths as they were written, relative to the working directory or not."""
    main: Path
    main_written: str
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
            inner = shlex.split(read_named(path).decode("utf-8"))
        except (OSError, ValueError) as error:
            raise CompileError(
                f"the response file {path} cannot be read: {error}", code="compile.response-file"
            ) from None
        out += expand_response_files(inner, cwd, depth + 1)
    return out


def without_launcher(words: Sequence[str], cwd: Path) -> list[str]:
    """The command of the compiler itself, response files expanded; one named with a folder lies there, seen from `cwd`.

    Raises: CompileError `compile.response-file`.
    """
    rest = list(words)
    while len(rest) > 1 and os.path.basename(rest[0]) in LAUNCHERS:
        rest.pop(0)
    compiler = str(as_found(cwd / rest[0])) if "/" in rest[0] else rest[0]
    return [compiler, *expand_response_files(rest[1:], cwd)]


def take_apart(words: Sequence[str], cwd: Path, main: Path) -> Words:
    """Sort the words of a compile command; `main` is the file that it compiles, as the system finds it.

    Raises: CompileError `compile.unsupported-argument`, `compile.response-file`.
    """
    compiler, *rest = without_launcher(words, cwd)
    output: Path | None = None
    main_written = str(main)
    for i, word in enumerate(rest):
        if word == "-o" and i + 1 < len(rest):
            output = cwd / rest[i + 1]
        elif _is_main(word, cwd, main):
            main_written = word
    pairs = list(_keep(rest, cwd, main))
    kept = [word for word, _ in pairs]
    refused = first_refused(kept)
    if refused is not None:
        raise CompileError(
            f"cannot carry the compile argument {refused}",
            code="compile.unsupported-argument",
            hint="kerncap extract KERNEL ...  # without --source-dir, or of a build without that argument",
        )
    written = tuple(word for _, word in pairs)
    return Words(compiler, tuple(kept), written, as_looked_up(cwd, main_written), main_written, output)


def with_includes_found(words: Words, cwd: Path, read: Sequence[str]) -> Words:
    """With the absolute paths of `-include` files as the compiler found them: beside it, or through its folders.

    `read`: the files that the compile read, in its order. The first that ends with the name is it: files of `-include`
    are read before all others.
    """
    kept = list(words.kept)
    for i, option in enumerate(kept[:-1]):
        if option not in FILE_OPTIONS or as_found(cwd / words.written[i + 1]).is_file():
            continue
        name = os.path.normpath(words.written[i + 1])
        found = next((path for path in read if os.path.normpath(path).endswith(f"/{name}")), None)
        if found is not None:
            kept[i + 1] = str(as_looked_up(cwd, found))
    return replace(words, kept=tuple(kept))


def from_environment(environment: Mapping[str, str]) -> list[str]:
    """Include directories that the compiler takes from the environment, as the arguments that do the same.

    Source: clang's command guide, Environment: CPATH is searched after `-I`, CPLUS_INCLUDE_PATH after `-isystem`; an
    empty entry is the working directory. C_INCLUDE_PATH is for C, and HIP is C++.
    """
    places = {"CPATH": ["-I"], "CPLUS_INCLUDE_PATH": ["-isystem"]}
    return [
        word
        for variable, option in places.items()
        for folder in (environment[variable].split(":") if environment.get(variable) else ())
        for word in (*option, folder or ".")
    ]


def _is_main(word: str, cwd: Path, main: Path) -> bool:
    return not word.startswith("-") and os.path.realpath(cwd / word) == os.path.realpath(main)


def _keep(rest: Sequence[str], cwd: Path, main: Path) -> Iterator[tuple[str, str]]:
    """(word with an absolute path, word as it was written)"""
    words = iter(rest)
    for word in words:
        if word in _DROPPED_WITH_VALUE:
            next(words, None)
        elif word in ("-mllvm", "-Xclang", "-D", "-U"):
            value = next(words, "")
            if word in ("-D", "-U"):
                yield word + value, word + value
            else:
                yield from ((word, word), (value, value))
        elif word.startswith("-mllvm="):
            value = word.removeprefix("-mllvm=")
            yield from (("-mllvm", "-mllvm"), (value, value))
        elif word.startswith("-ffile-prefix-map="):  # it is three in one, of which one shows in the code
            same = word.replace("-ffile-", "-fmacro-", 1)
            yield same, same
        elif path := _path_value(word, words):
            option, value = path
            absolute = str(as_looked_up(cwd, value))
            if option == "-I":
                yield option + absolute, option + value
            else:
                yield from ((option, option), (absolute, value))
        elif _is_main(word, cwd, main) or _DROPPED.match(word):
            continue
        else:
            yield word, word


def _path_value(word: str, words: Iterator[str]) -> tuple[str, str] | None:
    for option in (*DIRECTORY_OPTIONS, *FILE_OPTIONS):
        if word == option:
            return option, next(words, "")
        if word.startswith(option) and not word.startswith("-include-"):
            return option, word[len(option) :].removeprefix("=")
    return None
