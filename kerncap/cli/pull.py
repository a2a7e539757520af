"""`kerncap pull`: fetch a bundle from a registry, or copy it from a layout or tar file."""

from __future__ import annotations

from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import format_bytes, note, print_json, progress_bar, say, set_verbosity
from kerncap.cli.push import RecursiveOption, came_along, transferred_json


def pull(
    source: options.SealedOrRemote,
    output: Annotated[str, typer.Option("--output", "-o", help="New bundle: oci:DIR[:tag] or FILE.kcap.tar.")],
    recursive: RecursiveOption = False,
    key: options.PolicyOption = None,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Fetch a bundle; every blob is checked before the output gets its name.

    A pull from a registry that breaks or is killed keeps what has arrived in .NAME.partial beside the output; the same
    command goes on from there.
    """
    from kerncap.bundle.location import parse_output
    from kerncap.cli.trusted import open_trusted
    from kerncap.transport import copy_bundle

    set_verbosity(verbose)
    location = parse_output(output)
    bundle = open_trusted(source, key, plain_http=plain_http)
    with progress_bar("pull") as progress:
        done = copy_bundle(bundle, location, progress=progress, recursive=recursive)
    if as_json:
        print_json(transferred_json(done, str(location)))
    else:
        say(done.digest)
        kept = f", {format_bytes(done.total_bytes - done.moved_bytes)} of it before" if done.skipped_blobs else ""
        note(f"pulled {format_bytes(done.total_bytes)} into {location}{kept}{came_along(done)}")


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "pull",
        pull,
        summary="Fetch a bundle from a registry, and check it.",
        example="kerncap pull localhost:5000/kernels/vector_add:v1 -o vector_add.kcap.tar",
    )
