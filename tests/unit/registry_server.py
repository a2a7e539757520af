"""A real docker-registry on a free loopback port, in a folder of its own, ended by its pid."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = shutil.which("docker-registry")
USER, PASSWORD = "kerncap", "correct horse"
_BCRYPT = "$2b$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2"

# Without the blob-descriptor cache of the packaged config, which hides deletions.
_CONFIG = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage:
  filesystem: {{rootdirectory: {root}}}
  delete: {{enabled: true}}
http: {{addr: "127.0.0.1:{port}"{tls}}}
{auth}"""


@contextmanager
def running_registry(
    folder: Path, *, with_password: bool = False, with_tls: bool = False, auth: str = ""
) -> Iterator[str]:
    """Yields `127.0.0.1:port`; `with_tls` its certificate is its own authority, `folder / "cert.pem"`, for
    `registry.test` as well. `auth`: that part of its configuration.
    """
    assert PROGRAM is not None
    folder.mkdir(parents=True)
    if with_password:
        (folder / "htpasswd").write_text(f"{USER}:{_BCRYPT}\n")
        auth = f"auth: {{htpasswd: {{realm: kerncap, path: {folder / 'htpasswd'}}}}}\n"
    tls = ""
    if with_tls:
        _make_certificate(folder)
        tls = f", tls: {{certificate: {folder / 'cert.pem'}, key: {folder / 'key.pem'}}}"
    process, port = _start(folder, auth, tls)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        _end(process)


def _start(folder: Path, auth: str, tls: str) -> tuple[subprocess.Popen[bytes], int]:
    config, log_path = folder / "config.yml", folder / "log"
    for _ in range(5):
        port = _free_port()
        config.write_text(_CONFIG.format(root=folder / "data", port=port, auth=auth, tls=tls))
        with log_path.open("wb") as log:
            process = subprocess.Popen([str(PROGRAM), "serve", str(config)], stdout=log, stderr=log)
        try:
            if _comes_up(f"http://127.0.0.1:{port}/v2/", process):
                return process, port
        except BaseException:
            _end(process)
            raise
        # Somebody else has taken the port since.
        assert b"address already in use" in log_path.read_bytes(), log_path.read_text(errors="replace")
    raise AssertionError("docker-registry found no port")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _make_certificate(folder: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:registry.test", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _comes_up(url: str, process: subprocess.Popen[bytes]) -> bool:
    """False: it has ended."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return False
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return process.poll() is None
        except urllib.error.HTTPError:
            return process.poll() is None
        except OSError:
            time.sleep(0.05)
    raise AssertionError("docker-registry did not come up")
