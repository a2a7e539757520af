"""Compiles a bundle's source again, here or in the sandbox.

In: a path, an output file, whether the user trusts the source. Out: the code object's path.
Called by `kerncap recompile`. A bundle comes from a stranger, and source may read any file that the compiler can:
without `trust` it is compiled only in the runtime image's sandbox.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import refuse_existing
from kerncap.source.recompile import Recompiled, recompile


@dataclass(frozen=True)
class Outcome:
    """Where the code object is and what compiled it."""

    output: Path
    compiler: str
    difference: str | None

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "kerncap.recompiled/1",
            "output": str(self.output),
            "compiler": self.compiler,
            "difference": self.difference,
        }


def recompile_here(path: str, output: Path) -> Outcome:
    """On this machine: in the sandbox itself, or because the user said `--trust`.

    Raises: CompileError, BundleError, UsageError `usage.output-exists`.
    """
    refuse_existing(output)
    bundle = open_bundle(path)
    mangled = bundle.capture.kernel.name
    if not bundle.sealed:
        return _outcome(recompile(_folder(bundle), output, mangled))
    with tempfile.TemporaryDirectory(prefix="kerncap-source-") as scratch:
        bundle.extract_source(Path(scratch))
        return _outcome(recompile(Path(scratch), output, mangled))


def _folder(bundle: Bundle) -> Path:
    return Path(bundle.name)


def _outcome(made: Recompiled) -> Outcome:
    return Outcome(made.output, made.compiler, made.difference)
