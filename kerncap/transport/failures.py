"""What can go wrong on the wire, in Kerncap's words, and how often it is tried again.

In: exceptions of requests and urllib3, responses of a registry. Out: TransportError, in Failed when a repeat may help.
Called by registry and streams.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from kerncap.errors import KerncapError, TransportError

_MAX_ERROR_BYTES = 16 << 10
_MAX_RETRY_AFTER_S = 30.0
RETRY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait and how often to try again, in seconds."""

    connect_s: float = 4.0
    read_s: float = 60.0
    attempts: int = 5
    connect_attempts: int = 2
    backoff_s: float = 0.5


class Failed(Exception):
    """An attempt that may be repeated; `after_s` is what the registry asked for."""

    def __init__(self, error: KerncapError, *, connecting: bool = False, after_s: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.connecting = connecting
        self.after_s = after_s


def origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def named_address(target: str, *, where: str, base: str = "") -> str:
    """An address that the other side names (a redirect, an upload location, a token server), whole and http(s).

    Raises: TransportError `transport.protocol` for what is no address: no second try makes it one.
    """
    try:
        url = urljoin(base, target) if base else target
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        labels = [host] if ":" in host else host.removesuffix(".").split(".")
        good = parts.scheme in ("http", "https") and port != 0 and all(0 < len(label) < 64 for label in labels)
    except ValueError:
        good = False
    if not good:
        hint = f"curl -sv {_root(where)}" if where.startswith("http") else None
        raise TransportError(f"{where} names {target[:200]!r}: no address", code="transport.protocol", hint=hint)
    return url


def is_connecting(error: requests.exceptions.ConnectionError) -> bool:
    """Whether no connection came about at all, in contrast to one that broke."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, requests.exceptions.ConnectTimeout) or isinstance(
        reason, (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
    )


def network_error(url: str, error: Exception) -> TransportError:
    host, hint = urlsplit(url).netloc, f"curl -sv {_root(url)}"
    if isinstance(error, (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError)):
        return TransportError(f"{host} does not answer in time", code="transport.timeout", hint=hint)
    if isinstance(error, requests.exceptions.ConnectionError) and is_connecting(error):
        cause = str(getattr(error.args[0], "reason", error)).rpartition(": ")[2]
        return TransportError(f"{host} cannot be reached: {cause}", code="transport.unreachable", hint=hint)
    return TransportError(f"the connection to {host} broke: {error}", code="transport.broken", hint=hint)


def _root(url: str) -> str:
    """For a hint; a redirect may have named the host, so it is quoted."""
    parts = urlsplit(url)
    return shlex.quote(f"{parts.scheme}://{parts.netloc}/v2/")


def retry_after(response: requests.Response) -> float | None:
    text = response.headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return min(float(text), _MAX_RETRY_AFTER_S)
    return None


def reason(response: requests.Response) -> str:
    """What the registry says about it, in its own words, bounded."""
    try:
        data = response.raw.read(_MAX_ERROR_BYTES, decode_content=True)
        errors = json.loads(data)["errors"]
        return "; ".join(f"{error['code']}: {error['message']}" for error in errors)[:300]
    except Exception:  # an unreadable answer must not hide the status itself
        return response.reason or ""
