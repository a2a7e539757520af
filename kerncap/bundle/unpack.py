"""Opens a bundle into an editable reproducer: capture/, src/, vfs.yaml, compile.json.

In: a sealed bundle of a stranger. Out: a new directory. Nothing in it is executable and no build file comes from the
bundle: `finish` (the workflow) adds the Makefile of the installed template. Called by workflows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from kerncap.bundle.files import new_directory
from kerncap.bundle.manifest import Descriptor
from kerncap.bundle.reader import Bundle
from kerncap.bundle.sink import LayoutSink, ProgressCall, copy_blobs, no_progress
from kerncap.bundle.verify import check_content
from kerncap.errors import UsageError


def unpack(
    bundle: Bundle,
    folder: Path,
    *,
    finish: Callable[[Path], None] | None = None,
    progress: ProgressCall = no_progress,
) -> None:
    """Write the reproducer of `bundle` to `folder`, which must not exist; `finish` adds to it before it gets its name.

    Raises: UsageError `usage.output-exists`; BundleError; HostError `host.disk-full`.
    """
    if bundle.manifest is None:
        raise UsageError(f"{bundle.name} is a reproducer already", code="usage.not-sealed", hint=f"ls {bundle.name}")
    locations = bundle.blob_locations()
    blobs: list[Descriptor] = list(bundle.data_blobs)
    with new_directory(folder) as partial:
        capture = partial / "capture"
        sink = LayoutSink(bundle.manifest, capture)
        copy_blobs(sink, [(blob, locations[blob.digest]) for blob in blobs], what=bundle.name, progress=progress)
        bundle.write_documents(capture)
        check_content(bundle, bundle.extract_source(partial))
        if finish is not None:
            finish(partial)
        _sync_files(partial)


def _sync_files(folder: Path) -> None:
    """Sync what has been written without: the small files; blobs are synced as they arrive."""
    for at, folders, files in os.walk(folder):
        if Path(at).name == "blobs":
            folders.clear()
        for name in files:
            fd = os.open(Path(at) / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
