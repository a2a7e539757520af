"""The program's first module: what ends it from outside is answered while Python still loads the rest.

In: signals. Out: exit code 128 + number and, with `--json`, the error document; never a traceback. It imports next to
nothing, because nothing answers before it. Called by the console script, `python -m kerncap` and `kerncap.cli.main`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

ENDING = {signal.SIGINT: "interrupt", signal.SIGTERM: "terminate", signal.SIGHUP: "hangup"}

_MESSAGE = "interrupted: nothing has a final name that is not whole"
_DOCUMENT = """{{
  "schema": "kerncap.error/1",
  "code": "signal.{name}",
  "message": "{message}",
  "hint": null,
  "exit_code": {exit_code}
}}
"""


def main() -> NoReturn:
    """The console script."""
    listen()
    from kerncap.cli.main import main as run_and_exit

    run_and_exit()


def listen() -> None:
    """What the caller ignores, as nohup does, stays ignored."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, leave)


def leave(number: int, frame: FrameType | None) -> NoReturn:
    """A handler for when nothing was begun: a module that is being imported may swallow an exception."""
    try:
        answer(number, wants_json(sys.argv[1:]))
        sys.stdout.flush()
    finally:  # also where the streams are closed
        os._exit(128 + number)


def answer(number: int, as_json: bool) -> int:
    """Say that the program ends because of a signal; returns its exit code."""
    exit_code = 128 + number
    if as_json:
        sys.stdout.write(_DOCUMENT.format(name=ENDING[signal.Signals(number)], message=_MESSAGE, exit_code=exit_code))
    sys.stderr.write(_MESSAGE + "\n")
    return exit_code


def wants_json(args: Sequence[str]) -> bool:
    """Whether `--json` is among the words before `--`, behind which an application's own begin."""
    return "--json" in (args[: args.index("--")] if "--" in args else args)
