"""Opens a bundle or a reproducer, whatever form it has, as one Bundle object; no memory data is moved.

In: a path, `oci:DIR[:tag]`, a tar file, or (from transport) a store of a registry. Out: a Bundle whose capture and
index are validated and fit each other; where each blob can be read. Called by transport, workflows and cli.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle import limits
from kerncap.bundle.capture import Capture, capture_from_json, parse_capture
from kerncap.bundle.code import SourceFile, list_source, read_code_layer, source_digests
from kerncap.bundle.compression import decompress_bounded
from kerncap.bundle.config import Config, parse_config
from kerncap.bundle.documents import canonical_json
from kerncap.bundle.files import host_errors, read_regular
from kerncap.bundle.index import Index, parse_index
from kerncap.bundle.location import (
    LayoutLocation,
    Location,
    RegistryLocation,
    ReproducerLocation,
    TarLocation,
    parse_source,
    require_bundle,
)
from kerncap.bundle.manifest import CHUNKS, HSACO, Descriptor, Manifest, parse_manifest
from kerncap.bundle.sequence import EACH
from kerncap.bundle.store import (
    BlobLocation,
    CaptureStore,
    LayoutStore,
    LocalStore,
    Store,
    TarStore,
)
from kerncap.errors import BundleError, UsageError, typed
from kerncap.scratch import Scratch

RECORD_MEMBERS = ("command", "environment", "noise", "sequence", "unreadable", "write_set")
"""Members of capture.json that have no bound of their own: sealed in the index layer and not in the config."""


@dataclass(frozen=True, slots=True)
class Documents:
    """Files that kerncap-replay reads."""

    capture: Path
    index: Path


@dataclass(frozen=True)
class Bundle:
    """A validated capture and its index. `manifest`, `manifest_digest` and `config` are None for a reproducer."""

    name: str
    capture: Capture
    capture_json: Mapping[str, Any]
    index: Index
    index_json: Mapping[str, Any]
    manifest: Manifest | None
    config: Config | None
    store: Store

    @property
    def sealed(self) -> bool:
        return self.manifest is not None

    @property
    def manifest_digest(self) -> str | None:
        return None if self.manifest is None else self.manifest.digest

    @property
    def data_blobs(self) -> tuple[Descriptor, ...]:
        """The code objects, in the order in which they are first dispatched, and every chunk blob, once each."""
        codes = {step.code_object.digest: step.code_object.size for step in self.capture.steps}
        sizes = {blob.digest: blob.size for blob in self.index.blobs if blob.digest not in codes}
        return (
            *(Descriptor(HSACO, digest, size) for digest, size in codes.items()),
            *(Descriptor(CHUNKS, digest, size) for digest, size in sizes.items()),
        )

    def blob_locations(self) -> dict[str, BlobLocation]:
        """Path, offset and size of the code object and of every chunk blob, by digest; all are present in full.

        Raises: BundleError `bundle.missing-blob`, `bundle.truncated`.
        """
        return {blob.digest: self.locate(blob) for blob in self.data_blobs}

    def promised_locations(self) -> dict[str, BlobLocation]:
        """As blob_locations; of what is still on its way (`arriving`) where it will lie."""
        store = self.store
        promise = store.promise if isinstance(store, LocalStore) else store.locate
        return {blob.digest: promise(blob) for blob in self.data_blobs}

    @property
    def arriving(self) -> Path | None:
        """The marker of whoever still brings blobs of this bundle; None: they are all there."""
        return self.store.arriving if isinstance(self.store, LocalStore) else None

    def locate(self, blob: Descriptor) -> BlobLocation:
        """Raises: BundleError `bundle.missing-blob`, `bundle.truncated`."""
        return self.store.locate(blob)

    def source_files(self) -> tuple[SourceFile, ...]:
        """What the bundle carries of src/, vfs.yaml and compile.json; empty without source."""
        if isinstance(self.store, CaptureStore):
            return source_digests(self.store.reproducer)
        return self.extract_source(None)

    @property
    def source_count(self) -> int:
        """How many files source_files() lists, without reading them; every message that counts source takes it here."""
        if self.config is not None:
            return self.config.summary.source_files
        return len(list_source(self.store.reproducer)) if isinstance(self.store, CaptureStore) else 0

    def extract_source(self, into: Path | None) -> tuple[SourceFile, ...]:
        """Write the source closure below `into`, an empty directory; nothing of it is executable.

        Raises: BundleError `bundle.hostile-path`, `bundle.limit`, ...; HostError.
        """
        if self.manifest is None:
            raise UsageError(f"{self.name} is a reproducer: its source lies there already", code="usage.not-sealed")
        if self.manifest.code is None:
            return ()
        with self.store.open_checked(self.manifest.code) as stream:
            return read_code_layer(stream, what=f"{self.name}: code layer", into=into)

    @contextmanager
    def source_folder(self) -> Iterator[Path]:
        """The folder with what source_files() lists: the reproducer's own, or extracted for the `with` block.

        Raises: as extract_source.
        """
        if isinstance(self.store, CaptureStore):
            yield self.store.reproducer
            return
        with Scratch("kerncap-source-") as scratch:
            self.extract_source(Path(scratch))
            yield Path(scratch)

    def write_documents(self, folder: Path) -> Documents:
        """capture.json and index.json as files of their own in `folder`, for kerncap-replay."""
        documents = Documents(folder / "capture.json", folder / "index.json")
        with host_errors(folder):
            documents.capture.write_bytes(canonical_json(self.capture_json))
            documents.index.write_bytes(canonical_json(self.index_json))
        return documents


def open_bundle(source: str | Path | Location) -> Bundle:
    """Open what lies on this machine; a registry reference is for `kerncap.transport.open_remote`.

    Raises: UsageError, BundleError, HostError.
    """
    location = source if isinstance(source, Location) else parse_source(os.fspath(source))
    if isinstance(location, RegistryLocation):
        raise UsageError(
            f"{location} is in a registry",
            code="usage.not-local",
            hint=typed("kerncap", "pull", location, "-o", "bundle.kcap.tar"),
        )
    if isinstance(location, ReproducerLocation):
        return _open_reproducer(location.path)
    return open_store(local_store(location))


def local_store(location: LayoutLocation | TarLocation | ReproducerLocation) -> LocalStore:
    """Where a sealed bundle lies on this machine. Raises: UsageError `usage.not-sealed`; BundleError."""
    if isinstance(location, ReproducerLocation):
        raise UsageError(
            f"{location} is a reproducer, not sealed",
            code="usage.not-sealed",
            hint=typed("kerncap", "pack", location.path, "-o", "OUT"),
        )
    if isinstance(location, TarLocation):
        return TarStore(location.path)
    return LayoutStore(location.path, location.tag, location.digest)


def open_store(store: Store) -> Bundle:
    """Manifest, config and index of a sealed bundle, each bounded, checked and fitting the others."""
    manifest = parse_manifest(store.manifest_bytes(), what=f"{store.name}: manifest")
    config = parse_config(store.read(manifest.config), what=f"{store.name}: config")
    stored_index = store.read(manifest.index)
    raw = decompress_bounded(stored_index, limits.MAX_INDEX_JSON_BYTES, what=f"{store.name}: index")
    index, index_json = parse_index(raw, what=f"{store.name}: index")
    record = index_json.pop("record", {})
    if not isinstance(record, dict) or not set(record) <= set(RECORD_MEMBERS):
        raise BundleError(f"{store.name}: index: record holds what it must not", code="bundle.malformed")
    capture_json = {**config.capture, **record}
    capture = capture_from_json(capture_json, what=f"{store.name}: capture")
    bundle = Bundle(store.name, capture, capture_json, index, index_json, manifest, config, store)
    _check_sealed(bundle, manifest, config)
    check_fit(bundle)
    return bundle


def _open_reproducer(path: Path) -> Bundle:
    folder = path / "capture" if (path / "capture").is_dir() else path
    require_bundle(ReproducerLocation(path))
    what = f"{path}: capture.json"
    capture_bytes = read_regular(folder / "capture.json", what=what, limit=limits.MAX_CAPTURE_JSON_BYTES)
    capture, capture_json = parse_capture(capture_bytes, what=what)
    what = f"{path}: index.json"
    index_bytes = read_regular(folder / "index.json", what=what, limit=limits.MAX_INDEX_JSON_BYTES)
    index, index_json = parse_index(index_bytes, what=what)
    bundle = Bundle(str(path), capture, capture_json, index, index_json, None, None, CaptureStore(folder, path))
    check_fit(bundle)
    return bundle


def _check_sealed(bundle: Bundle, manifest: Manifest, config: Config) -> None:
    """Manifest, config and index must tell the same story."""
    expected = {blob.digest: blob.size for blob in bundle.data_blobs}
    listed = {blob.digest: blob.size for blob in (*manifest.hsacos, *manifest.chunks)}
    codes = [blob.digest for blob in bundle.data_blobs if blob.media_type == HSACO]
    if expected != listed or [blob.digest for blob in manifest.hsacos] != codes:
        odd = sorted(expected.items() ^ listed.items())[:1]
        raise BundleError(f"{bundle.name}: manifest and index disagree about blobs: {odd}", code="bundle.inconsistent")
    if config.target != bundle.capture.code_object.target:
        raise BundleError(
            f"{bundle.name}: config says {config.target}, the code object is for {bundle.capture.code_object.target}",
            code="bundle.inconsistent",
        )
    summary = config.summary
    found = (len(bundle.index.regions), bundle.index.raw_bytes, bundle.index.stored_bytes)
    if found != (summary.regions, summary.raw_bytes, summary.stored_bytes):
        raise BundleError(f"{bundle.name}: the config's summary does not fit the index", code="bundle.inconsistent")
    if not set(required_features(bundle)) <= set(config.requires):
        raise BundleError(f"{bundle.name}: the config does not require what the index uses", code="bundle.inconsistent")


def required_features(bundle: Bundle) -> tuple[str, ...]:
    """What a reader must know to understand capture and index."""
    return tuple(dict.fromkeys((*bundle.index.requires, *bundle.capture.requires)))


def check_fit(bundle: Bundle) -> None:
    """Region numbers and byte ranges of the capture must lie inside the index."""
    capture = bundle.capture
    for number, step in enumerate(capture.steps):
        for i, argument in enumerate(step.kernarg.args):
            if argument.region is not None:
                place = f"{f'dispatch {number}: ' if number else ''}kernarg/args/{i}"
                _check_range(bundle, place, argument.region, argument.region_offset or 0, 0)
    _check_steps(bundle)
    write_set = capture.write_set
    ranges = (*write_set.written, *write_set.read_first, *capture.noise) if write_set else capture.noise
    for region, offset, length in ranges:
        _check_range(bundle, "write_set or noise", region, offset, length)
    if {step.code_object.digest for step in capture.steps} & {blob.digest for blob in bundle.index.blobs}:
        raise BundleError(f"{bundle.name}: a code object is also listed as a chunk blob", code="bundle.inconsistent")


def _check_steps(bundle: Bundle) -> None:
    """The index must speak of the dispatches that the capture has."""
    sequence = bundle.capture.sequence
    later = len(sequence.later) if sequence else 0
    states = later if sequence and sequence.states == EACH else 0
    for number, region in enumerate(bundle.index.regions):
        if region.step > later:
            raise BundleError(
                f"{bundle.name}: regions/{number} belongs to dispatch {region.step}, which does not exist",
                code="bundle.inconsistent",
            )
        if len(region.between) != (states if region.alias_of is None else 0):
            raise BundleError(
                f"{bundle.name}: regions/{number} has {len(region.between)} states between dispatches, not {states}",
                code="bundle.inconsistent",
            )


def _check_range(bundle: Bundle, place: str, region: int, offset: int, length: int) -> None:
    regions = bundle.index.regions
    if region >= len(regions) or offset + length > regions[region].size:
        raise BundleError(
            f"{bundle.name}: {place} names bytes {offset}+{length} of region {region}, which do not exist",
            code="bundle.inconsistent",
        )
