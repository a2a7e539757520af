"""Error classes, codes and exit codes: one subclass of KerncapError per who must act.

In: nothing. Out: exceptions that every other module raises; `kerncap.cli.main` prints them and exits with their
`exit_code`. Native programs report the same dotted codes; `error_from_code` turns one back into its class.
"""

from __future__ import annotations

import errno
import os
import shlex
from pathlib import Path
from typing import ClassVar

EXIT_OK = 0
EXIT_DIFFERS = 1
EXIT_INTERRUPTED = 130

# What the system says of a path, or of itself, that no caller turned into an error of its own.
# Of a file that a person named and that is a FIFO, a socket or a device (bundle.files.open_named).
NOT_REGULAR = errno.ENOTBLK
PATH_ERRORS = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EEXIST, NOT_REGULAR}
)
PERMISSION_ERRORS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
MACHINE_ERRORS = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
    | {errno.ENODEV, errno.ENXIO, errno.EBUSY, errno.ESTALE, errno.EBADF}
)

A_NEWER_KERNCAP = "git pull && scripts/setup  # in the clone of kerncap"


class KerncapError(Exception):
    """What happened, what was expected, a dotted `code` and a `hint` that can be typed. Unclassified: exit 70, ours."""

    exit_code: ClassVar[int] = 70
    general_hint: ClassVar[str] = "kerncap doctor --json  # and what was typed, for a bug report"
    """The hint of errors that have none of their own."""

    def __init__(self, message: str, *, code: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint or self.general_hint

    def to_json(self) -> dict[str, object]:
        """The `kerncap.error/1` document."""
        return {
            "schema": "kerncap.error/1",
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "exit_code": self.exit_code,
        }


class UsageError(KerncapError):
    """The caller asked for something that makes no sense."""

    exit_code = 2
    general_hint = "kerncap COMMAND --help"


class HostError(KerncapError):
    """The machine: no agent, driver, docker, permission, memory, disk, no suitable HSA runtime."""

    exit_code = 3
    general_hint = "kerncap doctor"


class BundleError(KerncapError):
    """The bundle: malformed, digest mismatch, unknown required feature, hostile content."""

    exit_code = 4
    general_hint = "kerncap verify BUNDLE --deep  # then ask for a whole one where it came from"


class TrustError(BundleError):
    """Nothing that the caller trusts vouches for the bundle, or what vouches for it does not hold."""

    general_hint = "kerncap inspect BUNDLE  # lists who signed it"


class CaptureError(KerncapError):
    """The capture: no dispatch matched, the application died, nothing sealed."""

    exit_code = 5
    general_hint = "kerncap extract -v ..."


class ReplayError(KerncapError):
    """The replay: a fault that the capture did not have, time-out, unimplemented instruction, address taken."""

    exit_code = 6
    general_hint = "kerncap replay BUNDLE -v"


class TransportError(KerncapError):
    """The registry, the network or the credentials."""

    exit_code = 7
    general_hint = "curl -sv http://HOST/v2/"
    status: int | None = None
    """Of the registry's answer, where there was one."""


class CompileError(KerncapError):
    """The source does not compile, or there is no compiler."""

    exit_code = 8
    general_hint = "kerncap recompile BUNDLE -o FILE -v"


def counted(number: int, noun: str) -> str:
    """`1 queue`, `2 queues`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith(('sh', 'ch')) else 's'}"


def spelled_out(char: str) -> str:
    """`\\x1b`."""
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def visible(text: str, *, keep: str = "") -> str:
    """Foreign text that can be shown: what has no shape, and what turns the direction of text, is spelled out."""
    return "".join(char if char.isprintable() or char in keep else spelled_out(char) for char in text)


def typed(*words: object) -> str:
    """A hint: a command that can be typed as it stands, whatever characters a path in it has."""
    return " ".join(_quoted(word) for word in words)


def _quoted(word: object) -> str:
    text = str(word)
    if isinstance(word, os.PathLike) and text.startswith("-"):
        text = f"./{text}"  # else it would be an option
    if text.isprintable():
        return shlex.quote(text)
    # What no terminal shows, byte by byte: bash, zsh and ksh read it back.
    shown = (char if char.isascii() and char.isprintable() and char not in "\\'" else _bytes_of(char) for char in text)
    return "$'" + "".join(shown) + "'"


def _bytes_of(char: str) -> str:
    encoded = os.fsencode(char) if not "\ud800" <= char < "\udc80" else b"?"
    return "".join(f"\\x{byte:02x}" for byte in encoded)


def out_of_memory() -> HostError:
    return HostError("this machine has not enough memory for it", code="host.memory", hint="free -h")


def refused_by_system(error: OSError) -> HostError:
    """What the system refused where no caller expected it: for the machine's owner, not a bug."""
    place = Path(error.filename).parent if isinstance(error.filename, str) else None
    full = error.errno in FULL_ERRORS
    code = "host.disk-full" if full else "host.permission" if error.errno in PERMISSION_ERRORS else "host.file"
    return HostError(
        f"{error.filename or 'writing the result'}: {error.strerror}",
        code=code,
        hint=typed(*(("df", "-h") if full else ("ls", "-ld")), place or "."),
    )


def bug(error: Exception) -> KerncapError:
    """Of ours."""
    text = f"{type(error).__name__}: {error}; this is a bug in kerncap, please report it"
    return KerncapError(text, code="internal.unexpected")


_CLASS_OF_PREFIX: dict[str, type[KerncapError]] = {
    "usage": UsageError,
    "host": HostError,
    "bundle": BundleError,
    "trust": TrustError,
    "capture": CaptureError,
    "replay": ReplayError,
    "vgpu": ReplayError,
    "transport": TransportError,
    "compile": CompileError,
}


def error_from_code(code: str, message: str, hint: str | None = None) -> KerncapError:
    """The exception for a dotted code of a native program; an unknown first word gives a plain KerncapError."""
    return _CLASS_OF_PREFIX.get(code.split(".", 1)[0], KerncapError)(message, code=code, hint=hint)
