"""Where a bundle comes from, as the predicate of SLSA provenance v1.

In: an open sealed bundle. Out: a predicate. It repeats what manifest and config say in a form that other tools read, so
that it shows nothing which these do not: no command line, no environment, no memory; and it is the same for the same
bundle. Source: slsa.dev/spec/v1.0/provenance. Called by the trust workflow.
"""

from __future__ import annotations

from typing import Any

from kerncap.bundle import Bundle

BUILD_TYPE = "https://kerncap.dev/capture/v1"
BUILDER = "https://kerncap.dev/kerncap"
_COMMAND_CLASSES = {True: "triton", False: "hsa"}


def predicate_of_provenance(bundle: Bundle) -> dict[str, Any]:
    """What was captured, on which device, by which versions."""
    capture, config = bundle.capture, bundle.config
    assert config is not None, "a sealed bundle has a config"
    device = capture.device
    return {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {
                "commandClass": _COMMAND_CLASSES[capture.triton is not None],
                "dispatch": {
                    "grid": list(capture.dispatch.grid),
                    "workgroup": list(capture.dispatch.workgroup),
                    "dispatches": len(capture.steps),
                },
                "kernel": capture.kernel.name,
                "target": config.target,
            },
            "internalParameters": {
                "consistency": "consistent" if capture.consistent else "best-effort",
                "contentDigest": config.content_digest,
                "device": {
                    "agent": device.agent,
                    "class": device.device_class,
                    "computeUnits": device.compute_units,
                    "isa": device.isa,
                    "memoryBytes": device.memory_bytes,
                    "product": device.product,
                },
                "outcome": capture.status,
                "specVersion": config.spec_version,
            },
            "resolvedDependencies": [
                {"name": f"code object of {step.kernel.name}", "digest": {"sha256": step.code_object.digest[7:]}}
                for step in {step.code_object.digest: step for step in reversed(capture.steps)}.values()
            ],
        },
        "runDetails": {
            "builder": {"id": BUILDER, "version": dict(sorted(capture.runtime.items()))},
        },
    }
