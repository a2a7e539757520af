"""`kerncap inspect`: what a bundle holds, without moving its data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerncap.cli import options
from kerncap.cli.output import format_bytes, print_json, say, set_verbosity, table
from kerncap.errors import typed

if TYPE_CHECKING:
    from kerncap.bundle import Bundle
    from kerncap.workflows.fidelity import Fidelity

_MOST_FETCHED_BYTES = 256 << 10
"""Of a bundle in a registry: beside manifest, config and index, which are some 0.6 MB of a bundle of 30 GB."""


def inspect(
    bundle: options.AnyBundle,
    fidelity: Annotated[
        bool,
        typer.Option(
            "--fidelity", help="Also which instructions of the code object the virtual GPU approximates or lacks."
        ),
    ] = False,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            "--key",
            metavar="PUBLIC.pem",
            help="Say whether what refers to it is signed by this key. More than one: by any.",
        ),
    ] = None,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Show kernel, call with typed arguments, target, versions and memory by class; no memory data is read or moved."""
    from kerncap.cli.bundle_text import describe, describe_json
    from kerncap.cli.referrers_text import find_referrers
    from kerncap.transport import open_any
    from kerncap.triton.described import describe as describe_triton
    from kerncap.workflows.fidelity import fidelity_of

    set_verbosity(verbose)
    opened = open_any(bundle, plain_http=plain_http)
    found = fidelity_of(opened) if fidelity else None
    left_out = _code_bytes_left_out(opened)
    triton = _triton(opened) if left_out is None else None
    referrers = find_referrers(opened, key or ())
    if as_json:
        extra: dict[str, Any] = {} if found is None else {"fidelity": found.to_json()}
        extra |= {} if triton is None else {"triton": triton}
        extra |= {} if left_out is None else {"triton_not_fetched_bytes": left_out}
        print_json({**describe_json(opened), "bundle": bundle, **extra, **referrers.to_json()})
    else:
        say(describe(opened, regions=verbose > 0))
        if triton is not None:
            say("\n" + describe_triton(triton))
        if left_out is not None:
            size, pull = format_bytes(left_out), typed("kerncap", "pull", bundle, "-o", "bundle.kcap.tar")
            say(f"\nTriton's call lies in the code layer of {size}, which is not fetched: {pull}")
        if found is not None:
            say(fidelity_text(found))
        if referrers.text():
            say("\n" + referrers.text())


def _code_bytes_left_out(opened: Bundle) -> int | None:
    """The size of the layer with Triton's call when that is too much to be fetched for it."""
    from kerncap.bundle.store import LocalStore

    code = opened.manifest.code if opened.manifest is not None else None
    if opened.capture.triton is None or code is None or isinstance(opened.store, LocalStore):
        return None
    return code.size if code.size > _MOST_FETCHED_BYTES else None


def _triton(opened: Bundle) -> dict[str, Any] | None:
    """How Triton was called. It lies beside the source, which is fetched for it."""
    from kerncap.errors import KerncapError
    from kerncap.triton.pinned import load_pinned

    if opened.capture.triton is None:
        return None
    try:
        with opened.source_folder() as folder:
            return load_pinned(folder)
    except KerncapError as error:
        if error.code != "bundle.missing-blob":
            raise
        return None


def fidelity_text(fidelity: Fidelity) -> str:
    """Several lines: per function how many instructions are exact, and the others by name."""
    title = f"\nfidelity of the virtual GPU ({fidelity.target})\n"
    if not fidelity.known_target:
        return title + "  it does not know this target"
    rows = []
    for function in fidelity.functions:
        rows.append(("kernel" if function.kernel else "function", function.name, f"{function.exact} exact"))
        rows += [("", f"{a.count} x {a.name}", f"approximate: {a.bound}") for a in function.approximate]
        rows += [("", f"{u.count} x {u.name}", f"unsupported: {u.reason}") for u in function.unsupported]
    return title + table(rows, indent=2)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "inspect",
        inspect,
        summary="Show what a bundle holds, without moving its data.",
        example="kerncap inspect vector_add.kcap.tar\n"
        "kerncap inspect vector_add.kcap.tar --fidelity\n"
        "kerncap inspect localhost:5000/kernels/vector_add:v1 --key maintainer.pub.pem --json",
    )
