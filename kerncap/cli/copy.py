"""`kerncap copy`: bring a bundle from one place to another, from registry to registry too."""

from __future__ import annotations

from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import set_verbosity
from kerncap.cli.push import MountOption, RecursiveOption, report, send


def copy(
    source: options.SealedOrRemote,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="host[:port]/name[:tag], oci:DIR[:tag] or FILE.kcap.tar.")
    ],
    recursive: RecursiveOption = False,
    mount_from: MountOption = None,
    key: options.PolicyOption = None,
    yes: options.YesOption = False,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Copy a bundle unchanged, each blob checked on its way.

    From registry to registry nothing is stored on this machine; within one registry no data moves at all.
    """
    set_verbosity(verbose)
    sent = send(
        "copy",
        source,
        target,
        mount_from=mount_from,
        yes=yes,
        plain_http=plain_http,
        recursive=recursive,
        policy=key,
    )
    report(*sent, as_json=as_json)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "copy",
        copy,
        summary="Copy a bundle, from registry to registry too.",
        example="kerncap copy localhost:5000/bugs/vector_add:1 ghcr.io/me/vector_add:1 --recursive\n"
        "kerncap copy vector_add.kcap.tar oci:bundles:vector_add",
    )
