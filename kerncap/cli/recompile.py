"""`kerncap recompile`: compile the source that a bundle carries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import note, print_json, say, set_verbosity


def recompile(
    bundle: options.LocalBundle,
    output: Annotated[Path, typer.Option("-o", "--output", help="The code object to write.")],
    trust: options.TrustOption = False,
    image: Annotated[
        str | None, typer.Option("--image", help="Runtime image of the sandbox; default: the one with the same clang.")
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that the compiler may take.")] = 900.0,
    memory: options.MemoryOption = None,
    config: options.ConfigOption = None,
    programs: options.ProgramsOption = None,
    key: options.PolicyOption = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Compile the carried source for the captured target: in the sandbox, without network and without this machine.

    The equivalent `docker run` line is printed on stderr.
    """
    from kerncap.cli.trusted import trusted
    from kerncap.workflows.recompile import Sandbox, configuration_of, recompile_source

    set_verbosity(verbose)
    options.check_seconds("--timeout", timeout, "900")
    options.check_memory(memory)
    configuration = configuration_of(config, programs, prefix="--")
    bundle = trusted(bundle, key, plain_http=False)
    sandbox = Sandbox(image, timeout, memory, say=lambda line: note(f"$ {line}"), configuration=configuration)
    outcome = recompile_source(bundle, output, trust=trust, sandbox=sandbox)
    if outcome.difference:
        note(outcome.difference)
    if as_json:
        print_json(outcome.to_json())
    else:
        say(f"compiled: {outcome.output}")
    return 0


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "recompile",
        recompile,
        summary="Compile the source that a bundle carries.",
        example="kerncap recompile vector_add.kcap -o variant.hsaco\nkerncap recompile oci:bundle -o v.hsaco --trust",
    )
