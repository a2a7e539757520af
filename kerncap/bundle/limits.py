"""Every limit that a reader enforces before it allocates (bundle_spec/SPEC.md, Limits). No code.

A bundle beyond a limit is refused with `bundle.limit`, whoever made it.
"""

from __future__ import annotations

MAX_MANIFEST_BYTES = 4 << 20  # what registries accept (distribution 2.8 answers 400 above it)
MAX_CONFIG_BYTES = 256 << 10
MAX_INDEX_STORED_BYTES = 32 << 20
MAX_INDEX_JSON_BYTES = 64 << 20
MAX_CAPTURE_JSON_BYTES = 32 << 20
MAX_LAYOUT_INDEX_BYTES = 1 << 20
MAX_BLOBS = 20_000
MAX_BLOB_BYTES = 256 << 20
MAX_HSACO_BYTES = 4 << 30
MAX_REGIONS = 131_072
MAX_REGION_BYTES = 4 << 40
MAX_SYMBOL_BYTES = 64 << 10
MAX_FLAGS = 32  # of a region
MAX_CHUNKS = 393_216  # of all regions and states together: 384 GiB in chunks of 1 MiB, and what the index has room for
MAX_STEPS = 1024  # dispatches of a sequence
MAX_RANGES = 131_072  # of each list of byte ranges: written, read_first, noise
MAX_CHUNK_BYTES = 64 << 20
MAX_ZSTD_WINDOW_BYTES = MAX_CHUNK_BYTES  # a frame in single-segment form needs its content size
MAX_CODE_STORED_BYTES = 256 << 20
MAX_CODE_BYTES = 1 << 30
MAX_CODE_FILES = 100_000
MAX_CODE_PATH_BYTES = 4096
MAX_TAR_MEMBERS = MAX_BLOBS + 64
MAX_REFERRERS = 1000  # of one bundle, and what refers to these
MAX_REFERRER_BLOB_BYTES = 256 << 20
MAX_REFERRERS_READ_BYTES = 64 << 20  # of manifests and envelopes together, to find out who signed a bundle
MAX_ENVELOPE_BYTES = 4 << 20  # a signed statement; an SBOM is not in one
ADDRESS_SPACE_BYTES = 1 << 57  # 5-level paging: the largest user address on x86-64
