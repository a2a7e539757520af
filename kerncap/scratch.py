"""Temporary folders that are gone whatever ends the command, an interrupt in the middle of their removal too.

In: a prefix. Out: a folder for a `with` block. Called by every part that needs files of its own for a while.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref


class Scratch:
    """A temporary folder, as text, for a `with` block."""

    def __init__(self, prefix: str, folder: str | os.PathLike[str] | None = None) -> None:
        self._name = tempfile.mkdtemp(prefix=prefix, dir=folder)
        self._remove = weakref.finalize(self, remove_tree, self._name)

    def __enter__(self) -> str:
        return self._name

    def __exit__(self, *raised: object) -> None:
        self._remove()


def remove_tree(folder: str | os.PathLike[str]) -> None:
    """Remove it all, as far as the system lets us; an interrupt leaves when that is done."""
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            shutil.rmtree(folder, ignore_errors=True)
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
