"""Seals a reproducer as a bundle: links or copies the blobs that the capture wrote, never compresses them again.

In: a reproducer directory. Out: an OCI image layout (directory or tar) named by its manifest digest, the same for the
same reproducer whatever the time, order, mode or user. Called by cli and workflows.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import IO, Any

from kerncap.bundle import limits
from kerncap.bundle.code import SourceFile, build_code_layer
from kerncap.bundle.compression import compress_document
from kerncap.bundle.config import Summary, build_config
from kerncap.bundle.documents import canonical_json
from kerncap.bundle.files import COPY_BYTES
from kerncap.bundle.location import LayoutLocation, Location, ReproducerLocation, TarLocation, parse_source
from kerncap.bundle.manifest import (
    CODE,
    CONFIG,
    HSACO,
    INDEX,
    SPEC_VERSION,
    Descriptor,
    Manifest,
    build_manifest,
    sha256_digest,
)
from kerncap.bundle.progress import ProgressCall, no_progress
from kerncap.bundle.reader import RECORD_MEMBERS, Bundle, open_bundle, required_features
from kerncap.bundle.sequence import Step
from kerncap.bundle.sink import Sink, copy_blobs, copy_checked, new_bundle
from kerncap.errors import BundleError, UsageError, typed

_SPOOL_BYTES = 16 << 20
_MAX_KERNEL_ANNOTATION = 512

# What may leave the machine of the capture: switches of the runtimes that change how a kernel runs. Everything else in
# an environment (tokens, host names, paths) stays where it is.
ENVIRONMENT_ALLOWED = frozenset(
    {
        "AMD_DIRECT_DISPATCH",
        "AMD_LOG_LEVEL",
        "AMD_SERIALIZE_COPY",
        "AMD_SERIALIZE_KERNEL",
        "AMDGCN_ANALYZE_SMALL_TENSOR_RANGE",
        "AMDGCN_SCALARIZE_PACKED_FOPS",
        "AMDGCN_USE_BUFFER_ATOMICS",
        "AMDGCN_USE_BUFFER_OPS",
        "CUDA_VISIBLE_DEVICES",
        "GPU_MAX_HW_QUEUES",
        "HIP_FORCE_DEV_KERNARG",
        "HIP_LAUNCH_BLOCKING",
        "HIP_VISIBLE_DEVICES",
        "HSA_CU_MASK",
        "HSA_DISABLE_FRAGMENT_ALLOCATOR",
        "HSA_ENABLE_INTERRUPT",
        "HSA_ENABLE_SDMA",
        "HSA_ENABLE_SCRATCH_ASYNC_RECLAIM",
        "HSA_NO_SCRATCH_RECLAIM",
        "HSA_OVERRIDE_GFX_VERSION",
        "HSA_XNACK",
        "KERNCAP_VGPU",
        "OMP_NUM_THREADS",
        "ROCR_VISIBLE_DEVICES",
        "TRITON_DEFAULT_FP_FUSION",
        "TRITON_HIP_USE_ASYNC_COPY",
        "TRITON_HIP_USE_BLOCK_PINGPONG",
        "TRITON_HIP_USE_IN_THREAD_TRANSPOSE",
    }
)


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a bundle may hold."""
    return {name: value for name, value in environment.items() if name in ENVIRONMENT_ALLOWED}


def content_digest(bundle: Bundle, source: tuple[SourceFile, ...]) -> str:
    """What is recorded, independent of compression: raw digests of every chunk, the code object, kernarg and source."""
    first, *later = bundle.capture.steps
    content = {
        "schema": "kerncap.content/1",
        **_step_content(first),
        "regions": [
            [
                region.va,
                region.size,
                region.kind,
                region.segment,
                region.symbol,
                [[chunk.length, chunk.raw_sha256] for chunk in region.pre],
                [[chunk.at, chunk.length, chunk.raw_sha256] for chunk in region.post],
                *([] if region.alias_of is None else [region.alias_of]),
                *([{"step": region.step}] if region.step else []),
                *(
                    [{"between": [[[c.at, c.length, c.raw_sha256] for c in one] for one in region.between]}]
                    if region.between
                    else []
                ),
            ]
            for region in bundle.index.regions
        ],
        "source": sorted([file.name, file.size, file.sha256] for file in source),
    }
    if later:
        content["sequence"] = [
            {
                **_step_content(step),
                "barriers_before": [[b.type, b.barrier, list(b.waits_for)] for b in step.barriers_before],
            }
            for step in later
        ]
    return sha256_digest(canonical_json(content))


def _step_content(step: Step) -> dict[str, Any]:
    dispatch = step.dispatch
    return {
        "code_object": step.code_object.digest,
        "dispatch": {
            "grid": dispatch.grid,
            "workgroup": dispatch.workgroup,
            "group_segment_bytes": dispatch.group_segment_bytes,
            "private_segment_bytes": dispatch.private_segment_bytes,
            "kernarg_va": dispatch.kernarg_va,
        },
        "kernarg": step.kernarg.data.hex(),
    }


def seal(
    reproducer: ReproducerLocation, output: LayoutLocation | TarLocation, *, progress: ProgressCall = no_progress
) -> Manifest:
    """Write the bundle of a reproducer to `output`, which must not exist.

    Raises: UsageError `usage.output-exists`; BundleError when the reproducer is malformed; HostError `host.disk-full`.
    """
    bundle = open_unsealed(reproducer)
    locations = bundle.blob_locations()

    def put(sink: Sink, manifest: Manifest) -> None:
        blobs = [(blob, locations[blob.digest]) for blob in (*manifest.hsacos, *manifest.chunks)]
        copy_blobs(sink, blobs, what=bundle.name, progress=progress)

    return write_sealed(bundle, reproducer, output, put)


def open_unsealed(reproducer: ReproducerLocation) -> Bundle:
    """Raises: UsageError `usage.already-sealed`; BundleError."""
    named: Location = reproducer
    with contextlib.suppress(UsageError):  # what is neither here nor there is said below
        named = parse_source(str(reproducer.path))
    if not isinstance(named, ReproducerLocation):
        raise _already_sealed(named)
    bundle = open_bundle(reproducer)
    if bundle.sealed:
        raise _already_sealed(reproducer)
    return bundle


def _already_sealed(bundle: Location) -> UsageError:
    return UsageError(
        f"{bundle} is sealed already",
        code="usage.already-sealed",
        hint=typed("kerncap", "copy", bundle, "bundle.kcap.tar"),
    )


def write_sealed(
    bundle: Bundle,
    reproducer: ReproducerLocation,
    output: LayoutLocation | TarLocation,
    put_data: Callable[[Sink, Manifest], None],
) -> Manifest:
    """`bundle` with the reproducer's source as a new bundle; `put_data` brings the code objects and the chunk blobs."""
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as code_file:
        code, source = _code_layer(reproducer, code_file)
        index_bytes, record = _index_layer(bundle)
        config_bytes = _config(bundle, source, record)
        manifest = _manifest(bundle, config_bytes, index_bytes, code)
        with new_bundle(output, manifest) as sink:
            sink.put_bytes(manifest.config, config_bytes)
            sink.put_bytes(manifest.index, index_bytes)
            if code is not None:
                _put_code(sink, code, code_file)
            put_data(sink, manifest)
    return manifest


def _code_layer(reproducer: ReproducerLocation, out: IO[bytes]) -> tuple[Descriptor | None, tuple[SourceFile, ...]]:
    source = build_code_layer(reproducer.path, out)
    size = out.tell()
    if not source:
        return None, ()
    if size > limits.MAX_CODE_STORED_BYTES:
        raise BundleError(f"{reproducer}: the source takes {size} bytes compressed", code="bundle.limit")
    out.seek(0)
    digest = hashlib.sha256()
    while piece := out.read(COPY_BYTES):
        digest.update(piece)
    return Descriptor(CODE, "sha256:" + digest.hexdigest(), size, "code.tar.zst"), source


def _put_code(sink: Sink, code: Descriptor, file: IO[bytes]) -> None:
    file.seek(0)
    with sink.slot(code) as slot:
        copy_checked(file, slot, code, what="code layer")


def _index_layer(bundle: Bundle) -> tuple[bytes, dict[str, Any]]:
    """The stored index with the record in it, and the record."""
    record = {name: bundle.capture_json[name] for name in RECORD_MEMBERS if bundle.capture_json.get(name) is not None}
    if "environment" in record:
        record["environment"] = allowed_environment(record["environment"])
    document = canonical_json({**bundle.index_json, "record": record})
    if len(document) > limits.MAX_INDEX_JSON_BYTES:
        raise BundleError(f"{bundle.name}: the index would have {len(document)} bytes", code="bundle.limit")
    return compress_document(document), record


def _config(bundle: Bundle, source: tuple[SourceFile, ...], record: Mapping[str, Any]) -> bytes:
    index = bundle.index
    return build_config(
        content_digest=content_digest(bundle, source),
        target=bundle.capture.code_object.target,
        capture={name: value for name, value in bundle.capture_json.items() if name not in RECORD_MEMBERS},
        summary=Summary(len(index.regions), index.raw_bytes, index.stored_bytes, len(source)),
        requires=required_features(bundle),
    )


def _manifest(bundle: Bundle, config: bytes, index: bytes, code: Descriptor | None) -> Manifest:
    blobs = bundle.data_blobs
    hsacos = [blob for blob in blobs if blob.media_type == HSACO]
    kernel = bundle.capture.kernel.name
    annotations = {
        "dev.kerncap.spec": SPEC_VERSION,
        "dev.kerncap.isa": bundle.capture.code_object.target,
        "dev.kerncap.raw-size": str(bundle.index.raw_bytes),
        "dev.kerncap.regions": str(len(bundle.index.regions)),
    }
    if len(kernel) <= _MAX_KERNEL_ANNOTATION:
        annotations["dev.kerncap.kernel"] = kernel
    return build_manifest(
        config=Descriptor(CONFIG, sha256_digest(config), len(config), "config.json"),
        index=Descriptor(INDEX, sha256_digest(index), len(index), "index.json.zst"),
        code=code,
        hsacos=[replace(hsaco, title=f"kernel{f'-{i}' if i else ''}.hsaco") for i, hsaco in enumerate(hsacos)],
        chunks=blobs[len(hsacos) :],
        annotations=annotations,
    )
