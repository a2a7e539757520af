"""Containers of `kerncap run`: what comes back from them, and that none is left behind, whoever ends first."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from registry_server import running_registry
from synthetic import make_reproducer

from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.seal import seal
from kerncap.errors import ReplayError
from kerncap.runtime import containers
from kerncap.runtime.containers import Job
from kerncap.runtime.containers.line import spec_of

NAMESPACE = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
KERNCAP = [sys.executable, "-m", "kerncap"]


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed bundle of made-up memory: good enough for everything but a replay."""
    folder = tmp_path_factory.mktemp("sealed")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    seal(ReproducerLocation(make_reproducer(folder / "repro")), LayoutLocation(folder / "layout"))
    return folder / "layout"


SLEEPING = """
FROM {base}
USER root
RUN echo 'import time; time.sleep(600)' > $(python3 -I -c 'import kerncap; print(kerncap.__path__[0])')/__main__.py
USER 10001:10001
LABEL dev.kerncap.test="{name}"
"""


@pytest.fixture(scope="module")
def sleeping_image() -> Iterator[str]:
    """A runtime image whose kerncap never comes to an end; this run's own, so that its containers can be told apart.

    By its label, too: the engine takes two images of the same content for one, and two workers run these tests.
    """
    name = f"{NAMESPACE}/test-sleeping:{uuid.uuid4().hex[:12]}"
    argv = ["docker", "build", "--network", "none", "--tag", name, "-"]
    dockerfile = SLEEPING.format(base=image("trixie"), name=name)
    environment = os.environ | {"DOCKER_BUILDKIT": "0"}
    subprocess.run(argv, input=dockerfile, text=True, check=True, capture_output=True, env=environment)
    yield name
    subprocess.run(["docker", "rmi", "--force", name], capture_output=True)


def image(suite: str) -> str:
    return f"{NAMESPACE}/runtime:{suite}"


def running(of: str) -> set[str]:
    """The containers of this image, not those of other users of the engine."""
    argv = ["docker", "ps", "--all", "--quiet", "--filter", "label=dev.kerncap.run", "--filter", f"ancestor={of}"]
    return set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())


def test_result_comes_back(suite: str, layout: Path) -> None:
    outcome = containers.run(Job(image(suite), "inspect", layout, device=None, timeout_s=60))
    assert outcome.exit_code == 0, outcome.stderr
    here = subprocess.run([*KERNCAP, "inspect", str(layout), "--json"], capture_output=True, text=True, check=True)
    assert json.loads(outcome.stdout)["digest"] == json.loads(here.stdout)["digest"]


def test_a_bad_variant_has_its_name_on_this_host(suite: str, layout: Path, tmp_path: Path) -> None:
    variant = tmp_path / "mine.hsaco"
    variant.write_text("no code\n")
    argv = [*KERNCAP, "run", str(layout), "--image", image(suite), "--hsaco", str(variant), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    document = json.loads(done.stdout)
    assert document["code"] == "usage.not-a-code-object"
    assert document["message"].startswith(f"{variant} is no code object")


def test_printed_line_does_the_same(suite: str, layout: Path) -> None:
    job = Job(image(suite), "inspect", layout, device=None, timeout_s=60)
    done = subprocess.run(containers.docker_line(job), shell=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == containers.run(job).stdout


def test_nothing_of_the_host_is_writable(suite: str, layout: Path) -> None:
    """The same container, asked to write instead: only /tmp lets it."""
    spec = spec_of(Job(image(suite), "inspect", layout, device=None))
    words = spec.docker_line().split()
    at = words.index(image(suite))
    script = "touch /tmp/x && ! touch /bundle/x && ! touch /x && ! touch /opt/kerncap/x"
    script += " && ! ls /sys/class/net | grep -v '^lo$'"
    argv = [*words[:at], "--entrypoint", "bash", image(suite), "-c", script]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Read-only file system" in done.stderr


def test_error_inside_is_the_error_outside(suite: str, layout: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    subprocess.run(["cp", "-r", layout, broken], check=True)
    tmp_path.chmod(0o755)
    manifest = json.loads((broken / "index.json").read_text())["manifests"][0]["digest"].removeprefix("sha256:")
    blob = broken / "blobs" / "sha256" / manifest
    blob.chmod(0o644)
    blob.write_bytes(blob.read_bytes().replace(b"kerncap", b"kernkap", 1))
    argv = [*KERNCAP, "run", f"oci:{broken}", "--image", image(suite), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 4, done.stderr
    assert json.loads(done.stdout)["code"] == "bundle.digest-mismatch"
    assert "$ docker run --rm" in done.stderr


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("no-such/runtime:trixie", "kerncap image build trixie"),
        ("no-such/image:at-all", "docker pull no-such/image:at-all"),
    ],
)
def test_missing_image_says_what_makes_it(layout: Path, name: str, hint: str) -> None:
    argv = [*KERNCAP, "run", f"oci:{layout}", "--image", name]
    environment = os.environ | {"KERNCAP_IMAGE_NAMESPACE": "no-such"}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 3
    assert "host.no-image" in done.stderr
    assert f"hint: {hint}" in done.stderr


def test_a_name_that_no_image_can_have_is_usage(layout: Path) -> None:
    argv = [*KERNCAP, "run", f"oci:{layout}", "--image", "BAD image", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert (done.returncode, json.loads(done.stdout)["code"]) == (2, "usage.image"), done.stderr


def test_deadline(sleeping_image: str, layout: Path) -> None:
    start = time.monotonic()
    outcome = containers.run(Job(sleeping_image, "inspect", layout, device=None, timeout_s=3))
    assert outcome.exit_code == ReplayError.exit_code
    assert b"replay.timeout" in outcome.stderr
    with pytest.raises(ReplayError, match="not done after 3 s"):
        containers.raise_for_failure(outcome, "inspect")
    assert time.monotonic() - start >= 3
    assert running(sleeping_image) == set()


def test_deadline_of_a_command_that_makes_a_file(sleeping_image: str, layout: Path) -> None:
    outcome = containers.run(Job(sleeping_image, "recompile", layout, device=None, timeout_s=2, collect="-o"))
    assert outcome.file is None
    with pytest.raises(ReplayError, match="not done after 2 s"):
        containers.raise_for_failure(outcome, "recompile")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_container_survives_its_starter(sleeping_image: str, layout: Path, number: signal.Signals) -> None:
    argv = [*KERNCAP, "run", f"oci:{layout}", "--image", sleeping_image, "--timeout", "15"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: bool(running(sleeping_image)), 120), "no container came up"
        time.sleep(1)
        assert running(sleeping_image), "the container ended by itself"
        process.send_signal(number)
        process.wait(100)
        # After SIGKILL nobody is left to remove it: its own deadline ends it, and the engine removes it.
        limit_s = 120 if number == signal.SIGKILL else 10
        assert wait_until(lambda: not running(sleeping_image), limit_s), "a container was left behind"
    finally:
        process.kill()
        process.wait()


def wait_until(condition, timeout_s: float) -> bool:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.2)
    return False


def test_plain_docker_run_pulls_first(suite: str, layout: Path, tmp_path: Path) -> None:
    with running_registry(tmp_path / "registry") as host:
        reference = f"{host}/bugs/made-up:1"
        subprocess.run([*KERNCAP, "push", f"oci:{layout}", reference], check=True, capture_output=True)
        argv = ["docker", "run", "--rm", "--network", "host", image(suite), "inspect", reference, "--json"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kernel"]


def test_printed_line_of_a_reference_can_be_typed(suite: str, layout: Path, tmp_path: Path) -> None:
    """It names the reference, not the copy that `kerncap run` pulled and removed; the answer is the same."""
    with running_registry(tmp_path / "registry") as host:
        reference = f"{host}/bugs/made-up:1"
        subprocess.run([*KERNCAP, "push", f"oci:{layout}", reference], check=True, capture_output=True)
        argv = [*KERNCAP, "run", reference, "--image", image(suite), "--device", "vgpu:gfx942", "--json"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
        [line] = [line[2:] for line in done.stderr.splitlines() if line.startswith("$ ")]
        assert reference in line
        assert "--mount" not in line
        typed = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=300)
    # The code object is made up: that is found out in both.
    assert done.returncode == typed.returncode != 0, typed.stderr
    assert json.loads(done.stdout)["code"] == json.loads(typed.stdout)["code"]


def test_reference_without_network_is_a_transport_error(suite: str) -> None:
    argv = ["docker", "run", "--rm", "--network", "none", image(suite), "127.0.0.1:9/bugs/made-up:1"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 7, done.stderr
