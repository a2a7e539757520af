"""Fixtures of the end-to-end tests, and which combinations `make test` leaves to `make test-full`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import soak
from containers import DevContainer
from vgpu_programs import Programs, build_programs
from workbench import CASES, TARGETS, Workbench

# Everything runs on the first combination; each case also runs on one of the others, in turn.
_COMBINATIONS = [(suite, target) for suite in ("trixie", "sid") for target in TARGETS]
# What the second suite adds to these is another compiler.
_ONE_SUITE = (
    "test_armed_capture.py",
    "test_cheats.py",
    "test_checks.py",
    "test_closure_kinds.py",
    "test_cut.py",
    "test_hostile_source.py",
    "test_isa_conformance.py",
    "test_no_harm.py",
    "test_run_line.py",
    "test_sequences.py",
)


def in_subset(suite: str, target: str, case_number: int) -> bool:
    combination = _COMBINATIONS.index((suite, target))
    return combination == 0 or case_number % (len(_COMBINATIONS) - 1) == combination - 1


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    rounds = metafunc.config.getoption("--soak")
    if rounds and soak.repeated(metafunc):
        metafunc.parametrize("soak_round", range(1, rounds + 1), scope="session", indirect=True)


@pytest.fixture(scope="session", autouse=True)
def soak_round(request: pytest.FixtureRequest) -> Iterator[None]:
    with soak.load() if getattr(request, "param", 1) % 2 == 0 else nullcontext():
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--soak"):
        items[:] = [item for item in items if soak.chosen(item)]
        return
    for item in items:
        if item.path.name in _ONE_SUITE and "[sid" in item.nodeid:
            item.add_marker(pytest.mark.full)
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if {"suite", "target", "case"} <= set(parameters):
            number = CASES.index(parameters["case"])
            if not in_subset(parameters["suite"], parameters["target"], number):
                item.add_marker(pytest.mark.full)


_WORKBENCHES: dict[str, Workbench] = {}


@pytest.fixture(scope="session")
def workbench(dev_container: DevContainer) -> Workbench:
    return _WORKBENCHES.setdefault(dev_container.name, Workbench(dev_container))


@pytest.fixture(scope="session")
def programs(dev_container: DevContainer) -> Programs:
    return build_programs(dev_container)
