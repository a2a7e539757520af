"""What can go wrong on the wire, in Kerncap's words, and how often it is tried again.

In: exceptions of requests and urllib3, responses of a registry. Out: TransportError, in Failed when a repeat may help.
Called by registry and streams.
"""

from __future__ import annotations

import json
import logging
import random
import re
import shlex
import threading
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from kerncap.errors import KerncapError, TransportError, typed

_LOG = logging.getLogger(__name__)
_MAX_ERROR_BYTES = 16 << 10
_MAX_RETRY_AFTER_S = 30.0
RETRY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait and how often to try again, in seconds.

    `read_s`: for the other side to send or take anything at all; `piece_s`: for a piece of an answer, which is 1 MiB or
    all of it: a registry that sends a byte now and then would be waited for without end.
    """

    connect_s: float = 4.0
    read_s: float = 60.0
    piece_s: float = 300.0
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


class Attempts:
    """How often something was tried since it last got further."""

    def __init__(self, patience: Patience, cancel: threading.Event, what: str, reached: int = 0) -> None:
        self._patience, self._cancel, self._what = patience, cancel, what
        self._tries = 0
        self._reached = reached

    def wait(self, failed: Failed, reached: int = 0) -> None:
        """Until the next attempt, at least as long as the registry asked for.

        Raises: the error of the attempt, when there were enough.
        """
        patience = self._patience
        if reached > self._reached:
            self._tries, self._reached = 0, reached
        self._tries += 1
        if self._tries >= (patience.connect_attempts if failed.connecting else patience.attempts):
            raise failed.error from None
        wait_s = patience.backoff_s * 2 ** (self._tries - 1) * random.uniform(0.75, 1.25)
        if failed.after_s is not None:
            wait_s = max(wait_s, failed.after_s)
        _LOG.info("%s: %s; next try in %.1f s", self._what, failed.error.message, wait_s)
        self._cancel.wait(wait_s)


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
        good = good and "@" not in parts.netloc
    except ValueError:
        good = False
    if not good:
        hint = f"curl -sv {_root(where)}" if where.startswith("http") else None
        raise TransportError(f"{where} names {target[:200]!r}: no address", code="transport.protocol", hint=hint)
    return url


def is_connecting(error: requests.exceptions.ConnectionError) -> bool:
    """Whether no connection came about at all, in contrast to one that broke."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, (requests.exceptions.ConnectTimeout, requests.exceptions.ProxyError)) or isinstance(
        reason, (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
    )


def network_error(url: str, error: Exception) -> TransportError:
    host, hint = urlsplit(url).netloc, f"curl -sv {_root(url)}"
    if isinstance(error, requests.exceptions.ProxyError):
        cause = getattr(getattr(error.args[0], "reason", None), "original_error", error) if error.args else error
        return proxy_error(url, str(cause).rpartition(": ")[2])
    if isinstance(error, (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError)):
        return TransportError(f"{host} does not answer in time", code="transport.timeout", hint=hint)
    if isinstance(error, requests.exceptions.ConnectionError) and is_connecting(error):
        cause = str(getattr(error.args[0], "reason", error)).rpartition(": ")[2]
        return TransportError(f"{host} cannot be reached: {cause}", code="transport.unreachable", hint=hint)
    return TransportError(f"the connection to {host} broke: {said(error)}", code="transport.broken", hint=hint)


def tls_error(url: str, error: Exception) -> TransportError:
    cause = getattr(error.args[0], "reason", error) if error.args else error
    parts = urlsplit(url)
    return TransportError(
        f"{url.partition('?')[0]}: TLS: {said(cause)}",
        code="transport.tls",
        hint=typed("openssl", "s_client", "-connect", parts.netloc + ("" if parts.port else ":443")),
    )


def proxy_error(url: str, why: str) -> TransportError:
    return TransportError(
        f"the proxy for {urlsplit(url).netloc} does not let through: {why}",
        code="transport.proxy",
        hint="unset HTTPS_PROXY  # or HTTP_PROXY, ALL_PROXY; or add the registry to NO_PROXY",
    )


def too_slow(url: str, limit_s: float) -> TransportError:
    """Of an answer whose next piece did not come in time."""
    text = f"{urlsplit(url).netloc} sends less than 1 MiB in {limit_s:g} s"
    return TransportError(text, code="transport.timeout", hint=f"curl -sv {_root(url)}")


def said(error: Exception) -> str:
    """What a library says of an exchange, without what stands behind the question mark of an address in it: that may
    let anybody read or write there."""
    return re.sub(r"\?[^\s'\")>]+", "?...", str(error))


def _root(url: str) -> str:
    """For a hint; a redirect may have named the host, so it is quoted."""
    parts = urlsplit(url)
    return shlex.quote(f"{parts.scheme}://{parts.netloc}/v2/")


def retry_after(response: requests.Response) -> float | None:
    """Seconds, at most 30. Source: RFC 9110, 10.2.3: a number of seconds, or a date."""
    text = response.headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return min(float(text), _MAX_RETRY_AFTER_S)
    try:
        after_s = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(after_s, 0.0), _MAX_RETRY_AFTER_S)


def reason(response: requests.Response) -> str:
    """What the registry says about it, in its own words, bounded."""
    try:
        data = response.raw.read(_MAX_ERROR_BYTES, decode_content=True)
        errors = json.loads(data)["errors"]
        return "; ".join(f"{error['code']}: {error['message']}" for error in errors)[:300]
    except Exception:  # an unreadable answer must not hide the status itself
        return response.reason or ""
