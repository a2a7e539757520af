"""Entry point: loads the commands of one table, runs one, prints errors, exits with the code of the error.

In: sys.argv. Out: an exit code (docs/architecture.md, Errors). Each `kerncap/cli/<module>.py` exposes `register(app)`.
Only light modules are imported at the top, and a command's own parts inside the command: a start is quick, and an
interrupt during the imports is answered like any other (`kerncap.cli.start`).
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from kerncap.cli import start
from kerncap.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    FULL_ERRORS,
    MACHINE_ERRORS,
    PATH_ERRORS,
    KerncapError,
    UsageError,
    bug,
    out_of_memory,
    refused_by_system,
    typed,
)

if TYPE_CHECKING:
    import typer

# Every command, in the order of the help: its name is its module in this package. A command is added by its line here.
COMMANDS: tuple[str, ...] = (
    "profile",
    "launches",
    "extract",
    "attachable",
    "trigger",
    "pack",
    "unpack",
    "push",
    "pull",
    "copy",
    "inspect",
    "verify",
    "sign",
    "attest",
    "sbom",
    "replay",
    "validate",
    "source",
    "recompile",
    "loop",
    "serve",
    "diff",
    "run",
    "matrix",
    "bisect",
    "html",
    "doctor",
    "cache",
    "image",
)

_BUNDLE_COMMANDS = frozenset(
    {"push", "pull", "copy", "inspect", "verify", "unpack", "replay", "validate", "recompile", "run", "serve"}
    | {"sign", "attest", "sbom", "doctor", "bisect"}
)

_ended_by: list[int] = []
_COMPLETION_VARIABLE = "_KERNCAP_COMPLETE"


def build_app(only: str | None = None) -> typer.Typer:
    """The whole command line, or just the command `only`, whose start is quicker for it."""
    from kerncap.cli import frame

    return frame.build([name for name in COMMANDS if only in (None, name)])


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run and exit."""
    start.listen()
    _open_closed_streams()
    args = list(sys.argv[1:] if argv is None else argv)
    code = run(args)
    _end_at_once(None)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away: not an error, but Python's own flush at exit would complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        code = _machine(error, as_json=False)
    _end_at_once(code)
    sys.exit(code)


def _end_at_once(code: int | None) -> None:
    """The command is over: a signal now ends what little is left, with the command's code once all is said."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        os._exit(128 + number if code is None else code)

    for number in start.ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
            if code is not None:
                # Python takes its handlers away before it ends, but leaves what is ignored: so the code stays.
                atexit.register(signal.signal, number, signal.SIG_IGN)


def _open_closed_streams() -> None:
    """A stream that the caller closed becomes /dev/null: else the next file that is opened would take its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


@contextmanager
def _starting() -> Iterator[None]:
    """A signal inside ends the process at once: nothing was begun, and a foreign module that is being imported may
    swallow an exception or make another one of it. From then on it is a KeyboardInterrupt, so that every `finally`
    runs: temporary names removed, process groups and containers ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = (signal.default_int_handler, start.leave, _on_signal)
    before = {number: signal.getsignal(number) for number in start.ENDING if signal.getsignal(number) in ours}
    for number in before:
        signal.signal(number, start.leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, _on_signal if handler is start.leave else handler)


def run(args: list[str]) -> int:
    """Run one command line and return its exit code; every exception ends here."""
    as_json = start.wants_json(args)
    first = args[0] if args and _COMPLETION_VARIABLE not in os.environ else None
    try:
        with _starting():
            import typer

            from kerncap.cli.output import set_verbosity

            set_verbosity(0)
            command = typer.main.get_command(build_app(first if first in COMMANDS else None))
        with _shell_words():
            returned = command.main(args, prog_name="kerncap", standalone_mode=False)
        if returned == EXIT_INTERRUPTED:  # how newer versions of typer report Ctrl-C
            return _interrupted(as_json)
        return returned if isinstance(returned, int) else EXIT_OK
    except KerncapError as error:
        if error.hint == error.general_hint:
            error.hint = _with_typed_words(error.hint, error.message, args)
        _print_error(error, as_json)
        return error.exit_code
    except KeyboardInterrupt:
        return _interrupted(as_json)
    except BrokenPipeError:
        return EXIT_OK
    except OSError as error:
        if error.errno in PATH_ERRORS and _is_named(error, args):
            usage = UsageError(
                f"{error.filename}: {error.strerror}",
                code="usage.path",
                hint=typed("ls", "-ld", os.path.dirname(error.filename)[:200] or "."),
            )
            _print_error(usage, as_json)
            return usage.exit_code
        if error.errno in MACHINE_ERRORS | FULL_ERRORS | PATH_ERRORS:
            return _machine(error, as_json)
        return _foreign(error, as_json)
    except MemoryError:
        failure = out_of_memory()
        _print_error(failure, as_json)
        return failure.exit_code
    except Exception as error:
        return _interrupted(as_json) if isinstance(error, typer.Abort) else _foreign(error, as_json)


def _with_typed_words(hint: str, message: str, args: Sequence[str]) -> str:
    """A general hint with the command and the bundle that were typed, where it has their names."""
    if args[0] in COMMANDS:
        hint = hint.replace("COMMAND", args[0])
    if args[0] in _BUNDLE_COMMANDS and len(args) > 1 and not args[1].startswith("-"):
        hint = hint.replace("BUNDLE", typed(args[1]))
    return _with_typed_host(hint, message, args) if "//HOST/" in hint else hint


def _with_typed_host(hint: str, message: str, args: Sequence[str]) -> str:
    """The registry of the reference that was typed: of several the one that the message speaks of."""
    from kerncap.bundle.location import RegistryLocation, parse_target
    from kerncap.transport.reference import parse_reference

    references = []
    for word in args[1:]:
        with contextlib.suppress(KerncapError):
            if isinstance(parse_target(word), RegistryLocation):
                references.append(parse_reference(word))
    meant = [reference for reference in references if reference.api_host in message] or references
    if not meant:
        return hint
    scheme = "http" if meant[0].loopback or "--plain-http" in args else "https"
    return hint.replace("http://HOST/v2/", typed(f"{scheme}://{meant[0].api_host}/v2/"))


def _shell_words() -> AbstractContextManager[None]:
    if _COMPLETION_VARIABLE not in os.environ:
        return contextlib.nullcontext()
    from kerncap.cli import completion

    return completion.shell_words()


def _print_error(error: KerncapError, as_json: bool) -> None:
    from kerncap.cli.output import print_error

    print_error(error, as_json=as_json)


def _interrupted(as_json: bool) -> int:
    return start.answer(_ended_by[-1] if _ended_by else signal.SIGINT, as_json)


def _is_named(error: OSError, args: Sequence[str]) -> bool:
    """The path of the error is one that was typed, lies in it, or is a temporary name beside it."""
    if not isinstance(error.filename, str):
        return False
    path = os.path.normpath(error.filename)
    for word in args:
        typed_path = os.path.normpath(word.removeprefix("oci:"))
        beside = os.path.dirname(path) == os.path.dirname(typed_path) and os.path.basename(typed_path) in path
        if path == typed_path or path.startswith(typed_path + "/") or beside:
            return True
    return False


def _machine(error: OSError, as_json: bool) -> int:
    logging.getLogger("kerncap").debug("where it happened", exc_info=error)
    failure = refused_by_system(error)
    try:
        _print_error(failure, as_json)
        sys.stdout.flush()
    except OSError:  # stdout itself is what is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _print_error(failure, False)
    return failure.exit_code


def _foreign(error: Exception, as_json: bool) -> int:
    """Usage errors of typer (whose click may be its own copy, so they are known by shape), and our own bugs."""
    show, exit_code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if callable(show) and isinstance(exit_code, int):
        if as_json:
            message = str(getattr(error, "message", None) or error)
            usage = UsageError(message, code="usage.arguments", hint=_help_of(error))
            print(json.dumps(usage.to_json() | {"exit_code": exit_code}, indent=2))
        show()
        return exit_code
    traceback.print_exc()
    failure = bug(error)
    _print_error(failure, as_json)
    return failure.exit_code


def _help_of(error: Exception) -> str:
    return f"{getattr(getattr(error, 'ctx', None), 'command_path', 'kerncap')} --help"


def _on_signal(number: int, frame: FrameType | None) -> None:
    _ended_by.append(number)
    raise KeyboardInterrupt
