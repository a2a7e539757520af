"""What this host can do, and what to do about the rest: one check a line, each with the command that mends it.

In: the host as it is, a bundle's Need. Out: a Report; or, before a replay, the error of the first check that fails.
Called by the doctor and replay workflows. Nothing is changed; only the engines, rocminfo and podman are asked.
"""

from __future__ import annotations

from kerncap.runtime.doctor.bundle_checks import require, require_addresses
from kerncap.runtime.doctor.host import Host
from kerncap.runtime.doctor.need import Need, need_of
from kerncap.runtime.doctor.report import Check, Report, State

__all__ = ["Check", "Host", "Need", "Report", "State", "examine", "need_of", "require", "require_addresses"]


def examine(host: Host | None = None, *, target: str | None = None) -> Report:
    """Every check of the host, in the order in which a person would mend them. `target`: of a bundle, for emulators."""
    # A replay asks for its own checks only, and does not wait for the engine's package.
    from kerncap.runtime.doctor import addresses, disk, engines, gpu, software

    host = host or Host()
    checks = [
        *gpu.gpu_checks(host),
        software.hsa_runtime(host),
        software.native_files(),
        *software.rocjitsu(host, target),
        addresses.address_space(host),
        *engines.docker_checks(host),
        *engines.podman(host),
        engines.user_namespaces(host),
        disk.disk(),
    ]
    return Report(tuple(checks))
