"""The runtime image's entry point gives up the network for everything it starts, whatever network the container has."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

NAMESPACE = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")

TRY_SOCKETS = """
import runpy, socket, subprocess, sys
entrypoint = runpy.run_path("/opt/kerncap/bin/entrypoint")
socket.socket().close()
entrypoint["give_up_network"]()
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
    try:
        socket.socket(family, socket.SOCK_RAW if family == socket.AF_NETLINK else socket.SOCK_STREAM)
        sys.exit(f"{family} can still be made")
    except PermissionError:
        pass
child = subprocess.run([sys.executable, "-c", "import socket; socket.socket()"], stderr=subprocess.PIPE, text=True)
assert child.returncode == 1 and "PermissionError" in child.stderr, child.stderr
print("given up")
"""


def in_image(suite: str, *arguments: str, python: str | None = None) -> subprocess.CompletedProcess[str]:
    argv = ["docker", "run", "--rm", "--network", "host"]
    argv += ["--entrypoint", "python3"] if python else []
    argv += [f"{NAMESPACE}/runtime:{suite}", *(["-I", "-c", python] if python else arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=300)


def test_no_socket_after_the_network_is_given_up(suite: str) -> None:
    done = in_image(suite, python=TRY_SOCKETS)
    assert done.stdout == "given up\n", done.stderr


def test_help_says_how(suite: str) -> None:
    done = in_image(suite, "--help")
    assert done.returncode == 0
    assert "[COMMAND] BUNDLE [OPTIONS]" in done.stdout


def test_the_bundle_comes_first(suite: str) -> None:
    done = in_image(suite, "validate", "--json")
    assert done.returncode == 2
    assert "usage.no-bundle" in done.stderr
    assert json.loads(done.stdout)["code"] == "usage.no-bundle"


def test_a_failed_pull_is_a_document_with_json(suite: str) -> None:
    done = in_image(suite, "127.0.0.1:1/bugs/made-up:1", "--json")
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout)["code"] == "transport.unreachable"


@pytest.mark.parametrize("words", [["recompile", "/nowhere", "-o", "/tmp/x.hsaco"], ["/nowhere", "--recompile"]])
def test_recompile_is_done_in_this_container(suite: str, words: list[str]) -> None:
    """It needs no engine, which it would not find: the container itself is the sandbox."""
    done = in_image(suite, *words, "--json")
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout)["code"] == "usage.no-such-bundle"


ODD_WORDS = {
    "option": ["--foo"],
    "shell": ["sh", "-c", "id"],
    "another command": ["push", "/bundle", "localhost:5000/x/y:1"],
    "nothing": [""],
    "two words": ["a b"],
    "two lines": ["x\ny"],
    "long": ["x" * 5000],
    "option after the command": ["validate", "--", "--privileged"],
    "no value": ["--deadline"],
    "no number": ["--deadline", "x", "/bundle"],
    "negative": ["--deadline", "-1", "/bundle"],
    "not a number": ["--deadline", "nan", "/bundle"],
    "for ever": ["--deadline", "inf", "/bundle"],
}


@pytest.mark.parametrize("words", ODD_WORDS.values(), ids=ODD_WORDS)
def test_what_is_no_bundle_is_usage(suite: str, words: list[str]) -> None:
    """Nothing that stands behind the image's name starts another program or reaches another command."""
    if suite != "trixie":
        pytest.skip("the entry point is the same file")
    done = in_image(suite, *words)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "hint: " in done.stderr
    assert "uid=" not in done.stdout


def test_a_file_that_cannot_be_collected_is_said(suite: str) -> None:
    done = in_image(suite, "--collect", "/etc/shadow", "inspect", "/nowhere", "--json")
    assert done.returncode == 2, done.stderr
    assert "'/etc/shadow' is not collected" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_of_a_command(suite: str) -> None:
    assert "kerncap validate" in in_image(suite, "validate", "--help").stdout
