"""`kerncap doctor`: what this host can do, and what to do about the rest."""

from __future__ import annotations

from dataclasses import asdict

import typer

from kerncap.cli.options import JsonOption, VerboseOption, add_command
from kerncap.cli.output import print_json, say, set_verbosity, table
from kerncap.errors import HostError

_MEANING = {
    "hold": "pull, inspect, verify, pack, push",
    "run": "replay in a container (kerncap run)",
    "replay": "replay on this host itself (kerncap replay, validate)",
    "capture": "capture on this host itself (kerncap extract)",
}


def register(app: typer.Typer) -> None:
    add_command(
        app,
        "doctor",
        doctor,
        summary="Say what this host can do, and what mends the rest.",
        example="kerncap doctor --json",
    )


def doctor(as_json: JsonOption = False, verbose: VerboseOption = 0) -> None:
    """Say what this host can do, and what to do about the rest.

    Exit code 3 when a bundle can be replayed neither in a container nor on this host itself.
    """
    from kerncap.runtime import doctor as doctor_

    set_verbosity(verbose)
    report = doctor_.examine()
    if as_json:
        checks = [asdict(check) for check in report.checks]
        print_json({"schema": "kerncap.doctor/1", "checks": checks, "can": report.can})
    else:
        say(table([(check.state, check.name, check.detail) for check in report.checks]))
        for check in report.checks:
            if check.mend and check.state != "ok":
                say(f"to mend {check.name}: {check.mend}")
        say()
        say(table([("yes" if works else "no", _MEANING[what]) for what, works in report.can.items()]))
    if not (report.can["run"] or report.can["replay"]):
        raise typer.Exit(HostError.exit_code)
