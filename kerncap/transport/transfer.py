"""push, pull and copy of whole bundles, between registries, layout directories and tar files.

In: a source and a target. Out: the same manifest bytes and blobs at the target, each verified; nothing under a
final name before everything has arrived. Called by cli and workflows.
"""

from __future__ import annotations

import functools
import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kerncap.bundle.cache import BlobCache
from kerncap.bundle.compression import Readable
from kerncap.bundle.files import host_errors
from kerncap.bundle.location import LayoutLocation, Location, RegistryLocation, TarLocation, parse_source
from kerncap.bundle.manifest import Descriptor, Manifest
from kerncap.bundle.progress import Meter, ProgressCall, no_progress
from kerncap.bundle.reader import Bundle, local_store, open_bundle, open_store
from kerncap.bundle.referrers import LocalReferrers, ReferrerSource, walk
from kerncap.bundle.sink import LayoutSink, Sink, Slot, copy_blobs, new_bundle
from kerncap.bundle.store import BlobLocation, LocalStore
from kerncap.errors import UsageError, typed
from kerncap.transport.failures import Patience
from kerncap.transport.reference import Reference, parse_reference
from kerncap.transport.streams import AddBytes, StreamBody

if TYPE_CHECKING:
    from kerncap.transport.registry import KerncapRegistry

THREADS = 4


@dataclass(frozen=True, slots=True)
class Transferred:
    """`moved_bytes` went over the wire or were linked; `skipped_blobs` were there already, `mounted_blobs` in another
    repository of the registry, which took them over. `referrers`: manifests that came along.
    """

    digest: str
    blobs: int
    total_bytes: int
    moved_bytes: int
    skipped_blobs: int
    mounted_blobs: int = 0
    referrers: int = 0


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

    @contextmanager
    def open_checked(self, blob: Descriptor) -> Iterator[Readable]:
        """By way of a file without a name: it may be big."""
        with tempfile.TemporaryFile(prefix="kerncap-") as file, host_errors(Path(tempfile.gettempdir())):
            self.registry.pull_blob(blob, Slot(file.fileno(), 0, blob.size), add=lambda count: None)
            yield file

    @contextmanager
    def open_frame(self, blob: Descriptor, offset: int, size: int) -> Iterator[Readable]:
        """Just these bytes are fetched."""
        yield io.BytesIO(self.registry.read_range(blob, offset, size))

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
    return open_store(open_place(location, plain_http=plain_http, patience=patience))


def open_place(
    location: Location, *, plain_http: bool = False, patience: Patience | None = None
) -> LocalStore | RegistryStore:
    """Where a sealed bundle lies, of which nothing was read yet. Raises: UsageError `usage.not-sealed`; BundleError."""
    if not isinstance(location, RegistryLocation):
        return local_store(location)
    # Loading oras and requests takes as long as reading a small bundle; what lies on this machine needs neither.
    from kerncap.transport.registry import KerncapRegistry

    reference = parse_reference(location.reference)
    return RegistryStore(KerncapRegistry(reference, plain_http=plain_http, patience=patience))


def push(
    bundle: Bundle,
    reference: Reference,
    *,
    plain_http: bool = False,
    patience: Patience | None = None,
    progress: ProgressCall = no_progress,
    mount_from: Reference | None = None,
    recursive: bool = False,
) -> Transferred:
    """Send a sealed bundle to a registry: blobs first, the manifest last. One of another registry is streamed through
    this process piece by piece and lies nowhere on this machine; within one registry blobs are taken over.

    `mount_from`: a repository of the same registry that may hold blobs already. `recursive`: what refers to the bundle
    (signatures, attestations) comes along.
    Raises: UsageError `usage.not-sealed`, `usage.digest-differs`, `usage.mount`, `usage.recursive`; TransportError;
    BundleError.
    """
    from kerncap.transport.registry import KerncapRegistry

    manifest = _sealed(bundle)
    if reference.digest is not None and reference.digest != manifest.digest:
        raise UsageError(
            f"{reference} names another digest than the bundle's {manifest.digest}", code="usage.digest-differs"
        )
    registry = KerncapRegistry(reference, plain_http=plain_http, patience=patience)
    origin = bundle.store.registry if isinstance(bundle.store, RegistryStore) else None
    registry.mount_from = _mountable(reference, mount_from, origin)
    sending = Sending(registry, origin or bundle, Meter(progress, manifest.total_bytes).add)
    in_parallel(sending.send, list(manifest.blobs()), sending.stop)
    registry.push_manifest(manifest.raw)
    referrers = 0
    if recursive:
        from kerncap.transport.referrers import push_referrer

        for attached in walk(referrers_of(bundle), manifest.digest):
            for blob in attached.blobs:
                sending.send(blob)
            push_referrer(registry, attached.raw)
            referrers += 1
    return sending.transferred(manifest, referrers)


def _mountable(reference: Reference, named: Reference | None, origin: KerncapRegistry | None) -> str | None:
    """The repository whose blobs this registry can take over."""
    if named is not None and named.host != reference.host:
        raise UsageError(
            f"blobs of {named.name} cannot be taken over by {reference.host}: it is another registry",
            code="usage.mount",
            hint=typed("--mount-from", f"{reference.host}/{named.repository}"),
        )
    source = named or (origin.reference if origin is not None else None)
    if source is None or source.host != reference.host or source.repository == reference.repository:
        return None
    return source.repository


class Sending:
    """Blobs on their way to one registry, from this machine or from another registry; counts what became of them."""

    def __init__(self, registry: KerncapRegistry, source: KerncapRegistry | Bundle, add: AddBytes) -> None:
        self._registry = registry
        self._source = source
        self._add = add
        self._skipped: list[Descriptor] = []
        self._mounted: list[Descriptor] = []

    def send(self, blob: Descriptor) -> None:
        """Unless it is there. Raises: TransportError, BundleError."""
        if self._registry.has_blob(blob):
            self._skipped.append(blob)
            self._add(blob.size)
        elif self._move(blob):
            self._mounted.append(blob)
            self._add(blob.size)

    def _move(self, blob: Descriptor) -> bool:
        from kerncap.transport.registry import KerncapRegistry

        source = self._source
        if not isinstance(source, KerncapRegistry):
            return self._registry.push_blob(blob, source.locate(blob), what=source.name, add=self._add)
        return self._registry.push_body(
            blob, StreamBody(blob.size, functools.partial(source.stream_blob, blob), self._add)
        )

    def stop(self) -> None:
        """Call off what other threads are doing."""
        self._registry.stop()
        stop = getattr(self._source, "stop", None)
        if stop is not None:
            stop()

    def transferred(self, manifest: Manifest, referrers: int) -> Transferred:
        here = [blob.digest for blob in manifest.blobs()]
        kept = {blob.digest: blob.size for blob in (*self._skipped, *self._mounted) if blob.digest in here}
        return Transferred(
            manifest.digest,
            len(here),
            manifest.total_bytes,
            manifest.total_bytes - sum(kept.values()),
            sum(1 for blob in self._skipped if blob.digest in here),
            sum(1 for blob in self._mounted if blob.digest in here),
            referrers,
        )


def referrers_of(bundle: Bundle) -> ReferrerSource:
    """What refers to a sealed bundle, beside it where it lies."""
    _sealed(bundle)
    assert isinstance(bundle.store, LocalStore | RegistryStore)
    return referrers_in(bundle.store)


def referrers_in(store: LocalStore | RegistryStore) -> ReferrerSource:
    """All referrers of the place."""
    if isinstance(store, LocalStore):
        return LocalReferrers(store)
    from kerncap.transport.referrers import RegistryReferrers

    return RegistryReferrers(store.registry)


def copy_bundle(
    bundle: Bundle,
    output: LayoutLocation | TarLocation,
    *,
    progress: ProgressCall = no_progress,
    recursive: bool = False,
) -> Transferred:
    """Write an open sealed bundle, local or of a registry (then this is `pull`), to a new layout or tar file.

    `recursive`: what refers to the bundle (signatures, attestations) comes along, into a layout.
    Raises: UsageError `usage.output-exists`, `usage.recursive`; TransportError; BundleError; HostError.
    """
    manifest = _sealed(bundle)
    if recursive and isinstance(output, TarLocation):
        raise UsageError(
            f"--recursive: {output} is a tar file, which carries the bundle and nothing that refers to it",
            code="usage.recursive",
            hint=typed("kerncap", "copy", bundle.name, "oci:DIR", "--recursive"),
        )
    remote = bundle.store if isinstance(bundle.store, RegistryStore) else None
    skipped: list[Descriptor] = []
    with new_bundle(output, manifest, resume=remote is not None) as sink:
        if remote is not None:
            skipped = _download(remote.registry, manifest, sink, progress)
        else:
            blobs = [(blob, bundle.locate(blob)) for blob in manifest.blobs()]
            copy_blobs(sink, blobs, what=bundle.name, progress=progress)
        referrers = _bring_referrers(bundle, sink) if recursive else 0
    blob_count = sum(1 for _ in manifest.blobs())
    moved = manifest.total_bytes - sum(blob.size for blob in skipped)
    return Transferred(manifest.digest, blob_count, manifest.total_bytes, moved, len(skipped), referrers=referrers)


def _bring_referrers(bundle: Bundle, sink: Sink) -> int:
    """Into a layout; gives how many."""
    assert isinstance(sink, LayoutSink)
    count = 0
    for attached in walk(referrers_of(bundle), sink.manifest.digest):
        for blob in attached.blobs:
            if sink.has(blob):
                continue
            if isinstance(bundle.store, RegistryStore):
                with sink.slot(blob) as slot:
                    bundle.store.registry.pull_blob(blob, slot, add=lambda count: None)
            else:
                sink.put_location(blob, bundle.locate(blob), what=bundle.name)
        sink.add_referrer(attached)
        count += 1
    return count


def fetch_blob(
    registry: KerncapRegistry, cache: BlobCache, sink: Sink, blob: Descriptor, *, add: AddBytes = lambda count: None
) -> bool:
    """Bring one blob into the sink; False: it came from the cache, and nothing was moved.

    Raises: TransportError; BundleError.
    """
    if cache.take(sink, blob):
        return False
    with sink.slot(blob) as slot:
        registry.pull_blob(blob, slot, add=add)
    cache.keep(sink, blob)
    return True


def _download(registry: KerncapRegistry, manifest: Manifest, sink: Sink, progress: ProgressCall) -> list[Descriptor]:
    """Fetch every blob that is not there yet; returns those that were."""
    meter = Meter(progress, manifest.total_bytes)
    skipped: list[Descriptor] = []
    cache = BlobCache()

    def fetch(blob: Descriptor) -> None:
        if sink.has(blob) or not fetch_blob(registry, cache, sink, blob, add=meter.add):
            skipped.append(blob)
            meter.add(blob.size)

    in_parallel(fetch, list(manifest.blobs()), registry.stop)
    return skipped


def in_parallel(action: Callable[[Descriptor], None], blobs: Sequence[Descriptor], stop: Callable[[], None]) -> None:
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


def _sealed(bundle: Bundle) -> Manifest:
    if bundle.manifest is None:
        raise UsageError(
            f"{bundle.name} is a reproducer, not sealed",
            code="usage.not-sealed",
            hint=typed("kerncap", "pack", bundle.name, "-o", "OUT"),
        )
    return bundle.manifest
