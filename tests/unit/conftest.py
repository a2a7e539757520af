"""Fixtures of the unit tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthetic import make_reproducer

from kerncap.bundle.location import LayoutLocation, ReproducerLocation, TarLocation
from kerncap.bundle.seal import seal


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
