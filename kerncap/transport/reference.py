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
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"  # RFC 1123, 2.1
_HOST = re.compile(rf"({_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:]+\])(?::([0-9]{{1,5}}))?").fullmatch

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
        return is_loopback(re.sub(r":[0-9]+$", "", self.host).strip("[]"))


def is_loopback(name: str) -> bool:
    """Whether a host's name, or its address without brackets, is this machine's own."""
    try:
        return name.lower() == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def parse_reference(text: str) -> Reference:
    """Raises: UsageError `usage.bad-reference`."""
    head, at, digest = text.partition("@")
    host, slash, rest = head.partition("/")
    repository, colon, tag = rest.partition(":")
    good = slash and _is_host(host) and _REPOSITORY(repository) and len(repository) <= 255
    if not good or (colon and not is_tag(tag)) or (at and not is_digest(digest)):
        raise UsageError(
            f"{text[:200]}: not a registry reference",
            code="usage.bad-reference",
            hint="localhost:5000/kernels/scale:v1  # host[:port]/name[:tag][@sha256:DIGEST], the name in lower case",
        )
    if host in _DOCKER_HUB and "/" not in repository:
        repository = f"library/{repository}"
    return Reference(host, repository, tag or None, digest or None)


def _is_host(text: str) -> bool:
    found = _HOST(text)
    if found is None or not 0 < int(found[2] or 443) < 65536:
        return False
    return not text.startswith("[") or _is_ipv6(found[1][1:-1])


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
