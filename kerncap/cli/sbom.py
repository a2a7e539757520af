"""`kerncap sbom`: the bill of materials of the source that a bundle carries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import note, print_json, say, set_verbosity
from kerncap.errors import counted


def sbom(
    bundle: options.SealedOrRemote,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="New file; default: stdout, unless it is attached.")
    ] = None,
    attach: Annotated[
        bool, typer.Option("--attach", help="Attach it to the bundle, in its layout or registry.")
    ] = False,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Write an SPDX 2.3 document: each source file with digest and the licences that it names, compiler and runtimes.

    The same bundle gives the same document; its time is SOURCE_DATE_EPOCH where that is set.
    """
    from kerncap.transport import open_any
    from kerncap.workflows.trust import attach_sbom, sbom_of, subject_of

    set_verbosity(verbose)
    opened = open_any(bundle, plain_http=plain_http)
    digest = subject_of(opened).digest
    data = sbom_of(opened)
    if output is not None:
        from kerncap.bundle.outputs import new_file

        with new_file(output) as file:
            file.write(data)
    referrer = attach_sbom(opened, data).digest if attach else None
    document = json.loads(data)
    to_stdout = output is None and not attach
    if as_json:
        print_json(
            {
                "schema": "kerncap.sbom/1",
                "bundle": bundle,
                "digest": digest,
                "output": None if output is None else str(output),
                "referrer": referrer,
                "files": len(document["files"]),
                "document": document if to_stdout else None,
            }
        )
    elif to_stdout:
        say(data.decode("ascii").rstrip("\n"))
    else:
        say(referrer or str(output))
        note(f"{counted(len(document['files']), 'file')} of {digest}")


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "sbom",
        sbom,
        summary="List files and licences of a bundle's source (SPDX).",
        example="kerncap sbom vector_add.kcap.tar -o vector_add.spdx.json\n"
        "kerncap sbom localhost:5000/kernels/vector_add:v1 --attach",
    )
