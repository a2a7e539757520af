"""`kerncap recompile`: compile the source that a bundle carries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import note, print_json, say, set_verbosity
from kerncap.workflows.recompile import recompile_here, recompile_in_sandbox


def recompile(
    bundle: Annotated[str, typer.Argument(help="Reproducer directory, oci:DIR[:tag] or FILE.kcap.tar.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The code object to write.")],
    trust: Annotated[
        bool, typer.Option("--trust", help="Compile on this machine: the source may read any file that you can.")
    ] = False,
    image: Annotated[str | None, typer.Option("--image", help="Runtime image of the sandbox.")] = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Compile the carried source for the captured target: in the sandbox, without network and without this machine."""
    set_verbosity(verbose)
    outcome = recompile_here(bundle, output) if trust else recompile_in_sandbox(bundle, output, image=image)
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
