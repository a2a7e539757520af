"""Credentials for one registry, from where docker and podman keep them.

In: a registry host. Out: Credentials or None; nothing is ever looked up under another host's name.
Called by `kerncap.transport.auth`.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kerncap import proc
from kerncap.errors import HostError

_LOG = logging.getLogger(__name__)
_HELPER_TIMEOUT_S = 20.0
_HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", "docker.io")


@dataclass(frozen=True, slots=True)
class Credentials:
    """User and password, or (`identity_token`) a refresh token for the registry's token server."""

    user: str
    password: str = field(repr=False)
    identity_token: str | None = field(default=None, repr=False)

    def basic(self) -> str:
        """The value of an Authorization header."""
        text = f"{self.user}:{self.password}".encode("utf-8", "surrogatepass")
        return "Basic " + base64.b64encode(text).decode("ascii")


def find_credentials(host: str) -> Credentials | None:
    """The first match in $DOCKER_CONFIG (or ~/.docker), $REGISTRY_AUTH_FILE, podman's files."""
    for path in _files():
        document = _load(path)
        found = _from_document(document, host)
        if found is not None:
            _LOG.info("credentials for %s come from %s", host, path)
            return found
    return None


def _files() -> Iterator[Path]:
    docker = os.environ.get("DOCKER_CONFIG")
    home = _home()
    if docker:
        yield Path(docker) / "config.json"
    elif home:
        yield home / ".docker" / "config.json"
    if os.environ.get("REGISTRY_AUTH_FILE"):
        yield Path(os.environ["REGISTRY_AUTH_FILE"])
    if os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(os.environ["XDG_RUNTIME_DIR"]) / "containers" / "auth.json"
    if home:
        yield home / ".config" / "containers" / "auth.json"


def _home() -> Path | None:
    """None for a user whom the system does not know, as in a container that runs under a number."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def _load(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        _LOG.warning("%s is not used: %s", path, error)
        return {}
    return document if isinstance(document, dict) else {}


def _from_document(document: dict[str, Any], host: str) -> Credentials | None:
    keys = _HUB_KEYS if host in _HUB_KEYS else (host, f"https://{host}", f"http://{host}")
    helpers, auths = document.get("credHelpers"), document.get("auths")
    for key in keys:
        helper = helpers.get(key) if isinstance(helpers, dict) else None
        if isinstance(helper, str):
            return _ask_helper(helper, key)
    for key, entry in _entries(auths):
        if key.rstrip("/") in (k.rstrip("/") for k in keys) and entry:
            found = _from_entry(entry)
            if found is not None:
                return found
    store = document.get("credsStore")
    if isinstance(store, str) and store:
        until = time.monotonic() + _HELPER_TIMEOUT_S
        for key in keys:
            found = _ask_helper(store, key)
            # One that hangs once hangs again.
            if found is not None or time.monotonic() >= until:
                return found
    return None


def _entries(auths: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(auths, dict):
        for key, entry in auths.items():
            if isinstance(entry, dict):
                yield re.sub(r"/v[12]/?$", "", key) if key not in _HUB_KEYS else key, entry


def _from_entry(entry: dict[str, Any]) -> Credentials | None:
    token = entry.get("identitytoken")
    user, password = entry.get("username"), entry.get("password")
    if isinstance(entry.get("auth"), str) and entry["auth"]:
        try:
            user, _, password = base64.b64decode(entry["auth"], validate=True).decode("utf-8").partition(":")
        except ValueError:
            _LOG.warning("an auth entry is not base64 and is not used")
            return None
    if isinstance(token, str) and token:
        return Credentials(str(user or ""), "", token)
    if isinstance(user, str) and user:
        return Credentials(user, str(password or ""))
    return None


def _ask_helper(suffix: str, key: str) -> Credentials | None:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", suffix):
        _LOG.warning("credential helper %r has an odd name and is not run", suffix)
        return None
    try:
        done = proc.run([f"docker-credential-{suffix}", "get"], timeout_s=_HELPER_TIMEOUT_S, stdin=key.encode())
        if done.timed_out:
            raise ValueError(f"it does not answer within {_HELPER_TIMEOUT_S:g} s")
        answer = json.loads(done.stdout) if done.ok else {}
        if not isinstance(answer, dict):
            raise ValueError("its answer is no JSON object")
    except (HostError, ValueError, RecursionError) as error:
        _LOG.warning("credential helper %s is not used: %s", suffix, error)
        return None
    user, secret = answer.get("Username"), answer.get("Secret")
    if not isinstance(user, str) or not isinstance(secret, str) or not secret:
        return None
    return Credentials("", "", secret) if user == "<token>" else Credentials(user, secret)
