"""`kerncap push`: send a bundle to a registry, or copy it into a layout or tar file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerncap.cli import options
from kerncap.cli.output import confirm, format_bytes, note, print_json, progress_bar, say, set_verbosity
from kerncap.errors import typed

if TYPE_CHECKING:
    from kerncap.bundle import Bundle
    from kerncap.bundle.location import LayoutLocation, TarLocation
    from kerncap.transport import Transferred


def push(
    bundle: options.SealedOrRemote,
    target: Annotated[
        str, typer.Argument(metavar="REF", help="host[:port]/name[:tag], oci:DIR[:tag] or FILE.kcap.tar.")
    ],
    yes: options.YesOption = False,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Send a bundle to a registry unchanged; what is there already is not sent again.

    A bundle holds memory of the captured process: before it leaves this machine, you see what it holds and are asked.
    """
    from kerncap.bundle.location import RegistryLocation, parse_target
    from kerncap.cli.bundle_text import describe_secrets
    from kerncap.transport import open_any
    from kerncap.transport import push as push_to
    from kerncap.transport.reference import parse_reference

    set_verbosity(verbose)
    location = parse_target(target)
    opened = open_any(bundle, plain_http=plain_http)
    if isinstance(location, RegistryLocation):
        reference = parse_reference(location.reference)
        if not reference.loopback:
            note(describe_secrets(opened))
            confirm(f"Send this to {reference}?", yes=yes, what=typed("kerncap", "push", bundle, target))
        with progress_bar("push") as progress:
            done = push_to(opened, reference, plain_http=plain_http, progress=progress)
        named = f"{reference.name}@{done.digest}"
    else:
        done, named = _copy(opened, location)
    if as_json:
        print_json(transferred_json(done, named))
    else:
        say(named)
        note(
            f"sent {format_bytes(done.moved_bytes)} of {format_bytes(done.total_bytes)}; "
            f"{done.skipped_blobs} of {done.blobs} blobs were there already"
        )


def _copy(opened: Bundle, location: LayoutLocation | TarLocation) -> tuple[Transferred, str]:
    from kerncap.transport import copy_bundle

    with progress_bar("push") as progress:
        return copy_bundle(opened, location, progress=progress), str(location)


def transferred_json(done: Transferred, named: str) -> dict[str, Any]:
    return {
        "schema": "kerncap.transferred/1",
        "target": named,
        "digest": done.digest,
        "blobs": done.blobs,
        "skipped_blobs": done.skipped_blobs,
        "total_bytes": done.total_bytes,
        "moved_bytes": done.moved_bytes,
    }


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "push",
        push,
        summary="Send a bundle to a registry, unchanged.",
        example="kerncap push vector_add.kcap.tar localhost:5000/kernels/vector_add:v1",
    )
