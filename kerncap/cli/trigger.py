"""`kerncap trigger`: capture one dispatch of a process that runs under `kerncap attachable`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kerncap import limits
from kerncap.cli import options
from kerncap.cli.output import set_verbosity


def trigger(
    pid: Annotated[int, typer.Argument(metavar="PID", help="Of the application, or of kerncap attachable.")],
    kernel: options.KernelArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Reproducer directory to make; default: NAME.kcap.")
    ] = None,
    match: options.MatchOption = "auto",
    dispatch: options.DispatchOption = 0,
    grid: options.GridOption = None,
    workgroup: options.WorkgroupOption = None,
    trials: options.TrialsOption = False,
    when: options.WhenOption = None,
    budget: options.BudgetOption = None,
    source_dir: options.SourceDirOption = None,
    compile_db: options.CompileDbOption = None,
    toolchain_headers: options.ToolchainHeadersOption = "carry",
    timeout: Annotated[
        float, typer.Option("--timeout", help="Seconds to wait for the dispatch; then the request is called off.")
    ] = 300.0,
    after: options.AfterOption = "continue",
    self_check: options.SelfCheckOption = 2,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Capture one dispatch of a running application as a reproducer directory.

    The application must run under `kerncap attachable`. Dispatches count from the request on.
    """
    from kerncap.capture.application import Order
    from kerncap.capture.attach import find_attached
    from kerncap.capture.conditions import parse_conditions
    from kerncap.capture.selection import Selection, parse_dims
    from kerncap.cli.extract import report
    from kerncap.workflows.extract import Request, default_output
    from kerncap.workflows.extract import trigger as run_trigger

    set_verbosity(verbose)
    selection = Selection(
        kernel,
        match,
        dispatch,
        parse_dims("--grid", grid),
        parse_dims("--workgroup", workgroup),
        when=parse_conditions(when or ()),
        budget_bytes=budget,
        trials=trials,
    )
    options.check_seconds("--timeout", timeout, "300")
    options.check_after(after)
    limits.check_count("--self-check", self_check, 0, limits.MAX_ITERATIONS)
    process = find_attached(pid)
    order = Order(
        selection=selection,
        command=process.command,
        device=process.device,
        after=after,
        timeout_s=timeout,
        pid=process.pid,
    )
    source = options.source_request(source_dir, compile_db, toolchain_headers)
    request = Request(order, output or default_output(kernel), source, self_check)
    return report((run_trigger(request, process),), f"process {process.pid}", as_json)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "trigger",
        trigger,
        summary="Capture from an application under kerncap attachable.",
        example="kerncap trigger 4242 vector_add -o vector_add.kcap",
    )
