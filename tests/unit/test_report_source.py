"""Of a report: the judged source line by line against the captured one, cut where it is very long."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from synthetic import write_json
from test_report import check_page, made
from verdicts import verdict_of

from kerncap.bundle import open_bundle
from kerncap.bundle.files import digest_of
from kerncap.bundle.unpack import unpack
from kerncap.workflows.report import Request, gather


def test_the_source_line_by_line(layout: Path, tmp_path: Path) -> None:
    """A variant's source is found where the variant lies; the captured side is the sealed one, whichever is judged."""
    verdict = verdict_of(open_bundle(f"oci:{layout}"))
    work = tmp_path / "work"
    unpack(open_bundle(f"oci:{layout}"), work)
    (work / "reproducer.json").write_text("{}")
    place_ = f"oci:{layout}"
    same = gather(verdict, Request(tmp_path / "x", place_, hsaco=work / "variant.hsaco")).source
    assert same is not None
    assert "no file was changed" in same.remark
    main = work / "src" / "root" / "app" / "scale.hip"
    main.write_text(main.read_text() + "// one more\n")
    (work / "src" / "root" / "app" / "new.h").write_text("int\tx;\n")
    (work / "src" / "root" / "app" / "scale.h").unlink()
    edited = gather(verdict, Request(tmp_path / "x", place_, hsaco=work / "variant.hsaco")).source
    assert edited is not None
    found = {file.name.rpartition("/")[2]: (file.what, file.lines) for file in edited.files}
    assert found["new.h"] == ("added", ("@@ -0,0 +1 @@", "+int\tx;"))
    assert found["scale.h"] == ("removed", ("@@ -1 +0,0 @@", "-#pragma once"))
    assert found["scale.hip"][0] == "changed"
    assert found["scale.hip"][1][-1] == "+// one more"
    other = replace(verdict, bundle=None)
    reverse = gather(other, Request(tmp_path / "x", str(work), source=place_)).source
    assert reverse is not None
    assert reverse.files == edited.files
    assert gather(verdict, Request(tmp_path / "x", place_)).source is None
    again = gather(verdict, Request(tmp_path / "x", place_, recompiled=True)).source
    assert again is not None
    assert "compiled again" in again.remark


def test_an_edited_reproducer_alone_names_its_files(reproducer: Path, tmp_path: Path) -> None:
    main = reproducer / "src" / "root" / "app" / "scale.hip"
    name = "src/root/app/scale.hip"
    files = [{"original": "/app/scale.hip", "path": name, "digest": digest_of(main), "system": False}]
    write_json(reproducer / "compile.json", {"files": files})
    verdict = replace(verdict_of(open_bundle(str(reproducer))), bundle=None)
    request = Request(tmp_path / "x", str(reproducer), recompiled=True)
    before = gather(verdict, request).source
    main.write_text("edited\n")
    after = gather(verdict, request).source
    assert before is not None
    assert after is not None
    assert "no file of it was changed" in before.remark
    assert [(file.name, file.what) for file in after.files] == [(name, "changed")]


def test_very_long_source_is_cut(layout: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    unpack(open_bundle(f"oci:{layout}"), work)
    main = work / "src" / "root" / "app" / "scale.hip"
    main.write_text("".join(f"{n} {'x' * 5000}\n" for n in range(600)))
    (work / "src" / "root" / "app" / "scale.h").write_text("y\n" * 20_000)
    (work / "src" / "root" / "app" / "zero.h").write_bytes(b"\0" * (5 << 20))
    text = made(verdict_of(open_bundle(f"oci:{layout}")), tmp_path, f"oci:{layout}", source=str(work))
    check_page(text)
    assert text.count("There is more that differs here") == 3
    assert len(text.encode()) < 2 << 20
