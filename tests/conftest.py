"""Fixtures that every test may use: the suites, and a long-lived container of a suite's dev image.

Native programs run only inside the images. A container sees this checkout (read-only) and pytest's temporary folder
(writable) at the same absolute paths as the host, so a test passes host paths as they are.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from containers import UNKNOWN_TARGETS, DevContainer, running

ROOT = Path(__file__).resolve().parents[1]
SUITES = ("trixie", "sid")
_NUMBERS = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--suite", action="append", choices=SUITES, help="run only on this suite (repeatable)")
    parser.addoption("--app", action="append", help="of tests/apps, run only the programs of this image (repeatable)")
    parser.addoption("--soak", type=int, metavar="N", help="run only the tests marked `soak`, N times, half under load")


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts background jobs with SIGINT ignored, which programs inherit; tests send it to their own.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # nohup ignores this one. With a handler it is still no end for us, and what we start begins with the default.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda number, frame: None)
    config.addinivalue_line("markers", "full: only in `make test-full`, not in the declared subset of `make test`")
    config.addinivalue_line("markers", "soak: repeated by `make test-soak`")
    config.addinivalue_line("markers", "apps: real programs in images of their own, only in `make test-apps`")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    # Session-wide parameters in a fixed order: all tests of one suite run together, in one container.
    if "suite" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--suite") or SUITES
        metafunc.parametrize("suite", [s for s in SUITES if s in chosen], scope="session", indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        suite, target = parameters.get("suite"), parameters.get("target")
        if target in UNKNOWN_TARGETS.get(suite, ()):
            item.add_marker(pytest.mark.skip(reason=f"{suite}'s compiler and HSA runtime do not know {target}"))


@pytest.fixture(autouse=True)
def _no_cache_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each test has a cache of blobs of its own."""
    monkeypatch.setenv("KERNCAP_CACHE_DIR", str(tmp_path_factory.getbasetemp() / f"cache-{next(_NUMBERS)}"))


@pytest.fixture(scope="session")
def suite(request: pytest.FixtureRequest) -> str:
    """`trixie`, `sid`: a test that asks for it runs on each."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def dev_container(suite: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevContainer]:
    """The suite's dev container; runs this checkout's Python and native code, not what the image was built with."""
    namespace = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
    base, work = tmp_path_factory.getbasetemp(), tmp_path_factory.mktemp(f"dev-{suite}")
    with running(f"{namespace}/dev:{suite}", suite, ROOT, base, work) as container:
        yield container
