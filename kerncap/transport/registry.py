"""One registry's blobs and manifests: streamed, bounded in memory, verified.

In: a Reference. Out: verified bytes, or a TransportError. Called by transfer, copy and referrers.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import requests

from kerncap.bundle.limits import MAX_MANIFEST_BYTES
from kerncap.bundle.manifest import OCI_MANIFEST, Descriptor, sha256_digest
from kerncap.bundle.sink import Slot
from kerncap.bundle.store import BlobLocation, check_location, digest_mismatch
from kerncap.errors import BundleError, TransportError
from kerncap.transport.failures import Attempts, Failed
from kerncap.transport.streams import AddBytes, Body, Download, FileBody, MemorySlot
from kerncap.transport.wire import Wire

_LOG = logging.getLogger(__name__)
_LINK = re.compile(r'<([^>]*)>((?:\s*;\s*[^\s=;,"]+(?:\s*=\s*(?:"[^"]*"|[^\s;,"]*))?)*)')
_RELATION = re.compile(r'(?i);\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))')


class KerncapRegistry(Wire):
    """The registry of one reference. Methods may be called from several threads."""

    mount_from: str | None = None
    """A repository of the same registry that may hold blobs already: they are asked for there before they are sent."""

    def has_blob(self, blob: Descriptor) -> bool:
        """Whether the registry has it already, at the right size."""
        url = self._url(self._container.get_blob_url(blob.digest))
        with self._send("HEAD", url, scope="pull,push", accept_status={404}) as response:
            return response.status_code == 200 and response.headers.get("Content-Length") == str(blob.size)

    def push_blob(self, blob: Descriptor, location: BlobLocation, *, what: str, add: AddBytes) -> bool:
        """Send part of a file, as push_body does.

        Raises: TransportError; BundleError when the local blob is damaged.
        """
        body = FileBody(location, what, self.cancel, add)
        try:
            return self.push_body(blob, body)
        except TransportError:
            check_location(location, blob, what=what)
            raise

    def push_body(self, blob: Descriptor, body: Body) -> bool:
        """One POST and one PUT whose body is streamed; a failed PUT is redone whole, never patched.

        True: the registry took the blob over from `mount_from`, nothing was sent. Raises: TransportError.
        """
        mounted: bool = self._retry(lambda: self._push_once(blob, body), f"push of {blob.digest}")
        return mounted

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

    def read_range(self, blob: Descriptor, offset: int, size: int) -> bytes:
        """`size` bytes of the blob from `offset` on, unverified: the caller knows a digest of them.

        Raises: TransportError; BundleError `bundle.missing-blob`.
        """
        data: bytes = self._retry(lambda: self._range_once(blob, offset, size), f"part of {blob.digest}")
        return data

    def stream_blob(self, blob: Descriptor) -> Iterator[bytes]:
        """Its bytes in pieces, hashed on the way; a broken connection is resumed where it broke.

        The last piece comes only when the whole is right, so that what is made of the pieces is never whole otherwise.
        Raises: TransportError; BundleError `bundle.digest-mismatch`, `bundle.missing-blob`.
        """
        digest, position, held = hashlib.sha256(), 0, b""
        attempts = Attempts(self._patience, self.cancel, f"pull of {blob.digest}")
        while position < blob.size:
            try:
                with self._open_blob(blob, position) as response:
                    skip = 0 if _starts_at(response, position) else position
                    for piece in self._pieces(response, response.url):
                        piece, skip = piece[skip:], max(skip - len(piece), 0)
                        if position + len(piece) > blob.size:
                            raise digest_mismatch(f"{self.reference}: blob", blob.digest, "of more bytes")
                        if piece:
                            yield held
                            held = piece
                            digest.update(piece)
                            position += len(piece)
                if position < blob.size:
                    text = f"{self.reference}: {blob.digest} ended {blob.size - position} bytes early"
                    raise Failed(TransportError(text, code="transport.short"))
            except Failed as failed:
                attempts.wait(failed, position)
        found = "sha256:" + digest.hexdigest()
        if found != blob.digest:
            raise digest_mismatch(f"{self.reference}: blob", blob.digest, found)
        yield held

    def get_manifest_bytes(self) -> bytes:
        """The raw manifest, at most 4 MiB, checked against the reference's digest.

        Raises: TransportError `transport.not-found`; BundleError `bundle.digest-mismatch`.
        """
        return self.get_manifest(self.reference.manifest_name, OCI_MANIFEST)

    def get_manifest(self, name: str, accept: str, *, limit: int = MAX_MANIFEST_BYTES) -> bytes:
        """The raw manifest of a tag, or of a digest, which is checked; no more than `limit` bytes are read.

        Raises: as get_manifest_bytes; BundleError `bundle.limit`.
        """
        url = self._url(self._container.manifest_url(name))
        what = f"manifest of {self.reference.name}"
        raw: bytes = self._retry(lambda: self._get_small(url, {"Accept": accept}, limit), what)
        if name.startswith("sha256:") and sha256_digest(raw) != name:
            raise digest_mismatch(f"{self.reference}: manifest", name, sha256_digest(raw))
        return raw

    def referrers_url(self, digest: str) -> str:
        """Where the referrers API lists what has this manifest as its subject."""
        return f"{self._base}/v2/{self.reference.repository}/referrers/{digest}"

    def get_page(self, url: str, accept: str, limit: int) -> tuple[bytes, str | None]:
        """One page of a list, and where the next one is.

        Raises: TransportError, `transport.not-found` also for a web page; BundleError `bundle.limit`.
        """
        pages: list[str | None] = []

        def note(response: requests.Response) -> None:
            if response.headers.get("Content-Type", "").strip().lower().startswith("text/html"):
                raise TransportError(f"{url}: a web page came back", code="transport.not-found")
            pages.append(_next_page(response))

        raw: bytes = self._retry(lambda: self._get_small(url, {"Accept": accept}, limit, headers_of=note), url)
        if pages[-1] is None:
            return raw, None
        following = self._named(pages[-1], url)
        if not self._is_home(following):
            raise TransportError(f"{url}: the next page is elsewhere: {following[:200]}", code="transport.protocol")
        return raw, following

    def push_manifest(self, raw: bytes, *, media_type: str = OCI_MANIFEST, name: str | None = None) -> str | None:
        """Under `name`, a tag or its own digest; default: the reference's. Gives the subject that the registry took
        note of (OCI distribution 1.1), None: of none.

        Raises: TransportError, also when the registry stored something else.
        """
        digest = sha256_digest(raw)
        url = self._url(self._container.manifest_url(name or self.reference.manifest_name))
        headers = {"Content-Type": media_type}

        def put() -> str | None:
            with self._once("PUT", url, scope="pull,push", headers=headers, body=raw) as response:
                _check_stored("manifest", digest, response)
            return response.headers.get("OCI-Subject")

        subject: str | None = self._retry(put, f"manifest of {self.reference}")
        return subject

    # -- one attempt each ---------------------------------------------------------------------------------------------

    def _push_once(self, blob: Descriptor, body: Body) -> bool:
        target = self._mount(blob) if self.mount_from is not None else self._start_upload("pull,push", "")
        if target is None:
            return True
        target += ("&" if urlsplit(target).query else "?") + f"digest={blob.digest}"
        headers = {"Content-Type": "application/octet-stream"}
        try:
            with self._once("PUT", target, scope="pull,push", headers=headers, body=body) as response:
                _check_stored("blob", blob.digest, response)
        except BaseException:
            body.take_back()
            raise
        return False

    def _mount(self, blob: Descriptor) -> str | None:
        """None: taken over from the other repository; else where to send it. Not being allowed to is no failure."""
        asked = f"?mount={quote(blob.digest, safe=':')}&from={quote(self.mount_from or '', safe='')}"
        try:
            return self._start_upload(f"pull,push repository:{self.mount_from}:pull", asked)
        except TransportError as error:
            if error.code not in ("transport.unauthorized", "transport.not-found", "transport.refused"):
                raise
            _LOG.info("nothing can be taken over from %s: %s", self.mount_from, error)
            self.mount_from = None
        return self._start_upload("pull,push", "")

    def _start_upload(self, scope: str, asked: str) -> str | None:
        url = self._url(self._container.upload_blob_url())
        with self._once("POST", url + asked, scope=scope, headers={"Content-Length": "0"}) as response:
            target = response.headers.get("Location")
        if asked and response.status_code == 201:
            return None
        if response.status_code != 202 or not target:
            raise TransportError(f"{url}: no upload location came back", code="transport.protocol")
        return self._named(target, url)

    def _open_blob(self, blob: Descriptor, position: int, end: int | None = None) -> requests.Response:
        """From `position` on, if the registry can do that; else from the start (_starts_at)."""
        url = self._url(self._container.get_blob_url(blob.digest))
        headers = {"Accept-Encoding": "identity"}
        if position or end is not None:
            headers["Range"] = f"bytes={position}-{'' if end is None else end - 1}"
        response = self._once("GET", url, scope="pull", headers=headers, accept_status={404, 416})
        if response.status_code == 404:
            response.close()
            raise BundleError(
                f"{self.reference}: blob {blob.digest} is missing in the registry",
                code="bundle.missing-blob",
                hint="kerncap push BUNDLE REF  # again, from where it was sealed",
            )
        if response.status_code == 416:
            response.close()
            text = f"{self.reference}: {blob.digest} has no {blob.size} bytes"
            raise TransportError(text, code="transport.short")
        return response

    def _pull_once(self, state: Download) -> None:
        with self._open_blob(state.blob, state.position) as response:
            if state.position and not _starts_at(response, state.position):
                state.restart()
            for piece in self._pieces(response, response.url):
                state.take(piece)
        state.finish(str(self.reference))

    def _range_once(self, blob: Descriptor, offset: int, size: int) -> bytes:
        data = bytearray()
        with self._open_blob(blob, offset, offset + size) as response:
            skip = 0 if _starts_at(response, offset) else offset
            for piece in self._pieces(response, response.url):
                data += piece[skip:][: size - len(data)]
                skip = max(skip - len(piece), 0)
                if len(data) == size:
                    return bytes(data)
        text = f"{self.reference}: {blob.digest} ended {size - len(data)} bytes early"
        raise Failed(TransportError(text, code="transport.short"))


def _starts_at(response: requests.Response, position: int) -> bool:
    """Whether the registry sends from there on, and not from the blob's start."""
    said = response.headers.get("Content-Range", "")
    return response.status_code == 206 and said.startswith(f"bytes {position}-")


def _check_stored(what: str, digest: str, response: requests.Response) -> None:
    """Raises: TransportError when the registry has taken it for something else."""
    stored = response.headers.get("Docker-Content-Digest", digest)
    if stored != digest:
        text = f"the registry stored the {what} as {stored[:100]}, sent was {digest}"
        raise TransportError(text, code="transport.protocol")


def _next_page(response: requests.Response) -> str | None:
    """Of several links, the one with the relation `next`, whatever else is said of it.

    Source: RFC 8288, 3; OCI distribution specification 1.1, "Listing Tags": `Link: <URL>; rel="next"`.
    """
    for link in _LINK.finditer(response.headers.get("Link", "")):
        relation = _RELATION.search(link[2])
        if relation is not None and "next" in (relation[1] or relation[2] or "").lower().split():
            return link[1]
    return None
