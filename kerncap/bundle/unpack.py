"""Opens a bundle into an editable reproducer: capture/, src/, vfs.yaml, compile.json.

In: a sealed bundle of a stranger. Out: a new directory. Nothing in it is executable and no build file comes from the
bundle: `finish` (the workflow) adds the Makefile of the installed template. Called by workflows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kerncap.bundle.manifest import Descriptor
from kerncap.bundle.outputs import new_directory
from kerncap.bundle.progress import ProgressCall, no_progress
from kerncap.bundle.reader import Bundle
from kerncap.bundle.sink import LayoutSink, copy_blobs
from kerncap.bundle.verify import check_content
from kerncap.errors import UsageError, typed


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
        raise UsageError(
            f"{bundle.name} is a reproducer already",
            code="usage.not-sealed",
            hint=typed("ls", bundle.name),
        )
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
