"""`kerncap launches`: what a trace of tritonparse has launched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import note, print_json, say, set_verbosity, table

if TYPE_CHECKING:
    from kerncap.triton.trace_launch import Launch


def launches(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Written by tritonparse, or by its parse command.")],
    kernel: Annotated[
        str | None, typer.Argument(metavar="[KERNEL]", help="Only launches of the kernel with this name.")
    ] = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """List the launches of a tritonparse trace: line, number, grid of programs, workgroup and arguments.

    LINE or KERNEL and number name one to `kerncap extract --tritonparse`. A trial is an autotuner's.
    """
    from kerncap.workflows.traced import list_launches

    set_verbosity(verbose)
    listing = list_launches(trace, kernel)
    if listing.cut_short:
        note(f"the trace is incomplete: {listing.cut_short}")
    if as_json:
        print_json(listing.to_json())
        return
    rows = [_row(launch) for launch in listing.launches]
    if rows:
        say(table(rows, header=("line", "launch", "kernel", "grid", "workgroup", "", "arguments")))
    else:
        say("no launches: tritonparse traces them with enable_trace_launch=True")
    if not listing.whole:
        total = sum(count for count, _ in listing.kernels.values())
        note(f"the first {len(rows)} of {total}")
        if kernel is None:
            counts = [(count, trials, name) for name, (count, trials) in listing.kernels.items()]
            say(table(counts, header=("launches", "trials", "kernel")))


def _row(launch: Launch) -> tuple[object, ...]:
    document = launch.to_json()
    grid, workgroup = ("x".join(map(str, dims)) if dims else "?" for dims in (document["grid"], document["workgroup"]))
    arguments = ", ".join(f"{name}={value}" for name, value in document["arguments"].items())
    trial = "trial" if launch.trial else "graph" if launch.in_graph else ""
    return launch.line, launch.launch_id, launch.kernel, grid, workgroup, trial, arguments


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "launches",
        launches,
        summary="List the launches of a tritonparse trace.",
        example="kerncap launches trace.ndjson\nkerncap launches trace_mapped.ndjson.gz matmul --json",
    )
