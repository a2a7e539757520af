"""Opens a bundle into a reproducer: the bundle's content plus the build files of this installation.

In: a local bundle. Out: a new directory under its final name, complete. Called by `kerncap unpack`.
"""

from __future__ import annotations

from pathlib import Path

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.progress import ProgressCall, no_progress
from kerncap.bundle.unpack import unpack
from kerncap.reproducer import write_reproducer


def unpack_bundle(source: str, directory: Path, *, progress: ProgressCall = no_progress) -> Bundle:
    """Raises: UsageError `usage.output-exists`; BundleError; HostError."""
    bundle = open_bundle(source)
    unpack(bundle, directory, finish=lambda partial: write_reproducer(partial, bundle.capture), progress=progress)
    return bundle
