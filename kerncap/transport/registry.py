"""One registry over HTTP: blobs and manifests, streamed, bounded, retried and verified.

oras gives the skeleton (`oras.provider.Registry`); every request goes through the layer here, because oras 0.2 has no
timeouts, retries only status 500, reads blobs whole and checks no digest.
In: a Reference. Out: verified bytes, or a TransportError within seconds. Called by transfer and remote.
"""

from __future__ import annotations

import json
import logging
import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import oras.container
import oras.provider
import requests
import urllib3

from kerncap.bundle.documents import canonical_json
from kerncap.bundle.limits import MAX_MANIFEST_BYTES
from kerncap.bundle.manifest import OCI_MANIFEST, Descriptor, sha256_digest
from kerncap.bundle.sink import Slot
from kerncap.bundle.store import BlobLocation, check_location, digest_mismatch
from kerncap.errors import BundleError, KerncapError, TransportError, typed
from kerncap.transport.auth import Authorizer
from kerncap.transport.connections import Connections
from kerncap.transport.failures import (
    RETRY_STATUS,
    Failed,
    Patience,
    is_connecting,
    named_address,
    network_error,
    origin,
    reason,
    retry_after,
)
from kerncap.transport.reference import Reference
from kerncap.transport.streams import PIECE_BYTES, AddBytes, Download, FileBody, MemorySlot

_LOG = logging.getLogger(__name__)
_MAX_REDIRECTS = 5


class KerncapRegistry(oras.provider.Registry):  # type: ignore[misc]  # oras has no types
    """The registry of one reference. Methods may be called from several threads."""

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
        self._authorizer = Authorizer(reference.host, self._ask_token_server, plain_http=http)
        # requests must add nothing of its own: neither ~/.netrc nor, on loopback, a proxy.
        self.session.auth = lambda request: request
        self.session.trust_env = not reference.loopback
        self.session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE") or True
        self._may_be_tls = http and not plain_http
        self._connections = Connections(self.session)

    def stop(self) -> None:
        """Call off whatever other threads are doing; they raise TransportError `transport.cancelled` soon."""
        self.cancel.set()
        self._connections.cut()

    # -- what a bundle needs ------------------------------------------------------------------------------------------

    def has_blob(self, blob: Descriptor) -> bool:
        """Whether the registry has it already, at the right size."""
        url = self._url(self._container.get_blob_url(blob.digest))
        with self._send("HEAD", url, scope="pull,push", accept_status={404}) as response:
            return response.status_code == 200 and response.headers.get("Content-Length") == str(blob.size)

    def push_blob(self, blob: Descriptor, location: BlobLocation, *, what: str, add: AddBytes) -> None:
        """One POST and one PUT whose body is streamed from the file; a failed PUT is redone whole, never patched.

        Raises: TransportError; BundleError when the local blob is damaged.
        """
        self._retry(lambda: self._push_once(blob, location, what, add), f"push of {blob.digest}")

    def pull_blob(self, blob: Descriptor, slot: Slot, *, add: AddBytes) -> None:
        """Stream into `slot`, hashing on the way; a broken connection is resumed where it broke.

        Raises: TransportError; BundleError `bundle.digest-mismatch`, `bundle.missing-blob`.
        """
        state = Download(blob, slot, add)
        self._retry(lambda: self._pull_once(state), f"pull of {blob.digest}", progress=lambda: state.position)

    def read_blob(self, blob: Descriptor) -> bytes:
        """A small blob as bytes; the caller has bounded its size."""
        buffer = MemorySlot(blob.size)
        self.pull_blob(blob, buffer, add=lambda count: None)
        return bytes(buffer.data)

    def get_manifest_bytes(self) -> bytes:
        """The raw manifest, at most 4 MiB, checked against the reference's digest.

        Raises: TransportError `transport.not-found`; BundleError `bundle.digest-mismatch`.
        """
        url = self._url(self._container.manifest_url(self.reference.manifest_name))
        what = f"manifest of {self.reference}"
        raw: bytes = self._retry(lambda: self._get_small(url, {"Accept": OCI_MANIFEST}, MAX_MANIFEST_BYTES), what)
        if self.reference.digest is not None and sha256_digest(raw) != self.reference.digest:
            raise digest_mismatch(f"{self.reference}: manifest", self.reference.digest, sha256_digest(raw))
        return raw

    def push_manifest(self, raw: bytes) -> None:
        """Raises: TransportError, also when the registry stored something else."""
        digest = sha256_digest(raw)
        url = self._url(self._container.manifest_url(self.reference.manifest_name))
        headers = {"Content-Type": OCI_MANIFEST}

        def put() -> None:
            with self._once("PUT", url, scope="pull,push", headers=headers, body=raw) as response:
                stored = response.headers.get("Docker-Content-Digest", digest)
            if stored != digest:
                raise TransportError(
                    f"the registry stored the manifest as {stored}, sent was {digest}", code="transport.protocol"
                )

        self._retry(put, f"manifest of {self.reference}")

    # -- one attempt each ---------------------------------------------------------------------------------------------

    def _push_once(self, blob: Descriptor, location: BlobLocation, what: str, add: AddBytes) -> None:
        url = self._url(self._container.upload_blob_url())
        with self._once("POST", url, scope="pull,push", headers={"Content-Length": "0"}) as response:
            target = response.headers.get("Location")
        if response.status_code != 202 or not target:
            raise TransportError(f"{url}: no upload location came back", code="transport.protocol")
        target = named_address(target, where=url, base=url)
        target += ("&" if urlsplit(target).query else "?") + f"digest={blob.digest}"
        body = FileBody(location, what, self.cancel, add)
        headers = {"Content-Type": "application/octet-stream"}
        try:
            with self._once("PUT", target, scope="pull,push", headers=headers, body=body):
                pass
        except (TransportError, Failed):
            body.take_back()
            check_location(location, blob, what=what)
            raise

    def _pull_once(self, state: Download) -> None:
        url = self._url(self._container.get_blob_url(state.blob.digest))
        headers = {"Accept-Encoding": "identity"}
        if state.position:
            headers["Range"] = f"bytes={state.position}-"
        with self._once("GET", url, scope="pull", headers=headers, accept_status={404, 416}) as response:
            if response.status_code == 404:
                raise BundleError(
                    f"{self.reference}: blob {state.blob.digest} is missing in the registry",
                    code="bundle.missing-blob",
                    hint="kerncap push BUNDLE REF  # again, from where it was sealed",
                )
            resumed = response.status_code == 206 and response.headers.get("Content-Range", "").startswith(
                f"bytes {state.position}-"
            )
            if not resumed:
                state.restart()
            for piece in self._pieces(response, url):
                state.take(piece)
        state.finish(str(self.reference))

    def _get_small(self, url: str, headers: dict[str, str], limit: int) -> bytes:
        headers = {"Accept-Encoding": "identity", **headers}
        pieces: list[bytes] = []
        total = 0
        with self._once("GET", url, scope="pull", headers=headers) as response:
            for piece in self._pieces(response, url):
                total += len(piece)
                if total > limit:
                    raise BundleError(f"{url}: more than {limit} bytes", code="bundle.limit")
                pieces.append(piece)
        return b"".join(pieces)

    def _pieces(self, response: requests.Response, url: str, *, decode: bool = False) -> Iterator[bytes]:
        try:
            while piece := response.raw.read(PIECE_BYTES, decode_content=decode):
                self._check_cancel()
                yield piece
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if isinstance(error, KerncapError):
                raise
            raise Failed(network_error(url, error)) from None

    # -- the request layer --------------------------------------------------------------------------------------------

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
        patience = self._patience
        tries = 0
        reached = progress()
        while True:
            self._check_cancel()
            try:
                return attempt()
            except Failed as failed:
                if progress() > reached:
                    tries, reached = 0, progress()
                tries += 1
                if tries >= (patience.connect_attempts if failed.connecting else patience.attempts):
                    raise failed.error from None
                wait_s = patience.backoff_s * 2 ** (tries - 1) * random.uniform(0.75, 1.25)
                if failed.after_s is not None:
                    wait_s = max(wait_s, failed.after_s)
                _LOG.info("%s: %s; next try in %.1f s", what, failed.error.message, wait_s)
                self.cancel.wait(wait_s)

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

        Raises: Failed when it may be repeated, TransportError when not.
        """
        full_scope = f"repository:{self.reference.repository}:{scope}"
        authorization = self._authorizer.header(full_scope)
        response = self._exchange(method, url, headers, body, authorization)
        if response.status_code == 401:
            response.close()
            challenge = response.headers.get("WWW-Authenticate", "")
            authorization = self._authorizer.challenged(challenge, full_scope, authorization)
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
        home = {origin(url), origin(self._base)}
        for _ in range(_MAX_REDIRECTS):
            sent = {"User-Agent": "kerncap", **(headers or {})}
            if authorization is not None and origin(url) in home:
                sent["Authorization"] = authorization
            response = self._wire(method, url, sent, body)
            if self._may_be_tls and url.startswith("http:") and _is_tls_port(response):
                response.close()
                self._switch_to_tls()
                url = self._base + url.removeprefix("http://").removeprefix(self.reference.api_host)
                home = {origin(self._base)}
                continue
            target = response.headers.get("Location")
            if response.status_code not in (301, 302, 303, 307, 308) or not target:
                return response
            response.close()
            next_url = named_address(target, where=url, base=url)
            if url.startswith("https:") and not next_url.startswith("https:"):
                raise TransportError(
                    f"{url} redirects to {next_url[:200]}: refused", code="transport.insecure-redirect"
                )
            url = next_url
        raise TransportError(f"{url}: more than {_MAX_REDIRECTS} redirects", code="transport.protocol")

    def _switch_to_tls(self) -> None:
        self.prefix = "https"
        self._base = f"https://{self.reference.api_host}"

    def _wire(
        self, method: str, url: str, headers: dict[str, str], body: Any, params: dict[str, str] | None = None
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
                timeout=(patience.connect_s, patience.read_s),
            )
            return response
        except requests.exceptions.SSLError as error:
            raise TransportError(
                f"{url}: TLS: {error}",
                code="transport.tls",
                hint=typed("openssl", "s_client", "-connect", urlsplit(url).netloc),
            ) from None
        except requests.exceptions.ConnectionError as error:
            raise Failed(network_error(url, error), connecting=is_connecting(error)) from None
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
            raise Failed(network_error(url, error)) from None
        except ValueError as error:  # requests takes a redirect apart even when it is not to follow it
            raise TransportError(f"{url} answers with a bad address: {error}", code="transport.protocol") from None

    def _raise_for(self, response: requests.Response, method: str, url: str) -> None:
        status = response.status_code
        text = f"{method} {url}: status {status} {reason(response)}"
        if status in RETRY_STATUS:
            code = "transport.rate-limit" if status == 429 else "transport.server"
            raise Failed(
                TransportError(text, code=code, hint=f"curl -sv {self._base}/v2/"), after_s=retry_after(response)
            )
        if status == 404:
            hint = f"curl -s {self._base}/v2/{self.reference.repository}/tags/list"
            raise TransportError(text, code="transport.not-found", hint=hint)
        if status in (401, 403):
            raise TransportError(text, code="transport.unauthorized", hint=f"docker login {self.reference.host}")
        raise TransportError(text, code="transport.refused", hint=f"curl -s {self._base}/v2/")

    def _ask_token_server(
        self, method: str, url: str, params: dict[str, str] | None, form: dict[str, str] | None, headers: dict[str, str]
    ) -> tuple[int, Any]:
        def ask() -> tuple[int, Any]:
            with self._wire(method, url, {"User-Agent": "kerncap", **headers}, form, params) as response:
                if response.status_code in RETRY_STATUS:
                    self._raise_for(response, method, url)
                data = next(self._pieces(response, url, decode=True), b"")
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


def _is_tls_port(response: requests.Response) -> bool:
    """How a server of Go answers plain http on a TLS port: a registry on loopback that has a certificate."""
    return response.status_code == 400 and response.raw.version == 10
