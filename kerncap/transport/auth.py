"""Authorization for one registry: basic, or bearer tokens kept by scope and renewed before they expire.

In: the registry's challenges. Out: the value of an Authorization header. One Authorizer belongs to one host, so that no
credential can reach another. Called by `kerncap.transport.registry`, from several threads.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from kerncap.errors import TransportError
from kerncap.transport.credentials import Credentials, find_credentials
from kerncap.transport.failures import named_address
from kerncap.transport.reference import Reference, is_loopback

_PARAMETER = re.compile(r'[\s,]*([\w-]+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))')  # RFC 9110, 11.2: a token or a quoted text
_LONGEST_LIFE_S = 86_400
_DEFAULT_LIFE_S = 60.0  # Source: distribution token specification: expires_in defaults to 60 seconds
_RENEW_EARLY_S = 10.0

Params = list[tuple[str, str]]
# (method, url, params, form, headers) -> (status, document)
Ask = Callable[[str, str, Params | None, dict[str, str] | None, dict[str, str]], tuple[int, Any]]


@dataclass(frozen=True, slots=True)
class Challenge:
    scheme: str
    realm: str
    service: str


@dataclass(frozen=True, slots=True)
class _Token:
    value: str
    renew_at: float


def parse_challenge(header: str) -> Challenge | None:
    """The first Bearer or Basic challenge of a WWW-Authenticate header."""
    match = re.search(r"(?i)(?:^|,)\s*(bearer|basic)(?:\s+|$)", header)
    if match is None:
        return None
    params: dict[str, str] = {}
    position = match.end()
    # Up to the next challenge, whose scheme has no equals sign behind it.
    while param := _PARAMETER.match(header, position):
        params.setdefault(param[1].lower(), param[2] if param[2] is not None else param[3])
        position = param.end()
    return Challenge(match[1].lower(), params.get("realm", ""), params.get("service", ""))


class Authorizer:
    """Answers challenges of one registry. A scope is `repository:NAME:pull` or `...:pull,push`; or several of them."""

    def __init__(self, reference: Reference, ask: Ask, *, plain_http: bool) -> None:
        self._host = reference.host
        self._loopback = reference.loopback
        self._ask = ask
        self._plain_http = plain_http
        self._lock = threading.Lock()
        self._challenge: Challenge | None = None
        self._tokens: dict[str, _Token] = {}
        self._credentials: Credentials | None = None
        self._looked_up = False

    def header(self, scope: str) -> str | None:
        """What to send with the next request, as far as is known before the registry answers."""
        with self._lock:
            if self._challenge is None:
                return None
            return self._header(self._challenge, scope)

    def challenged(self, www_authenticate: str, scope: str, sent: str | None) -> tuple[str, bool]:
        """What to send after a 401, and whether nobody has sent it before; `sent` is the header that was refused.

        Another thread may have renewed the token a while ago: then what comes back may have expired as well.

        Raises: TransportError `transport.unauthorized`.
        """
        challenge = parse_challenge(www_authenticate)
        if challenge is None:
            raise self._unauthorized("asks for an authorization that is unknown here")
        with self._lock:
            known = self._challenge == challenge
            self._challenge = challenge
            token = self._tokens.get(scope)
            if token is not None and sent == f"Bearer {token.value}":
                del self._tokens[scope]  # expired early or revoked: fetch another
            older = self._tokens.get(scope)
            header = self._header(challenge, scope)
            fresh = older is None or self._tokens.get(scope) is not older
        if header is None or (known and header == sent):
            raise self._unauthorized("refuses the credentials" if self._credentials else "asks for credentials")
        return header, fresh

    def _header(self, challenge: Challenge, scope: str) -> str | None:
        if challenge.scheme == "basic":
            credentials = self._find()
            return credentials.basic() if credentials is not None and not credentials.identity_token else None
        token = self._tokens.get(scope)
        if token is None or time.monotonic() >= token.renew_at:
            token = self._tokens[scope] = self._fetch(challenge, scope)
        return f"Bearer {token.value}"

    def _find(self) -> Credentials | None:
        if not self._looked_up:
            self._credentials = find_credentials(self._host)
            self._looked_up = True
        return self._credentials

    def _fetch(self, challenge: Challenge, scope: str) -> _Token:
        realm = urlsplit(named_address(challenge.realm, where=f"the registry {self._host}"))
        if realm.scheme != "https" and not (self._plain_http or (self._loopback and is_loopback(realm.hostname or ""))):
            raise TransportError(
                f"{self._host} names a token server that is not https: {challenge.realm[:200]}",
                code="transport.insecure-realm",
            )
        credentials = self._find()
        if credentials is not None and credentials.identity_token:
            form = {
                "grant_type": "refresh_token",
                "refresh_token": credentials.identity_token,
                "service": challenge.service,
                "scope": scope,
                "client_id": "kerncap",
            }
            status, answer = self._ask("POST", challenge.realm, None, form, {})
        else:
            params = [("scope", one) for one in scope.split(" ")]
            params += [("service", challenge.service)] if challenge.service else []
            headers = {"Authorization": credentials.basic()} if credentials is not None else {}
            status, answer = self._ask("GET", challenge.realm, params, None, headers)
        value = (answer.get("token") or answer.get("access_token")) if isinstance(answer, dict) else None
        if status != 200 or not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise self._unauthorized(f"gives no token for {scope} (status {status})")
        life = answer.get("expires_in")
        life_s = float(min(life, _LONGEST_LIFE_S)) if isinstance(life, (int, float)) and life > 0 else _DEFAULT_LIFE_S
        return _Token(value, time.monotonic() + max(life_s - _RENEW_EARLY_S, life_s / 2))

    def _unauthorized(self, text: str) -> TransportError:
        return TransportError(
            f"the registry {self._host} {text}", code="transport.unauthorized", hint=f"docker login {self._host}"
        )
