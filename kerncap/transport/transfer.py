"""push, pull and copy of whole bundles, between registries, layout directories and tar files.

In: a source and a target. Out: the same manifest bytes and blobs at the target, each verified; nothing under a
final name before everything has arrived. Called by cli and workflows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kerncap.bundle.location import LayoutLocation, Location, RegistryLocation, TarLocation, parse_source
from kerncap.bundle.manifest import Descriptor, Manifest
from kerncap.bundle.reader import Bundle, open_bundle, open_store
from kerncap.bundle.sink import ProgressCall, Sink, copy_blobs, new_bundle, no_progress
from kerncap.bundle.store import BlobLocation
from kerncap.errors import UsageError, typed
from kerncap.transport.failures import Patience
from kerncap.transport.reference import Reference, parse_reference

if TYPE_CHECKING:
    from kerncap.transport.registry import KerncapRegistry

THREADS = 4


@dataclass(frozen=True, slots=True)
class Transferred:
    """`moved_bytes` went over the wire or were linked; `skipped_blobs` were there already."""

    digest: str
    blobs: int
    total_bytes: int
    moved_bytes: int
    skipped_blobs: int


class RegistryStore:
    """The blobs of one manifest in a registry: small ones can be read, none lies on this machine."""

    def __init__(self, registry: KerncapRegistry) -> None:
        self.registry = registry

    @property
    def name(self) -> str:
        return str(self.registry.reference)

    def manifest_bytes(self) -> bytes:
        return self.registry.get_manifest_bytes()

    def read(self, blob: Descriptor) -> bytes:
        return self.registry.read_blob(blob)

    def locate(self, blob: Descriptor) -> BlobLocation:
        raise UsageError(
            f"{self.name} is in a registry: its data is not on this machine",
            code="usage.not-local",
            hint=typed("kerncap", "pull", self.name, "-o", "bundle.kcap.tar"),
        )


def open_any(source: str | Location, *, plain_http: bool = False, patience: Patience | None = None) -> Bundle:
    """open_bundle, also for registry references: manifest, config and index only.

    Raises: UsageError, BundleError, HostError, TransportError.
    """
    location = parse_source(source) if isinstance(source, str) else source
    if not isinstance(location, RegistryLocation):
        return open_bundle(location)
    # Loading oras and requests takes as long as reading a small bundle; what lies on this machine needs neither.
    from kerncap.transport.registry import KerncapRegistry

    reference = parse_reference(location.reference)
    return open_store(RegistryStore(KerncapRegistry(reference, plain_http=plain_http, patience=patience)))


def push(
    bundle: Bundle,
    reference: Reference,
    *,
    plain_http: bool = False,
    patience: Patience | None = None,
    progress: ProgressCall = no_progress,
) -> Transferred:
    """Send a local sealed bundle to a registry: blobs first, the manifest last.

    Raises: UsageError `usage.not-sealed`, `usage.digest-differs`; TransportError; BundleError.
    """
    from kerncap.transport.registry import KerncapRegistry

    manifest = _sealed(bundle)
    if reference.digest is not None and reference.digest != manifest.digest:
        raise UsageError(
            f"{reference} names another digest than the bundle's {manifest.digest}", code="usage.digest-differs"
        )
    registry = KerncapRegistry(reference, plain_http=plain_http, patience=patience)
    blobs = list(manifest.blobs())
    locations = {blob.digest: bundle.locate(blob) for blob in blobs}
    meter = _Meter(progress, manifest.total_bytes)
    skipped: list[Descriptor] = []

    def send(blob: Descriptor) -> None:
        if registry.has_blob(blob):
            skipped.append(blob)
            meter.add(blob.size)
        else:
            registry.push_blob(blob, locations[blob.digest], what=bundle.name, add=meter.add)

    _in_parallel(send, blobs, registry.stop)
    registry.push_manifest(manifest.raw)
    moved = manifest.total_bytes - sum(blob.size for blob in skipped)
    return Transferred(manifest.digest, len(blobs), manifest.total_bytes, moved, len(skipped))


def copy_bundle(
    bundle: Bundle, output: LayoutLocation | TarLocation, *, progress: ProgressCall = no_progress
) -> Transferred:
    """Write an open sealed bundle, local or of a registry (then this is `pull`), to a new layout or tar file.

    Raises: UsageError `usage.output-exists`; TransportError; BundleError; HostError `host.disk-full`.
    """
    manifest = _sealed(bundle)
    remote = bundle.store if isinstance(bundle.store, RegistryStore) else None
    skipped: list[Descriptor] = []
    with new_bundle(output, manifest, resume=remote is not None) as sink:
        if remote is not None:
            skipped = _download(remote.registry, manifest, sink, progress)
        else:
            blobs = [(blob, bundle.locate(blob)) for blob in manifest.blobs()]
            copy_blobs(sink, blobs, what=bundle.name, progress=progress)
    blob_count = sum(1 for _ in manifest.blobs())
    moved = manifest.total_bytes - sum(blob.size for blob in skipped)
    return Transferred(manifest.digest, blob_count, manifest.total_bytes, moved, len(skipped))


def _download(registry: KerncapRegistry, manifest: Manifest, sink: Sink, progress: ProgressCall) -> list[Descriptor]:
    """Fetch every blob that is not there yet; returns those that were."""
    meter = _Meter(progress, manifest.total_bytes)
    skipped: list[Descriptor] = []

    def fetch(blob: Descriptor) -> None:
        if sink.has(blob):
            skipped.append(blob)
            meter.add(blob.size)
            return
        with sink.slot(blob) as slot:
            registry.pull_blob(blob, slot, add=meter.add)

    _in_parallel(fetch, list(manifest.blobs()), registry.stop)
    return skipped


def _in_parallel(action: Callable[[Descriptor], None], blobs: Sequence[Descriptor], stop: Callable[[], None]) -> None:
    """The first error (or Ctrl-C) stops every other transfer and is raised."""
    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(action, blob) for blob in blobs]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            failed = next((future for future in futures if future in done and future.exception()), None)
            if failed is not None:
                failed.result()
        except BaseException:
            stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


class _Meter:
    def __init__(self, progress: ProgressCall, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            self._done += count
            self._progress(self._done, self._total)


def _sealed(bundle: Bundle) -> Manifest:
    if bundle.manifest is None:
        raise UsageError(
            f"{bundle.name} is a reproducer, not sealed",
            code="usage.not-sealed",
            hint=typed("kerncap", "pack", bundle.name, "-o", "OUT"),
        )
    return bundle.manifest
