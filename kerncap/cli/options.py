"""Options that every command has, and how a command is registered: in one shape, with an example in its help.

Called by every `kerncap/cli/<command>.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from kerncap.cli import completion
from kerncap.errors import UsageError, typed

if TYPE_CHECKING:
    from kerncap.source.closure import SourceRequest

_SEALED = "oci:DIR[:tag][@digest] or FILE.kcap.tar"
_LOCAL = "oci:DIR[:tag][@digest], FILE.kcap.tar or a reproducer directory"
_REFERENCE = "host[:port]/name[:tag][@digest]"
LocalBundle = Annotated[str, typer.Argument(metavar="BUNDLE", help=f"{_LOCAL}.", autocompletion=completion.bundles)]
AnyBundle = Annotated[
    str, typer.Argument(metavar="BUNDLE", help=f"{_LOCAL}, or {_REFERENCE}.", autocompletion=completion.bundles)
]
SealedBundle = Annotated[str, typer.Argument(metavar="BUNDLE", help=f"{_SEALED}.", autocompletion=completion.bundles)]
SealedOrRemote = Annotated[
    str, typer.Argument(metavar="BUNDLE", help=f"{_SEALED}, or {_REFERENCE}.", autocompletion=completion.bundles)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout instead of text.")]
VerboseOption = Annotated[
    int, typer.Option("-v", "--verbose", count=True, help="Say more on stderr; -vv for everything.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")]
DeviceOption = Annotated[
    str, typer.Option("--device", help="auto, gpu[:N] or vgpu:TARGET[,bar=large].", autocompletion=completion.devices)
]
GpuAccessOption = Annotated[
    str,
    typer.Option(
        "--gpu-access",
        help="How the container gets at a GPU: auto, devices, cdi (amd.com/gpu=N) or runtime (amd).",
        autocompletion=completion.gpu_accesses,
    ),
]
PrintOption = Annotated[
    str | None,
    typer.Option(
        "--print",
        metavar="FORM",
        help="Run nothing, print how to: docker, podman, apptainer, kubernetes or slurm.",
        autocompletion=completion.print_forms,
    ),
]
ApplicationDeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="vgpu:TARGET[,bar=large] or gpu[:N]; default: the GPU that is here.",
        autocompletion=completion.devices,
    ),
]
LauncherOption = Annotated[
    str | None,
    typer.Option(
        "--launcher",
        metavar="'CMD ...'",
        help="Put this command in front of kerncap-replay: strace, gdb --args, perf record, rocprofv3 --, rocjitsu.",
    ),
]
# Which dispatch, for the commands that capture one.
WHICH_DISPATCH = "Which dispatch"
KernelArgument = Annotated[
    str, typer.Argument(metavar="KERNEL", help="Base name, demangled name, glob, regex or mangled name (--match).")
]
MatchOption = Annotated[
    str,
    typer.Option(
        "--match",
        help="How KERNEL names it: auto, exact (whole demangled name), base, glob, regex or mangled.",
        autocompletion=completion.matches,
        rich_help_panel=WHICH_DISPATCH,
    ),
]
DispatchOption = Annotated[
    int,
    typer.Option(
        "--dispatch",
        "--launch-skip",
        help="Which of the dispatches that match, counted from 0.",
        rich_help_panel=WHICH_DISPATCH,
    ),
]
GridOption = Annotated[
    str | None,
    typer.Option(
        "--grid", metavar="X[xYxZ]", help="Only with this grid, in workitems.", rich_help_panel=WHICH_DISPATCH
    ),
]
WorkgroupOption = Annotated[
    str | None,
    typer.Option("--workgroup", metavar="X[xYxZ]", help="Only with this workgroup.", rich_help_panel=WHICH_DISPATCH),
]
TrialsOption = Annotated[
    bool,
    typer.Option(
        "--trials", help="Dispatches of a Triton autotuner's trials count as well.", rich_help_panel=WHICH_DISPATCH
    ),
]
WhenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--when",
        metavar="CONDITION",
        help="Only one that meets this: nan, inf, fault, slower-than=2x, 'arg[3]>1000'. More than one: any.",
        autocompletion=completion.conditions,
        rich_help_panel=WHICH_DISPATCH,
    ),
]
BudgetOption = Annotated[
    int | None,
    typer.Option(
        "--budget",
        help="Bytes of memory that --when may hold before a dispatch; default: half of what is free in DIR.",
        rich_help_panel=WHICH_DISPATCH,
    ),
]
TritonparseOption = Annotated[
    str | None,
    typer.Option(
        "--tritonparse",
        metavar="TRACE[:LINE]",
        help="This launch of a tritonparse trace, without LINE the one of KERNEL; lists them: kerncap launches TRACE.",
        rich_help_panel=WHICH_DISPATCH,
    ),
]
LaunchIdOption = Annotated[
    int | None,
    typer.Option(
        "--launch-id",
        min=0,
        help="Which launch of KERNEL in the trace, counted from 0, trials too.",
        rich_help_panel=WHICH_DISPATCH,
    ),
]
TritonSourceOption = Annotated[
    Path | None,
    typer.Option("--triton-source", help="Carry the source from this output_code.py where Triton's is not recorded."),
]
TorchConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="NAME=VALUE,...",
        help="What torch chose for a kernel of output_code.py: XBLOCK=256,num_warps=4,num_stages=1.",
    ),
]
TritonReleaseOption = Annotated[
    str | None, typer.Option("--triton", metavar="RELEASE", help="The Triton that compiled the kernel, where known.")
]
SourceDirOption = Annotated[
    Path | None,
    typer.Option(
        "--source-dir",
        help="Carry the kernel's source: the project's folder, with a compile_commands.json in it or in build/.",
    ),
]
CompileDbOption = Annotated[
    Path | None, typer.Option("--compile-db", help="The compile database, when it lies elsewhere.")
]
ToolchainHeadersOption = Annotated[
    str,
    typer.Option(
        "--toolchain-headers",
        help="Of the source: carry the headers of compiler and system too, or reference them by digest.",
        autocompletion=completion.toolchain_headers,
    ),
]
DispatchesOption = Annotated[
    str | None,
    typer.Option(
        "--dispatches",
        metavar="A..B",
        help="Several, of one queue: from the A-th to the B-th that matches; without KERNEL of all of a queue.",
        rich_help_panel=WHICH_DISPATCH,
    ),
]
RangeOption = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="FIRST..LAST",
        help="Several, of one queue: from a dispatch of one kernel to the next of another.",
        rich_help_panel=WHICH_DISPATCH,
    ),
]
PostOption = Annotated[
    str | None,
    typer.Option(
        "--post",
        help="Of several: keep the state at the end (default), or behind each (replay --only).",
        rich_help_panel=WHICH_DISPATCH,
    ),
]
OnlyOption = Annotated[
    int | None, typer.Option("--only", metavar="K", help="Of a sequence with --post each: this dispatch alone, from 0.")
]
OfKernelOption = Annotated[
    str | None, typer.Option("--kernel", help="Of a sequence: whose code object --hsaco takes the place of.")
]
AfterOption = Annotated[
    str,
    typer.Option("--after", help="What the application does after the capture: continue, or stop with exit status 0."),
]
RanksOption = Annotated[
    str,
    typer.Option(
        "--ranks",
        help="Which processes capture: first (that comes to the dispatch), all (each below -o), or the one of rank N.",
        rich_help_panel=WHICH_DISPATCH,
    ),
]
CompressOption = Annotated[
    int,
    typer.Option("--compress", help="zstd level of the captured memory, 1 to 19 (or down to -7: faster); 0: none."),
]
SelfCheckOption = Annotated[
    int, typer.Option("--self-check", help="Replays of the capture before it is done; 0: none.")
]
HsacoOption = Annotated[
    Path | None, typer.Option("--hsaco", help="Judge this code object instead; default: the captured one.")
]
LaunchOption = Annotated[
    str | None,
    typer.Option(
        "--launch", metavar="JSON", help="How --hsaco is launched; default: what FILE.launch.json beside it says."
    ),
]
ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="CONFIG",
        help="Of a Triton kernel: another configuration, by its number in inspect or as BM=32,num_warps=2.",
    ),
]
ProgramsOption = Annotated[
    str | None,
    typer.Option("--programs", metavar="X[xYxZ]", help="With --config: the grid, in programs, where it is not known."),
]
AtolOption = Annotated[float, typer.Option("--atol", help="Absolute tolerance for float data.")]
RtolOption = Annotated[float, typer.Option("--rtol", help="Relative tolerance for float data.")]
UlpOption = Annotated[
    int, typer.Option("--ulp", help="Tolerance for float data: so many values of its type away from what is expected.")
]
IterationsOption = Annotated[int, typer.Option("--iterations", help="Dispatches, each from the same state.")]
DispatchTimeoutOption = Annotated[float, typer.Option("--timeout", help="Seconds that one dispatch may take.")]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Compile on this machine: the source may read any file that you can.")
]
CheckOption = Annotated[
    str | None,
    typer.Option("--check", help="Also look for errors (virtual GPU): memory, race, hazards, joined by +, or all."),
]
PolicyOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--key",
        metavar="PUBLIC.pem",
        help="Refuse what this key has not signed, before anything in it is used. More than one: any of them.",
    ),
]
SigningKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key", metavar="PRIVATE.pem", help="Sign it with this key (Ed25519, ECDSA P-256); else nobody vouches for it."
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE.html", help="Also write the verdict as one HTML file that needs nothing else."
    ),
]
ReportSourceOption = Annotated[
    str | None,
    typer.Option(
        "--report-source",
        metavar="PLACE",
        help="Show the source line by line against this one's: the sealed bundle that BUNDLE was unpacked from, or the "
        "reproducer that --hsaco was compiled from (found by itself where --hsaco lies in it).",
    ),
]
AttachableBundle = Annotated[
    str,
    typer.Argument(
        metavar="BUNDLE",
        help=f"oci:DIR[:tag][@digest] or {_REFERENCE} (not a tar file).",
        autocompletion=completion.bundles,
    ),
]
PlainHttpOption = Annotated[
    bool,
    typer.Option("--plain-http", help="Talk http to a registry that is not on loopback (loopback always is http)."),
]
MemoryOption = Annotated[
    int | None, typer.Option("--memory", help="Bytes that a container may take; default: 0.8 of this host's memory.")
]
# Source: the Docker engine refuses less.
# Name, tag, digest or id. Source: distribution/reference, whose grammar this holds all of.
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]*", re.ASCII)
_MIN_MEMORY_BYTES = 6 << 20
_MAX_MEMORY_BYTES = 1 << 50  # more than any machine has; the engine counts in 64 bits
# More than three years: what is longer means no limit, and does not fit into all the clocks that it is counted with.
_MAX_SECONDS = 1e8


def check_memory(memory: int | None) -> None:
    """Raises: UsageError `usage.number`."""
    if memory is not None and not _MIN_MEMORY_BYTES <= memory <= _MAX_MEMORY_BYTES:
        raise UsageError(
            f"--memory is {str(memory)[:40]}, expected bytes, {_MIN_MEMORY_BYTES} to {_MAX_MEMORY_BYTES}",
            code="usage.number",
            hint=f"--memory {1 << 30}",
        )


def check_image(image: str | None) -> None:
    """As far as its form goes: what is no name must not become an option of the engine.

    Raises: UsageError `usage.image`.
    """
    if image is not None and _IMAGE.fullmatch(image) is None:
        raise UsageError(f"{image[:200]!r} is no name of an image", code="usage.image", hint="kerncap image list")


def check_after(after: str) -> None:
    """Raises: UsageError `usage.after`."""
    if after not in ("continue", "stop"):
        raise UsageError(f"--after is {after!r}", code="usage.after", hint="--after continue  # or stop")


def check_ranks(ranks: str) -> None:
    """Raises: UsageError `usage.ranks`."""
    if ranks in ("first", "all") or (
        ranks.isascii() and ranks.isdecimal() and len(ranks) <= 10 and int(ranks) < 1 << 32
    ):
        return
    text = f"--ranks is {ranks[:40]!r}, expected first, all or a rank"
    raise UsageError(text, code="usage.ranks", hint="--ranks all  # or first, or a number")


def check_of_kernel(kernel: str | None, *, has_variant: bool) -> None:
    """Raises: UsageError `usage.option-alone`."""
    if kernel is not None and not has_variant:
        text = "--kernel says whose code object another one takes the place of, and no other one is given"
        raise UsageError(text, code="usage.option-alone", hint=f"--hsaco FILE {typed('--kernel', kernel)}")


def check_seconds(name: str, value: float, example: str) -> None:
    """Raises: UsageError `usage.number` when a limit of time is no more than 0, or not a number."""
    if not 0 < value <= _MAX_SECONDS:
        text = f"{name} is {value:g}, expected seconds: more than 0, at most {_MAX_SECONDS:g}"
        raise UsageError(text, code="usage.number", hint=f"{name} {example}")


def source_request(source_dir: Path | None, compile_db: Path | None, headers: str) -> SourceRequest:
    """Raises: UsageError `usage.toolchain-headers`, `usage.option-alone`."""
    from kerncap.source.closure import SourceRequest
    from kerncap.source.toolchain import CARRY, MODES

    source = SourceRequest(source_dir, compile_db, headers)
    if headers != CARRY and not source.wanted:
        text = "--toolchain-headers is about the source, which is not asked for"
        raise UsageError(text, code="usage.option-alone", hint=f"--toolchain-headers {headers} --source-dir DIR")
    if headers not in MODES:
        text = f"--toolchain-headers is {headers!r}, expected {' or '.join(MODES)}"
        raise UsageError(text, code="usage.toolchain-headers", hint=f"--toolchain-headers {CARRY}")
    return source


class OptionalKernel(typer.core.TyperCommand):
    """KERNEL stands before `--`, where it may be left out when options name the dispatches.

    Raises: UsageError `usage.no-kernel`: else the application would be taken for it.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            given, _, _ = self.make_parser(ctx).parse_args(list(args[:at]))
            # What was not given is None or a mark of the library's, depending on its version.
            has = {name for name, value in given.items() if isinstance(value, str)}
            sequence = has & {"dispatches", "range_", "tritonparse"}
            if "kernel" not in has and not sequence and not {"-h", "--help"} & set(args[:at]):
                text = "no KERNEL is named before --"
                raise UsageError(
                    text, code="usage.no-kernel", hint="kerncap extract KERNEL -- CMD  # or --dispatches, --range"
                )
            if "kernel" not in has and sequence:
                from kerncap.capture.selection import ANY_KERNEL

                args = [*args[:at], "--", ANY_KERNEL, *args[at + 1 :]]
        return super().parse_args(ctx, args)


def add_command(
    app: typer.Typer,
    name: str,
    function: Callable[..., Any],
    *,
    summary: str,
    example: str,
    cls: type[typer.core.TyperCommand] | None = None,
) -> None:
    """Register `function` as `kerncap NAME`: `summary` stands in the list of commands, the docstring in its own help.

    `example` is one line that can be typed; more lines are more examples.
    """
    lines = "\n\n".join(f"$ {line}" for line in example.strip().splitlines())
    app.command(name, cls=cls, short_help=summary, epilog=f"Example:\n\n{lines}")(function)
