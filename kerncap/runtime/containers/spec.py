"""A container in the words of `docker run`.

In: image, command, mounts, devices, limits. Out: the line to type and the arguments of the docker SDK, from the same
fields. Called by line.py and running.py.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker.types

from kerncap.errors import typed

# The engine copies the host's resolv.conf into containers without network, too. Source: RFC 5737, an address of nobody.
NO_DNS = "192.0.2.1"


@dataclass(frozen=True)
class Spec:
    """A container in the words of `docker run`; the SDK's arguments are made from it, too: both say the same."""

    image: str
    command: tuple[str, ...]
    volumes: tuple[tuple[Path, str], ...]
    devices: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    user: str | None = None
    memory_bytes: int | None = None
    pids: int = 1024
    scratch_bytes: int = 2 << 30
    network: str = "none"
    read_only: bool = True
    cdi: tuple[str, ...] = ()
    runtime: str | None = None
    environment: tuple[tuple[str, str], ...] = ()
    labels: dict[str, str] = field(default_factory=lambda: {"dev.kerncap.run": "1"})

    @property
    def _tmpfs(self) -> str:
        return f"rw,nosuid,nodev,noexec,size={self.scratch_bytes}"

    def docker_line(self) -> str:
        words = ["docker", "run", "--rm", "--init", "--network", self.network]
        words += ["--dns", NO_DNS] if self.network == "none" else []
        words += ["--read-only", "--tmpfs", f"/tmp:{self._tmpfs}"] if self.read_only else []
        words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", str(self.pids)]
        words += ["--ulimit", "core=0"]
        # No swap beside it. Source: `docker run`, --memory-swap is both together.
        limit = str(self.memory_bytes)
        words += ["--memory", limit, "--memory-swap", limit] if self.memory_bytes else []
        words += ["--user", self.user] if self.user else []
        words += ["--runtime", self.runtime] if self.runtime else []
        for name, value in self.environment:
            words += ["--env", f"{name}={value}"]
        for device in (*self.devices, *self.cdi):
            words += ["--device", device]
        for group in self.groups:
            words += ["--group-add", str(group)]
        for source, target in self.volumes:
            words += ["--mount", mount_option(source, target)]
        return typed(*words, self.image, *self.command)

    def sdk_arguments(self) -> dict[str, Any]:
        return {
            "image": self.image,
            "command": list(self.command),
            "init": True,
            "auto_remove": True,
            "network_mode": self.network,
            "dns": [NO_DNS],
            "read_only": self.read_only,
            "tmpfs": {"/tmp": self._tmpfs},
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges"],
            "pids_limit": self.pids,
            "mem_limit": self.memory_bytes,
            "memswap_limit": self.memory_bytes,
            "ulimits": [docker.types.Ulimit(name="core", soft=0, hard=0)],
            "user": self.user,
            "devices": [f"{device}:{device}:rwm" for device in self.devices],
            "runtime": self.runtime,
            "environment": dict(self.environment),
            # Source: what `docker run --device VENDOR/CLASS=NAME` asks for.
            "device_requests": [docker.types.DeviceRequest(driver="cdi", device_ids=list(self.cdi))]
            if self.cdi
            else [],
            "group_add": [str(group) for group in self.groups],
            "mounts": [
                docker.types.Mount(target, str(source), type="bind", read_only=True) for source, target in self.volumes
            ],
            "labels": self.labels,
        }


def mount_option(source: Path, target: str) -> str:
    """Source: docker's `--mount` is one record of CSV, so that a path with a comma or a quote must be quoted."""
    record = io.StringIO()
    csv.writer(record, lineterminator="").writerow(["type=bind", f"source={source}", f"target={target}", "readonly"])
    return record.getvalue()
