"""`kerncap serve`: a bundle stays on the device, and other processes have variants judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import note, print_json_line, set_verbosity


def serve(
    bundle: options.LocalBundle,
    socket: Annotated[
        Path, typer.Option("--socket", metavar="PATH", help="Where to listen; only you may connect.")
    ] = Path("kerncap.sock"),
    device: options.DeviceOption = "auto",
    timeout: options.DispatchTimeoutOption = 60.0,
    only: options.OnlyOption = None,
    trust: options.TrustOption = False,
    key: options.PolicyOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document when it listens.")] = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Load a bundle once and judge variants for other processes, one JSON document a line (docs/interfaces.md, Server).

    From Python: kerncap.connect(PATH). Ctrl-C ends it.
    """
    from kerncap.cli.trusted import trusted
    from kerncap.workflows.serve import serve as answer_requests
    from kerncap.workflows.session import Session

    set_verbosity(verbose)
    options.check_seconds("--timeout", timeout, "60")
    bundle = trusted(bundle, key, plain_http=False)
    with Session(bundle, device=device, timeout_s=timeout, only=only, trust=trust) as session:

        def ready() -> None:
            if as_json:
                document = {"bundle": bundle, "device": session.device, "socket": str(socket)}
                print_json_line({"schema": "kerncap.serving/1", **document})
            else:
                note(f"{bundle} on {session.device}, listening on {socket}; Ctrl-C ends it")

        answer_requests(session, socket, ready)
    return 0


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "serve",
        serve,
        summary="Judge variants for other processes, over a local socket.",
        example="kerncap serve vector_add.kcap --socket /tmp/vector_add.sock",
    )
