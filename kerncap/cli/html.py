"""`kerncap html`: a stored verdict as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import completion, options
from kerncap.cli.output import print_json, say, set_verbosity

_BUNDLE = "The bundle that it is about, for call, memory and source: as run names it."


def html(
    verdict: Annotated[
        Path, typer.Argument(metavar="VERDICT.json", help="What run, validate or replay --json printed.")
    ],
    bundle: Annotated[
        str | None, typer.Argument(metavar="[BUNDLE]", help=_BUNDLE, autocompletion=completion.bundles)
    ] = None,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The HTML file to write.")],
    hsaco: Annotated[
        Path | None, typer.Option("--hsaco", help="The variant that was judged, to stand in the lines that repeat it.")
    ] = None,
    source: options.ReportSourceOption = None,
    only: options.OnlyOption = None,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Write a stored verdict as one HTML file that needs nothing else: no network, no script.

    With BUNDLE also what was called with what, where in memory what changed, and what of the source is another one.
    """
    from kerncap.cli.attest import read_verdict
    from kerncap.cli.report import Page
    from kerncap.errors import UsageError

    set_verbosity(verbose)
    for name, value in (("--report-source", source), ("--only", only)):
        if value is not None and bundle is None:
            text = f"{name} is about the bundle, which is not named"
            raise UsageError(text, code="usage.option-alone", hint="kerncap html VERDICT.json BUNDLE -o FILE")
    page = Page(output, bundle, source, hsaco, only=only, plain_http=plain_http)
    page.write(read_verdict(verdict))
    if as_json:
        print_json({"schema": "kerncap.report/1", "output": str(output), "size_bytes": output.stat().st_size})
    else:
        say(str(output))


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "html",
        html,
        summary="Write a stored verdict as one HTML file.",
        example="kerncap run oci:bundle --json > verdict.json; kerncap html verdict.json oci:bundle -o verdict.html\n"
        "kerncap html verdict.json -o verdict.html",
    )
