"""Which runtime image a bundle is judged in: of the release that captured, else one that is explained."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from kerncap.runtime import engine, image_choice
from kerncap.runtime.image_choice import Found, choose
from kerncap.workflows.image_of_run import default_image, image_for
from kerncap.workflows.run_options import RunOptions

TRIXIE, SID = Found("kerncap/runtime:trixie", (6, 1, 2)), Found("kerncap/runtime:sid", (6, 4, 3))
ROCM = Found("kerncap/runtime:rocm-7.0", (7, 0))


@pytest.fixture(autouse=True)
def _namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNCAP_IMAGE_NAMESPACE", raising=False)


@pytest.mark.parametrize(("table", "name"), [("3.56", TRIXIE.name), ("3.64", SID.name)])
def test_the_release_that_captured(table: str, name: str) -> None:
    found = choose({"api_table": table}, "gfx942", [ROCM, SID, TRIXIE])
    assert (found.image, found.matches) == (name, True)
    assert f"interface table '{table}'" in found.why


@pytest.mark.parametrize("recorded", [{"api_table": "9.99"}, {}, {"hsa_version": "1.1"}])
def test_an_unknown_release_gives_the_default_and_says_so(recorded: dict[str, str]) -> None:
    found = choose(recorded, "gfx942", [SID, TRIXIE])
    assert (found.image, found.matches) == (TRIXIE.name, False)
    assert "no image here is known to be of the release that captured" in found.why
    assert SID.name in found.why


def test_without_the_default_the_newest() -> None:
    assert choose({}, "gfx942", [SID, ROCM, Found("kerncap/runtime:mine", None)]).image == ROCM.name


def test_a_target_that_a_release_does_not_know() -> None:
    assert choose({"api_table": "3.56"}, "gfx950", [TRIXIE, SID]).image == SID.name
    found = choose({"api_table": "3.56"}, "gfx950", [TRIXIE])
    assert found.image == TRIXIE.name
    assert "gfx950 needs an HSA runtime of ROCm 6.4" in found.why


def test_nothing_to_choose_from() -> None:
    found = choose({"api_table": "3.64"}, "gfx942", [])
    assert (found.image, found.matches) == (TRIXIE.name, False)


def test_images_that_are_there_have_their_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their label, else by what the catalogue says of their suite."""
    listed: list[dict[str, Any]] = [
        {"RepoTags": [TRIXIE.name, "elsewhere/runtime:x"], "Labels": None},
        {"RepoTags": [SID.name], "Labels": {}},
        {"RepoTags": ["kerncap/runtime:mine"], "Labels": {image_choice.LABEL: "7.1.0"}},
        {"RepoTags": ["kerncap/runtime:old"], "Labels": {image_choice.LABEL: "?"}},
        {"RepoTags": None, "Labels": {}},
    ]
    asked: list[str] = []

    def images(name: str) -> list[dict[str, Any]]:
        asked.append(name)
        return listed

    client = SimpleNamespace(api=SimpleNamespace(images=images))
    monkeypatch.setattr(engine, "connect", lambda: nullcontext(client))
    there = {one.name: one.release for one in image_choice.runtime_images()}
    assert asked == ["kerncap/runtime"]
    assert there == {
        TRIXIE.name: TRIXIE.release,
        SID.name: SID.release,
        "kerncap/runtime:mine": (7, 1, 0),
        "kerncap/runtime:old": None,
    }


def test_image_overrides_and_a_bundle_that_is_not_seen_gives_the_default() -> None:
    said: list[str] = []
    assert image_for(None, RunOptions(image="mine"), said.append) == "mine"
    assert said == []
    assert image_for(None, RunOptions(), said.append) == default_image()
    assert said == [f"image {default_image()}: the default one"]


def test_release_of_a_suite_that_is_of_rocm() -> None:
    assert image_choice._release_of_suite("rocm-6.4") == (6, 4)
    assert image_choice._release_of_suite("nobody-knows") is None
