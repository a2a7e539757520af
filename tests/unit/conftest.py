"""Fixtures of the unit tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_registry import Fake, fake_registry
from synthetic import make_reproducer

from kerncap.bundle.location import LayoutLocation, ReproducerLocation, TarLocation
from kerncap.bundle.seal import seal

# What a person may have set, and commands read: credentials, authorities, proxies.
_OF_THE_USER = (
    "REGISTRY_AUTH_FILE",
    "XDG_RUNTIME_DIR",
    "KERNCAP_KEY_PASSPHRASE",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    *(name for word in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for name in (word, word.lower())),
)


@pytest.fixture
def nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither home, nor credentials, nor what leads requests elsewhere."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in _OF_THE_USER:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fake() -> Iterator[Fake]:
    """A registry that tests tell what to answer."""
    with fake_registry() as running:
        yield running


@pytest.fixture
def reproducer(tmp_path: Path) -> Path:
    return make_reproducer(tmp_path / "repro")


@pytest.fixture
def layout(tmp_path: Path, reproducer: Path) -> Path:
    seal(ReproducerLocation(reproducer), LayoutLocation(tmp_path / "layout"))
    return tmp_path / "layout"


@pytest.fixture
def tar_file(tmp_path: Path, reproducer: Path) -> Path:
    seal(ReproducerLocation(reproducer), TarLocation(tmp_path / "b.kcap.tar"))
    return tmp_path / "b.kcap.tar"
