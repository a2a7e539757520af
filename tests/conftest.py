"""Fixtures that every test may use: the suites, and a long-lived container of a suite's dev image.

Native programs run only inside the images. A container sees this checkout (read-only) and pytest's temporary folder
(writable) at the same absolute paths as the host, so a test passes host paths as they are.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from containers import DevContainer

ROOT = Path(__file__).resolve().parents[1]
SUITES = ("trixie", "sid")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--suite", action="append", choices=SUITES, help="run only on this suite (repeatable)")


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts background jobs with SIGINT ignored, which programs inherit; tests send it to their own.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "full: only in `make test-full`, not in the declared subset of `make test`")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    # Session-wide parameters in a fixed order: all tests of one suite run together, in one container.
    if "suite" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--suite") or SUITES
        metafunc.parametrize("suite", [s for s in SUITES if s in chosen], scope="session", indirect=True)


@pytest.fixture(scope="session")
def suite(request: pytest.FixtureRequest) -> str:
    """`trixie`, `sid`: a test that asks for it runs on each."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def dev_container(suite: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevContainer]:
    """The suite's dev container; runs this checkout's Python and native code, not what the image was built with."""
    namespace = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
    image = f"{namespace}/dev:{suite}"
    base = tmp_path_factory.getbasetemp()
    work = tmp_path_factory.mktemp(f"dev-{suite}")
    native = ROOT / "build" / "native" / suite
    if not native.is_dir():
        pytest.fail(f"{native} does not exist: run `make images`")
    command = ["docker", "run", "--detach", "--rm", "--init", "--network", "host", "--shm-size", "1g"]
    command += ["--user", f"{os.getuid()}:{os.getgid()}", "--label", "dev.kerncap.test=1"]
    command += ["--volume", f"{ROOT}:{ROOT}:ro", "--volume", f"{base}:{base}", "--workdir", str(work)]
    environment = {"PYTHONPATH": str(ROOT), "KERNCAP_NATIVE_DIR": str(native), "HOME": str(work)}
    for key, value in environment.items():
        command += ["--env", f"{key}={value}"]
    started = subprocess.run([*command, image, "sleep", "infinity"], capture_output=True, text=True)
    if started.returncode != 0:
        pytest.fail(f"cannot start {image}: {started.stderr.strip()}\nrun `make images`")
    name = started.stdout.strip()
    try:
        yield DevContainer(suite=suite, name=name, root=ROOT, work=work)
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True)
