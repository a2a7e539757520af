"""A verdict as one HTML file: it is HTML, loads nothing, is bounded, and nothing of a stranger's leaves its place."""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import html5lib
import pytest
from synthetic import make_reproducer, read_json, write_json
from verdicts import HOSTILE, verdict_of

from kerncap.bundle import open_bundle
from kerncap.bundle.documents import validate
from kerncap.bundle.files import digest_of
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.seal import seal
from kerncap.bundle.unpack import unpack
from kerncap.errors import KerncapError, UsageError
from kerncap.report.span import WIDTH, place
from kerncap.report.text import duration, size
from kerncap.report.timing import timing
from kerncap.results import Ran, RanImage, Verdict, parse_verdict
from kerncap.runtime import containers
from kerncap.workflows import report as workflow
from kerncap.workflows.report import Request, gather, write_report
from kerncap.workflows.run import RunOptions
from kerncap.workflows.run import _verdict as judged_in

_ROOT = Path(__file__).resolve().parents[2]
_NAMESPACE = "{http://www.w3.org/1999/xhtml}"
_SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> Any:
    """As a browser reads it; an error of syntax fails the test."""
    return html5lib.HTMLParser(strict=True).parse(text)


def made(verdict: Verdict, tmp_path: Path, bundle: Path | str | None, **more: Any) -> str:
    output = tmp_path / f"report-{len(list(tmp_path.iterdir()))}.html"
    write_report(verdict, Request(output, None if bundle is None else str(bundle), **more))
    return output.read_text("utf-8")


def check_page(text: str) -> Any:
    """Holds for every page."""
    tree = parsed(text)
    elements = list(tree.iter())
    names = {
        element.tag.replace(_NAMESPACE, "").replace(_SVG, "") for element in elements if isinstance(element.tag, str)
    }
    html = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "section",
        "footer",
        "figure",
        "figcaption",
        "div",
    }
    html |= {"h1", "h2", "h3", "p", "ul", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "span"}
    assert names <= html | {"b", "code", "pre", "svg", "desc", "path", "rect"}
    for element in elements:
        for name, value in element.attrib.items():
            assert not name.startswith("on"), (element.tag, name)
            assert name not in ("href", "src", "action", "xlink:href"), (element.tag, name)
            if name == "style":
                assert re.fullmatch(r"height:[0-9]+px", value)
            if name == "d":
                assert re.fullmatch(r"[MhvzE0-9e.+ -]*", value), value[:80]
    assert all(character.isprintable() or character == "\n" for character in text)
    policy = [e.attrib["content"] for e in elements if e.attrib.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]
    style = next(e.text for e in elements if e.tag == f"{_NAMESPACE}style")
    assert "url(" not in style
    assert "@import" not in style
    levels = [int(e.tag[-1]) for e in elements if re.fullmatch(rf"{re.escape(_NAMESPACE)}h[1-6]", str(e.tag))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    for drawing in (e for e in elements if e.tag == f"{_SVG}svg"):
        named = drawing.find(f"{_SVG}title") is not None or "aria-label" in drawing.attrib
        assert named or drawing.attrib.get("aria-hidden") == "true"
    identifiers = [e.attrib["id"] for e in elements if "id" in e.attrib]
    assert len(set(identifiers)) == len(identifiers)
    return tree


def words(tree: Any) -> str:
    return " ".join(" ".join(tree.itertext()).split())


def test_what_a_report_says(layout: Path, tmp_path: Path) -> None:
    verdict = verdict_of(open_bundle(f"oci:{layout}"))
    said = words(check_page(made(verdict, tmp_path, f"oci:{layout}", lines=("docker run --rm x y",))))
    for text in (
        "✗ differs",
        "void scale<float, 128>(float*, int)",
        "gfx942:sramecc+:xnack-",
        str(verdict.bundle),
        ["scale", "float*, int)"][0],
        "2026-12-01T12:00:00Z",
        "1024 x 1 x 1 workitems",
        "0x7f1000000000 (region 0 + 0)",
        "variable, device 0 B 0 B 0 B weights",
        "1,000 rows (down) x 1,000 columns",
        "Only the first of the bytes that differ are drawn",
        "2 more regions differ",
        "docker run --rm x y",
        "How many took how long",
        "_Z5scalePfi",
        "hsa_version 1.14",
    ):
        assert text in said, text


def test_a_good_verdict_without_its_bundle(layout: Path, tmp_path: Path) -> None:
    """Of an older Kerncap, which recorded neither places nor when."""
    document = verdict_of(open_bundle(f"oci:{layout}")).to_json()
    for name in ("mismatch_map", "ran", "checks", "outputs"):
        del document[name]
    document |= {"verdict": "faithful", "passed": True, "mismatches": [], "mismatch_bytes": 0, "timing_ns": []}
    document |= {"tolerance": None, "written_bytes": None, "hsaco": None}
    said = words(check_page(made(parse_verdict(document), tmp_path, None)))
    assert "✓ faithful" in said
    assert "not recorded in this verdict" in said
    assert "The bundle itself was not at hand" in said
    assert "What differs" not in said


def hostile_reproducer(folder: Path) -> Path:
    made = make_reproducer(folder)
    capture = read_json(made / "capture" / "capture.json")
    text = HOSTILE.replace("\ud800", "")
    capture["kernel"] |= {"demangled": text, "name": text}
    for argument in capture["kernarg"]["args"]:
        argument |= {"name": text, "type": text}
    capture["kernarg"]["args"][0]["tensor"] = {"dtype": text, "shape": [2, 3], "strides": [3, 1], "offset": 0}
    capture["runtime"] = {text: text}
    capture["device"] |= {"product": text, "agent": text}
    write_json(made / "capture" / "capture.json", capture)
    (made / "src" / "root" / "app" / "<b onclick=x>&amp;.hip").write_text("x\n")
    return made


def test_nothing_of_a_stranger_leaves_its_place(tmp_path: Path) -> None:
    """What the page has instead is the text itself, spelled out where it could not be seen."""
    captured = hostile_reproducer(tmp_path / "captured")
    seal(ReproducerLocation(captured), LayoutLocation(tmp_path / "sealed"))
    bundle = open_bundle(f"oci:{tmp_path / 'sealed'}")
    edited = tmp_path / "edited"
    unpack(open_bundle(f"oci:{tmp_path / 'sealed'}"), edited)
    (edited / "src" / "root" / "app" / "scale.hip").write_text(HOSTILE, "utf-8", "replace")
    (edited / "src" / "root" / "app" / "<b onclick=x>&amp;.hip").unlink()
    verdict = verdict_of(bundle, foreign=HOSTILE)
    lines = (HOSTILE,)
    text = made(verdict, tmp_path, f"oci:{tmp_path / 'sealed'}", source=str(edited), lines=lines)
    tree = check_page(text)
    said = "".join(tree.itertext())
    assert said.count("<script>alert(1)</script>") > 15
    assert "\\u202egnp.exe\\u2066\\u200b\\x1b[31m\\x00" in said
    assert said.count("{{7*7}}") == said.count("<script>alert(1)</script>")
    assert "src/root/app/<b onclick=x>&amp;.hip (removed)" in " ".join(said.split())
    assert "unicode-bidi: isolate-override" in text


def test_its_size_is_bounded(tmp_path: Path) -> None:
    """A million mismatches everywhere, a hundred thousand iterations, long texts, many regions with many ranges."""
    captured = make_reproducer(tmp_path / "big", big_bytes=64 << 20)
    capture = read_json(captured / "capture" / "capture.json")
    capture["write_set"]["written"] = [[3, at, 4] for at in range(0, 8_000_000, 80)]
    write_json(captured / "capture" / "capture.json", capture)
    bundle = open_bundle(str(captured))
    verdict = verdict_of(bundle, foreign="x" * 100_000, elements=1_000_000, iterations=100_000)
    found = verdict.mismatch_map
    assert found is not None
    many = replace(found, regions=found.regions * 8, outputs=found.outputs * 4)
    verdict = replace(verdict, mismatch_map=many, reasons=("y" * 100_000,) * 20)
    document = verdict.to_json()
    validate(document, "verdict", what="verdict")
    assert parse_verdict(json.loads(json.dumps(document))) == verdict
    text = made(verdict, tmp_path, captured)
    assert len(text.encode()) < 2 << 20
    check_page(text)


def test_a_scattered_map_is_bounded_too(layout: Path, tmp_path: Path) -> None:
    """No two neighbours of one shade, in the largest grids and strips that a verdict may hold."""
    bundle = open_bundle(f"oci:{layout}")
    verdict = verdict_of(bundle)
    found = verdict.mismatch_map
    assert found is not None
    grid = next(one for one in found.outputs if one.rows > 1)
    cells = tuple(range(64 * 64))
    counts = tuple(1 if n % 2 else 60 for n in cells)
    bins = replace(grid.bins, numbers=cells, counts=counts, beyond=counts)
    grid = replace(grid, rows=1024, columns=1024, row_step=16, column_step=16, bins=bins)
    strip = replace(
        found.regions[0],
        bin_bytes=64,
        bins=replace(bins, numbers=cells[:1024], counts=counts[:1024], beyond=counts[:1024]),
    )
    worst = replace(found, outputs=(grid,) * 8, regions=(strip,) * 16)
    text = made(replace(verdict, mismatch_map=worst), tmp_path, f"oci:{layout}")
    assert len(text.encode()) < 2 << 20


def run(*argv: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    command = [sys.executable, "-m", "kerncap", *map(str, argv)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def test_the_command(layout: Path, tmp_path: Path) -> None:
    """From a stored verdict; like other outputs it is whole or not there, readable like them, never overwritten."""
    write_json(tmp_path / "v.json", verdict_of(open_bundle(f"oci:{layout}")).to_json())
    done = run("html", "v.json", "oci:layout", "-o", "v.html", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    validate(document, "printed", what="html")
    output = tmp_path / "v.html"
    assert document == {"schema": "kerncap.report/1", "output": "v.html", "size_bytes": output.stat().st_size}
    check_page(output.read_text("utf-8"))
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(output.stat().st_mode) == 0o666 & ~umask
    before = digest_of(output)
    again = run("html", "v.json", "oci:layout", "-o", "v.html", cwd=tmp_path)
    assert (again.returncode, digest_of(output)) == (2, before)
    assert "usage.output-exists" in again.stderr
    assert not list(tmp_path.glob(".*partial"))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("v.json", "other.kcap", "-o", "new.html"), "usage.other-bundle"),
        (("v.json", "-o", "new.html", "--only", "0"), "usage.option-alone"),
        (("v.json", "-o", "new.html", "--report-source", "x"), "usage.option-alone"),
        (("other.kcap/capture/index.json", "-o", "new.html"), "usage.verdict"),
        (("v.json", "oci:layout", "-o", "new.html", "--report-source", "nothing"), "usage.no-such-bundle"),
    ],
)
def test_what_is_wrong_is_said(layout: Path, tmp_path: Path, words: tuple[str, ...], code: str) -> None:
    make_reproducer(tmp_path / "other.kcap", seed=2)
    write_json(tmp_path / "v.json", verdict_of(open_bundle(f"oci:{layout}")).to_json())
    done = run("html", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert code in done.stderr
    assert not (tmp_path / "new.html").exists()


@pytest.mark.parametrize("command", ["run", "replay", "validate"])
def test_an_output_that_exists_is_refused_before_anything_runs(layout: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "there.html").write_text("mine")
    done = run(command, "oci:layout", "--report", "there.html", cwd=tmp_path)
    assert done.returncode == 2
    assert "usage.output-exists" in done.stderr
    assert (tmp_path / "there.html").read_text() == "mine"
    alone = run(command, "oci:layout", "--report-source", "oci:layout", cwd=tmp_path)
    assert alone.returncode == 2
    assert "usage.option-alone" in alone.stderr


def test_nothing_is_left_when_the_page_cannot_be_made(
    layout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(facts: object) -> str:
        raise KerncapError("no", code="bug.test")

    monkeypatch.setattr(workflow.report, "render", fail)
    with pytest.raises(KerncapError):
        write_report(verdict_of(open_bundle(f"oci:{layout}")), Request(tmp_path / "v.html", f"oci:{layout}"))
    assert not list(tmp_path.glob("*.html"))
    assert not list(tmp_path.glob(".*partial"))


def test_lines_that_repeat_it_name_digests(layout: Path, tmp_path: Path) -> None:
    verdict = verdict_of(open_bundle(f"oci:{layout}"))
    plain = replace(
        verdict,
        hsaco=None,
        tolerance=None,
        ran=Ran("2026-12-01T12:00:00Z", {}, RanImage("r:5/k:1", "sha256:ab", "sha256:cd")),
    )
    lines = [one.line for one in gather(plain, Request(tmp_path / "x", f"oci:{layout}")).reproduce]
    assert lines[0] == f"kerncap run oci:{layout}  # {verdict.bundle}"
    assert f"--mount type=bind,source={layout},target=/bundle,readonly r:5/k@sha256:cd /bundle" in lines[1]
    # It is for a stranger's bundle, and is typed as it stands.
    for barrier in ("--network none", "--read-only", "--tmpfs /tmp:", "--cap-drop ALL", "--pids-limit", "--ulimit"):
        assert f" {barrier}" in lines[1], barrier
    variant = [
        one.line for one in gather(verdict, Request(tmp_path / "x", f"oci:{layout}", hsaco=Path("v x.hsaco"))).reproduce
    ]
    assert len(variant) == 1
    assert "--hsaco 'v x.hsaco' --atol 1e-05 --rtol 0.001 --device vgpu:gfx942" in variant[0]


def test_another_bundle_is_refused(layout: Path, tmp_path: Path) -> None:
    verdict = replace(verdict_of(open_bundle(f"oci:{layout}")), bundle="sha256:" + "0" * 64)
    with pytest.raises(UsageError) as caught:
        gather(verdict, Request(tmp_path / "x", f"oci:{layout}"))
    assert caught.value.code == "usage.other-bundle"


@pytest.mark.parametrize("count", [1, 2, 9, 300, 5000])
def test_regions_keep_their_order_and_fit_the_line(count: int) -> None:
    placed = place(
        [(n * 1000 + (n > 3) * (1 << 40), 1000 if n % 3 else 1 << 30 if n == 0 else 8) for n in range(count)]
    )
    assert placed[-1].x + placed[-1].width == pytest.approx(WIDTH)
    for one, other in itertools.pairwise(placed):
        assert one.x + one.width < other.x
        assert one.va < other.va
    for one in placed:
        x, width = one.stretch(one.size - 1, 100)
        assert one.x <= x <= x + width <= one.x + one.width + 1e-9


def test_gaps_are_marked() -> None:
    assert [one.folded for one in place([(0, 100), (100, 50), (1000, 8)])] == [False, False, True]


def test_times() -> None:
    assert timing(()) is None
    found = timing([10, 10, 20, 30])
    assert found is not None
    assert (found.least, found.median, found.most, found.bins, found.fullest) == (10, 15, 30, 3, 2)
    many = timing(list(range(100_000)))
    assert many is not None
    assert many.bar_count <= 250
    assert many.bar_count * many.dispatches_a_bar >= 100_000
    assert [duration(ns) for ns in (5, 1500, 2.5e6, 3e9)] == ["5 ns", "1.5 µs", "2.5 ms", "3 s"]
    assert [size(n) for n in (0, 10239, 10240, 1 << 20, 5 << 40, 1 << 63)] == [
        "0 B",
        "10,239 B",
        "10.0 KiB",
        "1.0 MiB",
        "5.0 TiB",
        "8388608.0 TiB",
    ]


@pytest.mark.parametrize("recorded", [True, False], ids=["", "older"])
def test_run_adds_the_image(layout: Path, monkeypatch: pytest.MonkeyPatch, recorded: bool) -> None:
    """What is inside does not know it; an older Kerncap inside does not even say when."""
    document = verdict_of(open_bundle(f"oci:{layout}")).to_json()
    document["ran"] = Ran("2026-12-01T12:00:00Z", {"os": "x"}).to_json() if recorded else None
    done = containers.Outcome(1, json.dumps(document).encode(), b"", None)
    monkeypatch.setattr(containers, "run", lambda job, on_stderr=None: done)
    monkeypatch.setattr(containers, "image_digests", lambda name: ("sha256:ab", "sha256:cd"))
    job = containers.Job("r/k:1", "validate", layout)
    found = judged_in(job, str(layout), RunOptions()).ran
    assert found is not None
    assert found.image == RanImage("r/k:1", "sha256:ab", "sha256:cd")
    assert found.versions == ({"os": "x"} if recorded else {})
    assert re.fullmatch(r"20[0-9-]{8}T[0-9:]{8}Z", found.at)
