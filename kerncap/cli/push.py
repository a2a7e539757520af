"""`kerncap push`: send a bundle to a registry, or copy it into a layout or tar file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerncap.cli import options
from kerncap.cli.output import confirm, format_bytes, note, print_json, progress_bar, say, set_verbosity
from kerncap.errors import UsageError, counted, typed

if TYPE_CHECKING:
    from kerncap.transport import Transferred
    from kerncap.trust.keys import PrivateKey


MountOption = Annotated[
    str | None,
    typer.Option(
        "--mount-from",
        metavar="host[:port]/name",
        help="Of the same registry: a repository that may hold blobs already; they are taken over, not sent.",
    ),
]

RecursiveOption = Annotated[
    bool,
    typer.Option("--recursive", help="Also what refers to it, such as signatures and attestations (not a tar file)."),
]


def push(
    bundle: options.SealedOrRemote,
    target: Annotated[
        str, typer.Argument(metavar="REF", help="host[:port]/name[:tag], oci:DIR[:tag] or FILE.kcap.tar.")
    ],
    recursive: RecursiveOption = False,
    mount_from: MountOption = None,
    provenance: Annotated[
        bool, typer.Option("--provenance", help="Also attach where it comes from (in-toto, SLSA v1), as attest does.")
    ] = False,
    key: options.SigningKeyOption = None,
    yes: options.YesOption = False,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Send a bundle to a registry unchanged; what is there already is not sent again.

    A bundle holds memory of the captured process: before it leaves this machine, you see what it holds and are asked.
    """
    from kerncap.cli.trusted import signing_key

    set_verbosity(verbose)
    if key is not None and not provenance:
        raise UsageError("--key is of --provenance", code="usage.option-alone", hint="--provenance --key PRIVATE.pem")
    private = signing_key(key)
    sent = send("push", bundle, target, mount_from=mount_from, yes=yes, plain_http=plain_http, recursive=recursive)
    extra = _attach_provenance(sent[1], private, plain_http=plain_http) if provenance else {}
    report(*sent, as_json=as_json, extra=extra)


def _attach_provenance(named: str, key: PrivateKey | None, *, plain_http: bool) -> dict[str, Any]:
    from kerncap.transport import open_any
    from kerncap.workflows.trust import attach_provenance

    done = attach_provenance(open_any(named, plain_http=plain_http), key)
    note(f"provenance: {done.digest}" + ("" if key else ", which nobody signed"))
    return {"provenance": done.digest}


def send(
    command: str,
    bundle: str,
    target: str,
    *,
    mount_from: str | None,
    yes: bool,
    plain_http: bool,
    recursive: bool = False,
    policy: Sequence[Path] | None = None,
) -> tuple[Transferred, str]:
    """What was moved, and the name that it has there; with a `policy` only what one of these keys signed.

    Asks before a bundle leaves for a registry beyond loopback.
    """
    from kerncap.bundle.location import RegistryLocation, parse_target
    from kerncap.cli.bundle_text import describe_secrets
    from kerncap.cli.trusted import open_trusted
    from kerncap.transport import copy_bundle
    from kerncap.transport import push as push_to
    from kerncap.transport.reference import parse_reference

    location = parse_target(target)
    opened = open_trusted(bundle, policy, plain_http=plain_http)
    with progress_bar(command) as progress:
        if not isinstance(location, RegistryLocation):
            return copy_bundle(opened, location, progress=progress, recursive=recursive), str(location)
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


def report(done: Transferred, named: str, *, as_json: bool, extra: Mapping[str, Any] | None = None) -> None:
    """Print it; `extra`: further members."""
    if as_json:
        print_json({**transferred_json(done, named), **(extra or {})})
        return
    say(named)
    there = f"{done.skipped_blobs} of {done.blobs} blobs were there already"
    there += f", {done.mounted_blobs} in another repository" if done.mounted_blobs else ""
    note(f"sent {format_bytes(done.moved_bytes)} of {format_bytes(done.total_bytes)}; {there}{came_along(done)}")


def came_along(done: Transferred) -> str:
    return f"; {counted(done.referrers, 'referrer')} came along" if done.referrers else ""


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
