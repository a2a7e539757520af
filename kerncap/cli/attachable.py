"""`kerncap attachable`: run an application from which dispatches can be captured on demand."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import note, print_json, set_verbosity, to_stderr


def attachable(
    command: Annotated[list[str], typer.Argument(metavar="CMD", help="The application and its arguments, after --.")],
    device: options.ApplicationDeviceOption = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Run an application, a server for instance, from which `kerncap trigger` captures while it runs.

    Exits with the application's status. Until it is asked the application runs as it would by itself.
    """
    from kerncap import native
    from kerncap.capture.attach import run_attachable
    from kerncap.capture.tool import describe_status, shell_status

    set_verbosity(verbose)
    chosen = native.capture_device(device)
    note(f"to capture from it: kerncap trigger {os.getpid()} KERNEL -o DIR")
    streams = {"on_stdout": to_stderr, "on_stderr": to_stderr} if as_json else {}
    ended = run_attachable(tuple(command), chosen, **streams)
    status = ended.done.returncode
    if as_json:
        application = {"returncode": status, "status": describe_status(status)}
        print_json({"schema": "kerncap.attachable/1", "application": application})
    return shell_status(status)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "attachable",
        attachable,
        summary="Run an application to capture from while it runs.",
        example="kerncap attachable --device vgpu:gfx942 -- ./server --port 8080",
    )
