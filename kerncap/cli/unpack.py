"""`kerncap unpack`: open a bundle into a reproducer directory to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import note, print_json, progress_bar, say, set_verbosity
from kerncap.errors import typed


def unpack(
    bundle: options.SealedBundle,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New directory.")],
    key: options.PolicyOption = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Open a bundle into a reproducer directory; its Makefile comes from this kerncap, never from the bundle."""
    from kerncap.cli.trusted import trusted
    from kerncap.workflows.unpack import unpack_bundle

    set_verbosity(verbose)
    bundle = trusted(bundle, key, plain_http=False)
    with progress_bar("unpack") as progress:
        opened = unpack_bundle(bundle, directory, progress=progress)
    if as_json:
        print_json({"schema": "kerncap.unpacked/1", "output": str(directory), "digest": opened.manifest_digest})
    else:
        say(str(directory))
        again = typed("make", "-C", directory, "run")
        note(f"unpacked {opened.manifest_digest}; to replay it: {again} [WHERE=container]")


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "unpack",
        unpack,
        summary="Open a bundle into a reproducer directory to edit.",
        example="kerncap unpack vector_add.kcap.tar vector_add",
    )
