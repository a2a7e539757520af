"""What a command prints: JSON or text on stdout, everything else on stderr; escaped, with progress and questions.

In: results and errors of the workflows. Called by every command and by `kerncap.cli.main`.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from kerncap.errors import KerncapError, UsageError, visible

if TYPE_CHECKING:
    from kerncap.bundle.progress import ProgressCall

_MAX_LINE = 4000


def escape(text: object, *, newlines: bool = False) -> str:
    """Text that cannot move the cursor, hide or forge output: every unprintable character is spelled out."""
    whole = str(text)
    cut = "…" if len(whole) > _MAX_LINE else ""
    return visible(whole[: _MAX_LINE + 1], keep="\n" if newlines else "") + cut


def set_verbosity(verbose: int) -> None:
    """Log records of the package on stderr: warnings, with -v what is done, with -vv everything."""
    level = {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)
    logger = logging.getLogger("kerncap")
    logger.setLevel(level)
    if not logger.handlers:
        handler = _ToStderr()
        handler.setFormatter(_EscapingFormatter("kerncap: %(message)s"))
        logger.addHandler(handler)


class _ToStderr(logging.StreamHandler[TextIO]):
    """To what stderr is when something is said: whoever calls commands in one process may have put another there."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _EscapingFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return escape(super().format(record), newlines=True)


def print_json(document: Any) -> None:
    """One JSON document on stdout. ASCII only, so that nothing in it can reach the terminal as a control character."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=True) + "\n")


def print_json_line(document: Any) -> None:
    """As print_json, one line of many; at once, so that a reader need not wait for the next."""
    sys.stdout.write(json.dumps(document, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def say(text: str = "") -> None:
    """One or more lines of result on stdout, escaped."""
    sys.stdout.write(escape_lines(text) + "\n")


def note(text: str) -> None:
    """One or more lines for the person on stderr, escaped."""
    sys.stderr.write(escape_lines(text) + "\n")


def to_stderr(piece: bytes) -> None:
    """What a program that we run writes, unchanged; with --json stdout is data."""
    sys.stderr.buffer.write(piece)
    sys.stderr.buffer.flush()


def escape_lines(text: str) -> str:
    return "\n".join(escape(line) for line in text.split("\n"))


def table(rows: Iterable[Sequence[object]], *, header: Sequence[str] | None = None, indent: int = 0) -> str:
    """Left-aligned columns, escaped; the last column is as long as it is."""
    cells = [[escape(cell) for cell in row] for row in ([header, *rows] if header else rows)]
    if not cells:
        return ""
    widths = [max(len(row[i]) for row in cells if i < len(row)) for i in range(max(map(len, cells)))]
    return "\n".join(
        " " * indent + "  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)).rstrip() for row in cells
    )


def format_bytes(size_bytes: int) -> str:
    """12.3 MiB; exact below 10 KiB."""
    if size_bytes < 10240:
        return f"{size_bytes} B"
    value = float(size_bytes)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1024 or unit == "TiB":
            return f"{value:.1f} {unit}"
    raise AssertionError


def print_error(error: KerncapError, *, as_json: bool) -> None:
    """`error: message [code]` and `hint:` on stderr; with --json also the error document on stdout.

    Further lines of a message are indented: nothing in it, such as a name of a stranger's file, can pose as a hint.
    """
    if as_json:
        print_json(error.to_json())
    first, *more = f"{error.message} [{error.code}]".split("\n")
    note("\n".join([f"error: {first}", *(f"  {line}" for line in more)]))
    if error.hint:
        sys.stderr.write(f"hint: {escape(error.hint)}\n")


def confirm(question: str, *, yes: bool, what: str) -> None:
    """Ask on the terminal; without a terminal `--yes` is needed.

    Raises: UsageError `usage.needs-confirmation` when the answer is no or nobody can answer.
    """
    if yes:
        return
    hint = f"{what} --yes"
    if not sys.stdin.isatty():
        raise UsageError(
            "nobody is there to confirm: stdin is not a terminal", code="usage.needs-confirmation", hint=hint
        )
    sys.stderr.write(escape_lines(question) + " [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("not confirmed: nothing was done", code="usage.not-confirmed", hint=hint)


def ask_secret(question: str) -> str:
    """What a person types on the terminal, unseen. Raises: UsageError `usage.passphrase` when nobody is there."""
    if not sys.stdin.isatty():
        raise UsageError(
            f"{question}: nobody is there to type it, stdin is not a terminal",
            code="usage.passphrase",
            hint="export KERNCAP_KEY_PASSPHRASE=...",
        )
    import getpass

    return getpass.getpass(escape(question) + ": ", stream=sys.stderr)


@contextmanager
def status_line(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """One line on stderr that is written over and over, only when stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda text: None
        return

    def show(text: str) -> None:
        sys.stderr.write("\r\x1b[2K" + escape(text))
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


@contextmanager
def progress_bar(label: str, *, quiet: bool = False) -> Iterator[ProgressCall]:
    """A byte progress bar on stderr, only when stderr is a terminal; the yielded function is safe in threads."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(label).replace("[", "\\["), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
