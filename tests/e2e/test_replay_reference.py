"""replay, validate and run of a bundle in a registry: fetched while it is used, and no more of it than is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fake_registry import Fake, fake_registry
from workbench import Case, Workbench

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.documents import validate
from kerncap.transport import push
from kerncap.transport.reference import parse_reference

NAMESPACE = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
# In the container, whose cache the tests share: what another one fetched is not asked for again.
NO_CACHE = {"KERNCAP_CACHE_LIMIT": "0"}
TARGET = "gfx942"
CASE = Case("pipeline", "vector_scale", 0)


@pytest.fixture
def fake() -> Iterator[Fake]:
    with fake_registry() as running:
        yield running


@pytest.fixture
def pushed(workbench: Workbench, fake: Fake) -> Bundle:
    """The sealed capture, in the registry as `a/b:v1`."""
    tar = workbench.work / "reference.kcap.tar"
    if not tar.exists():
        done = workbench.kerncap("pack", workbench.capture(CASE, TARGET), "-o", tar)
        assert done.returncode == 0, done.stderr
    bundle = open_bundle(str(tar))
    push(bundle, parse_reference(f"{fake.host}/a/b:v1"))
    fake.requests.clear()
    return bundle


def _asked(fake: Fake) -> list[str]:
    return [path.rsplit("/", 1)[1] for method, path, _ in fake.requests if method == "GET" and "/blobs/" in path]


def test_replay_and_validate(workbench: Workbench, fake: Fake, pushed: Bundle) -> None:
    scratch = workbench.work / "scratch"
    scratch.mkdir()
    env = NO_CACHE | {"TMPDIR": str(scratch)}
    reference = f"{fake.host}/a/b:v1"
    done = workbench.kerncap("replay", reference, "--device", f"vgpu:{TARGET}", "--json", env=env)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    validate(document, "printed", what="replay")
    assert (document["verdict"], document["bundle"]) == ("faithful", pushed.manifest_digest)
    chunks = {blob.digest for blob in pushed.index.blobs}
    assert {digest for digest in _asked(fake) if digest in chunks} == chunks
    assert len([digest for digest in _asked(fake) if digest in chunks]) == len(chunks)
    variant = workbench.variant("pipeline", TARGET, "nothing")
    done = workbench.kerncap("validate", reference, "--hsaco", variant, "--device", f"vgpu:{TARGET}", "--json", env=env)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (1, "differs"), done.stderr
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(("why", "exit_code"), [("fails", 7), ("changed", 4), ("gone", 4)])
def test_memory_that_does_not_come(workbench: Workbench, fake: Fake, pushed: Bundle, why: str, exit_code: int) -> None:
    digest = pushed.index.blobs[0].digest
    if why == "fails":
        fake.fault = lambda handler: digest in handler.path and (handler.answer(403) or True)
    elif why == "gone":
        del fake.blobs[digest]
    else:
        data = bytearray(fake.blobs[digest])
        data[len(data) // 2] ^= 1
        fake.blobs[digest] = bytes(data)
    error = workbench.error(exit_code, "replay", f"{fake.host}/a/b:v1", "--device", f"vgpu:{TARGET}", env=NO_CACHE)
    code = {"fails": "transport.unauthorized", "changed": "bundle.digest-mismatch", "gone": "bundle.missing-blob"}[why]
    assert f"[{code}]" in error["stderr"]


def _run(workbench: Workbench, fake: Fake, *more: str) -> subprocess.CompletedProcess[str]:
    image = f"{NAMESPACE}/runtime:{workbench.container.suite}"
    command = [sys.executable, "-m", "kerncap", "run", f"{fake.host}/a/b:v1", "--image", image, "--json"]
    command += ["--device", f"vgpu:{TARGET}", *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_run_starts_while_memory_is_on_its_way(workbench: Workbench, fake: Fake, pushed: Bundle) -> None:
    """The last blob comes only once a container of the run is there."""
    last = pushed.index.blobs[-1].digest
    seen: list[str] = []

    def running() -> str:
        argv = ["docker", "ps", "-q", "--filter", "label=dev.kerncap.run=1", "--filter", "status=running"]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    before = set(running().split())

    def hold_back(handler: Any) -> bool:
        if handler.command == "GET" and last in handler.path:
            deadline = time.monotonic() + 120
            while not set(running().split()) - before and time.monotonic() < deadline:
                time.sleep(0.1)
            seen.extend(set(running().split()) - before)
            time.sleep(2)
        return False

    fake.fault = hold_back
    done = _run(workbench, fake)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "faithful"
    assert seen


def test_run_says_why_memory_did_not_come(workbench: Workbench, fake: Fake, pushed: Bundle) -> None:
    digest = pushed.index.blobs[0].digest
    fake.fault = lambda handler: handler.command == "GET" and digest in handler.path and (handler.answer(403) or True)
    done = _run(workbench, fake)
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout)["code"] == "transport.unauthorized"
