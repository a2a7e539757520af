"""Tests of HTML reports in a browser; skipped by name where the browser's image is not built (`make test-report`)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kerncap.runtime import catalog

HERE = Path(__file__).parent
IMAGE = catalog.image_name("apps", "browser")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    if not ours:
        return
    there = subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True).returncode == 0
    for item in ours:
        item.add_marker(pytest.mark.full)
        if not there:
            item.add_marker(pytest.mark.skip(reason=f"no image {IMAGE}: make test-report"))
