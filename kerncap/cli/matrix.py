"""`kerncap matrix`: bundles x images x devices, one container a cell; a table, and reports for machines and people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap import limits
from kerncap.cli import completion, options
from kerncap.cli import matrix_options as shared
from kerncap.cli.matrix_reports import Reports, report
from kerncap.cli.output import note, print_json_line, set_verbosity
from kerncap.errors import UsageError, counted, typed

if TYPE_CHECKING:
    from kerncap.workflows.matrix import Request

_REPORTS = "Reports"
_ELSEWHERE = "Cells that run elsewhere"
_MAX_JOBS = 256


def matrix(
    bundles: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BUNDLE...",
            help="oci:DIR[:tag], FILE.kcap.tar, a reproducer directory, or host[:port]/name[:tag][@digest].",
            autocompletion=completion.bundles,
        ),
    ] = None,
    image: shared.ImagesOption = None,
    device: shared.DevicesOption = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Containers at a time; default: by cores and memory.")
    ] = None,
    state: shared.StateOption = None,
    resume: shared.ResumeOption = False,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            "--expect",
            metavar="A,B",
            help="Verdicts or error codes that are good here; default: the verdicts that run exits 0 for.",
        ),
    ] = None,
    recompile: shared.RecompileOption = False,
    atol: options.AtolOption = 0.0,
    rtol: options.RtolOption = 0.0,
    ulp: options.UlpOption = 0,
    iterations: options.IterationsOption = 2,
    timeout: shared.TimeoutOption = 900.0,
    memory: options.MemoryOption = None,
    plain_http: options.PlainHttpOption = False,
    key: options.PolicyOption = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="JUnit XML.", rich_help_panel=_REPORTS)
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE", help="SARIF 2.1.0.", rich_help_panel=_REPORTS)
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="One page with plots, whole in itself.", rich_help_panel=_REPORTS),
    ] = None,
    print_cells: Annotated[
        bool,
        typer.Option("--print-cells", help="Run nothing: print a JSON line a cell.", rich_help_panel=_ELSEWHERE),
    ] = False,
    cells: Annotated[
        Path | None,
        typer.Option("--cells", metavar="FILE", help="Run nothing: write them there.", rich_help_panel=_ELSEWHERE),
    ] = None,
    collect: Annotated[
        Path | None,
        typer.Option(
            "--collect",
            metavar="DIR",
            help="Run nothing: report about DIR/cells.jsonl and the results DIR/ID.json beside it.",
            rich_help_panel=_ELSEWHERE,
        ),
    ] = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Run bundles x images x devices, each in a container without network, and show what every cell came to.

    A cell that cannot run has an error of its own and stops no other. Exit code 0 when all are good, 1 when a verdict
    is not, else that of the worst error. Reports that exist are replaced.
    """
    set_verbosity(verbose)
    judging = shared.judging_of(recompile, atol, rtol, ulp, iterations, timeout, memory)
    reports = Reports(junit, sarif, html)
    reports.check()
    limits.check_count("--jobs", 1 if jobs is None else jobs, 1, _MAX_JOBS)
    expected = shared.expected_of(expect)
    _check_ways(bundles, print_cells or cells is not None, collect, state)
    if collect is not None:
        return _collect(collect, expected, reports, as_json=as_json)
    from kerncap.workflows.image_of_run import default_image

    request = shared.request_of(
        bundles or (),
        shared.split_names(image) or (default_image(),),
        shared.split_devices(device) or ("auto",),
        judging,
        key,
        plain_http=plain_http,
        with_source=sarif is not None or print_cells or cells is not None,
    )
    if print_cells or cells is not None:
        return _export(request, cells, printed=print_cells)
    return _run(request, jobs, state, resume, expected, reports, as_json=as_json)


def _check_ways(bundles: list[str] | None, exports: bool, collect: Path | None, state: Path | None) -> None:
    """Raises: UsageError `usage.no-bundle`, `usage.two-ways`."""
    if collect is not None and (bundles or exports or state is not None):
        text = "--collect reads cells and results that are there, and takes no bundles, --state or cells to write"
        raise UsageError(text, code="usage.two-ways", hint=typed("kerncap", "matrix", "--collect", collect))
    if exports and state is not None:
        text = "--state is of cells that run here, --cells and --print-cells are for cells that run elsewhere"
        raise UsageError(text, code="usage.two-ways", hint="kerncap matrix BUNDLE --print-cells")
    if collect is None and not bundles:
        hint = "kerncap matrix BUNDLE --image kerncap/runtime:trixie,kerncap/runtime:sid"
        raise UsageError("no bundle is named", code="usage.no-bundle", hint=hint)


def _run(
    request: Request,
    jobs: int | None,
    state: Path | None,
    resume: bool,
    expected: frozenset[str],
    reports: Reports,
    *,
    as_json: bool,
) -> int:
    from kerncap.cli.matrix_text import live
    from kerncap.matrix import Matrix
    from kerncap.matrix.state import open_state
    from kerncap.workflows import matrix as workflow

    with open_state(state, resume=resume) as kept:
        plan = workflow.make_plan(request)
        at_once = min(jobs or workflow.default_jobs(plan.raw_bytes), len(plan.cells))
        share = workflow.memory_of_each(at_once)
        try:
            with workflow.ContainerRunner(plan, memory_bytes=share) as runner, live() as listener:
                results = workflow.run_cells(plan.cells, runner, kept, jobs=at_once, listener=listener)
        except KeyboardInterrupt:
            if state is not None:
                note(f"what is finished is kept; go on with --resume {typed('--state', state)}")
            raise
    return report(Matrix(tuple(results), expected), reports, as_json=as_json)


def _export(request: Request, output: Path | None, *, printed: bool) -> int:
    """Raises: UsageError `usage.output-exists`. The exit code is that of the worst cell that has no line."""
    from kerncap.cli.matrix_text import place_of
    from kerncap.matrix import Matrix, not_run
    from kerncap.workflows import matrix as workflow

    cells = workflow.exported(workflow.make_plan(request))
    if output is not None:
        from kerncap.bundle.outputs import new_file

        with new_file(output) as file:
            file.write(b"".join(json.dumps(cell.to_json(), ensure_ascii=True).encode() + b"\n" for cell in cells))
        note(f"wrote {counted(len(cells), 'cell')} into {output}")
    if printed:
        for cell in cells:
            print_json_line(cell.to_json())
    failed = [not_run(cell, cell.error) for cell in cells if cell.error is not None]
    for result in failed:
        note(f"{place_of(result)} has no line: {result.error}")
    return Matrix(tuple(failed)).exit_code


def _collect(folder: Path, expected: frozenset[str], reports: Reports, *, as_json: bool) -> int:
    from kerncap.matrix import Matrix
    from kerncap.workflows import matrix as workflow

    results = workflow.collect(folder, workflow.read_cells(folder))
    return report(Matrix(tuple(results), expected), reports, as_json=as_json)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "matrix",
        matrix,
        summary="Run bundles x images x devices, and report.",
        example="kerncap matrix oci:bundle --image kerncap/runtime:trixie,kerncap/runtime:sid --html matrix.html\n"
        "kerncap matrix localhost:5000/bugs/a:1 localhost:5000/bugs/b:1 --state matrix.json --junit matrix.xml",
    )
