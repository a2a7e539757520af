"""Entry point: loads the commands of one table, runs one, prints errors, exits with the code of the error.

In: sys.argv. Out: an exit code (docs/architecture.md, Errors). Each `kerncap/cli/<module>.py` exposes `register(app)`.
"""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from kerncap.cli.output import note, print_error, print_json, set_verbosity
from kerncap.errors import EXIT_INTERRUPTED, EXIT_OK, HostError, KerncapError, UsageError, typed

# Every command, in the order of the help: its name is its module in this package. A command is added by its line here.
COMMANDS: tuple[str, ...] = (
    "extract",
    "pack",
    "unpack",
    "push",
    "pull",
    "inspect",
    "verify",
    "replay",
    "validate",
    "recompile",
    "run",
    "doctor",
    "image",
)

_MACHINE_ERRORS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})
_terminated = threading.Event()
_COMPLETION_VARIABLE = "_KERNCAP_COMPLETE"


def build_app(only: str | None = None) -> typer.Typer:
    """The whole command line, or just the command `only`, whose start is quicker for it."""
    app = typer.Typer(
        name="kerncap",
        help="Capture one GPU kernel dispatch as a bundle that anyone can hold, run and edit.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_top)
    for name in COMMANDS:
        if only in (None, name):
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


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run and exit; the console script."""
    args = list(sys.argv[1:] if argv is None else argv)
    signal.signal(signal.SIGTERM, _on_terminate)
    code = run(args)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away: not an error, but Python's own flush at exit would complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        code = _machine(error, as_json=False)
    sys.exit(code)


def run(args: list[str]) -> int:
    """Run one command line and return its exit code; every exception ends here."""
    as_json = "--json" in (args[: args.index("--")] if "--" in args else args)
    set_verbosity(0)
    first = args[0] if args and _COMPLETION_VARIABLE not in os.environ else None
    try:
        command = typer.main.get_command(build_app(first if first in COMMANDS else None))
        returned = command.main(args, prog_name="kerncap", standalone_mode=False)
        if returned == EXIT_INTERRUPTED:  # how newer versions of typer report Ctrl-C
            return _interrupted(as_json)
        return returned if isinstance(returned, int) else EXIT_OK
    except KerncapError as error:
        print_error(error, as_json=as_json)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted(as_json)
    except BrokenPipeError:
        return EXIT_OK
    except OSError as error:
        if error.errno not in _MACHINE_ERRORS:
            return _foreign(error, as_json)
        return _machine(error, as_json)
    except Exception as error:
        return _foreign(error, as_json)


def _interrupted(as_json: bool) -> int:
    exit_code = 128 + signal.SIGTERM if _terminated.is_set() else EXIT_INTERRUPTED
    message = "interrupted: nothing has a final name that is not whole"
    if as_json:
        print_json(KerncapError(message, code="interrupted").to_json() | {"exit_code": exit_code})
    note(message)
    return exit_code


def _machine(error: OSError, as_json: bool) -> int:
    """What the system refused where no caller expected it: still for the machine's owner, not a bug."""
    place = Path(error.filename).parent if isinstance(error.filename, str) else None
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    failure = HostError(
        f"{error.filename or 'writing the result'}: {error.strerror}",
        code="host.disk-full" if full else "host.permission",
        hint=typed(*(("df", "-h") if full else ("ls", "-ld")), place or "."),
    )
    try:
        print_error(failure, as_json=as_json)
        sys.stdout.flush()
    except OSError:  # stdout itself is what is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print_error(failure, as_json=False)
    return failure.exit_code


def _foreign(error: Exception, as_json: bool) -> int:
    """Usage errors of typer (whose click may be its own copy, so they are known by shape), and our own bugs."""
    show, exit_code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if callable(show) and isinstance(exit_code, int):
        if as_json:
            message = str(getattr(error, "message", None) or error)
            usage = UsageError(message, code="usage.arguments", hint=_help_of(error))
            print_json(usage.to_json() | {"exit_code": exit_code})
        show()
        return exit_code
    traceback.print_exc()
    name = type(error).__name__
    bug = KerncapError(f"{name}: {error}; this is a bug in kerncap, please report it", code="internal.unexpected")
    print_error(bug, as_json=as_json)
    return bug.exit_code


def _help_of(error: Exception) -> str:
    return f"{getattr(getattr(error, 'ctx', None), 'command_path', 'kerncap')} --help"


def _on_terminate(number: int, frame: FrameType | None) -> None:
    """As Ctrl-C, so that every `finally` runs: temporary names removed, process groups ended."""
    _terminated.set()
    raise KeyboardInterrupt
