"""`kerncap recompile`: compile the source that a bundle carries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import note, print_json, say, set_verbosity
from kerncap.errors import HostError
from kerncap.workflows.recompile import recompile_here


def recompile(
    bundle: Annotated[str, typer.Argument(help="Reproducer directory, oci:DIR[:tag] or FILE.kcap.tar.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The code object to write.")],
    trust: Annotated[
        bool, typer.Option("--trust", help="Compile on this machine: the source may read any file that you can.")
    ] = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Compile the carried source for the captured target, without the project or its machine."""
    set_verbosity(verbose)
    if not trust:
        raise HostError(
            "foreign source is compiled only in the sandbox",
            code="host.no-sandbox",
            hint=f"kerncap recompile {bundle} -o {output} --trust",
        )
    outcome = recompile_here(bundle, output)
    if outcome.difference:
        note(outcome.difference)
    if as_json:
        print_json(outcome.to_json())
    else:
        say(f"compiled: {outcome.output}")
    return 0


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "recompile",
        recompile,
        example="kerncap recompile vector_add.kcap -o variant.hsaco\nkerncap recompile oci:bundle -o v.hsaco --trust",
    )
