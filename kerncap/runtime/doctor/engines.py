"""Checks of container engines: Docker and podman, what they can hold a container to, images, user namespaces.

In: the engines that answer, a Host. Out: Checks. Called by the report. Nothing is changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import docker.errors
from docker import DockerClient

from kerncap import proc
from kerncap.errors import KerncapError
from kerncap.runtime import catalog, engine
from kerncap.runtime.doctor.disk import free_in
from kerncap.runtime.doctor.host import Host
from kerncap.runtime.doctor.report import Check, State

_PODMAN_S = 20.0
_UNKNOWN = "unknown without a Docker engine"


def docker_checks(host: Host) -> list[Check]:
    """The engine, what its containers are shut in by, its disk, and the images."""
    try:
        with engine.connect() as client:
            version = client.version()
            info: dict[str, Any] = client.info()
            return [_answers(version, info), sandbox(info), seccomp(info), *engine_disk(info, host), images(client)]
    except KerncapError as error:
        mend = engine.mend()
        return [
            Check("docker", "fail", error.message, mend),
            Check("sandbox", "fail", _UNKNOWN, mend),
            Check("seccomp", "fail", _UNKNOWN, mend),
            Check("images", "fail", _UNKNOWN, _build_images()),
        ]


def _answers(version: Mapping[str, Any], info: Mapping[str, Any]) -> Check:
    rootless = "rootless" in _security(info)
    words = [f"Docker engine {version.get('Version', 'of unknown version')} answers"]
    words.append(f"API {version.get('ApiVersion', '?')}, {'rootless' if rootless else 'as root'}")
    return Check("docker", "ok", ", ".join(words))


def _security(info: Mapping[str, Any]) -> str:
    return " ".join(info.get("SecurityOptions") or ())


def sandbox(info: Mapping[str, Any]) -> Check:
    """Whether the engine can hold a container to the limits that it is given. Source: Docker Engine API, `/info`."""
    lacks = [
        *([] if info.get("MemoryLimit", True) else ["memory limit"]),
        *([] if info.get("PidsLimit", True) else ["limit of processes"]),
        *([] if info.get("CpuCfsQuota", True) else ["limit of processor time"]),
    ]
    of = f"cgroup version {info.get('CgroupVersion', '?')}, driver {info.get('CgroupDriver', '?')}"
    if lacks:
        detail = (
            f"containers of this engine have no {', no '.join(lacks)} ({of}): a stranger's bundle may take all of it"
        )
        rootless = "rootless" in _security(info)
        mend = (
            "sudo systemctl edit user@.service  # [Service] Delegate=cpu cpuset io memory pids, then log in again"
            if rootless
            else "docker info  # its last lines say why"
        )
        return Check("sandbox", "warn", detail, mend)
    return Check("sandbox", "ok", f"limits of memory, processes and processor time; {of}")


def seccomp(info: Mapping[str, Any]) -> Check:
    """A profile that is not the engine's own is said: only its owner knows what it lets through."""
    name = "seccomp"
    option = next((o for o in info.get("SecurityOptions") or () if "seccomp" in o), None)
    if option is None:
        return Check(name, "warn", "the engine's containers have no seccomp profile", "docker info  # and its kernel")
    profile = dict(word.partition("=")[::2] for word in option.split(",")).get("profile", "default")
    if profile in ("default", "builtin"):
        return Check(name, "ok", "the engine's own profile")
    if profile == "unconfined":
        mend = "sudo editor /etc/docker/daemon.json  # take seccomp-profile out, then restart the engine"
        return Check(name, "warn", "the engine filters no system calls by default", mend)
    return Check(name, "ok", f"the profile {profile}")


def engine_disk(info: Mapping[str, Any], host: Host) -> list[Check]:
    """Where the engine keeps images and containers, when it is on this host."""
    root = info.get("DockerRootDir")
    remote = not os.environ.get("DOCKER_HOST", "unix:").startswith("unix:")
    if not isinstance(root, str) or remote or not host.exists(root):
        return []
    return [free_in("engine-disk", [host.at(root)], "docker system df  # and docker system prune")]


def _build_images(*suites: str) -> str:
    if catalog.find_checkout() is None:
        return "make images  # in a clone of the repository"
    return " ".join(("kerncap image build", *suites))


def images(client: DockerClient) -> Check:
    suites = catalog.load().default_suites if catalog.find_checkout() else (catalog.DEFAULT_SUITE,)
    present, missing, lacking = [], [], []
    for suite in suites:
        name = catalog.image_name("runtime", suite)
        try:
            client.images.get(name)
            present.append(name)
        except docker.errors.ImageNotFound:
            missing.append(name)
            lacking.append(suite)
    if not missing:
        return Check("images", "ok", ", ".join(present))
    state: State = "warn" if present else "fail"
    return Check("images", state, f"not built: {', '.join(missing)}", _build_images(*lacking))


def podman(host: Host) -> list[Check]:
    """Where podman is installed: one line. Source: podman-info(1)."""
    program = host.program("podman")
    if program is None or not host.is_real:
        return []
    done = proc.run([program, "info", "--format", "json"], timeout_s=_PODMAN_S)
    return [podman_says(done.stdout if done.ok else b"", done.error_text)]


def podman_says(stdout: bytes, stderr: str = "") -> Check:
    name = "podman"
    try:
        document = json.loads(stdout)
        of, version = document["host"], document["version"]["Version"]
        controllers = set(of.get("cgroupControllers") or ())
        rootless = bool(of.get("security", {}).get("rootless"))
        filtered = bool(of.get("security", {}).get("seccompEnabled", True))
        cgroups = of.get("cgroupVersion", "?")
    except (ValueError, KeyError, TypeError, AttributeError):
        said = stderr.strip().splitlines()[-1:] or ["it said nothing"]
        return Check(name, "warn", f"podman is installed and does not work: {said[0]}", "podman info")
    text = f"podman {version}, {'rootless' if rootless else 'as root'}, cgroup {cgroups}"
    lacks = sorted({"memory", "pids", "cpu"} - controllers)
    if lacks:
        mend = "sudo systemctl edit user@.service  # [Service] Delegate=cpu cpuset io memory pids, then log in again"
        return Check(name, "warn", f"{text}: containers have no limits of {', '.join(lacks)}", mend)
    if not filtered:
        return Check(name, "warn", f"{text}: no seccomp", "podman info")
    return Check(name, "ok", f"{text}, limits of memory, processes and processor time, seccomp")


def user_namespaces(host: Host) -> Check:
    """What rootless engines need. Source: user_namespaces(7); subuid(5)."""
    name = "user-namespaces"
    if host.number("/proc/sys/user/max_user_namespaces") == 0:
        return Check(
            name, "warn", "there may be none: no rootless engine", "sudo sysctl -w user.max_user_namespaces=15000"
        )
    for setting, forbids in (("unprivileged_userns_clone", 0), ("apparmor_restrict_unprivileged_userns", 1)):
        if host.number(f"/proc/sys/kernel/{setting}") == forbids and host.uid != 0:
            mend = f"sudo sysctl -w kernel.{setting}={1 - forbids}"
            return Check(name, "warn", f"kernel.{setting} is {forbids}: no rootless engine", mend)
    user = host.user_name
    if host.uid != 0 and not all(_has_range(host, file, user) for file in ("/etc/subuid", "/etc/subgid")):
        mend = f"sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}"
        return Check(
            name, "warn", f"{user} has no range of ids in /etc/subuid and /etc/subgid: no rootless engine", mend
        )
    return Check(name, "ok", "allowed" if host.uid != 0 else "allowed; this is root, who needs none")


def _has_range(host: Host, file: str, user: str) -> bool:
    names = {line.split(":")[0] for line in (host.text(file) or "").splitlines()}
    return user in names or str(host.uid) in names
