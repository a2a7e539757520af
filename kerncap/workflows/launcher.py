"""A command in front of kerncap-replay: a debugger, a profiler, another emulator.

In: the text of `--launcher`. Out: a Launcher. Called by the commands replay and validate; the workflows use it.
"""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from kerncap import native
from kerncap.errors import HostError, UsageError, typed

OPTION = "--launcher"
# They bring a GPU of their own, below the HSA runtime.
_EMULATORS = frozenset({"rocjitsu"})
# kerncap-replay takes the virtual GPU from it, and no process before it does (native/replay/preload.cpp).
PRELOAD_VARIABLE = "KERNCAP_REPLAY_PRELOAD"


@dataclass(frozen=True)
class Launcher:
    """`words`: the program, whose first word names a file, and its arguments; kerncap-replay's command line follows."""

    words: tuple[str, ...]

    def __str__(self) -> str:
        return typed(*self.words)

    @property
    def name(self) -> str:
        return os.path.basename(self.words[0])

    def device(self, choice: str) -> native.Device | None:
        """A GPU that is named is perhaps the launcher's own, of which nothing is known here; None: any other choice."""
        device = native.parse_device(choice)
        if device is None and self.name in _EMULATORS:
            return native.Device("gpu")
        return device if device is not None and device.kind == "gpu" else None

    def environment(self, device: native.Device, files: native.NativeFiles, env: dict[str, str]) -> dict[str, str]:
        """`env` of kerncap-replay, so that the virtual GPU is preloaded into kerncap-replay only."""
        if device.kind != "vgpu":
            return env
        library = str(files.virtual_gpu)
        others = [word for word in env.get("LD_PRELOAD", "").split(":") if word and word != library]
        env = {name: value for name, value in env.items() if name != "LD_PRELOAD"}
        return env | ({"LD_PRELOAD": ":".join(others)} if others else {}) | {PRELOAD_VARIABLE: library}


def words_of(text: str) -> tuple[str, ...]:
    """Split as a shell does, without a shell.

    Raises: UsageError `usage.launcher`.
    """
    hint = typed(OPTION, "strace -f -o trace.txt")
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{OPTION} {text!r}: {error}", code="usage.launcher", hint=hint) from None
    if not words or not words[0]:
        raise UsageError(f"{OPTION} names no program", code="usage.launcher", hint=hint)
    return words


def parse_launcher(text: str | None) -> Launcher | None:
    """None without the option.

    Raises: UsageError `usage.launcher`; HostError `host.no-launcher` where its program is not on this machine.
    """
    if text is None:
        return None
    words = words_of(text)
    found = shutil.which(words[0])
    if found is None:
        raise HostError(
            f"{OPTION}: there is no program {words[0]!r} here",
            code="host.no-launcher",
            hint=typed("command", "-v", words[0]),
        )
    return Launcher((str(Path(found).absolute()), *words[1:]))
