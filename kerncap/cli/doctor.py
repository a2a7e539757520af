"""`kerncap doctor`: what this host can do, and what to do about the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap.cli import completion, options
from kerncap.cli.output import print_json, say, set_verbosity, table
from kerncap.errors import HostError

if TYPE_CHECKING:
    from kerncap.runtime.doctor import Check

_MEANING = {
    "hold": "pull, inspect, verify, pack, push",
    "run": "replay in a container (kerncap run)",
    "replay": "replay on this host itself (kerncap replay, validate)",
    "capture": "capture on this host itself (kerncap extract)",
}


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "doctor",
        doctor,
        summary="Say what this host can do, and what mends the rest.",
        example="kerncap doctor\nkerncap doctor vector_add.kcap.tar --device gpu --json",
    )


def doctor(
    bundle: Annotated[
        str | None,
        typer.Argument(
            metavar="BUNDLE",
            help="Can this bundle be replayed here? oci:DIR[:tag], FILE.kcap.tar, a reproducer, or host[:port]/name.",
            autocompletion=completion.bundles,
        ),
    ] = None,
    device: options.DeviceOption = "auto",
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Say what this host can do, and what to do about the rest.

    With BUNDLE: whether it can be replayed here, on --device, and what keeps it from that. Exit code 3 when it can be
    replayed neither in a container nor on this host itself.
    """
    from kerncap.workflows import doctor as workflow

    set_verbosity(verbose)
    report = workflow.examine(bundle, device, plain_http=plain_http)
    if as_json:
        document = {
            "schema": "kerncap.doctor/1",
            "checks": [asdict(check) for check in report.checks],
            "can": report.can,
            "bundle": report.bundle,
            "device": report.device,
            "of_bundle": [asdict(check) for check in report.of_bundle],
        }
        print_json(document)
    else:
        _show(report.checks)
        if report.of_bundle:
            say()
            say(f"{report.bundle} on {report.device or device}")
            _show(report.of_bundle)
        say()
        say(table([("yes" if works else "no", _MEANING[what]) for what, works in report.can.items()]))
    if not report.works:
        raise typer.Exit(HostError.exit_code)


def _show(checks: Iterable[Check]) -> None:
    checks = list(checks)
    say(table([(check.state, check.name, check.detail) for check in checks]))
    for check in checks:
        if check.mend and check.state != "ok":
            say(f"to mend {check.name}: {check.mend}")
