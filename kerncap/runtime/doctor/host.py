"""The host as the checks see it: its files, and who asks. Tests build other hosts below a folder.

In: a root folder, ids, limits, environment. Out: contents of files of /dev, /sys, /proc, /etc. Called by every check.
"""

from __future__ import annotations

import os
import resource
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kerncap import native

_HSA_NAME = "libhsa-runtime64.so.1"
_HSA_FOLDERS = ("opt/rocm/lib", "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib")
_MAX_FILE_BYTES = 1 << 20


def _groups() -> frozenset[int]:
    return frozenset({os.getegid(), *os.getgroups()})


@dataclass(frozen=True)
class Node:
    """Who may use a device node."""

    path: Path
    uid: int
    gid: int
    mode: int


@dataclass(frozen=True)
class Host:
    """`root`: where /dev, /sys, /proc and /etc are; `limits`: soft limits by name (`AS`, `NOFILE`), -1: none; those
    that are not named are this process's."""

    root: Path = Path("/")
    uid: int = field(default_factory=os.geteuid)
    groups: frozenset[int] = field(default_factory=_groups)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_real(self) -> bool:
        return self.root == Path("/")

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def text(self, path: str) -> str | None:
        """A small file's content; None where it is not there or may not be read."""
        try:
            with self.at(path).open("rb") as file:
                return file.read(_MAX_FILE_BYTES).decode("utf-8", "replace")
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """A file that holds one number."""
        text = self.text(path)
        try:
            return int(text) if text is not None else None
        except ValueError:
            return None

    def exists(self, path: str) -> bool:
        """Also no: it may not be looked at."""
        return os.path.exists(self.at(path))

    def listed(self, folder: str, pattern: str) -> list[Path]:
        return sorted(self.at(folder).glob(pattern))

    def limit(self, name: str) -> int | None:
        """The soft limit RLIMIT_`name`; None: there is none."""
        value = self.limits.get(name)
        if value is None:
            value = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0]
        return None if value in (-1, resource.RLIM_INFINITY) else value

    def node(self, path: str) -> Node | None:
        try:
            status = self.at(path).stat()
        except OSError:
            return None
        return Node(Path(path), status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode))

    def may_use(self, node: Node) -> bool:
        """Read and write, by owner, groups and mode; of the real host an access list counts as well."""
        both = 0o6
        if self.uid == 0:
            return True
        shift = 6 if self.uid == node.uid else 3 if node.gid in self.groups else 0
        if node.mode >> shift & both == both:
            return True
        return self.is_real and os.access(node.path, os.R_OK | os.W_OK)

    def group_name(self, gid: int) -> str | None:
        return next((words[0] for words in self._groups_of_etc() if words[2] == str(gid)), None)

    def in_group_file(self, gid: int) -> bool:
        """Whether /etc/group names this user in that group: then only a new login is missing."""
        user = self.user_name
        return any(words[2] == str(gid) and user in words[3].split(",") for words in self._groups_of_etc())

    def _groups_of_etc(self) -> list[list[str]]:
        lines = (line.split(":") for line in (self.text("/etc/group") or "").splitlines())
        return [words for words in lines if len(words) == 4]

    @property
    def user_name(self) -> str:
        lines = (line.split(":") for line in (self.text("/etc/passwd") or "").splitlines())
        return next((words[0] for words in lines if len(words) > 2 and words[2] == str(self.uid)), str(self.uid))

    @property
    def in_container(self) -> bool:
        return self.exists("/.dockerenv") or self.exists("/run/.containerenv")

    @property
    def topology(self) -> Path:
        return self.at(str(native.TOPOLOGY_DIR))

    def program(self, name: str) -> Path | None:
        """A program of PATH, or of ROCm's own folder, which is often in no PATH; below `root`."""
        folders = [*self.environ.get("PATH", "").split(":"), "/opt/rocm/bin"]
        for folder in filter(None, folders):
            found = shutil.which(name, path=str(self.at(folder)))
            if found:
                return Path("/") / Path(found).relative_to(self.root)
        return None

    def hsa_runtime(self) -> Path | None:
        """The file that the loader takes for libhsa-runtime64.so.1; not initialised, since that opens the device."""
        if not self.is_real:
            found = next((p for f in _HSA_FOLDERS if (p := self.at(f) / _HSA_NAME).exists()), None)
            return found.resolve() if found else None
        import ctypes  # a replay need not wait for it

        for name in (_HSA_NAME, f"/opt/rocm/lib/{_HSA_NAME}"):
            try:
                ctypes.CDLL(name)
            except OSError:
                continue
            mapped = (line.split(maxsplit=5)[-1] for line in (self.text("/proc/self/maps") or "").splitlines())
            return Path(next((path for path in mapped if "libhsa-runtime64" in path), name))
        return None

    def memory(self) -> dict[str, int]:
        """/proc/meminfo in bytes."""
        found = {}
        for line in (self.text("/proc/meminfo") or "").splitlines():
            name, _, rest = line.partition(":")
            words = rest.split()
            if words and words[0].isdecimal():
                found[name] = int(words[0]) << 10 if words[-1] == "kB" else int(words[0])
        return found

    def memory_limit(self) -> int | None:
        """Bytes that the cgroup of this process allows. Source: Linux, cgroup-v2.rst and cgroup-v1/memory.rst."""
        paths = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        for line in (self.text("/proc/self/cgroup") or "").splitlines():
            _, controllers, path = [*line.split(":", 2), "", ""][:3]
            if not controllers:
                paths += [f"/sys/fs/cgroup{parent}/memory.max" for parent in _with_parents(path)]
            elif "memory" in controllers.split(","):
                paths += [f"/sys/fs/cgroup/memory{p}/memory.limit_in_bytes" for p in _with_parents(path)]
        values = [value for value in map(self.number, paths) if value is not None and value < 1 << 60]
        return min(values, default=None)


def _with_parents(path: str) -> list[str]:
    words = [word for word in path.split("/") if word and word != ".."]
    return ["/" + "/".join(words[:count]) for count in range(1, len(words) + 1)]
