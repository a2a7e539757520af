"""Registry references: `host[:port]/repository[:tag][@digest]`.

In: text of the user. Out: a Reference, whose strings are safe in URLs. Called by registry and transfer.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from kerncap.bundle.location import is_tag
from kerncap.bundle.manifest import is_digest
from kerncap.errors import UsageError

# Source: OCI distribution specification 1.1, "Pulling manifests": grammar of <name> and <reference>.
_REPOSITORY = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*").fullmatch
_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?").fullmatch

_DOCKER_HUB = ("docker.io", "index.docker.io")


@dataclass(frozen=True, slots=True)
class Reference:
    """`host` is as the user wrote it: credentials are looked up under it."""

    host: str
    repository: str
    tag: str | None
    digest: str | None

    def __str__(self) -> str:
        return self.name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")

    @property
    def name(self) -> str:
        return f"{self.host}/{self.repository}"

    @property
    def api_host(self) -> str:
        """Where the registry's API answers."""
        return "registry-1.docker.io" if self.host in _DOCKER_HUB else self.host

    @property
    def manifest_name(self) -> str:
        """What follows `/manifests/` in the URL: the digest when there is one."""
        return self.digest or self.tag or "latest"

    @property
    def loopback(self) -> bool:
        name = re.sub(r":[0-9]+$", "", self.host).strip("[]")
        if name == "localhost":
            return True
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False


def parse_reference(text: str) -> Reference:
    """Raises: UsageError `usage.bad-reference`."""
    head, at, digest = text.partition("@")
    host, slash, rest = head.partition("/")
    repository, colon, tag = rest.partition(":")
    port = re.search(r":([0-9]+)$", host)
    good = (
        slash
        and _HOST(host)
        and (port is None or 0 < int(port[1]) < 65536)
        and _REPOSITORY(repository)
        and len(repository) <= 255
    )
    if not good or (colon and not is_tag(tag)) or (at and not is_digest(digest)):
        raise UsageError(
            f"{text[:200]}: not a registry reference",
            code="usage.bad-reference",
            hint="localhost:5000/kernels/scale:v1  # host[:port]/name[:tag][@sha256:DIGEST], the name in lower case",
        )
    if host in _DOCKER_HUB and "/" not in repository:
        repository = f"library/{repository}"
    return Reference(host, repository, tag or None, digest or None)
