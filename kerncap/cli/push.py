"""`kerncap push`: send a bundle to a registry, or copy it into a layout or tar file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerncap.cli import options
from kerncap.cli.output import confirm, format_bytes, note, print_json, progress_bar, say, set_verbosity
from kerncap.errors import counted, typed

if TYPE_CHECKING:
    from kerncap.transport import Transferred


MountOption = Annotated[
    str | None,
    typer.Option(
        "--mount-from",
        metavar="host[:port]/name",
        help="Of the same registry: a repository that may hold blobs already; they are taken over, not sent.",
    ),
]


def push(
    bundle: options.SealedOrRemote,
    target: Annotated[
        str, typer.Argument(metavar="REF", help="host[:port]/name[:tag], oci:DIR[:tag] or FILE.kcap.tar.")
    ],
    mount_from: MountOption = None,
    yes: options.YesOption = False,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Send a bundle to a registry unchanged; what is there already is not sent again.

    A bundle holds memory of the captured process: before it leaves this machine, you see what it holds and are asked.
    """
    set_verbosity(verbose)
    sent = send("push", bundle, target, mount_from=mount_from, yes=yes, plain_http=plain_http)
    report(*sent, as_json=as_json)


def send(
    command: str,
    bundle: str,
    target: str,
    *,
    mount_from: str | None,
    yes: bool,
    plain_http: bool,
    recursive: bool = False,
) -> tuple[Transferred, str]:
    """What was moved, and the name that it has there. Asks before a bundle leaves for a registry beyond loopback."""
    from kerncap.bundle.location import RegistryLocation, parse_target
    from kerncap.cli.bundle_text import describe_secrets
    from kerncap.transport import copy_bundle, open_any
    from kerncap.transport import push as push_to
    from kerncap.transport.reference import parse_reference
    from kerncap.transport.transfer import no_referrers

    location = parse_target(target)
    if recursive and not isinstance(location, RegistryLocation):
        raise no_referrers(str(location))
    opened = open_any(bundle, plain_http=plain_http)
    with progress_bar(command) as progress:
        if not isinstance(location, RegistryLocation):
            return copy_bundle(opened, location, progress=progress), str(location)
    reference = parse_reference(location.reference)
    if not reference.loopback:
        note(describe_secrets(opened))
        confirm(f"Send this to {reference}?", yes=yes, what=typed("kerncap", command, bundle, target))
    with progress_bar(command) as progress:
        done = push_to(
            opened,
            reference,
            plain_http=plain_http,
            progress=progress,
            mount_from=parse_reference(mount_from) if mount_from is not None else None,
            recursive=recursive,
        )
    return done, f"{reference.name}@{done.digest}"


def report(done: Transferred, named: str, *, as_json: bool) -> None:
    """Print it."""
    if as_json:
        print_json(transferred_json(done, named))
        return
    say(named)
    there = f"{done.skipped_blobs} of {done.blobs} blobs were there already"
    there += f", {done.mounted_blobs} in another repository" if done.mounted_blobs else ""
    there += f"; {counted(done.referrers, 'referrer')} came along" if done.referrers else ""
    note(f"sent {format_bytes(done.moved_bytes)} of {format_bytes(done.total_bytes)}; {there}")


def transferred_json(done: Transferred, named: str) -> dict[str, Any]:
    return {
        "schema": "kerncap.transferred/1",
        "target": named,
        "digest": done.digest,
        "blobs": done.blobs,
        "skipped_blobs": done.skipped_blobs,
        "mounted_blobs": done.mounted_blobs,
        "total_bytes": done.total_bytes,
        "moved_bytes": done.moved_bytes,
        "referrers": done.referrers,
    }


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "push",
        push,
        summary="Send a bundle to a registry, unchanged.",
        example="kerncap push vector_add.kcap.tar localhost:5000/kernels/vector_add:v1",
    )
