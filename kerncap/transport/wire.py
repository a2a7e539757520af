"""The request layer of one registry: bounded, retried, authorized; credentials stay with the host that they are for.

oras gives the skeleton (`oras.provider.Registry`); every request goes through the layer here, because oras 0.2 has no
timeouts, retries only status 500 and sends a token again that was refused.
In: a Reference. Out: open responses, or a TransportError within seconds. Called by `kerncap.transport.registry`.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import oras.container
import oras.provider
import requests
import urllib3

from kerncap.bundle.documents import canonical_json
from kerncap.errors import BundleError, KerncapError, TransportError, typed
from kerncap.transport.auth import Authorizer, Params
from kerncap.transport.connections import Connections
from kerncap.transport.failures import (
    RETRY_STATUS,
    Attempts,
    Failed,
    Patience,
    is_connecting,
    named_address,
    network_error,
    origin,
    proxy_error,
    reason,
    retry_after,
    said,
    tls_error,
    too_slow,
)
from kerncap.transport.reference import Reference
from kerncap.transport.streams import PIECE_BYTES

_MAX_REDIRECTS = 5
_MAX_TOKEN_BYTES = 1 << 20  # a token server's answer


class Wire(oras.provider.Registry):  # type: ignore[misc]  # oras has no types
    """Requests to the registry of one reference. Methods may be called from several threads."""

    def __init__(
        self,
        reference: Reference,
        *,
        plain_http: bool = False,
        patience: Patience | None = None,
    ) -> None:
        http = plain_http or reference.loopback
        super().__init__(hostname=reference.api_host, insecure=http)
        self.prefix: str = "http" if http else "https"
        self.reference = reference
        self._patience = patience or Patience()
        self.cancel = threading.Event()
        self._base = f"{self.prefix}://{reference.api_host}"
        self._container = oras.container.Container("x", registry=reference.api_host)
        self._container.namespace, self._container.repository = None, reference.repository
        self._authorizer = Authorizer(reference, self._ask_token_server, plain_http=plain_http)
        # requests must add nothing of its own: neither ~/.netrc nor, on loopback, a proxy.
        self.session.auth = lambda request: request
        # It would read the body of a redirect, however big that is, to know where it leads (_exchange does that).
        self.session.get_redirect_target = lambda response: None
        self.session.trust_env = not reference.loopback
        self.session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE") or True
        self._may_be_tls = http and not plain_http
        self._connections = Connections(self.session, self._patience)

    def stop(self) -> None:
        """Call off whatever other threads are doing; they raise TransportError `transport.cancelled` soon."""
        self.cancel.set()
        self._connections.cut()

    # -- requests -----------------------------------------------------------------------------------------------------

    def do_request(
        self,
        url: str,
        method: str = "GET",
        data: Any = None,
        headers: dict[str, str] | None = None,
        json: dict[str, Any] | None = None,
        stream: bool = True,
    ) -> requests.Response:
        """What inherited methods of oras call; the same layer, with our retries and authorization."""
        body = data if json is None else canonical_json(json)
        accepted = set(range(400, 600))
        return self._send(method, url, scope="pull,push", headers=headers, body=body, accept_status=accepted)

    def _send(
        self,
        method: str,
        url: str,
        *,
        scope: str,
        headers: dict[str, str] | None = None,
        body: Any = None,
        accept_status: set[int] | None = None,
    ) -> requests.Response:
        def once() -> requests.Response:
            return self._once(method, url, scope=scope, headers=headers, body=body, accept_status=accept_status)

        response: requests.Response = self._retry(once, f"{method} {url}")
        return response

    def _retry(self, attempt: Callable[[], Any], what: str, *, progress: Callable[[], int] = lambda: 0) -> Any:
        """Repeat while the failure may pass; attempts count from the last one that got further."""
        attempts = Attempts(self._patience, self.cancel, what, progress())
        while True:
            self._check_cancel()
            try:
                return attempt()
            except Failed as failed:
                attempts.wait(failed, progress())

    def _once(
        self,
        method: str,
        url: str,
        *,
        scope: str,
        headers: dict[str, str] | None = None,
        body: Any = None,
        accept_status: set[int] | None = None,
    ) -> requests.Response:
        """One request, with authorization and redirects; the response is open and streamed.

        `scope`: what is to be done here, `pull` or `pull,push`; further scopes in full follow after blanks.
        Raises: Failed when it may be repeated, TransportError when not.
        """
        full_scope = f"repository:{self.reference.repository}:{scope}"
        authorization = self._authorizer.header(full_scope)
        response = self._exchange(method, url, headers, body, authorization)
        fresh = False
        # Whoever a redirect leads to is told nothing: its challenge could name a token server of its own.
        while response.status_code == 401 and not fresh and self._is_home(response.url):
            response.close()
            challenge = response.headers.get("WWW-Authenticate", "")
            authorization, fresh = self._authorizer.challenged(challenge, full_scope, authorization)
            response = self._exchange(method, url, headers, body, authorization)
        if response.status_code < 400 or response.status_code in (accept_status or set()) - RETRY_STATUS:
            return response
        with response:
            self._raise_for(response, method, url)
        raise AssertionError

    def _exchange(
        self, method: str, url: str, headers: dict[str, str] | None, body: Any, authorization: str | None
    ) -> requests.Response:
        """Follow redirects by hand: to another origin no credential goes along, and never from https to http."""
        for _ in range(_MAX_REDIRECTS):
            sent = {"User-Agent": "kerncap", **(headers or {})}
            if authorization is not None and self._is_home(url):
                sent["Authorization"] = authorization
            response = self._wire(method, url, sent, body)
            if self._may_be_tls and url.startswith("http:") and _is_tls_port(response):
                response.close()
                self._switch_to_tls()
                url = self._base + url.removeprefix("http://").removeprefix(self.reference.api_host)
                continue
            target = response.headers.get("Location")
            if response.status_code not in (301, 302, 303, 307, 308) or not target:
                return response
            response.close()
            url = self._named(target, url)
        raise TransportError(
            f"{url.partition('?')[0]}: more than {_MAX_REDIRECTS} redirects", code="transport.protocol"
        )

    def _named(self, target: str, url: str) -> str:
        """An address that the answer to `url` names; it must not be less safe than the one that was asked.

        Raises: TransportError `transport.insecure-redirect`, `transport.protocol`.
        """
        named = named_address(target, where=url, base=url)
        if url.startswith("https:") and not named.startswith("https:"):
            text = f"{url.partition('?')[0]} leads to {named.partition('?')[0][:200]}: refused"
            raise TransportError(text, code="transport.insecure-redirect")
        return named

    def _is_home(self, url: str) -> bool:
        """Whether credentials may go there: to the registry itself, not to what it names."""
        return origin(url) == origin(self._base)

    def _switch_to_tls(self) -> None:
        self.prefix = "https"
        self._base = f"https://{self.reference.api_host}"

    def _wire(
        self, method: str, url: str, headers: dict[str, str], body: Any, params: Params | None = None
    ) -> requests.Response:
        patience = self._patience
        try:
            response: requests.Response = self.session.request(
                method,
                url,
                params=params,
                headers=headers,
                data=body,
                stream=True,
                allow_redirects=False,
                verify=self.session.verify,  # else CURL_CA_BUNDLE would come first
                timeout=(patience.connect_s, patience.read_s),
            )
            return response
        except requests.exceptions.SSLError as error:
            raise tls_error(url, error) from None
        except requests.exceptions.ConnectionError as error:
            raise Failed(network_error(url, error), connecting=is_connecting(error)) from None
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
            if isinstance(error, ValueError) and self.session.trust_env and requests.utils.get_environ_proxies(url):
                raise proxy_error(url, said(error)) from None  # an address of ours was checked: it is the proxy's
            raise Failed(network_error(url, error)) from None
        except OSError as error:
            authorities = str(self.session.verify)
            if os.path.exists(authorities):
                raise
            text = f"{authorities}, which REQUESTS_CA_BUNDLE or SSL_CERT_FILE names: {os.strerror(errno.ENOENT)}"
            raise TransportError(text, code="transport.tls", hint=typed("ls", "-l", Path(authorities))) from error

    def _raise_for(self, response: requests.Response, method: str, url: str) -> None:
        status = response.status_code
        # Behind the question mark of an upload's address may stand what lets anybody write there.
        with self._connections.watched(response):
            said_of_it = reason(response)
        text = f"{method} {url.partition('?')[0]}: status {status} {said_of_it}"
        if status in RETRY_STATUS:
            code = "transport.rate-limit" if status == 429 else "transport.server"
            raise Failed(
                TransportError(text, code=code, hint=f"curl -sv {self._base}/v2/"), after_s=retry_after(response)
            )
        raise self._refused(status, text)

    def _refused(self, status: int, text: str) -> TransportError:
        """What no second try makes better."""
        host, base = self.reference.host, self._base
        code, hint = "transport.refused", f"curl -s {base}/v2/"
        if status == 404:
            code, hint = "transport.not-found", f"curl -s {base}/v2/{self.reference.repository}/tags/list"
        elif status in (401, 403):
            code, hint = "transport.unauthorized", f"docker login {host}"
        error = TransportError(text, code=code, hint=hint)
        error.status = status
        return error

    def _ask_token_server(
        self, method: str, url: str, params: Params | None, form: dict[str, str] | None, headers: dict[str, str]
    ) -> tuple[int, Any]:
        def ask() -> tuple[int, Any]:
            sent = {"User-Agent": "kerncap", "Accept-Encoding": "identity", **headers}
            with self._wire(method, url, sent, form, params) as response:
                if response.status_code in RETRY_STATUS:
                    self._raise_for(response, method, url)
                data = bytearray()
                for piece in self._pieces(response, url):
                    data += piece
                    if len(data) > _MAX_TOKEN_BYTES:
                        return response.status_code, None
                try:
                    return response.status_code, json.loads(data)
                except (ValueError, RecursionError):
                    return response.status_code, None

        answer: tuple[int, Any] = self._retry(ask, f"token server {url}")
        return answer

    def _url(self, path: str) -> str:
        return f"{self.prefix}://{path}"

    def _check_cancel(self) -> None:
        if self.cancel.is_set():
            raise TransportError("cancelled", code="transport.cancelled")

    def _get_small(
        self,
        url: str,
        headers: dict[str, str],
        limit: int,
        *,
        headers_of: Callable[[requests.Response], None] = lambda response: None,
    ) -> bytes:
        headers = {"Accept-Encoding": "identity", **headers}
        pieces: list[bytes] = []
        total = 0
        with self._once("GET", url, scope="pull", headers=headers) as response:
            for piece in self._pieces(response, url, min(PIECE_BYTES, limit + 1)):
                total += len(piece)
                if total > limit:
                    raise BundleError(f"{url}: more than {limit} bytes", code="bundle.limit")
                pieces.append(piece)
            headers_of(response)
        return b"".join(pieces)

    def _pieces(self, response: requests.Response, url: str, at_once: int = PIECE_BYTES) -> Iterator[bytes]:
        """As they come: whatever they are said to be packed with would unpack to any size."""
        watched = self._connections.watched(response)
        try:
            while True:
                with watched:
                    piece = response.raw.read(at_once, decode_content=False)
                if watched.too_slow:
                    raise Failed(too_slow(url, self._patience.piece_s))
                if not piece:
                    return
                self._check_cancel()
                yield piece
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if isinstance(error, KerncapError):
                raise
            failed = too_slow(url, self._patience.piece_s) if watched.too_slow else network_error(url, error)
            raise Failed(failed) from None


def _is_tls_port(response: requests.Response) -> bool:
    """How a server of Go answers plain http on a TLS port: a registry on loopback that has a certificate."""
    return response.status_code == 400 and response.raw.version == 10
