"""Bundles that were sealed once and stay as they are (bundle_spec/golden): read, verified and replayed for ever.

A change that makes one of them differ breaks the promise of the format. New ones are added when the format gains
something; none is ever made again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from containers import DevContainer

from kerncap.bundle import open_bundle
from kerncap.bundle.verify import verify

FOLDER = Path(__file__).resolve().parents[2] / "bundle_spec" / "golden"
GOLDEN: dict[str, dict[str, Any]] = json.loads((FOLDER / "golden.json").read_text())


def test_the_list_is_complete() -> None:
    assert {path.name for path in FOLDER.glob("*.kcap.tar")} == set(GOLDEN)
    # Each thing that a bundle may say of itself.
    assert {feature for one in GOLDEN.values() for feature in one["requires"]} == {"alias", "sequence", "shuffle"}


@pytest.mark.parametrize("name", GOLDEN)
def test_identity(name: str) -> None:
    """The digests of the day on which it was sealed, and every chunk whole."""
    wanted, bundle = GOLDEN[name], open_bundle(str(FOLDER / name))
    assert bundle.config is not None
    assert (bundle.manifest_digest, bundle.config.content_digest) == (wanted["digest"], wanted["content_digest"])
    assert verify(bundle, deep=True).problems == ()


@pytest.mark.parametrize("name", GOLDEN)
def test_verdict(dev_container: DevContainer, name: str) -> None:
    argv = ["python3", "-m", "kerncap", "replay", FOLDER / name, "--json"]
    done = dev_container.run(argv)
    document = json.loads(done.stdout)
    assert (done.returncode, document.get("verdict")) == (0, GOLDEN[name]["verdict"]), done.stdout + done.stderr
