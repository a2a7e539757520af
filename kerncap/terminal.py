"""The terminal of our standard input, handed to a program that a person types at, as a shell does.

In: a process group. Out: how its leader ended. Called by proc. Source: POSIX, 11.1 General Terminal Interface.
"""

from __future__ import annotations

import contextlib
import os
import signal
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

_STDIN = 0
_TICK_S = 0.05


def is_ours() -> bool:
    """Standard input is a terminal, and this process is in its foreground."""
    return _is_terminal() and os.tcgetpgrp(_STDIN) == os.getpgrp()


def is_of_others() -> bool:
    """Standard input is a terminal that another process group has: whoever reads from it is stopped."""
    return _is_terminal() and not is_ours()


def _is_terminal() -> bool:
    try:
        os.tcgetpgrp(_STDIN)  # fails, too, for a terminal that is not ours to control
    except OSError:
        return False
    return os.isatty(_STDIN)


@contextmanager
def lent_to(group: int) -> Iterator[None]:
    """Inside, Ctrl-C and what is typed go to `group`; afterwards the terminal is as it was. Nothing without one."""
    if not is_ours():
        yield
        return
    modes = termios.tcgetattr(_STDIN)
    try:
        _give_to(group)
        # It may have read before it had the terminal, and was stopped for that.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGCONT)
        yield
    finally:
        _give_to(os.getpgrp())
        with contextlib.suppress(termios.error):
            termios.tcsetattr(_STDIN, termios.TCSADRAIN, modes)


def _give_to(group: int) -> None:
    """A process in the background may do that while SIGTTOU is blocked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        with contextlib.suppress(OSError):  # the group has ended, or the terminal is gone
            os.tcsetpgrp(_STDIN, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait_for(leader: int, deadline: float | None, *, lent: bool) -> int | None:
    """The leader's exit status (os.waitstatus_to_exitcode); None when it runs on after `deadline` (time.monotonic).

    `lent`: it has the terminal; when a person stops it (Ctrl-Z), our own group stops with it, and goes on with it.
    """
    while True:
        pid, status = os.waitpid(leader, os.WUNTRACED | os.WNOHANG)
        if pid == 0:
            if deadline is not None and time.monotonic() >= deadline:
                return None
            time.sleep(_TICK_S)
        elif os.WIFSTOPPED(status):
            if lent:
                _stop_with(leader)
        else:
            return os.waitstatus_to_exitcode(status)


def _stop_with(leader: int) -> None:
    _give_to(os.getpgrp())
    os.killpg(0, signal.SIGTSTP)  # returns when a shell continues us
    _give_to(leader)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGCONT)
