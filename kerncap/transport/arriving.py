"""A bundle of a registry that is used while it arrives: what is needed first comes first, each blob whole and checked.

In: a bundle open in a registry, a new folder. Out: a layout there, whose chunk blobs appear one after the other.
Whoever reads it waits for a blob as long as somebody brings it: the marker file is held locked until then.
Called by the workflows replay and run.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kerncap.bundle import Bundle
from kerncap.bundle.cache import BlobCache
from kerncap.bundle.index import Chunk
from kerncap.bundle.location import LayoutLocation
from kerncap.bundle.manifest import Descriptor
from kerncap.bundle.sink import LayoutSink
from kerncap.bundle.store import ARRIVING
from kerncap.errors import KerncapError
from kerncap.transport.registry import KerncapRegistry
from kerncap.transport.transfer import RegistryStore, fetch_blob, in_parallel

_LOG = logging.getLogger(__name__)
_SLOWEST_BYTES_PER_S = 1e6


def blobs_in_order(bundle: Bundle, *, between: bool) -> list[Descriptor]:
    """Chunk blobs as a replay reads them: what memory held before, region by region; then what it held behind.

    `between`: also the states between the dispatches of a sequence, before the last ones. Others are not needed.
    """
    assert bundle.manifest is not None
    by_digest = {blob.digest: blob for blob in bundle.manifest.chunks}
    order: dict[str, Descriptor] = {}

    def add(chunks: tuple[Chunk, ...]) -> None:
        for chunk in chunks:
            if chunk.blob is not None:
                digest = bundle.index.blobs[chunk.blob].digest
                order.setdefault(digest, by_digest[digest])

    for region in bundle.index.regions:
        add(region.pre)
    if between:
        for region in bundle.index.regions:
            for changed in region.between:
                add(changed)
    for region in bundle.index.regions:
        add(region.post)
    return list(order.values())


class Arrival:
    """Blobs on their way into a layout; a thread brings them."""

    def __init__(self, registry: KerncapRegistry, sink: LayoutSink, blobs: list[Descriptor], folder: Path) -> None:
        self.location = LayoutLocation(folder)
        self.size_bytes = sum(blob.size for blob in blobs)
        self._registry, self._sink, self._blobs = registry, sink, blobs
        self._cache = BlobCache()
        self._failure: BaseException | None = None
        self._marker = folder / ARRIVING
        self._lock = os.open(self._marker, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._thread = threading.Thread(target=self._bring, name="kerncap-arrival")

    @property
    def allowance_s(self) -> float:
        """Seconds that somebody who waits for all of it should have: at 1 MB/s."""
        return self.size_bytes / _SLOWEST_BYTES_PER_S

    def start(self) -> None:
        self._thread.start()

    @property
    def underway(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        """For all of it. Raises: what kept it from coming."""
        self._thread.join()
        self.raise_failure()

    def raise_failure(self) -> None:
        """What kept a blob from coming, when something did: it is why who waited for it failed."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Nobody waits any more."""
        self._registry.stop()
        self._thread.join()

    def _bring(self) -> None:
        try:
            in_parallel(self._fetch, self._blobs, self._registry.stop)
            _LOG.info("all of %s has arrived", self._registry.reference)
        except BaseException as error:  # told to whoever waits, by raise_failure
            self._failure = error
        finally:
            # A failure is known before anybody can see that no more comes.
            self._marker.unlink(missing_ok=True)
            os.close(self._lock)

    def _fetch(self, blob: Descriptor) -> None:
        fetch_blob(self._registry, self._cache, self._sink, blob)


@contextmanager
def arriving(bundle: Bundle, folder: Path, *, between: bool = False, source: bool = False) -> Iterator[Arrival]:
    """Bring a bundle of a registry into `folder`, which must be empty or not exist: its documents and code objects at
    once (with `source` the code layer, too), its memory from then on. What has not come when the block ends is left.

    An error of the block that a blob has caused which did not come is replaced by why it did not.
    Raises: TransportError, BundleError, HostError.
    """
    store, manifest = bundle.store, bundle.manifest
    assert isinstance(store, RegistryStore)
    assert manifest is not None
    sink = LayoutSink(manifest, folder)
    code = [manifest.code] if source and manifest.code is not None else []
    first = [manifest.config, manifest.index, *manifest.hsacos, *code]
    for blob in first:
        fetch_blob(store.registry, BlobCache(), sink, blob)
    sink.finish(None)
    arrival = Arrival(store.registry, sink, blobs_in_order(bundle, between=between), folder)
    arrival.start()
    try:
        yield arrival
    except KerncapError as error:
        if error.code == "bundle.missing-blob":
            arrival.raise_failure()
        raise
    finally:
        arrival.stop()
