"""Reports in Chromium, as they are opened from a bug report: on a phone and on a desk, light and dark, and printed.

The pictures stay in pytest's temporary folder, to be looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from synthetic import make_reproducer
from verdicts import HOSTILE, verdict_of

from kerncap.bundle import open_bundle
from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.seal import seal
from kerncap.bundle.unpack import unpack
from kerncap.runtime import catalog
from kerncap.workflows.report import Request, write_report

_HERE = Path(__file__).parent
_SCREENS = {"phone": (360, 740), "desk": (1280, 900)}
_LIGHT, _DARK = ["rgb(27, 31, 36)", "rgb(255, 255, 255)"], ["rgb(230, 237, 243)", "rgb(13, 17, 23)"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of a verdict that differs, of a good one, of one without its bundle, of a hostile one, of a big one."""
    work = tmp_path_factory.mktemp("report")
    captured = make_reproducer(work / "captured", big_bytes=8 << 20)
    seal(ReproducerLocation(captured), LayoutLocation(work / "sealed"))
    place = f"oci:{work / 'sealed'}"
    bundle = open_bundle(place)
    edited = work / "edited"
    unpack(bundle, edited)
    main = edited / "src" / "root" / "app" / "scale.hip"
    main.write_text(main.read_text() + "\t// " + "long " * 60 + "\n" + HOSTILE.replace("\ud800", "") + "\n", "utf-8")
    differs = verdict_of(bundle)
    good = replace(differs, verdict="faithful", passed=True, outputs=(), mismatches=(), mismatch_map=None, checks=None)
    lines = ("docker run --rm --network none " + "--mount type=bind,source=/a/very/long/path " * 9 + "image bundle",)
    write_report(differs, Request(work / "differs.html", place, source=str(edited), lines=lines))
    write_report(good, Request(work / "good.html", place, recompiled=True))
    write_report(differs, Request(work / "bare.html", None))
    write_report(verdict_of(bundle, foreign=HOSTILE), Request(work / "hostile.html", place, lines=(HOSTILE,)))
    big = verdict_of(bundle, foreign="unbroken_" * 1000, elements=1_000_000, iterations=100_000)
    write_report(big, Request(work / "big.html", place))
    return work


def browse(folder: Path, pages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without network, in a browser with a profile of its own."""
    command = ["docker", "run", "--rm", "--interactive", "--network", "none", "--shm-size", "512m"]
    command += ["--user", f"{os.getuid()}:{os.getgid()}", "--env", "HOME=/tmp", "--label", "dev.kerncap.test=1"]
    command += ["--volume", f"{_HERE}:{_HERE}:ro", "--volume", f"{folder}:{folder}"]
    command += [catalog.image_name("apps", "browser"), "timeout", "600", "python3", "-B", str(_HERE / "browse.py")]
    done = subprocess.run(command, input=json.dumps(pages), capture_output=True, text=True, timeout=700)
    assert done.returncode == 0, done.stderr[-4000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def seen(folder: Path) -> dict[tuple[str, str, bool], dict[str, Any]]:
    """What the browser says of each page by its name, the screen and whether the scheme is dark."""
    keys = [
        (page.stem, screen, dark)
        for page in sorted(folder.glob("*.html"))
        for screen in _SCREENS
        for dark in (False, True)
    ]
    pages = [
        {
            "url": f"file://{folder / name}.html",
            "width": _SCREENS[screen][0],
            "height": _SCREENS[screen][1],
            "dark": dark,
            "shot": str(folder / f"{name}-{screen}{'-dark' if dark else ''}.png"),
        }
        for name, screen, dark in keys
    ]
    return dict(zip(keys, browse(folder, pages), strict=True))


PAGES = ("bare", "big", "differs", "good", "hostile")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("screen", _SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_in_a_browser(seen: dict[Any, Any], folder: Path, name: str, screen: str, dark: bool) -> None:
    found = seen[(name, screen, dark)]
    width = _SCREENS[screen][0]
    assert (found["inner"], found["scroll"], found["overflowing"]) == (width, width, [])
    assert found["console"] == []
    assert found["requests"] == [f"file://{folder / name}.html"]
    assert (found["scripts"], found["foreign"], found["unnamed"]) == (0, 0, 0)
    assert found["body"] == (_DARK if dark else _LIGHT)
    assert found["headings"][0] == 1
    assert len(found["headings"]) > 5
    picture = folder / f"{name}-{screen}{'-dark' if dark else ''}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.with_suffix(".pdf").read_bytes().startswith(b"%PDF")


def test_the_browser_would_have_seen_it(folder: Path) -> None:
    """A page that is wrong is found to be: it is too wide, loads something, and its console complains."""
    policy = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
    text = (
        '<body><h1>x</h1><img src="http://127.0.0.1:9/x.png"><script>alert(1)</script><div style="width:999px">y</div>'
    )
    (folder / "wrong.htm").write_text(f'<meta name="viewport" content="width=device-width">{policy}{text}')
    page = {"url": f"file://{folder / 'wrong.htm'}", "width": 360, "height": 740, "dark": False}
    (found,) = browse(folder, [{**page, "shot": str(folder / "wrong.png")}])
    assert "Content Security Policy" in " ".join(found["console"])
    assert found["scroll"] == 999 + 8
    assert len(found["overflowing"]) == 1
    assert found["scripts"] == 1
    assert found["foreign"] > 0
