"""`kerncap profile`: rank the kernels of an application by GPU time."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap import limits
from kerncap.cli import options
from kerncap.cli.output import note, print_json, say, set_verbosity, status_line, table, to_stderr
from kerncap.errors import UsageError, counted, typed

if TYPE_CHECKING:
    from kerncap.capture.profile import KernelTime, Profile

_MOST_TOP = 1_000_000


def profile(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="CMD", help="The application and its arguments, after --.")
    ] = None,
    top: Annotated[int, typer.Option("-n", "--top", help="How many kernels to show.")] = 10,
    csv_file: Annotated[
        Path | None,
        typer.Option("--csv", help="Write all kernels to this file, in the columns of rocprofv3's kernel_stats.csv."),
    ] = None,
    imported: Annotated[
        Path | None,
        typer.Option(
            "--import", help="Run nothing: read rocprofv3's kernel_stats.csv or kernel_trace.csv.", metavar="CSV"
        ),
    ] = None,
    device: options.ApplicationDeviceOption = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that the application may take.")] = 3600.0,
    propagate_exit: Annotated[
        bool, typer.Option("--propagate-exit", help="Exit with the application's status.")
    ] = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Run an application and rank its kernels by GPU time.

    Every dispatch is timed by the GPU's own clock. The virtual GPU's comes from a model and predicts nothing.
    """
    from kerncap.bundle.outputs import new_file
    from kerncap.capture.profile import import_rocprof
    from kerncap.capture.tool import shell_status

    set_verbosity(verbose)
    limits.check_count("--top", top, 1, _MOST_TOP)
    options.check_seconds("--timeout", timeout, "3600")
    if (imported is None) == (not command):
        text = "give an application to run after --, or a file of rocprofv3 with --import, and not both"
        raise UsageError(text, code="usage.profile", hint="kerncap profile -- ./app")
    returncode = 0
    modelled = False
    # Opened first: a file that cannot be written is known before the application runs.
    with new_file(csv_file) if csv_file is not None else nullcontext() as file:
        if imported is not None:
            found = import_rocprof(imported)
        else:
            found, returncode, modelled = _measure(tuple(command or ()), device, timeout, as_json)
        if file is not None:
            file.write(found.to_csv().encode())
    if as_json:
        print_json(found.to_json(top))
    else:
        _print(found, top, modelled, following_line(found, device, tuple(command or ())))
    return shell_status(returncode) if propagate_exit else 0


def _measure(
    command: tuple[str, ...], device_choice: str | None, timeout_s: float, as_json: bool
) -> tuple[Profile, int, bool]:
    from kerncap import native
    from kerncap.capture.tool import describe_status
    from kerncap.workflows.profile import Streams, Target
    from kerncap.workflows.profile import profile as run_profile

    device = native.capture_device(device_choice)
    streams = Streams(to_stderr, to_stderr) if as_json else Streams()
    with status_line(quiet=as_json) as show:

        def progress(now: Profile) -> None:
            show(_summary(now))

        found, returncode = run_profile(Target(command, device, timeout_s), streams, progress)
    note(f"the application {describe_status(returncode)}")
    return found, returncode, device.kind == "vgpu"


def _summary(found: Profile) -> str:
    what = f"{counted(found.calls, 'dispatch')} of {counted(len(found.kernels), 'kernel')}"
    return f"{what}, {_time(found.total_ns)} of GPU time"


def _print(found: Profile, top: int, modelled: bool, following: str | None) -> None:
    kernels = found.kernels[:top]
    say(_summary(found))
    rows = [_row(found, kernel) for kernel in kernels]
    say(table(rows, header=("share", "calls", "total", "mean", "min", "max", "kernel"), indent=2))
    rest = found.kernels[top:]
    if rest:
        share = sum(found.share(kernel) for kernel in rest)
        say(f"  and {len(rest)} more kernels with {share:.1%} of the time (--top {len(found.kernels)})")
    if found.untimed:
        note(f"{found.untimed} dispatches have no time: they were not done when the application ended")
    if found.cut_short:
        what = counted(found.cut_short, "process")
        note(f"{what} did not come to an end (_exit, a signal): what was dispatched last may be missing")
    if modelled:
        note("times of the virtual GPU come from a cost model: they tell how often and how much, not how fast a GPU is")
    if following:
        say(f"next: {following}")


def following_line(found: Profile, device: str | None, command: tuple[str, ...]) -> str | None:
    """The line that captures the kernel which took most of the time, on the same device."""
    if not command or not found.kernels:
        return None
    where = ("--device", device) if device else ()
    return typed("kerncap", "extract", found.kernels[0].name, *where, "--", *command)


def _row(found: Profile, kernel: KernelTime) -> tuple[object, ...]:
    times = (kernel.total_ns, kernel.mean_ns, kernel.min_ns, kernel.max_ns)
    return (f"{found.share(kernel):.1%}", kernel.calls, *map(_time, times), kernel.name)


def _time(ns: float) -> str:
    """`1.5 ms`: three significant digits."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 1000 * size else f"{ns / size:.0f} {unit}"
    return f"{ns:.0f} ns"


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "profile",
        profile,
        summary="Rank the kernels of an application by GPU time.",
        example="kerncap profile -n 5 --device vgpu:gfx942 -- ./app --size 1000\n"
        "kerncap profile --import out_kernel_stats.csv",
    )
