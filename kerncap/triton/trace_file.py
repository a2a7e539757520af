"""Reads a trace of tritonparse event by event: JSON lines, plain or as members of gzip or frames of zstd.

In: a path that a person named; the file may be large, cut short, or a stranger's. Out: one JSON object a line, with
its number as tritonparse counts it. Nothing but the current line is held. Called by trace.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import zstandard

from kerncap.bundle.files import open_named
from kerncap.bundle.limits import MAX_ZSTD_WINDOW_BYTES
from kerncap.errors import UsageError, typed

# One line holds all that the compiler wrote for one kernel: megabytes. What it decodes to takes ten times as much.
MOST_LINE_BYTES = 64 << 20
_PIECE_BYTES = 1 << 20
_COMPRESSED_BYTES = 4 << 10
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_WITH_GZIP_HEADER = 16 + zlib.MAX_WBITS
_SHOWN = 60
_LISTED = 8


class TraceFile:
    """Iterate over `events`; afterwards `cut_short` says how the file ends too early, if it does.

    What a process that was killed leaves behind is whole up to its last line, so that is no error of the file's.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut_short: str | None = None
        self._cut = False

    def events(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(number, event): lines that are not blank count, from 0, as `tritonparse reproduce --line` has it.

        Raises: UsageError `usage.trace-format`, `usage.trace-limit`; OSError.
        """
        self.cut_short, self._cut = None, False
        if self.path.is_dir():
            raise self._is_folder()
        number = 0
        with open_named(self.path) as file:
            for line, ended in self._lines(file):
                if not line.strip():
                    continue
                event = self._event(line, number, ended)
                if event is None:
                    break
                yield number, event
                number += 1
        if self._cut and self.cut_short is None:
            where = f"behind line {number - 1}" if number else "before its first line"
            self.cut_short = f"what is compressed ends too early, {where}"
        if number == 0:
            raise self._no_trace("it is empty" if self.cut_short is None else self.cut_short)

    def _event(self, line: bytes, number: int, ended: bool) -> dict[str, Any] | None:
        """None: the last line, cut off in its middle."""
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as error:
            # Each event is written with the end of its line.
            if not ended and number > 0:
                self.cut_short = f"line {number} is cut off after {len(line)} bytes"
                return None
            raise self._no_trace(f"line {number} is no JSON ({str(error)[:_SHOWN]}): {line[:_SHOWN]!r}") from None
        if not isinstance(event, dict) or not isinstance(event.get("event_type"), str):
            raise self._no_trace(f"line {number} is no event: {line[:_SHOWN]!r}")
        return event

    def _lines(self, file: IO[bytes]) -> Iterator[tuple[bytes, bool]]:
        """Each line, and whether its end was there."""
        held: list[bytes] = []
        size = 0
        for piece in self._decompressed(file):
            first, *more = piece.split(b"\n")
            held.append(first)
            size += len(first)
            for rest in more:
                yield b"".join(held), True
                held, size = [rest], len(rest)
            if size > MOST_LINE_BYTES:
                text = f"{self.path}: a line has more than {MOST_LINE_BYTES} bytes"
                raise UsageError(text, code="usage.trace-limit", hint=self._look())
        if size:
            yield b"".join(held), False

    def _decompressed(self, file: IO[bytes]) -> Iterator[bytes]:
        rest = _Rest(file)
        try:
            if rest.starts_with(_GZIP):
                yield from self._members(rest)
            elif rest.starts_with(_ZSTD):
                yield from self._frames(rest)
            else:
                while piece := rest.read(_PIECE_BYTES):
                    yield piece
        except (zlib.error, zstandard.ZstdError) as error:
            raise self._no_trace(f"it does not decompress: {error}") from None

    def _members(self, rest: _Rest) -> Iterator[bytes]:
        """Of gzip, one behind the other: tritonparse writes one for each event."""
        while rest.more():
            member = zlib.decompressobj(_WITH_GZIP_HEADER)
            while not member.eof:
                data = member.unconsumed_tail or rest.read(_COMPRESSED_BYTES)
                if not data:
                    self._cut = True
                    return
                # Bounded: a few bytes may be made to decompress to gigabytes.
                yield member.decompress(data, _PIECE_BYTES)
            rest.give_back(len(member.unused_data))

    def _frames(self, rest: _Rest) -> Iterator[bytes]:
        decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW_BYTES)
        while rest.more():
            frame = decompressor.decompressobj(write_size=_PIECE_BYTES)
            while not frame.eof:
                # All that they decompress to comes at once: 128 KiB for each four bytes at most.
                data = rest.read(_COMPRESSED_BYTES)
                if not data:
                    self._cut = True
                    return
                yield frame.decompress(data)
            rest.give_back(len(frame.unused_data))

    def _no_trace(self, why: str) -> UsageError:
        return UsageError(
            f"{self.path} is no trace of tritonparse: {why}", code="usage.trace-format", hint=self._look()
        )

    def _look(self) -> str:
        return f"{typed('tritonparseoss', 'info', self.path)}  # does tritonparse read it? .clp is not read here"

    def _is_folder(self) -> UsageError:
        inside = sorted(one.name for one in self.path.iterdir() if "ndjson" in one.name)
        listed = ", ".join(inside[:_LISTED]) or "none"
        text = f"{self.path} is a folder; traces in it: {listed}"
        return UsageError(
            text, code="usage.trace-format", hint=typed("--tritonparse", self.path / (inside or ["FILE"])[0])
        )


class _Rest:
    """What is left of a file; the end of what was read last can be given back."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._held = file.read(_PIECE_BYTES)
        self._at = 0

    def starts_with(self, magic: bytes) -> bool:
        return self._held.startswith(magic)

    def more(self) -> bool:
        if self._at == len(self._held):
            self._held, self._at = self._file.read(_PIECE_BYTES), 0
        return bool(self._held)

    def read(self, size: int) -> bytes:
        self.more()
        piece = self._held[self._at : self._at + size]
        self._at += len(piece)
        return piece

    def give_back(self, size: int) -> None:
        self._at -= size
