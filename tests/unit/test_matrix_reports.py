"""JUnit, SARIF, HTML and the table of a matrix: every outcome, read back by others' readers, with hostile names."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import itertools
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import junitparser
import pytest
import sarif_pydantic
from matrix_cells import ERRORS, VERDICTS, cell, error, result, verdict

from kerncap.cli.matrix_reports import Reports
from kerncap.cli.matrix_text import print_matrix
from kerncap.errors import UsageError
from kerncap.matrix import CellResult, Matrix, not_run
from kerncap.matrix.junit import to_junit
from kerncap.matrix.page import to_html
from kerncap.matrix.sarif import to_sarif

EVERYTHING = (*VERDICTS, *ERRORS)
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\x1b[2J\x1b]0;owned\x07",
    "]]>&amp;<!--",
    "{{ 7 * 7 }}{% raw %}",
    "a\u202egnp.exe",
    "\x00\ufffe\x0b",
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
    "line\nhint: rm -rf /",
    "ü 漢字 🙂",
)


def everything() -> Matrix:
    found = [result(word, cell(image=f"runtime:{n}", line=f"docker run {n}")) for n, word in enumerate(EVERYTHING)]
    return Matrix(tuple(found))


def hostile(text: str) -> Matrix:
    of = cell(bundle=text, image=text, device=text, kernel=text, runtime=text, source_file=text, line=text)
    bad = replace(verdict("differs"), reasons=(text,), kernel=text, device=text, product=text)
    known = CellResult(of, bad, None, 1.0, text)
    return Matrix((known, not_run(cell(bundle=text + "2", image=text, line=text), error("replay.fault", text))))


def test_junit_counts_what_came_out(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes(to_junit(everything()))
    read = junitparser.JUnitXml.fromfile(str(path))
    assert (read.tests, read.failures, read.errors) == (len(EVERYTHING), 2, len(ERRORS))
    [suite] = list(read)
    assert (suite.name, suite.tests, suite.failures, suite.errors) == ("a.kcap.tar", len(EVERYTHING), 2, len(ERRORS))
    cases = {case.name.split(" ")[0]: case for case in suite}
    for number, word in enumerate(EVERYTHING):
        case = cases[f"runtime:{number}"]
        kinds = [type(found) for found in case.result]
        good = word in VERDICTS[:3]
        assert kinds == ([] if good else [junitparser.Failure if word in VERDICTS else junitparser.Error])
        if not good:
            assert case.result[0].type == word
            assert case.result[0].message
        assert case.time == pytest.approx(2.0 if word in VERDICTS else 0.5)
        assert case.system_out == f"$ docker run {number}"


@pytest.mark.parametrize("text", HOSTILE)
def test_junit_of_hostile_names_is_xml(text: str) -> None:
    raw = to_junit(hostile(text))
    root = ElementTree.fromstring(raw)
    names = {element.tag for element in root.iter()}
    assert names <= {
        *("testsuites", "testsuite", "testcase", "failure", "error", "properties", "property", "system-out")
    }
    assert len(root.findall("testsuite")) == 2
    said = root.findall(".//error")[0].text or ""
    assert text.splitlines()[0].translate(dict.fromkeys([*range(32), 0xFFFE])) in re.sub(r"\\x..|\\u....", "", said)


def sarif_of(matrix: Matrix) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(to_sarif(matrix, "0.1.0"))
    parsed = sarif_pydantic.Sarif.model_validate(document)
    assert parsed.version == "2.1.0"
    check_sarif(document)
    return document


def check_sarif(document: dict[str, Any]) -> None:
    """What the models let through: members that SARIF 2.1.0 does not know, and its rules in words."""
    assert set(document) == {"$schema", "version", "runs"}
    [run] = document["runs"]
    assert set(run) <= {"tool", "results", "columnKind", "invocations"}
    driver = run["tool"]["driver"]
    assert set(driver) <= {"name", "version", "informationUri", "rules"}
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)  # 3.19.23
    for rule in driver["rules"]:
        assert set(rule) <= {"id", "name", "shortDescription", "defaultConfiguration"}
        assert rule["shortDescription"]["text"].endswith(".")  # 3.49.9
        assert re.fullmatch(r"[A-Za-z0-9]+", rule["name"])
    for found in run["results"]:
        assert set(found) <= {
            *("ruleId", "ruleIndex", "level", "message", "partialFingerprints", "properties", "locations")
        }
        assert rules[found["ruleIndex"]] == found["ruleId"]  # 3.27.6
        assert found["level"] in ("none", "note", "warning", "error")
        for location in found.get("locations", ()):
            assert set(location) <= {"physicalLocation", "logicalLocations"}
            uri = location.get("physicalLocation", {}).get("artifactLocation", {}).get("uri", "")
            assert re.fullmatch(r"[A-Za-z0-9._~:/%-]*", uri)  # 3.4.3: a valid URI reference


def test_sarif_has_a_result_for_each_bad_cell_and_a_rule_for_each_outcome() -> None:
    document = sarif_of(everything())
    [run] = document["runs"]
    wrong = [word for word in EVERYTHING if word not in VERDICTS[:3]]
    assert [found["ruleId"] for found in run["results"]] == wrong
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(wrong)
    levels = {found["ruleId"]: found["level"] for found in run["results"]}
    assert levels["differs"] == levels["replay.timeout"] == levels["compile.failed"] == "error"
    assert levels["host.no-image"] == levels["transport.unreachable"] == "warning"
    assert sarif_of(Matrix((result("faithful"),)))["runs"][0]["results"] == []
    assert sarif_of(Matrix((result("faithful"),), frozenset({"differs"})))["runs"][0]["results"]


def test_sarif_says_where() -> None:
    of = cell(source_file="/src/a b/<k>.hip")
    [found] = sarif_of(Matrix((result("differs", of),)))["runs"][0]["results"]
    [location] = found["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "file:///src/a%20b/%3Ck%3E.hip"
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "scale(float*, int)"
    [bare] = sarif_of(Matrix((result("differs", cell(kernel=None)),)))["runs"][0]["results"]
    assert "locations" not in bare


@pytest.mark.parametrize("text", HOSTILE)
def test_sarif_of_hostile_names(text: str) -> None:
    raw = to_sarif(hostile(text), "0.1.0")
    assert raw.isascii()
    assert re.search(rb"[\x00-\x09\x0b-\x1f]", raw) is None
    assert len(sarif_of(hostile(text))["runs"][0]["results"]) == 2


class _Page(html.parser.HTMLParser):
    """What a browser would make of it: tags, attributes, ids, texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def page(matrix: Matrix) -> tuple[str, _Page]:
    raw = to_html(matrix, title="Kerncap matrix", made="now").decode()
    parsed = _Page()
    parsed.feed(raw)
    return raw, parsed


_OWN_TAGS = frozenset(
    {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "h1",
        "h2",
        "h3",
        "p",
        "main",
        "ul",
        "li",
        "div",
        "table",
    }
    | {"thead", "tbody", "tr", "th", "td", "a", "small", "svg", "line", "circle", "text", "details", "summary", "span"}
    | {"pre", "dl", "dt", "dd"}
)


def check_page(raw: str, parsed: _Page) -> None:
    """Nothing from elsewhere, no script, no style but the one that the policy names."""
    assert {tag for tag, _ in parsed.tags} <= _OWN_TAGS
    for tag, attributes in parsed.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset")}, tag
        if "href" in attributes:
            assert re.fullmatch(r"#c[0-9a-f]{16}", attributes["href"] or "")
    [policy] = [a["content"] for _, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy"]
    [style] = re.findall(r"<style>(.*?)</style>", raw, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style
    assert "@import" not in style
    ids = {attributes["id"] for _, attributes in parsed.tags if "id" in attributes}
    assert {(attributes["href"] or "")[1:] for _, attributes in parsed.tags if "href" in attributes} <= ids


def test_the_page_shows_every_outcome_and_loads_nothing() -> None:
    raw, parsed = page(everything())
    check_page(raw, parsed)
    for word in EVERYTHING:
        assert word in parsed.text
    assert "it went wrong" in parsed.text
    assert sum(tag == "details" for tag, _ in parsed.tags) == len(EVERYTHING)
    assert sum(tag == "svg" for tag, _ in parsed.tags) == 2
    assert any(a.get("name") == "viewport" for _, a in parsed.tags)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_page_of_hostile_names(text: str) -> None:
    raw, parsed = page(hostile(text))
    check_page(raw, parsed)
    assert all(char.isprintable() or char == "\n" for char in raw)
    assert "49" not in re.sub(r"[0-9a-f]{16}", "", parsed.text) or "{{" not in text
    if text.isprintable():
        assert parsed.text.count(text) >= 6


def test_plots_lie_inside_their_scale() -> None:
    timings = [(0,), (5,), (1, 10**12), (0, 0, 7)]
    found = [result("faithful", cell(image=str(n)), timing_ns=timing) for n, timing in enumerate(timings)]
    raw, parsed = page(Matrix((*found, result("faithful", cell(image="none"), timing_ns=()))))
    check_page(raw, parsed)
    places = [float(a[name] or "nan") for _, a in parsed.tags for name in ("x1", "x2", "cx") if name in a]
    assert places
    assert all(0 <= place <= 330 for place in places)
    check_page(*page(Matrix((result("faithful", timing_ns=(0, 0)),))))
    check_page(*page(Matrix(())))


def test_a_big_matrix_is_a_page_that_can_be_sent() -> None:
    axes = itertools.product(range(20), range(25))
    found = [result("faithful", cell(bundle=f"{b}.kcap.tar", image=f"runtime:{i}")) for b, i in axes]
    raw, parsed = page(Matrix(tuple(found)))
    check_page(raw, parsed)
    assert len(raw) < 2 << 20


@pytest.mark.parametrize("text", HOSTILE)
def test_the_table_of_hostile_names(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_matrix(hostile(text))
    said = capsys.readouterr().out
    assert all(char.isprintable() or char == "\n" for char in said)
    assert not any(line.startswith("hint: rm") for line in said.splitlines())


def test_reports_go_where_they_can(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "none" / "a.xml", tmp_path / "folder"):
        with pytest.raises(UsageError) as caught:
            Reports(junit=path).check()
        assert caught.value.code == "usage.path"
    same = tmp_path / "a"
    with pytest.raises(UsageError):
        Reports(junit=same, html=same).check()
    reports = Reports(tmp_path / "a.xml", tmp_path / "a.sarif", tmp_path / "a.html")
    for _ in range(2):  # replaced the second time
        reports.check()
        reports.write(everything())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.sarif", "a.xml", "folder"]
