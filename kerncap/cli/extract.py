"""`kerncap extract`: run an application and capture one dispatch of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerncap import limits
from kerncap.cli import options
from kerncap.cli.output import format_bytes, note, print_error, print_json, say, set_verbosity, table, to_stderr
from kerncap.errors import UsageError, counted, typed

if TYPE_CHECKING:
    from kerncap.bundle.capture import Capture
    from kerncap.capture.listing import Listing
    from kerncap.capture.selection import Selection
    from kerncap.native import Device
    from kerncap.workflows.extract import Extracted
    from kerncap.workflows.inductor import InductorSource
    from kerncap.workflows.traced import Traced

_MOST_NAMES = 12


def extract(
    kernel: options.KernelArgument,
    command: Annotated[list[str], typer.Argument(metavar="CMD", help="The application and its arguments, after --.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Reproducer directory to make; default: NAME.kcap.")
    ] = None,
    match: options.MatchOption = "auto",
    dispatch: options.DispatchOption = 0,
    launch_count: Annotated[
        int, typer.Option("--launch-count", help="How many dispatches: 1.", rich_help_panel=options.WHICH_DISPATCH)
    ] = 1,
    dispatches: options.DispatchesOption = None,
    range_: options.RangeOption = None,
    post: options.PostOption = None,
    grid: options.GridOption = None,
    workgroup: options.WorkgroupOption = None,
    after_ms: Annotated[
        float,
        typer.Option(
            "--after-ms",
            help="Only so many ms after the HSA runtime was loaded.",
            rich_help_panel=options.WHICH_DISPATCH,
        ),
    ] = 0.0,
    trials: options.TrialsOption = False,
    when: options.WhenOption = None,
    tritonparse: options.TritonparseOption = None,
    launch_id: options.LaunchIdOption = None,
    ranks: options.RanksOption = "first",
    budget: options.BudgetOption = None,
    list_only: Annotated[
        bool,
        typer.Option("--list", help="Capture nothing: list what would match.", rich_help_panel=options.WHICH_DISPATCH),
    ] = False,
    source_dir: options.SourceDirOption = None,
    compile_db: options.CompileDbOption = None,
    toolchain_headers: options.ToolchainHeadersOption = "carry",
    triton_source: options.TritonSourceOption = None,
    config: options.TorchConfigOption = None,
    device: options.ApplicationDeviceOption = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that the whole application may take.")] = 3600.0,
    after: options.AfterOption = "continue",
    self_check: options.SelfCheckOption = 2,
    compress: options.CompressOption = 1,
    propagate_exit: Annotated[
        bool, typer.Option("--propagate-exit", help="Exit with the application's status when the capture is done.")
    ] = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Run an application and capture one dispatch of a kernel as a reproducer directory.

    With --dispatches or --range several consecutive ones of one queue, as one reproducer; with --tritonparse the
    dispatch of a launch in a trace.
    """
    from kerncap import native
    from kerncap.bundle.sequence import END
    from kerncap.capture.application import Order
    from kerncap.capture.conditions import parse_conditions
    from kerncap.capture.selection import Selection, parse_dims, select_dispatches, select_range
    from kerncap.capture.tool import shell_status
    from kerncap.workflows.extract import Request, default_output
    from kerncap.workflows.extract import extract as run_extract

    set_verbosity(verbose)
    if launch_count != 1:
        text = f"--launch-count is {launch_count}: one dispatch is captured at a time"
        raise UsageError(text, code="usage.number", hint="--launch-count 1  # with --launch-skip N for another one")
    more: dict[str, Any] = {
        "match": match,
        "grid": parse_dims("--grid", grid),
        "workgroup": parse_dims("--workgroup", workgroup),
        "after_ms": after_ms,
        "budget_bytes": budget,
        "trials": trials,
    }
    traced = None
    if tritonparse is not None or launch_id is not None:
        others: dict[str, object] = {"--dispatches": dispatches, "--range": range_, "--dispatch": dispatch}
        others |= {"--when": when, "--trials": trials, "--grid": grid, "--workgroup": workgroup, "--after-ms": after_ms}
        others |= {"--budget": budget, "--post": post, "--match": match != "auto"}
        traced = _traced(tritonparse, launch_id, kernel, others)
    elif dispatches is not None or range_ is not None:
        refuse_two_choices(kernel, dispatch, dispatches, range_, when)
    elif post is not None:
        text = "--post is about the states of several dispatches, and one is to be captured"
        raise UsageError(text, code="usage.option-alone", hint="--dispatches 0..1 --post each  # or --range")
    states = END if post is None else post
    if traced is not None:
        selection = traced.selection
    elif dispatches is not None:
        selection = select_dispatches(dispatches, kernel, states, **more)
    elif range_ is not None:
        selection = select_range(range_, states, dispatch=dispatch, **more)
    else:
        selection = Selection(kernel, dispatch=dispatch, when=parse_conditions(when or ()), **more)
    kernel = selection.kernel
    options.check_seconds("--timeout", timeout, "3600")
    if list_only:
        return _list(selection, tuple(command), native.capture_device(device), timeout, as_json)
    options.check_after(after)
    options.check_ranks(ranks)
    limits.check_count("--compress", compress, -7, 19)
    limits.check_count("--self-check", self_check, 0, limits.MAX_ITERATIONS)
    order = Order(
        selection=selection,
        command=tuple(command),
        device=native.capture_device(device),
        after=after,
        ranks=ranks,
        zstd_level=compress,
        timeout_s=timeout,
    )
    source = options.source_request(source_dir, compile_db, toolchain_headers)
    launch = None if traced is None else traced.launch
    request = Request(
        order, output or default_output(kernel), source, self_check, launch, _inductor(triton_source, config)
    )
    # With --json stdout is data, so the application's stdout goes where its stderr goes.
    extracted = run_extract(request, on_stdout=to_stderr if as_json else None, on_stderr=to_stderr if as_json else None)
    code = report(extracted, "the application", as_json, all_ranks=ranks == "all")
    returncode = extracted[0].returncode
    return shell_status(returncode) if code == 0 and propagate_exit and returncode is not None else code


def _traced(trace: str | None, launch_id: int | None, kernel: str, others: Mapping[str, object]) -> Traced:
    """The launch that a trace names. Raises: UsageError `usage.two-choices`, `usage.option-alone`; as select_traced."""
    from kerncap.capture.selection import ANY_KERNEL
    from kerncap.workflows.traced import select_traced

    if trace is None:
        text = "--launch-id counts the launches of a trace, and none is given"
        raise UsageError(text, code="usage.option-alone", hint=f"--tritonparse TRACE --launch-id {launch_id}")
    for name, value in others.items():
        if value:
            text = f"{name} and --tritonparse both say which dispatch"
            raise UsageError(text, code="usage.two-choices", hint=f"--tritonparse {typed(trace)}  # without {name}")
    traced = select_traced(trace, None if kernel == ANY_KERNEL else kernel, launch_id)
    note(traced.text)
    for reason in traced.uncertain:
        note(f"it may be another dispatch: {reason}")
    return traced


def _inductor(path: Path | None, config: str | None) -> InductorSource | None:
    """Raises: UsageError `usage.option-alone`, `usage.config`."""
    from kerncap.triton.configurations import parse_values
    from kerncap.workflows.inductor import InductorSource

    if path is None:
        if config is not None:
            text = "--config is about the kernel of --triton-source, which is not given"
            raise UsageError(text, code="usage.option-alone", hint=f"--triton-source output_code.py --config {config}")
        return None
    if not path.is_file():
        raise UsageError(f"there is no file {path}", code="usage.source-file", hint=typed("ls", "-l", path.parent))
    return InductorSource(path, {} if config is None else parse_values(config))


def refuse_two_choices(
    kernel: str, dispatch: int, dispatches: str | None, range_: str | None, when: list[str] | None
) -> None:
    """Raises: UsageError `usage.two-choices`."""
    from kerncap.capture.selection import ANY_KERNEL

    if range_ is not None and kernel != ANY_KERNEL:
        text = f"--range names its kernels, and {kernel!r} is another one"
        raise UsageError(text, code="usage.two-choices", hint=f"kerncap extract --range {range_} -- CMD")
    if when:
        text = "--when is about one dispatch, --dispatches and --range name several"
        raise UsageError(text, code="usage.two-choices", hint="kerncap extract KERNEL --when CONDITION -- CMD")
    if dispatches is not None and (range_ is not None or dispatch):
        text = "--dispatches excludes --range and --dispatch"
        raise UsageError(text, code="usage.two-choices", hint=f"--dispatches {dispatches}")


def report(extracted: tuple[Extracted, ...], who: str, as_json: bool, *, all_ranks: bool = False) -> int:
    """Say what was captured and how `who` ended; returns the exit code."""
    from kerncap.capture.tool import describe_status

    note(f"{who} {describe_status(extracted[0].returncode)}")
    if not as_json:
        for one in extracted:
            _print(one)
    elif all_ranks:
        documents = [one.to_json() for one in extracted]
        print_json({"schema": "kerncap.extracted-ranks/1", "captures": documents})
    else:
        print_json(extracted[0].to_json())
    code = 0
    for one in extracted:
        if one.source_error is not None:
            note(f"{one.directory} is whole, but without source:")
            print_error(one.source_error, as_json=False)
            code = one.source_error.exit_code
    return code


def _list(selection: Selection, command: tuple[str, ...], device: Device, timeout_s: float, as_json: bool) -> int:
    from kerncap.capture.selection import dims_text
    from kerncap.capture.tool import describe_status
    from kerncap.workflows.profile import Streams, Target, list_matches

    streams = Streams(to_stderr, to_stderr) if as_json else Streams()
    listing, returncode = list_matches(selection, Target(command, device, timeout_s), streams)
    note(f"the application {describe_status(returncode)}")
    if as_json:
        print_json(listing.to_json())
        return 0
    rows = [
        (
            g.dispatches,
            g.first,
            dims_text(g.grid),
            dims_text(g.workgroup),
            "*" if selection.accepts(g.grid, g.workgroup) else "",
            g.name,
        )
        for g in listing.geometries
    ]
    say(f"{listing.matched} of {listing.dispatches} dispatches match {selection.kernel!r} by name")
    if rows:
        say(table(rows, header=("dispatches", "first", "grid", "workgroup", "meant", "kernel"), indent=2))
        if not listing.whole:
            note("more launch geometries than are listed")
    else:
        _list_near(selection, listing)
    return 0


def _list_near(selection: Selection, listing: Listing) -> None:
    from kerncap.names import near_names

    names = sorted({k.name for k in listing.kernels if k.dispatches})
    near = near_names(selection.kernel, names) or names[:_MOST_NAMES]
    say("dispatched, " + ("and alike" if len(near) < len(names) else "all of them") + ": " + ", ".join(near))


def _print(extracted: Extracted) -> None:
    from kerncap.bundle.location import tar_name
    from kerncap.cli.bundle_text import trigger_text

    capture, index = extracted.bundle.capture, extracted.bundle.index
    say(f"captured: {extracted.directory}")
    check = extracted.self_check or {}
    rows: list[tuple[str, object]] = [
        ("kernel", capture.kernel.demangled or capture.kernel.name),
        *([] if capture.rank is None else [("rank", capture.rank)]),
        ("dispatch", f"{_which(capture)}, grid {_dims(capture.dispatch.grid)}"),
        ("target", capture.code_object.target),
        ("memory", f"{counted(len(index.regions), 'region')}, {format_bytes(index.raw_bytes)}"),
        ("stored", format_bytes(index.stored_bytes)),
        ("self-check", check.get("verdict") or "not replayed"),
        ("source", counted(extracted.bundle.source_count, "file") if extracted.bundle.source_count else "none"),
    ]
    if capture.trigger:
        rows.insert(2, ("condition", trigger_text(capture.trigger)))
    if not capture.consistent:
        rows.append(("consistency", "best-effort: " + "; ".join(capture.inconsistency)))
    rows += [("not captured", memory.reason) for memory in capture.unreadable if memory.touched is not False]
    say(table(rows, indent=2))
    pack = typed("kerncap", "pack", extracted.directory, "-o", tar_name(extracted.directory))
    say(f"next: {typed('make', '-C', extracted.directory, 'run')}, or {pack}")


def _which(capture: Capture) -> str:
    dispatch = capture.dispatch
    if capture.sequence is None:
        return f"{dispatch.match_index} of this kernel"
    return f"{len(capture.steps)} from number {dispatch.queue_index} of their queue on"


def _dims(dims: tuple[int, int, int]) -> str:
    return "x".join(str(d) for d in dims)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "extract",
        extract,
        summary="Run an application and capture one dispatch of a kernel.",
        cls=options.OptionalKernel,
        example="kerncap extract vector_add -o vector_add.kcap --device vgpu:gfx942 -- ./app --size 1000\n"
        "kerncap extract --range scale..reduce --post each -o chain.kcap -- ./app\n"
        "kerncap extract --tritonparse trace.ndjson:12 -- python3 app.py",
    )
