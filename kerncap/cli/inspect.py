"""`kerncap inspect`: what a bundle holds, without moving its data."""

from __future__ import annotations

import typer

from kerncap.cli import options
from kerncap.cli.output import print_json, say, set_verbosity


def inspect(
    bundle: options.AnyBundle,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Show kernel, call with typed arguments, target, versions and memory by class; no memory data is read or moved."""
    from kerncap.cli.bundle_text import describe, describe_json
    from kerncap.transport import open_any

    set_verbosity(verbose)
    opened = open_any(bundle, plain_http=plain_http)
    if as_json:
        print_json(describe_json(opened))
    else:
        say(describe(opened, regions=verbose > 0))


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "inspect",
        inspect,
        example="kerncap inspect vector_add.kcap.tar\nkerncap inspect localhost:5000/kernels/vector_add:v1 --json",
    )
