"""The command line as typer knows it: every command registered, or just one of them.

In: the name of a command or None. Out: a typer application. Called by `main`, which imports this after its handlers of
interrupts are in place: it takes most of the time of a start.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Annotated

import typer


def build(commands: Iterable[str]) -> typer.Typer:
    """An application with these commands; each is the `register` of its module in this package."""
    app = typer.Typer(
        name="kerncap",
        help="Capture one GPU kernel dispatch as a bundle that anyone can hold, run and edit.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_top)
    for name in commands:
        importlib.import_module(f"kerncap.cli.{name}").register(app)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        try:
            typer.echo(f"kerncap {importlib.metadata.version('kerncap')}")
        except importlib.metadata.PackageNotFoundError:
            typer.echo("kerncap (source checkout, not installed)")
        raise typer.Exit()


def _top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass
