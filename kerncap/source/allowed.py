"""The allow-list of compile arguments: everything that a bundle may hand to a compiler, each option by its name.

In: words of a compile command, paths absolute. Out: the first word that is not on the list, and why. Called by
`arguments` (own sources) and by `recompile` (a stranger's bundle). What is listed changes the code that is generated or
what is diagnosed; nothing listed names a file to write, a program to run, or a file to read but by the include options.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

DIRECTORY_OPTIONS = ("-I", "-isystem", "-iquote", "-idirafter")
FILE_OPTIONS = ("-include", "-imacros")

# Source: clang's user manual and `clang -cc1 --help` of 17 and 21. On and off (`no-`) alike.
_SWITCHES = """
access-control addrsig aligned-allocation aligned-new allow-half-arguments-and-returns approx-func asm
associative-math assume-sane-operator-new asynchronous-unwind-tables blocks builtin caret-diagnostics char8_t
color-diagnostics common complete-member-pointers constant-cfstrings convergent-functions coroutines coroutines-ts
cuda-approx-transcendentals cuda-flush-denormals-to-zero cuda-short-ptr cx-fortran-rules cx-limited-range
cxx-exceptions data-sections delayed-template-parsing delete-null-pointer-checks direct-access-external-data
elide-constructors elide-type escaping-block-tail-calls exceptions experimental-library fast-math finite-loops
finite-math-only fixed-point force-emit-vtables freestanding function-sections gnu-inline-asm gnu-keywords
gnu89-inline gpu-allow-device-init gpu-approx-transcendentals gpu-defer-diag gpu-exclude-wrong-side-overloads
gpu-flush-denormals-to-zero gpu-sanitize hip-fp32-correctly-rounded-divide-sqrt hip-kernel-arg-name hip-new-launch-api
honor-infinities honor-infs honor-nans hosted ident implicit-float implicit-templates inline inline-functions
inline-functions-called-once inline-hint-functions int-const-init jump-tables keep-static-consts
lax-vector-conversions limit-debug-info math-errno merge-all-constants merge-constants ms-compatibility ms-extensions
native-half-arguments-and-returns native-half-type new-infallible offload-implicit-host-device-templates
offload-uniform-block omit-frame-pointer openmp openmp-simd operator-names optimize-sibling-calls pascal-strings
permissive pic PIC pie PIE plt protect-parens reciprocal-math register-global-dtors-with-atexit
relaxed-template-template-args rounding-math rtti rtti-data semantic-interposition short-enums short-wchar show-column
signed-char signed-wchar signed-zeros sized-deallocation slp-vectorize spell-checking split-cold-code
stack-clash-protection stack-protector stack-protector-all stack-protector-strong standalone-debug strict-aliasing
strict-enums strict-float-cast-overflow strict-overflow strict-return strict-vtable-pointers threadsafe-statics
trapping-math trapv tree-slp-vectorize tree-vectorize unique-section-names unroll-all-loops unroll-loops
unsafe-math-optimizations unsigned-char unwind-tables use-cxa-atexit use-init-array vectorize
visibility-inlines-hidden visibility-inlines-hidden-static-local-var wrapv zero-initialized-in-bss
"""

# Each with the values that it may have.
_VALUES = {
    "ffp-contract": "on|off|fast|fast-honor-pragmas",
    "ffp-model": "precise|strict|fast|aggressive",
    "ffp-eval-method": "source|double|extended",
    "ffp-exception-behavior": "ignore|maytrap|strict",
    "fdenormal-fp-math(-f32)?": "[a-z,-]+",
    "fcomplex-arithmetic": "full|improved|promoted|basic",
    "fexcess-precision": "standard|fast|none",
    "f(no-)?sanitize|f(no-)?sanitize-(trap|recover)": "[a-z,-]+",
    "fvisibility": "default|hidden|protected|internal",
    "ftemplate-depth|fconstexpr-(depth|steps)|fbracket-depth|ferror-limit|finline-max-stacksize": "[0-9]+",
    "f(macro|template|constexpr)-backtrace-limit|fmessage-length|ftabstop|fspell-checking-limit": "[0-9]+",
    "falign-(functions|loops)|fmax-type-align|fpack-struct|fstrict-flex-arrays": "[0-9]+",
    "ftrivial-auto-var-init": "zero|pattern|uninitialized",
    "fzero-call-used-regs": "[a-z-]+",
    "fclang-abi-compat|fgnuc-version|fms-compatibility-version": "[0-9.]+|latest",
    "flax-vector-conversions": "none|integer|all",
    "fcf-protection": "none|full|branch|return",
    "fopenmp": "libomp|libgomp|libiomp5",
    "fopenmp-version": "[0-9]+",
    "fgpu-default-stream": "legacy|per-thread",
    "f(input|exec)-charset": "[A-Za-z0-9_-]+",
    "fveclib": "[A-Za-z-]+",
    "mcode-object-version": "[0-9]+|none",
    "mprintf-kind": "hostcall|buffered",
    "march|mcpu|mtune": "[A-Za-z0-9_.+-]+",
    "mprefer-vector-width|mstack-alignment": "[0-9]+|none",
    "-gpu-max-threads-per-block": "[0-9]+",
}

_MACHINE = (
    r"32|64|x32|cumode|tgsplit|wavefrontsize64|unsafe-fp-atomics|amdgpu-ieee|code-object-version|relax|relaxed-simd"
    r"|sse[0-9.a]*|ssse3|avx[0-9a-z-]*|aes|adx|amx-[a-z0-9-]+|bmi2?|clflushopt|clwb|crc32|cx16|f16c|fma4?|fsgsbase|fxsr|gfni"
    r"|lzcnt|mmx|movbe|pclmul|popcnt|prfchw|rdrnd|rdseed|sahf|sha|tbm|vaes|vpclmulqdq|xop|xsave[a-z]*|lse|outline-atomics"
    r"|red-zone|retpoline|omit-leaf-frame-pointer|stackrealign|implicit-float|global-merge|ms-bitfields"
)

_ALLOWED = re.compile(
    r"(-[DU][A-Za-z_]\w*(\([^)\0]*\))?(=[^\0]*)?"
    r"|-std=[a-z0-9+:]+|-O[0-4sgz]?|-Ofast|-w|-W[a-zA-Z0-9+=_#-]*|-pedantic(-errors)?|-pthread|-ansi|-undef"
    r"|-no-hip-rt|-nogpuinc|-nogpulib|-nostdinc|-nostdinc\+\+"
    r"|-g[0-3]?|-ggdb[0-3]?|-gdwarf(-[2-5])?|-gline-(tables|directives)-only|-gno-[a-z-]+|-g(column-info|strict-dwarf)"
    rf"|-f(no-)?({'|'.join(map(re.escape, _SWITCHES.split()))})"
    r"|-fno-gpu-rdc|-fno-builtin-[a-z0-9_]+|-ftemplate-depth-[0-9]+|-fmacro-prefix-map=[^=\0]+=[^\0]*"
    rf"|-m(no-)?({_MACHINE})"
    rf"|{'|'.join(f'-({name})=({values})' for name, values in _VALUES.items())}"
    r")\Z",
    re.DOTALL | re.ASCII,
)

# Backend options are switches and numbers, so that none can name a file; the two with a word choose a scheduler.
_MLLVM = re.compile(
    r"-?-((amdgpu|inline|unroll|slp|enable|disable|vectorize|misched|structurizecfg|lsr|greedy|regalloc|vectorizer|gpu|si)"
    r"(-[a-z0-9]+)*(=([0-9]+|true|false))?|(misched|amdgpu-sched-strategy)=[a-z][a-z0-9-]*)\Z",
    re.ASCII,
)

_NAMED = (
    (re.compile(r"-fgpu-rdc\Z"), "relocatable device code (-fgpu-rdc): one translation unit is not the whole kernel"),
    (re.compile(r"-f(pass-)?plugin|-load|-?-plugin"), "compiler plugins"),
    (re.compile(r"@"), "a response file"),
    (re.compile(r"-W[pal],"), "arguments for the preprocessor, assembler or linker"),
    (re.compile(r"-X"), "arguments for a part of the tool chain"),
    (
        re.compile(r"-fmodule|-fprebuilt|-fimplicit-module|-include-pch|-fpch|-gmodules"),
        "modules and precompiled headers",
    ),
    (re.compile(r"-fprofile|-fauto-profile|-fcs-profile|-fmemory-profile|--coverage|-ftest-cov"), "profile data"),
    (
        re.compile(
            r"--?(B|config|specs|gcc-|sysroot|isysroot|resource-dir|ccc|wrapper|rocm-|hip-|rtlib|target|fuse-ld)|-B"
        ),
        "another tool chain",
    ),
    (
        re.compile(
            r"-o|-M[A-Z]|--?save-temps|--?serialize-diag|-ftime-|-fsave-opt|-foptimization-record|-fcrash|-gen-repro"
            r"|-fproc-stat|-gsplit|-fstack-usage|-dumpdir|-fdump"
        ),
        "an output file",
    ),
    (re.compile(r"[^-]|\Z|-\Z"), "an input"),
)


@dataclass(frozen=True)
class Refused:
    """What is not on the list, as it was written, and why; `why` is None when nothing is known of it."""

    what: str
    why: str | None = None

    def __str__(self) -> str:
        return f"{self.what!r}: " + (self.why or "it is not on the list of allowed ones")


def first_refused(words: Sequence[str]) -> Refused | None:
    """The first argument that may not reach a compiler; None when all may."""
    rest = iter(words)
    for word in rest:
        if word in (*DIRECTORY_OPTIONS, *FILE_OPTIONS):
            value = next(rest, "")
            if not is_canonical(value):
                return Refused(f"{word} {value}", "no absolute path")
        elif word.startswith("-I"):
            if not is_canonical(word[2:]):
                return Refused(word, "no absolute path")
        elif word in ("-mllvm", "-Xclang"):
            value = next(rest, "")
            allowed = _MLLVM.match(value) if word == "-mllvm" else value.startswith("-f") and _ALLOWED.match(value)
            if not allowed:
                return Refused(f"{word} {value}", _why(value))
        elif not _ALLOWED.match(word):
            return Refused(word, _why(word))
    return None


def is_canonical(path: str) -> bool:
    """Absolute, and without `.`, `..` and doubled slashes."""
    return os.path.isabs(path) and os.path.normpath(path) == path and not path.startswith("//") and "\0" not in path


def _why(word: str) -> str | None:
    return next((why for pattern, why in _NAMED if pattern.match(word)), None)
