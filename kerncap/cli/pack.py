"""`kerncap pack`: seal a reproducer as a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import completion, options
from kerncap.cli.output import format_bytes, note, print_json, progress_bar, say, set_verbosity


def pack(
    reproducer: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Reproducer directory, as `kerncap extract` wrote it.",
            autocompletion=completion.bundles,
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="New bundle: oci:DIR[:tag] or FILE.kcap.tar.")],
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Seal a reproducer as a bundle that one digest names; memory data is linked or copied, never compressed again."""
    from kerncap.bundle.location import ReproducerLocation, parse_output
    from kerncap.bundle.seal import seal

    set_verbosity(verbose)
    location = parse_output(output)
    with progress_bar("pack") as progress:
        manifest = seal(ReproducerLocation(reproducer), location, progress=progress)
    if as_json:
        print_json(
            {
                "schema": "kerncap.packed/1",
                "output": str(location),
                "digest": manifest.digest,
                "total_bytes": manifest.total_bytes,
                "blobs": sum(1 for _ in manifest.blobs()),
            }
        )
    else:
        say(manifest.digest)
        note(f"packed {format_bytes(manifest.total_bytes)} into {location}")


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "pack",
        pack,
        summary="Seal a reproducer as a bundle with one digest.",
        example="kerncap pack vector_add.kcap -o vector_add.kcap.tar\nkerncap pack vector_add.kcap -o oci:bundle:v1",
    )
