"""Runs other programs: time limit, process-group kill, streaming, cancellation. The only user of subprocess.

In: an argument list, never a shell line. Out: a Completed with what the program said and how it ended.
Called by every stage that starts something: capture, source, runtime, transport (credential helpers).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from kerncap import terminal
from kerncap.errors import HostError, typed

_TICK_S = 0.1
_KILL_GRACE_S = 2.0
_DRAIN_GRACE_S = 0.5
_READ_BYTES = 65536
_STDERR = 2

Sink = Callable[[bytes], None]


@dataclass(frozen=True)
class Completed:
    """How a program ended; `returncode` is -N when signal N ended it; of each stream the last `keep_bytes` are kept."""

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes
    duration_s: float
    timed_out: bool
    cancelled: bool

    @property
    def ok(self) -> bool:
        return self.returncode == 0 and not self.timed_out and not self.cancelled

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        return self.stderr.decode("utf-8", "replace")


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    timeout_s: float | None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    inherit_stdin: bool = False,
    capture: bool = True,
    on_stdout: Sink | None = None,
    on_stderr: Sink | None = None,
    cancel: threading.Event | None = None,
    keep_bytes: int = 16 << 20,
) -> Completed:
    """Run `argv` in its own process group until it ends, `timeout_s` is over or `cancel` is set; then the group dies.

    `capture=False` lets it write straight to our stdout and stderr. A sink gets each piece as it comes. `stdin` is fed
    from memory; otherwise the program reads end-of-file (or ours with `inherit_stdin`).
    An exception here, KeyboardInterrupt included, ends the group before it leaves.

    Raises: HostError `host.program-missing`, `host.program-not-executable`.
    """
    words = tuple(os.fspath(a) for a in argv)
    start = time.monotonic()
    process = _start(words, cwd, env, capture, stdin is not None, inherit_stdin)
    out, err = _Tail(keep_bytes, on_stdout), _Tail(keep_bytes, on_stderr)
    try:
        verdict = _pump(process, stdin, out, err, None if timeout_s is None else start + timeout_s, cancel)
    except BaseException:
        kill_group(process)
        raise
    finally:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
    if verdict:
        kill_group(process)
    return Completed(
        argv=words,
        returncode=process.wait(),
        stdout=out.bytes(),
        stderr=err.bytes(),
        duration_s=time.monotonic() - start,
        timed_out=verdict == "timeout",
        cancelled=verdict == "cancel",
    )


def run_attached(
    argv: Sequence[str | os.PathLike[str]], *, timeout_s: float | None, env: Mapping[str, str] | None = None
) -> Completed:
    """As run(), for a program that a person may type at: it has our standard input, and the terminal while it runs
    (then without a time limit, and Ctrl-C is for it). What it prints on stdout goes to our stderr; nothing is kept.

    Raises: HostError `host.program-missing`, `host.program-not-executable`; KeyboardInterrupt when SIGINT ended it.
    """
    words = tuple(os.fspath(a) for a in argv)
    start = time.monotonic()
    sys.stderr.flush()
    stdin = subprocess.DEVNULL if terminal.is_of_others() else None
    interactive = terminal.is_ours()
    process = _started(words, env=env, stdin=stdin, stdout=_STDERR, stderr=None, process_group=0)
    try:
        with terminal.lent_to(process.pid):
            deadline = None if interactive or timeout_s is None else start + timeout_s
            process.returncode = terminal.wait_for(process.pid, deadline, lent=interactive)
    except BaseException:
        kill_group(process)
        raise
    timed_out = process.returncode is None
    if timed_out:
        kill_group(process)
    if process.returncode == -signal.SIGINT and interactive:
        raise KeyboardInterrupt
    return Completed(words, process.wait(), b"", b"", time.monotonic() - start, timed_out, cancelled=False)


class Service:
    """A program that stays: it says a line when it has started, and answers each line that it is told with one.

    In its own process group, which dies with `close()`. Use it as a context manager.
    Raises (when made): HostError `host.program-missing`, `host.program-not-executable`.
    """

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str] | None = None,
        on_stderr: Sink | None = None,
        keep_bytes: int = 1 << 16,
    ) -> None:
        self._argv = tuple(os.fspath(a) for a in argv)
        self._started = time.monotonic()
        self._process = _start(self._argv, None, env, capture=True, feed=True, inherit_stdin=False)
        self._said = bytearray()
        self._err = _Tail(keep_bytes, on_stderr)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def tell(self, line: str) -> None:
        """Whether it was heard shows the answer."""
        assert self._process.stdin is not None
        if self._process.stdin.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def answer(self, timeout_s: float) -> str | Completed:
        """Its next line; or how it ended, if it did instead, or was ended after `timeout_s`."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        deadline = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            for stream in (self._process.stdout, self._process.stderr):
                selector.register(stream, selectors.EVENT_READ)
            while b"\n" not in self._said:
                if time.monotonic() >= deadline:
                    return self._end(timed_out=True)
                for key, _ in selector.select(_TICK_S):
                    piece = os.read(key.fd, _READ_BYTES)
                    if not piece:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is self._process.stdout:
                        self._said += piece
                    else:
                        self._err.add(piece)
                if not selector.get_map() or (self._process.poll() is not None and b"\n" not in self._said):
                    return self._end(timed_out=False)
        line, _, rest = bytes(self._said).partition(b"\n")
        self._said = bytearray(rest)
        return line.decode("utf-8", "replace")

    def _end(self, *, timed_out: bool) -> Completed:
        if not timed_out:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_GRACE_S)
        self.close()
        return Completed(
            argv=self._argv,
            returncode=self._process.returncode,
            stdout=bytes(self._said),
            stderr=self._err.bytes(),
            duration_s=time.monotonic() - self._started,
            timed_out=timed_out,
            cancelled=False,
        )

    def close(self) -> None:
        """Its standard input ends, and so may it; after a grace period its group is killed."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdin.closed:
            return
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_KILL_GRACE_S)
        kill_group(process)
        self._drain(process.stderr)
        for stream in (process.stdout, process.stderr):
            stream.close()

    def _drain(self, stream: IO[bytes]) -> None:
        os.set_blocking(stream.fileno(), False)
        with contextlib.suppress(OSError):
            while piece := os.read(stream.fileno(), _READ_BYTES):
                self._err.add(piece)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the whole group, SIGKILL after a grace period; returns when the leader is reaped."""
    _signal_group(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + _KILL_GRACE_S
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(pgid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)


def _start(
    words: tuple[str, ...],
    cwd: Path | None,
    env: Mapping[str, str] | None,
    capture: bool,
    feed: bool,
    inherit_stdin: bool,
) -> subprocess.Popen[bytes]:
    stdin = subprocess.PIPE if feed else (None if inherit_stdin else subprocess.DEVNULL)
    pipe = subprocess.PIPE if capture else None
    if cwd is not None and not cwd.is_dir():
        raise HostError(f"{cwd} is not a directory", code="host.no-directory")
    return _started(words, cwd=cwd, env=env, stdin=stdin, stdout=pipe, stderr=pipe, start_new_session=True)


def _started(words: tuple[str, ...], **how: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(words, close_fds=True, **how)
    except FileNotFoundError:
        raise HostError(
            f"{words[0]}: program not found", code="host.program-missing", hint=typed("command", "-v", words[0])
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a word with a NUL, or with what is no character
        raise HostError(
            f"{words[0]}: cannot be started: {getattr(error, 'strerror', None) or error}",
            code="host.program-not-executable",
            hint=typed("ls", "-l", words[0]),
        ) from None


class _Tail:
    """Keeps the last `limit` bytes of a stream and passes each piece on."""

    def __init__(self, limit: int, sink: Sink | None) -> None:
        self._limit = limit
        self._sink = sink
        self._data = bytearray()

    def add(self, piece: bytes) -> None:
        if self._sink is not None:
            self._sink(piece)
        self._data += piece
        if len(self._data) > 2 * self._limit:
            del self._data[: -self._limit]

    def bytes(self) -> bytes:
        return bytes(self._data[-self._limit :])


def _pump(
    process: subprocess.Popen[bytes],
    stdin: bytes | None,
    out: _Tail,
    err: _Tail,
    deadline: float | None,
    cancel: threading.Event | None,
) -> str:
    """Move bytes until the program ended; returns "", "timeout" or "cancel"."""
    pending = memoryview(stdin or b"")
    exited_at: float | None = None
    with selectors.DefaultSelector() as selector:
        for stream, tail in ((process.stdout, out), (process.stderr, err)):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ, tail)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE, None)
        while True:
            now = time.monotonic()
            if process.poll() is not None:
                # A grandchild may hold the pipes open for ever: the program itself is done, so wait only briefly.
                exited_at = exited_at or now
                if not selector.get_map() or now - exited_at > _DRAIN_GRACE_S:
                    return ""
            elif cancel is not None and cancel.is_set():
                return "cancel"
            elif deadline is not None and now >= deadline:
                return "timeout"
            if not selector.get_map():
                time.sleep(0.01)
                continue
            wait = _TICK_S if deadline is None else max(0.0, min(_TICK_S, deadline - now))
            for key, _ in selector.select(wait):
                if isinstance(key.data, _Tail):
                    _read(selector, key, key.data)
                else:
                    pending = _feed(selector, process, pending)


def _read(selector: selectors.BaseSelector, key: selectors.SelectorKey, tail: _Tail) -> None:
    try:
        piece = os.read(key.fd, _READ_BYTES)
    except BlockingIOError:
        return
    if piece:
        tail.add(piece)
    else:
        selector.unregister(key.fileobj)


def _feed(selector: selectors.BaseSelector, process: subprocess.Popen[bytes], pending: memoryview) -> memoryview:
    assert process.stdin is not None
    if pending:
        try:
            pending = pending[os.write(process.stdin.fileno(), pending[:_READ_BYTES]) :]
        except BlockingIOError:
            return pending
        except BrokenPipeError:
            pending = memoryview(b"")
    if not pending:
        selector.unregister(process.stdin)
        process.stdin.close()
    return pending
