"""`kerncap diff`: one kernel's machine code in two code objects."""

from __future__ import annotations

from typing import Annotated

import typer

from kerncap import limits
from kerncap.cli import completion, options
from kerncap.cli.output import print_json, say, set_verbosity

_SIDE = "A code object, or oci:DIR[:tag], FILE.kcap.tar or a reproducer directory."
_MOST_CONTEXT = 1 << 20


def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help=_SIDE, autocompletion=completion.bundles)],
    after: Annotated[str, typer.Argument(metavar="AFTER", help=_SIDE, autocompletion=completion.bundles)],
    isa: Annotated[bool, typer.Option("--isa", help="Show the assembly, line by line.")] = False,
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="NAME", help="Base or mangled name; default: the captured, or the only one."),
    ] = None,
    context: Annotated[
        int, typer.Option("--context", metavar="N", help="With --isa: unchanged lines around a change.")
    ] = 3,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Compare the code of a kernel: registers, LDS, scratch, occupancy, instructions. Exit code 1 when it differs."""
    from kerncap.workflows.code_diff import diff_code

    set_verbosity(verbose)
    limits.check_count("--context", context, 0, _MOST_CONTEXT)
    found = diff_code(before, after, kernel, context)
    if as_json:
        print_json(found.to_json())
        return 0 if found.same else 1
    if found.same:
        say(f"{found.kernel}: the same code")
        return 0
    say(f"{found.kernel}: {', '.join(found.changes) or 'branches lead elsewhere'}")
    if isa:
        say(f"--- {before}")
        say(f"+++ {after}")
        for line in found.lines:
            say(line)
        for name, lines in found.functions.items():
            say(f"function {name}" + ("" if lines else ": on one side only"))
            for line in lines:
                say(line)
    return 1


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "diff",
        diff,
        summary="Compare a kernel in two code objects or bundles.",
        example="kerncap diff vector_add.kcap variant.hsaco --isa",
    )
