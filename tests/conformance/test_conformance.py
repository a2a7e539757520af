"""Every committed conformance case through the Python reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cases import INVALID, VALID, build

from kerncap.bundle import open_bundle
from kerncap.bundle.unpack import unpack
from kerncap.bundle.verify import verify
from kerncap.cli import main as cli
from kerncap.errors import BundleError

_FOLDER = Path(__file__).resolve().parents[2] / "bundle_spec" / "conformance"
_CASES: list[dict[str, Any]] = json.loads((_FOLDER / "cases.json").read_text())


def _files(kind: str, *needs: str) -> list[Any]:
    return [
        pytest.param(case, id=Path(case["file"]).name[:-9])
        for case in _CASES
        if case["file"].startswith(kind) and case["needs"] in needs
    ]


def test_the_list_is_complete() -> None:
    listed = {case["file"] for case in _CASES}
    assert listed == {str(path.relative_to(_FOLDER)) for path in _FOLDER.rglob("*.kcap.tar")}
    assert len([case for case in _CASES if case["code"]]) >= 200
    assert len([case for case in _CASES if not case["code"]]) >= 36


def test_the_files_are_made_as_they_are(tmp_path: Path) -> None:
    """Whoever runs the generator again changes nothing that is committed."""
    for kind, cases in (("valid", VALID), ("invalid", INVALID)):
        for case in cases:
            committed = (_FOLDER / kind / f"{case.name}.kcap.tar").read_bytes()
            assert build(case).write_tar(tmp_path / "x").read_bytes() == committed, case.name


@pytest.mark.parametrize("case", _files("valid", "open"))
def test_valid(case: dict[str, Any], tmp_path: Path) -> None:
    bundle = open_bundle(str(_FOLDER / case["file"]))
    assert verify(bundle, deep=True).problems == ()
    unpack(bundle, tmp_path / "out")
    assert open_bundle(str(tmp_path / "out")).index == bundle.index


@pytest.mark.parametrize("case", _files("invalid", "open"))
def test_refused_when_opened(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(_FOLDER / case["file"])
    with pytest.raises(BundleError) as caught:
        open_bundle(path)
    assert caught.value.code == case["code"]
    for command in (["inspect", path], ["verify", path], ["unpack", path, str(tmp_path / "out")]):
        assert cli.run(command) == 4
    assert "\x1b" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("case", _files("invalid", "verify", "deep"))
def test_found_by_verify(case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    path, deep = str(_FOLDER / case["file"]), case["needs"] == "deep"
    bundle = open_bundle(path)
    assert verify(bundle, deep=deep).problems[0].code == case["code"]
    if deep:
        assert verify(bundle).problems == ()
    assert cli.run(["verify", path, *(["--deep"] if deep else [])]) == 4
    error = capsys.readouterr().err
    assert case["code"] in error
    assert "\x1b" not in error


@pytest.mark.parametrize("case", _files("invalid", "verify"))
def test_unpack_leaves_nothing(case: dict[str, Any], tmp_path: Path) -> None:
    assert cli.run(["unpack", str(_FOLDER / case["file"]), str(tmp_path / "out")]) == 4
    assert list(tmp_path.iterdir()) == []
