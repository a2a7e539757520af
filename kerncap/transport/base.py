"""The base of a delta, wherever it lies: its index is read, and of its blobs only those that a new bundle refers to.

In: what the user named. Out: a Base. Called by cli.
"""

from __future__ import annotations

from kerncap.bundle.cache import BlobCache
from kerncap.bundle.delta import Base, local_base
from kerncap.bundle.manifest import Descriptor
from kerncap.bundle.sink import Sink
from kerncap.errors import UsageError, typed
from kerncap.transport.transfer import RegistryStore, fetch_blob, open_any


def open_base(source: str, *, plain_http: bool = False) -> Base:
    """A layout, a tar file or a registry reference.

    Raises: UsageError `usage.not-sealed`; BundleError; HostError; TransportError.
    """
    bundle = open_any(source, plain_http=plain_http)
    if not bundle.sealed:
        hint = typed("kerncap", "pack", bundle.name, "-o", "OUT")
        raise UsageError(f"{bundle.name} is a reproducer, a base is sealed", code="usage.not-sealed", hint=hint)
    if not isinstance(bundle.store, RegistryStore):
        return local_base(bundle)
    registry, cache = bundle.store.registry, BlobCache()

    def put(sink: Sink, blob: Descriptor) -> None:
        fetch_blob(registry, cache, sink, blob)

    return Base(bundle, put)
