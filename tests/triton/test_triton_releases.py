"""Further releases of Triton: each records, and compiles what it compiled again to the same; another release's kernel
is compiled to something that the verdict tells apart. `make test-triton-releases` builds one image after another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from captures import captured, image_of, kerncap, recompiled, triton_container, verdict
from containers import DevContainer

from kerncap.runtime import catalog

RELEASES = [
    (suite, release) for suite, own in catalog.load().triton.items() for release in own.known if release != own.default
]
# Of a capture by the suite's own release that this one compiles again: the verdict, and with --rtol 1e-6.
SOFTMAX = {
    "3.5.1": ("equivalent", "equivalent"),
    "3.8.0": ("differs", "within-tolerance"),
    "3.9.0": ("differs", "within-tolerance"),
}

pytestmark = pytest.mark.full


@pytest.fixture(scope="session", params=RELEASES, ids=lambda pair: "-".join(pair))
def suite_and_release(request: pytest.FixtureRequest) -> tuple[str, str]:
    suite, release = request.param
    if suite not in (request.config.getoption("--suite") or [suite]):
        pytest.skip(f"--suite leaves out {suite}")
    return suite, release


@pytest.fixture(scope="session")
def box(suite_and_release: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevContainer]:
    """A container of the image with this release."""
    suite, release = suite_and_release
    image = image_of(suite, release)
    with triton_container(image, suite, tmp_path_factory, made_by="make test-triton-releases") as container:
        yield container


@pytest.fixture(scope="session")
def own_box(suite_and_release: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevContainer]:
    """A container of the image with the suite's own release."""
    suite, _ = suite_and_release
    with triton_container(image_of(suite), suite, tmp_path_factory) as container:
        yield container


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("kernel", ["vector_add", "softmax", "matmul", "attention", "described", "formed", "helped"])
def test_a_release_compiles_its_own_capture_to_the_same(
    box: DevContainer, suite_and_release: tuple[str, str], kernel: str, target: str
) -> None:
    release = suite_and_release[1]
    bundle = captured(box, kernel, target)
    pinned = json.loads((bundle / "triton.json").read_text())
    assert (pinned["triton"], pinned["problems"]) == (release, [])
    assert (pinned["launch"]["seen"], pinned["launch"]["trial"]) == (True, False)
    assert bool(pinned["launch"]["tried"]) == (kernel in ("matmul", "attention"))
    assert verdict(box, "replay", bundle) == "faithful"
    candidate = box.work / f"{kernel}-{target}.hsaco"
    candidate.unlink(missing_ok=True)
    made = json.loads(kerncap(box, "recompile", bundle, "-o", candidate, "--trust", "--json"))
    assert (made["compiler"], made["difference"]) == (f"Triton {release}", None)
    assert verdict(box, "validate", bundle, "--hsaco", candidate) == "equivalent"


def test_the_sandbox_has_the_release_that_made_the_bundle(
    box: DevContainer, suite_and_release: tuple[str, str]
) -> None:
    candidate = box.work / "own-release.hsaco"
    made = recompiled(box, captured(box, "vector_add", "gfx942"), candidate)
    assert (made["compiler"], made["difference"]) == (f"Triton {suite_and_release[1]}", None)


def test_another_release_is_named_and_what_it_changes_is_shown(
    box: DevContainer, own_box: DevContainer, suite_and_release: tuple[str, str]
) -> None:
    suite, release = suite_and_release
    own = catalog.load().triton_of(suite).default
    bundle = captured(own_box, "softmax", "gfx942")
    candidate = own_box.work / f"by-{release}.hsaco"
    made = recompiled(own_box, bundle, candidate, "--image", image_of(suite, release))
    assert made["difference"] == f"compiled by Triton {release}, the original by {own}"
    plain, tolerant = SOFTMAX[release]
    assert verdict(own_box, "validate", bundle, "--hsaco", candidate) == plain
    assert verdict(own_box, "validate", bundle, "--hsaco", candidate, "--rtol", "1e-6") == tolerant
    if plain == "differs":  # which output, how many of its elements, which, and both numbers
        said = kerncap(own_box, "validate", bundle, "--hsaco", candidate, code=1)
        assert re.search(r"^ +out +f32 +5x700 +[1-9]\d* +3500 ", said, re.MULTILINE), said
        assert re.search(r"^ +out\[\d+, \d+\] .* 0\.\d+ +0\.\d+$", said, re.MULTILINE), said
