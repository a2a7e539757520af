"""`kerncap inspect`: what a bundle holds, without moving its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kerncap.cli import options
from kerncap.cli.output import print_json, say, set_verbosity, table

if TYPE_CHECKING:
    from kerncap.bundle import Bundle
    from kerncap.workflows.fidelity import Fidelity


def inspect(
    bundle: options.AnyBundle,
    fidelity: Annotated[
        bool,
        typer.Option(
            "--fidelity", help="Also which instructions of the code object the virtual GPU approximates or lacks."
        ),
    ] = False,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Show kernel, call with typed arguments, target, versions and memory by class; no memory data is read or moved."""
    from kerncap.cli.bundle_text import describe, describe_json
    from kerncap.transport import open_any
    from kerncap.triton.described import describe as describe_triton
    from kerncap.workflows.fidelity import fidelity_of

    set_verbosity(verbose)
    opened = open_any(bundle, plain_http=plain_http)
    found = fidelity_of(bundle) if fidelity else None
    triton = _triton(opened)
    if as_json:
        extra = {} if found is None else {"fidelity": found.to_json()}
        extra |= {} if triton is None else {"triton": triton}
        print_json({**describe_json(opened), "bundle": bundle, **extra})
    else:
        say(describe(opened, regions=verbose > 0))
        if triton is not None:
            say("\n" + describe_triton(triton))
        if found is not None:
            say(fidelity_text(found))


def _triton(opened: Bundle) -> dict[str, Any] | None:
    """How Triton was called. It lies beside the source: of a bundle in a registry it is not fetched."""
    from kerncap.errors import KerncapError
    from kerncap.triton.pinned import load_pinned

    if opened.capture.triton is None:
        return None
    try:
        with opened.source_folder() as folder:
            return load_pinned(folder)
    except KerncapError as error:
        if error.code not in ("bundle.missing-blob", "usage.not-local"):
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
        "kerncap inspect localhost:5000/kernels/vector_add:v1 --json",
    )
