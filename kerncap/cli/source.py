"""`kerncap source`: give a reproducer of an Inductor kernel its source, from output_code.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import completion, options
from kerncap.cli.output import note, print_json, say, set_verbosity, table


def source(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Reproducer directory without source.", autocompletion=completion.bundles),
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="output_code.py of TORCH_COMPILE_DEBUG=1.")],
    config: options.TorchConfigOption = None,
    triton: options.TritonReleaseOption = None,
    compile_it: Annotated[
        bool,
        typer.Option("--compile/--no-compile", help="Compile it and compare the machine code with the captured one."),
    ] = True,
    trust: options.TrustOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Take the source of the captured kernel from what torch's Inductor wrote, bound to the captured launch.

    Writes src/kernel_variant.py, triton.json and reproducer.py, which need Triton alone. FILE is parsed and not run; it
    is compiled in the sandbox, or here with --trust.
    """
    from kerncap.triton.configurations import parse_values
    from kerncap.triton.inductor_configuration import text_of
    from kerncap.workflows.inductor import InductorSource, compile_imported, import_source
    from kerncap.workflows.recompile import Sandbox

    set_verbosity(verbose)
    values = {} if config is None else parse_values(config)
    imported = import_source(directory, InductorSource(file, values, triton))
    if compile_it:
        sandbox = Sandbox(say=lambda line: note(f"$ {line}"))
        imported = compile_imported(imported, trust=trust, sandbox=sandbox)
    if as_json:
        print_json(imported.to_json())
        return 0
    words = {True: "yes", False: "no", None: "not known"}[imported.same_code]
    rows = [
        ("kernel", imported.kernel),
        ("files", ", ".join(imported.files)),
        ("configuration", text_of(imported.configuration)),
        ("Triton", imported.release),
        ("the captured code", words + (f": {imported.difference}" if imported.difference else "")),
    ]
    say(f"source: {imported.directory}")
    say(table(rows, indent=2))
    return 0


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "source",
        source,
        summary="Give a reproducer of an Inductor kernel its source.",
        example="kerncap source relu.kcap output_code.py --config XBLOCK=512,num_warps=4,num_stages=1",
    )
