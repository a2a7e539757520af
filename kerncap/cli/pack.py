"""`kerncap pack`: seal a reproducer as a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap.cli import completion, options
from kerncap.cli.output import format_bytes, note, print_json, progress_bar, say, set_verbosity

if TYPE_CHECKING:
    from kerncap.bundle.delta import Delta


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
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            metavar="BUNDLE",
            help="Refer to the blobs of this bundle (oci:DIR[:tag], FILE.kcap.tar or a registry reference) for the "
            "memory that it holds already: a push beside it sends only what is new.",
            autocompletion=completion.bundles,
        ),
    ] = None,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Seal a reproducer as a bundle that one digest names; memory data is linked or copied, never compressed again."""
    from kerncap.bundle.location import ReproducerLocation, parse_output
    from kerncap.bundle.seal import seal

    delta: Delta | None = None
    set_verbosity(verbose)
    location = parse_output(output)
    with progress_bar("pack") as progress:
        if base is None:
            manifest = seal(ReproducerLocation(reproducer), location, progress=progress)
        else:
            from kerncap.bundle.delta import seal_delta
            from kerncap.transport.base import open_base

            opened = open_base(base, plain_http=plain_http)
            manifest, delta = seal_delta(ReproducerLocation(reproducer), location, opened, progress=progress)
            base_digest = opened.bundle.manifest_digest
    if as_json:
        print_json(
            {
                "schema": "kerncap.packed/1",
                "output": str(location),
                "digest": manifest.digest,
                "total_bytes": manifest.total_bytes,
                "blobs": sum(1 for _ in manifest.blobs()),
                "base": None
                if delta is None
                else {
                    "digest": base_digest,
                    "referenced_bytes": delta.referenced_bytes,
                    "referenced_blobs": len(delta.referenced),
                },
            }
        )
    else:
        say(manifest.digest)
        known = f", {format_bytes(delta.referenced_bytes)} of it in blobs of {base}" if delta is not None else ""
        note(f"packed {format_bytes(manifest.total_bytes)} into {location}{known}")


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "pack",
        pack,
        summary="Seal a reproducer as a bundle with one digest.",
        example="kerncap pack vector_add.kcap -o vector_add.kcap.tar\nkerncap pack vector_add.kcap -o oci:bundle:v1\n"
        "kerncap pack again.kcap -o again.kcap.tar --base localhost:5000/kernels/vector_add:v1",
    )
