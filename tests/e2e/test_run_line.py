"""The one line of a bug report: plain `docker run IMAGE REFERENCE` against a registry, and what --print gives.

Bundles are those of bundle_spec/golden, the registry is a real one on loopback.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from registry_server import PASSWORD, USER, running_registry

from kerncap.bundle.documents import validate

NAMESPACE = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
KERNCAP = [sys.executable, "-m", "kerncap"]
GOLDEN = Path(__file__).resolve().parents[2] / "bundle_spec" / "golden"
_CAPTURED_UNDER = "trixie"  # source-gfx942.kcap.tar
NO_GPU = "no GPU is here (there is no /dev/kfd): using the virtual GPU"


def image(suite: str) -> str:
    return f"{NAMESPACE}/runtime:{suite}"


def docker(*words: str, options: tuple[str, ...] = (), of: str) -> subprocess.CompletedProcess[str]:
    argv = ["docker", "run", "--rm", "--network", "host", *options, of, *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def push(name: str, reference: str, **more: Any) -> None:
    argv = [*KERNCAP, "push", str(GOLDEN / f"{name}-gfx942.kcap.tar"), reference]
    subprocess.run(argv, check=True, capture_output=True, **more)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("line") / "registry") as host:
        push("source", f"{host}/bugs/scale:1")
        yield host


@pytest.fixture
def reference(registry: str) -> str:
    return f"{registry}/bugs/scale:1"


def test_it_pulls_replays_prints_the_verdict_and_says_that_no_gpu_is_there(suite: str, reference: str) -> None:
    done = docker(reference, of=image(suite))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("verdict: faithful\n")
    assert NO_GPU in done.stderr


def test_a_device_that_is_named_decides(suite: str, reference: str) -> None:
    done = docker(reference, "--device", "vgpu:gfx942,bar=large", "--json", of=image(suite))
    assert (done.returncode, document(done)["device"]) == (0, "vgpu:gfx942,bar=large"), done.stderr
    assert NO_GPU not in done.stderr
    for device, code in (("gpu", "host.no-gpu"), ("gpu:3", "host.no-gpu"), ("vgpu:gfx1100", "host.wrong-gpu")):
        done = docker(reference, "--device", device, "--json", of=image(suite))
        assert (done.returncode, document(done)["code"]) == (3, code)


def test_a_digest_names_it_too(suite: str, registry: str, reference: str) -> None:
    inspected = subprocess.run([*KERNCAP, "inspect", reference, "--json"], capture_output=True, check=True)
    digest = json.loads(inspected.stdout)["digest"]
    for name in (f"{registry}/bugs/scale@{digest}", f"{reference}@{digest}"):
        done = docker(name, "--iterations", "3", "--json", of=image(suite))
        assert done.returncode == 0, done.stderr
        found = document(done)
        validate(found, "printed", what="run")
        assert (found["bundle"], found["iterations"]) == (digest, 3)
    done = docker(f"{registry}/bugs/scale@sha256:{'0' * 64}", "--json", of=image(suite))
    assert (done.returncode, document(done)["code"]) == (7, "transport.not-found")


def test_recompile(suite: str, reference: str) -> None:
    """The bundle refers to headers of trixie's tool chain, without carrying them; another one has not these."""
    done = docker(reference, "--recompile", "--iterations=3", "--json", of=image(suite))
    if suite != _CAPTURED_UNDER:
        assert (done.returncode, document(done)["code"]) == (8, "compile.toolchain-headers"), done.stderr
        return
    assert done.returncode == 0, done.stderr
    found = document(done)
    assert (found["verdict"], found["iterations"]) == ("equivalent", 3)
    assert str(found["hsaco"]).startswith("sha256:")


def test_a_bad_verdict_is_exit_code_1(suite: str, reference: str, tmp_path: Path) -> None:
    """The captured code object, whose kernel ends at once."""
    tmp_path.chmod(0o755)
    variant = tmp_path / "v.hsaco"
    unpack = [*KERNCAP, "unpack", str(GOLDEN / "source-gfx942.kcap.tar"), str(tmp_path / "opened")]
    subprocess.run(unpack, check=True, capture_output=True)
    files = [path for path in (tmp_path / "opened" / "capture").rglob("*") if path.is_file()]
    [code] = [data for data in (path.read_bytes() for path in files) if data.startswith(b"\x7fELF")]
    variant.write_bytes(_ends_at_once(code))
    mount = ("--mount", f"type=bind,source={variant},target=/variant.hsaco,readonly")
    done = docker(reference, "--hsaco", "/variant.hsaco", "--json", options=mount, of=image(suite))
    assert (done.returncode, document(done)["verdict"]) == (1, "differs"), done.stderr


def _ends_at_once(code: bytes) -> bytes:
    """The first instruction becomes s_endpgm. Source: ELF-64; AMDGPU ABI, kernel_code_entry_byte_offset."""
    sections, size, count = (int.from_bytes(code[at : at + n], "little") for at, n in ((40, 8), (58, 2), (60, 2)))
    headers = [code[sections + i * size : sections + (i + 1) * size] for i in range(count)]
    text = next(h for h in headers if int.from_bytes(h[8:16], "little") & 4)  # SHF_EXECINSTR
    offset = int.from_bytes(text[24:32], "little")
    return code[:offset] + bytes.fromhex("000081bf") + code[offset + 4 :]


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (["--recompile", "--hsaco", "/v.hsaco"], 2, "usage.two-variants"),
        (["--recompile", "--hsaco=/v.hsaco"], 2, "usage.two-variants"),
        (["--config", "BM=2"], 2, "usage.config"),
        (["--config=BM=2", "--recompile"], 2, "usage.config"),
        (["--device", "bad"], 2, "usage.device"),
        (["--no-such-option"], 2, "usage.arguments"),
        (["--iterations", "0"], 2, "usage.number"),
        (["--hsaco", "/nowhere"], 2, "usage.no-such-file"),
    ],
)
def test_what_is_wrong_has_its_exit_code(
    suite: str, reference: str, words: list[str], exit_code: int, code: str
) -> None:
    done = docker(reference, *words, "--json", of=image(suite))
    assert (done.returncode, document(done)["code"]) == (exit_code, code), done.stderr


def test_no_room_is_no_verdict(suite: str, reference: str) -> None:
    """Python's own exit code of an exception is 1, which says `differs`."""
    done = docker(reference, "--json", options=("--read-only",), of=image(suite))
    assert (done.returncode, document(done)["code"]) == (3, "host.file"), done.stderr
    assert "Traceback" not in done.stderr
    full = ("--read-only", "--tmpfs", "/tmp:size=16k")
    assert docker(reference, options=full, of=image(suite)).returncode == 3


def test_a_pull_that_never_ends_meets_the_deadline(suite: str) -> None:
    with SilentServer() as port:
        done = docker("--deadline", "3", f"127.0.0.1:{port}/a/b:1", "--json", of=image(suite))
    assert (done.returncode, document(done)["code"]) == (6, "replay.timeout"), done.stderr


def test_a_stop_ends_a_pull_at_once(suite: str) -> None:
    """Nobody but the first process of a container can be told, and it ignores what it has no handler for."""
    name = f"kerncap-test-{uuid.uuid4().hex[:12]}"
    with SilentServer() as port:
        argv = ["docker", "run", "--rm", "--name", name, "--network", "host", image(suite), f"127.0.0.1:{port}/a/b:1"]
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            deadline = time.monotonic() + 60
            while subprocess.run(["docker", "top", name], capture_output=True).stdout.count(b" pull ") == 0:
                assert time.monotonic() < deadline, "it does not pull"
                time.sleep(0.5)
            time.sleep(2)  # until it has its handlers
            subprocess.run(["docker", "stop", "--time", "30", name], check=True, capture_output=True)
            assert process.wait(60) == 143
        finally:
            process.kill()
            process.communicate()
            subprocess.run(["docker", "rm", "--force", name], capture_output=True)


class SilentServer:
    """Takes connections and says nothing."""

    def __enter__(self) -> int:
        self._socket = socket.create_server(("127.0.0.1", 0))
        return int(self._socket.getsockname()[1])

    def __exit__(self, *more: object) -> None:
        self._socket.close()


def test_a_login_is_mounted(suite: str, tmp_path: Path) -> None:
    login = tmp_path / "config.json"
    auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    with running_registry(tmp_path / "registry", with_password=True) as host:
        login.write_text(json.dumps({"auths": {host: {"auth": auth}}}))
        login.chmod(0o600)
        reference = f"{host}/bugs/scale:1"
        push("source", reference, env=os.environ | {"DOCKER_CONFIG": str(tmp_path)})
        assert docker(reference, of=image(suite)).returncode == 7
        options = ("-v", f"{login}:/tmp/.docker/config.json:ro", "--user", f"{os.getuid()}:{os.getgid()}")
        done = docker(reference, options=options, of=image(suite))
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr


@pytest.mark.parametrize("words", [[], ["--recompile", "--iterations", "3"]], ids=["replay", "recompile"])
@pytest.mark.parametrize("local", [True, False], ids=["file", "registry"])
def test_the_printed_docker_line_gives_the_same_verdict(
    suite: str, reference: str, tmp_path: Path, local: bool, words: list[str]
) -> None:
    bundle = tmp_path / "it's a $(bundle).kcap.tar"
    shutil.copy(GOLDEN / "source-gfx942.kcap.tar", bundle)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    argv = [*KERNCAP, "run", str(bundle) if local else reference, "--image", image(suite), *words, "--json"]
    line = subprocess.run([*argv, "--print", "docker"], capture_output=True, text=True, check=True).stdout
    assert ("--network none" in line) == local
    typed = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=600)
    run = subprocess.run(argv, capture_output=True, text=True, timeout=600)
    if words and suite != _CAPTURED_UNDER:
        assert typed.returncode == run.returncode == 8, typed.stderr
        assert document(typed)["code"] == document(run)["code"] == "compile.toolchain-headers"
        return
    assert typed.returncode == run.returncode == 0, typed.stderr
    names = ("verdict", "bundle", "device", "iterations", "judged")
    assert {n: document(typed)[n] for n in names} == {n: document(run)[n] for n in names}
    assert "no GPU is here" in run.stderr


def test_run_takes_the_image_of_the_release_that_captured(suite: str) -> None:
    """Golden bundles were captured under trixie's runtime, that of Triton's kernel under sid's."""
    name = {"trixie": "source", "sid": "triton"}[suite]
    argv = [*KERNCAP, "run", str(GOLDEN / f"{name}-gfx942.kcap.tar"), "--print", "docker"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert f" {image(suite)} " in done.stdout
    assert "is of the release that captured" in done.stderr
