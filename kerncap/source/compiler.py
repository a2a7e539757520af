"""Compilers of HIP device code: what hipcc really runs, which clang this host has, and one device compile.

In: compiler names and allowed arguments. Out: a code object and the list of files that the compile read.
Called by `closure` and `recompile`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kerncap import proc
from kerncap.errors import CompileError, typed

TIMEOUT_S = 900.0
# What a compile must not take from the environment: search paths and options that the bundle would not say, files that
# the compiler would write. Source: clang's command guide, Environment; clang/tools/driver/driver.cpp; GCC's manual.
_REFUSED_VARIABLES = ("CCC_OVERRIDE_OPTIONS", "CCC_ADD_ARGS")
_LEFT_OUT_VARIABLES = frozenset(
    {*_REFUSED_VARIABLES, "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "OBJCPLUS_INCLUDE_PATH"}
    | {"CC_PRINT_OPTIONS", "CC_PRINT_HEADERS", "CC_LOG_DIAGNOSTICS", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"}
)
_SHOWN_LINES = 40
_HIPCC_LINE = re.compile(r"^hipcc-cmd: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Compiler:
    """One clang, with what must be known of it to compile the same way elsewhere."""

    path: str
    version: str
    resource_dir: str
    device_libs: str | None
    device_libs_digest: str | None
    """Of the bitcode that this clang links into device code of the target: names and contents."""

    @property
    def major(self) -> int | None:
        return major_version(self.version)


def major_version(version: str) -> int | None:
    match = re.search(r"clang version (\d{1,4})\b", version)
    return int(match.group(1)) if match else None


def is_hipcc(compiler: str) -> bool:
    return os.path.basename(compiler) in ("hipcc", "hipcc.pl", "hipcc.bin")


def environment() -> dict[str, str]:
    """This process's, without what would change a compile and stand in no compile command."""
    return {name: value for name, value in os.environ.items() if name not in _LEFT_OUT_VARIABLES}


def check_environment() -> None:
    """Raises: CompileError `compile.environment` for a variable that changes a build and cannot be carried."""
    for name in _REFUSED_VARIABLES:
        if os.environ.get(name):
            raise CompileError(
                f"{name} is set, which changes every compile and cannot be carried",
                code="compile.environment",
                hint=f"unset {name}  # and its options into the build's own",
            )


def hipcc_words(words: Sequence[str], cwd: Path) -> list[str]:
    """The clang command that hipcc makes of its arguments; nothing is compiled.

    Raises: CompileError `compile.no-compiler`.
    """
    env = {**environment(), "HIPCC_VERBOSE": "1"}
    done = proc.run([*words, "-###"], timeout_s=60, cwd=cwd, env=env)
    match = _HIPCC_LINE.search(done.text + "\n" + done.error_text)
    if match is None:
        raise CompileError(
            f"{words[0]} does not say which compiler it runs",
            code="compile.no-compiler",
            hint=f"HIPCC_VERBOSE=1 {typed(words[0], '-###')}",
        )
    return [word for word in shlex.split(match.group(1)) if word != "-###"]


def examine(path: str, target: str) -> Compiler:
    """Ask a clang what it is, and which device libraries it links for a target.

    Raises: CompileError `compile.no-compiler`.
    """
    found = shutil.which(path)
    if found is None:
        raise CompileError(
            f"there is no compiler {path}", code="compile.no-compiler", hint=typed("command", "-v", path)
        )
    version = proc.run([found, "--version"], timeout_s=60)
    resources = proc.run([found, "-print-resource-dir"], timeout_s=60)
    first = version.text.split("\n")[0].strip() if version.ok and version.text else ""
    if "clang version" not in first:
        raise CompileError(f"{found} is no clang", code="compile.no-compiler", hint=typed(found, "--version"))
    plan = proc.run(
        [
            *(found, "-###", "-x", "hip", f"--offload-arch={target}", "--cuda-device-only"),
            *("-c", os.devnull, "-o", os.devnull),
        ],
        timeout_s=60,
    )
    libraries = [Path(name) for name in re.findall(r'"-mlink-builtin-bitcode" "([^"]+)"', plan.error_text)]
    folder = str(libraries[0].parent) if libraries else None
    return Compiler(found, first, resources.text.strip(), folder, _digest(libraries))


def _digest(libraries: Sequence[Path]) -> str | None:
    whole = hashlib.sha256()
    for path in libraries:
        whole.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return f"sha256:{whole.hexdigest()}" if libraries else None


def find_clang(major: int | None, target: str) -> Compiler:
    """The clang of the wanted major version if this host has it, else any; never a path that a bundle names.

    Raises: CompileError `compile.no-compiler`.
    """
    names = [f"/usr/lib/llvm-{major}/bin/clang++", f"clang++-{major}"] if major else []
    names += ["/opt/rocm/llvm/bin/clang++", "amdclang++", "clang++"]
    names += [str(p) for p in sorted(Path("/usr/lib").glob("llvm-*/bin/clang++"), reverse=True)]
    for name in names:
        if shutil.which(name):
            return examine(name, target)
    raise CompileError(
        "this host has no clang",
        code="compile.no-compiler",
        hint="kerncap recompile BUNDLE -o FILE  # without --trust: in the sandbox",
    )


def compile_device(
    clang: str,
    arguments: Sequence[str],
    main: str | os.PathLike[str],
    target: str,
    out: Path,
    *,
    cwd: Path | None,
    depfile: Path | None = None,
    overlay: Path | None = None,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """One translation unit to one raw code object.

    Raises: CompileError `compile.failed`, with what the compiler said; `compile.timeout`.
    """
    argv = [clang, "-x", "hip", f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output"]
    argv += ["-fno-crash-diagnostics", *arguments]  # which would be left behind in the folder for temporary files
    if depfile is not None:
        # Not -MD -MF: clang 21 with --cuda-device-only does not pass the file on (clang 17 does).
        for word in ("-dependency-file", str(depfile), "-MT", "kernel", "-sys-header-deps"):
            argv += ["-Xclang", word]
    if overlay is not None:
        argv += ["-ivfsoverlay", str(overlay)]
    argv += ["-o", str(out), str(main)]
    done = proc.run(argv, timeout_s=timeout_s, cwd=cwd, env=environment(), keep_bytes=1 << 20)
    if done.timed_out:
        raise CompileError(
            f"{main} is not compiled after {timeout_s:g} s", code="compile.timeout", hint=f"--timeout {timeout_s * 4:g}"
        )
    if not done.ok or not out.is_file():
        raise CompileError(
            f"{main} does not compile: {os.path.basename(clang)} {_how_it_ended(done)}\n{_beginning(done.error_text)}",
            code="compile.failed",
            hint=typed("edit", Path(main)),
        )


def _how_it_ended(done: proc.Completed) -> str:
    """Out of memory is told by a signal, by the driver of it, or by LLVM's own words."""
    words = ("execute command: Killed", "out of memory", "std::bad_alloc")
    if done.returncode == -signal.SIGKILL or any(word in done.error_text for word in words):
        return "needs more memory than it may have"
    return f"exited with {done.returncode}"


def _beginning(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines[:_SHOWN_LINES]) + ("\n..." if len(lines) > _SHOWN_LINES else "")


def has_kernel(code_object: Path, mangled: str) -> bool:
    """The code object has the kernel descriptor symbol of that name."""
    return b"\0" + mangled.encode() + b".kd\0" in code_object.read_bytes()


def parse_depfile(text: str) -> list[str]:
    """The prerequisites of a Makefile rule as clang writes it, unescaped.

    Blanks and line ends part them. A tabulator, U+00A0 and the like are part of a name, and are not escaped.
    """
    body = text.replace("\\\n", " ").split(":", 1)
    if len(body) != 2:
        return []
    words = re.findall(r"(?:\\.|[^ \n\\])+", body[1].split("\n", 1)[0])
    return [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words]
