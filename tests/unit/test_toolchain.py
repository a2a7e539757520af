"""Headers of the tool chain that a bundle names and does not carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kerncap.errors import BundleError, CompileError
from kerncap.source import toolchain

_DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("path", "project", "expected"),
    [
        ("/usr/include/stdio.h", "/home/me", True),
        ("/usr/lib/llvm-17/lib/clang/17/include/stddef.h", "/home/me", True),
        ("/opt/rocm-6.4.0/include/hip/hip_runtime.h", "/home/me", True),
        ("/home/me/k.hip", "/home/me", False),
        ("/usr/local/include/mine.h", "/home/me", False),
        ("/usr/lib/mine/k.hip", "/usr/lib/mine", False),
        ("/opt/rocm/share/samples/x/k.hip", "/opt/rocm/share/samples/x/build/..", False),
    ],
)
def test_which_headers_are_the_tool_chains(path: str, project: str, expected: bool) -> None:
    assert toolchain.is_toolchain(Path(path), [Path(project)]) is expected


def test_a_project_behind_a_symbolic_link_is_no_tool_chain(tmp_path: Path) -> None:
    (tmp_path / "project").symlink_to("/opt/rocm/share/samples")
    assert not toolchain.is_toolchain(Path("/opt/rocm/share/samples/k.hip"), [tmp_path / "project"])


def test_only_what_is_named_without_a_place_is_looked_for() -> None:
    carried = {"original": "/usr/include/a.h", "path": "src/root/usr/include/a.h", "digest": _DIGEST}
    named = {"original": "/usr/include/b.h", "path": None, "digest": _DIGEST}
    assert toolchain.referenced({"files": [carried, named]}) == {Path("/usr/include/b.h"): _DIGEST}
    assert toolchain.referenced({}) == {}


@pytest.mark.parametrize(
    "file",
    [
        {"original": "/etc/passwd", "path": None, "digest": _DIGEST},
        {"original": "/usr/include/../../etc/passwd", "path": None, "digest": _DIGEST},
        {"original": "usr/include/a.h", "path": None, "digest": _DIGEST},
        {"original": None, "path": None, "digest": _DIGEST},
        {"original": "/usr/include/a.h", "path": None, "digest": "sha256:1"},
        {"original": "/usr/include/a.h", "path": None},
    ],
)
def test_a_strangers_list_of_headers(file: dict[str, Any]) -> None:
    with pytest.raises(BundleError) as caught:
        toolchain.referenced({"files": [file]})
    assert caught.value.code == "bundle.malformed"
    with pytest.raises(BundleError):
        toolchain.referenced({"files": 3})
    many = [{"original": f"/usr/include/{i}.h", "path": None, "digest": _DIGEST} for i in range(20_001)]
    with pytest.raises(BundleError):
        toolchain.referenced({"files": many})
    with pytest.raises(CompileError) as missing:
        toolchain.difference({Path("/usr/include/" + "a" * 300): _DIGEST})
    assert missing.value.code == "compile.toolchain-headers"


def test_what_is_missing_stops_and_what_differs_is_said(tmp_path: Path) -> None:
    one, two = tmp_path / "one.h", tmp_path / "two.h"
    one.write_text("1")
    two.write_text("2")
    right = {path: toolchain.digest_of(path) for path in (one, two)}
    assert toolchain.difference(right) is None
    two.write_text("3")
    assert toolchain.difference(right) == f"1 of 2 tool chain headers differ from the original's, {two} for one"
    two.unlink()
    with pytest.raises(CompileError) as caught:
        toolchain.difference(right)
    assert (caught.value.code, caught.value.exit_code) == ("compile.toolchain-headers", 8)
    assert str(two) in caught.value.message
