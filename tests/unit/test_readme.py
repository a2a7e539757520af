"""What README and CONTRIBUTING tell a person to type exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kerncap.cli.main import COMMANDS
from kerncap.runtime import catalog

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md")


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_demo_and_test_come_first() -> None:
    first = re.search(r"```\n(.*?)```", text("README.md"), re.DOTALL)
    assert first is not None
    assert first[1].split("\n")[:2] == ["make demo", "make test"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_make_targets_exist(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text(name), re.MULTILINE))
    assert named
    assert named <= targets


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_exist(name: str) -> None:
    assert set(re.findall(r"(?:^|`|bin/)kerncap ([a-z]+)", text(name), re.MULTILINE)) <= set(COMMANDS)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_and_links_exist(name: str) -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text(name)) if "://" not in link]
    named = re.findall(r"(?:^|`)(scripts/[a-z-]+|tests/[a-z_/.]+|dockerfiles/[a-z.]+|kerncap/[a-z/]+\.py)", text(name))
    for path in links + named:
        assert (ROOT / path).exists(), path


def test_images_exist() -> None:
    suites = set(re.findall(r"kerncap/runtime:([a-z0-9.-]+)", text("README.md")))
    assert suites
    assert suites <= set(catalog.load(ROOT).bases)


def test_ci_runs_what_the_readme_says() -> None:
    assert text(".ci/run").strip().split("\n")[-1] == "exec make test"
