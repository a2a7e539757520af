"""`kerncap extract`: run an application and capture one dispatch of a kernel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap.cli import completion, options
from kerncap.cli.output import format_bytes, note, print_error, print_json, say, set_verbosity, table
from kerncap.errors import UsageError, typed

if TYPE_CHECKING:
    from kerncap.workflows.extract import Extracted

_MAX_DISPATCH = (1 << 63) - 1


def extract(
    kernel: Annotated[
        str, typer.Argument(metavar="KERNEL", help="Base name, demangled name, glob or mangled name of the kernel.")
    ],
    command: Annotated[list[str], typer.Argument(metavar="CMD", help="The application and its arguments, after --.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Reproducer directory to make; default: NAME.kcap.")
    ] = None,
    dispatch: Annotated[int, typer.Option("--dispatch", help="Which of the matching dispatches, counted from 0.")] = 0,
    source_dir: Annotated[
        Path | None,
        typer.Option(
            "--source-dir",
            help="Carry the kernel's source: the project's folder, with a compile_commands.json in it or in build/.",
        ),
    ] = None,
    compile_db: Annotated[
        Path | None, typer.Option("--compile-db", help="The compile database, when it lies elsewhere.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            help="vgpu:TARGET[,bar=large] or gpu[:N]; default: the GPU that is here.",
            autocompletion=completion.devices,
        ),
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that the whole application may take.")] = 3600.0,
    after: Annotated[
        str,
        typer.Option(
            "--after", help="What the application does after the capture: continue, or stop with exit status 0."
        ),
    ] = "continue",
    self_check: Annotated[
        int, typer.Option("--self-check", help="Replays of the capture before it is done; 0: none.")
    ] = 2,
    propagate_exit: Annotated[
        bool, typer.Option("--propagate-exit", help="Exit with the application's status when the capture is done.")
    ] = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Run an application and capture one dispatch of a kernel as a reproducer directory."""
    from kerncap import native
    from kerncap.capture.application import Order, describe_status
    from kerncap.workflows.extract import Request, default_output
    from kerncap.workflows.extract import extract as run_extract

    set_verbosity(verbose)
    if after not in ("continue", "stop"):
        raise UsageError(f"--after is {after!r}", code="usage.after", hint="--after continue or --after stop")
    options.check_count("--dispatch", dispatch, 0, _MAX_DISPATCH)
    options.check_count("--self-check", self_check, 0, options.MAX_ITERATIONS)
    options.check_seconds("--timeout", timeout, "3600")
    order = Order(
        kernel=kernel,
        command=tuple(command),
        device=native.capture_device(device),
        dispatch=dispatch,
        after=after,
        timeout_s=timeout,
    )
    request = Request(order, output or default_output(kernel), source_dir, compile_db, self_check)
    # With --json stdout is data, so the application's stdout goes where its stderr goes.
    extracted = run_extract(
        request, on_stdout=_to_stderr if as_json else None, on_stderr=_to_stderr if as_json else None
    )
    note(f"the application {describe_status(extracted.returncode)}")
    if as_json:
        print_json(extracted.to_json())
    else:
        _print(extracted)
    if extracted.source_error is not None:
        note(f"{extracted.directory} is whole, but without source:")
        print_error(extracted.source_error, as_json=False)
        return extracted.source_error.exit_code
    if propagate_exit:
        return extracted.returncode if extracted.returncode >= 0 else 128 - extracted.returncode
    return 0


def _to_stderr(piece: bytes) -> None:
    sys.stderr.buffer.write(piece)
    sys.stderr.buffer.flush()


def _print(extracted: Extracted) -> None:
    from kerncap.bundle.location import tar_name

    capture, index = extracted.bundle.capture, extracted.bundle.index
    say(f"captured: {extracted.directory}")
    check = extracted.self_check or {}
    rows: list[tuple[str, object]] = [
        ("kernel", capture.kernel.demangled or capture.kernel.name),
        ("dispatch", f"{capture.dispatch.match_index} of this kernel, grid {_dims(capture.dispatch.grid)}"),
        ("target", capture.code_object.target),
        ("memory", f"{len(index.regions)} regions, {format_bytes(index.raw_bytes)}"),
        ("stored", format_bytes(index.stored_bytes)),
        ("self-check", check.get("verdict") or "not replayed"),
        ("source", f"{extracted.bundle.source_count} files" if extracted.bundle.source_count else "none"),
    ]
    if not capture.consistent:
        rows.append(("consistency", "best-effort: " + "; ".join(capture.inconsistency)))
    rows += [("not captured", memory.reason) for memory in capture.unreadable if memory.touched is not False]
    say(table(rows, indent=2))
    pack = typed("kerncap", "pack", extracted.directory, "-o", tar_name(extracted.directory))
    say(f"next: {typed('make', '-C', extracted.directory, 'run')}, or {pack}")


def _dims(dims: tuple[int, int, int]) -> str:
    return "x".join(str(d) for d in dims)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "extract",
        extract,
        summary="Run an application and capture one dispatch of a kernel.",
        example="kerncap extract vector_add -o vector_add.kcap --device vgpu:gfx942 -- ./app --size 1000",
    )
