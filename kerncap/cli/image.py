"""`kerncap image build` and `kerncap image list`: the images that replays run in."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap.cli import completion
from kerncap.cli.options import JsonOption, VerboseOption, add_command
from kerncap.cli.output import format_bytes, note, print_json, say, set_verbosity, table
from kerncap.errors import UsageError, typed

if TYPE_CHECKING:
    from kerncap.runtime import images


def register(app: typer.Typer) -> None:
    group = typer.Typer(name="image", help="Build and list the images that replays run in.", no_args_is_help=True)
    add_command(
        group,
        "build",
        build,
        summary="Build images; what has not changed is left alone.",
        example="kerncap image build trixie --only runtime",
    )
    add_command(
        group, "list", list_, summary="List the images and whether they are built.", example="kerncap image list --json"
    )
    app.add_typer(group)


def build(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUITE",
            help="Bases of dockerfiles/images.toml; none: the default ones.",
            autocompletion=completion.suites,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", help="base, toolchain, dev, runtime or triton, and what that needs; more than one may be named."
        ),
    ] = None,
    app: Annotated[
        list[str] | None,
        typer.Option(
            "--app", help="Instead: an image of real programs (for make test-apps); more than one may be named."
        ),
    ] = None,
    triton: Annotated[
        str | None,
        typer.Option(
            "--triton",
            metavar="RELEASE",
            help="Build the triton image with this release instead of the suite's own, tagged SUITE-RELEASE.",
            autocompletion=completion.triton_releases,
        ),
    ] = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Build images; what has not changed is left alone."""
    from kerncap.runtime import catalog, images

    set_verbosity(verbose)
    if app:
        if suites or only or triton:
            raise UsageError(
                "--app builds images of real programs, which go with none of a suite, --only and --triton",
                code="usage.app-with-suite",
                hint="kerncap image build --app llama",
            )
        _show(images.build_apps(tuple(app), note), as_json)
        return
    if triton is not None:
        if only and "triton" not in only:
            raise UsageError(
                "--triton names a release of the triton image, which --only leaves out",
                code="usage.triton-left-out",
                hint=typed("kerncap", "image", "build", "--only", "triton", "--triton", triton),
            )
        only = only or ["triton"]
    known = (*catalog.ROLES, *catalog.OPTIONAL_ROLES)
    roles = tuple(role for role in known if role in (only or catalog.ROLES))
    for role in only or ():
        if role not in known:
            text = f"no image is called {role!r}: base, toolchain, dev, runtime or triton"
            raise UsageError(text, code="usage.unknown-role")
    states = images.build(tuple(suites or ()), roles, note, triton)
    _show([state for state in states if state.role in roles], as_json)


def list_(as_json: JsonOption = False, verbose: VerboseOption = 0) -> None:
    """List the images and whether they are built."""
    from kerncap.runtime import images

    set_verbosity(verbose)
    _show(images.list_images(), as_json)


def _show(states: list[images.ImageState], as_json: bool) -> None:
    if as_json:
        print_json({"schema": "kerncap.images/1", "images": [asdict(state) for state in states]})
        return
    rows = [(s.name, (s.image_id or "not built")[-64:][:12], _size(s)) for s in states]
    say(table(rows, header=("image", "id", "size")))


def _size(state: images.ImageState) -> str:
    return "" if state.size_bytes is None else format_bytes(state.size_bytes)
