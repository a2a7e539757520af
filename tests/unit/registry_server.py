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
def running_registry(folder: Path, *, with_password: bool = False, with_tls: bool = False) -> Iterator[str]:
    """Yields `127.0.0.1:port`; `with_tls` its certificate is its own authority, `folder / "cert.pem"`."""
    assert PROGRAM is not None
    folder.mkdir(parents=True)
    port = free_port()
    auth = ""
    if with_password:
        (folder / "htpasswd").write_text(f"{USER}:{_BCRYPT}\n")
        auth = f"auth: {{htpasswd: {{realm: kerncap, path: {folder / 'htpasswd'}}}}}\n"
    tls = ""
    if with_tls:
        _make_certificate(folder)
        tls = f", tls: {{certificate: {folder / 'cert.pem'}, key: {folder / 'key.pem'}}}"
    config = folder / "config.yml"
    config.write_text(_CONFIG.format(root=folder / "data", port=port, auth=auth, tls=tls))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([PROGRAM, "serve", str(config)], stdout=log, stderr=log)
    try:
        _wait_until_up(f"http://127.0.0.1:{port}/v2/", process)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _make_certificate(folder: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        assert process.poll() is None, "docker-registry ended"
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("docker-registry did not come up")
