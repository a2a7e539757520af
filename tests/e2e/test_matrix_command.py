"""`kerncap matrix` and `kerncap bisect` with the runtime images of both suites and the golden bundles."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from registry_server import running_registry

from kerncap.bundle.documents import validate

NAMESPACE = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
KERNCAP = [sys.executable, "-m", "kerncap"]
GOLDEN = Path(__file__).resolve().parents[2] / "bundle_spec" / "golden"
TRIXIE, SID = (f"{NAMESPACE}/runtime:{suite}" for suite in ("trixie", "sid"))
PLAIN = GOLDEN / "plain-gfx90a.kcap.tar"
NO_IMAGE = "no-such/image:at-all"

_DERIVED = """
FROM {base}
USER root
RUN cd $(python3 -I -c 'import kerncap; print(kerncap.__path__[0])') && {change}
USER 10001:10001
LABEL dev.kerncap.test="{name}"
"""
_SLEEPS = "echo 'import time; time.sleep(600)' > __main__.py"
_DIES = "echo 'import os; os.abort()' > __main__.py"
# A runtime in which replays come out otherwise: what is judged is real, the word is not.
_DIFFERS = (
    """sed -i 's/"verdict": self.verdict,/"verdict": "differs",/; s/"passed": self.passed/"passed": False/' """
    "results/verdict.py"
)


@pytest.fixture(scope="module")
def derived() -> Iterator[Any]:
    """Makes images of this run's own, with something changed in their kerncap; all are removed at the end."""
    made: list[str] = []

    def make(change: str) -> str:
        name = f"{NAMESPACE}/test-matrix:{uuid.uuid4().hex[:12]}"
        dockerfile = _DERIVED.format(base=TRIXIE, change=change, name=name)
        argv = ["docker", "build", "--network", "none", "--tag", name, "-"]
        environment = os.environ | {"DOCKER_BUILDKIT": "0"}
        subprocess.run(argv, input=dockerfile, text=True, check=True, capture_output=True, env=environment)
        made.append(name)
        return name

    yield make
    for name in made:
        subprocess.run(["docker", "rmi", "--force", name], capture_output=True)


def containers_of(image: str) -> set[str]:
    argv = ["docker", "ps", "--all", "--quiet", "--filter", "label=dev.kerncap.run", "--filter", f"ancestor={image}"]
    return set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())


def kerncap(*words: str | Path, cwd: Path, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
    argv = [*KERNCAP, *map(str, words)]
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=timeout_s)


def matrix(*words: str | Path, cwd: Path, exit_code: int) -> dict[str, Any]:
    done = kerncap("matrix", *words, "--json", cwd=cwd)
    assert done.returncode == exit_code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    validate(document, "printed", what="matrix")
    assert document["exit_code"] == exit_code
    return document


def outcomes(document: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(Path(c["bundle"]).name, c["image"], c["device"], c["outcome"]) for c in document["cells"]]


def wait_until(condition: Any, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_bundles_images_devices_and_every_report(tmp_path: Path) -> None:
    golden = [PLAIN, GOLDEN / "lds-gfx1100.kcap.tar"]
    broken = tmp_path / "broken.kcap.tar"
    broken.write_bytes(PLAIN.read_bytes()[:9000])
    words: list[str | Path] = [
        *golden,
        broken,
        "--image",
        f"{TRIXIE},{SID}",
        "--image",
        NO_IMAGE,
        "--device",
        "auto,vgpu:gfx90a",
    ]
    reports = ["--junit", "m.xml", "--sarif", "m.sarif", "--html", "m.html"]
    document = matrix(*words, *reports, "--state", "m.json", cwd=tmp_path, exit_code=4)
    found = {(bundle, image, device): word for bundle, image, device, word in outcomes(document)}
    assert len(found) == 18
    for image in (TRIXIE, SID):
        assert found[PLAIN.name, image, "auto"] == found[PLAIN.name, image, "vgpu:gfx90a"] == "faithful"
        assert found["lds-gfx1100.kcap.tar", image, "auto"] == "faithful"
        assert found["lds-gfx1100.kcap.tar", image, "vgpu:gfx90a"] == "host.wrong-gpu"
    assert found[PLAIN.name, NO_IMAGE, "auto"] == "host.no-image"
    assert all(word.startswith("bundle.") for (bundle, _, _), word in found.items() if bundle == broken.name)
    images = {image["name"]: image for image in document["images"]}
    assert images[TRIXIE]["id"].startswith("sha256:")
    assert images[TRIXIE]["id"] != images[SID]["id"]
    assert "6.1.2" in images[TRIXIE]["runtime"]
    assert "6.4.3" in images[SID]["runtime"]
    assert {path.name for path in tmp_path.iterdir()} == {"broken.kcap.tar", "m.html", "m.json", "m.sarif", "m.xml"}
    again = matrix(*words, "--state", "m.json", "--resume", cwd=tmp_path, exit_code=4)
    assert again["summary"]["kept"] == 6
    assert outcomes(again) == outcomes(document)
    said = kerncap("matrix", *words, "--state", "m.json", "--resume", cwd=tmp_path)
    assert said.returncode == 4
    assert said.stdout.splitlines()[-1] == "18 cells: 6 good, 0 bad, 12 without a verdict"


def test_recompile_compiles_in_each_image_and_finds_what_differs(tmp_path: Path) -> None:
    kerncap("unpack", GOLDEN / "source-gfx942.kcap.tar", tmp_path / "edited.kcap", cwd=tmp_path)
    [header] = (tmp_path / "edited.kcap" / "src").rglob("scale_bias.hpp")
    text = header.read_text()
    assert " * SCALE_BIAS_FACTOR " in text
    header.write_text(text.replace(" * SCALE_BIAS_FACTOR ", " * 3.0f "))
    packed = kerncap("pack", "edited.kcap", "-o", "edited.kcap.tar", cwd=tmp_path)
    assert packed.returncode == 0, packed.stderr
    words: list[str | Path] = [
        GOLDEN / "source-gfx942.kcap.tar",
        "edited.kcap.tar",
        "--recompile",
        "--device",
        "vgpu:gfx942",
    ]
    document = matrix(*words, "--image", TRIXIE, "--sarif", "m.sarif", cwd=tmp_path, exit_code=1)
    assert [word for *_, word in outcomes(document)] == ["equivalent", "differs"]
    [found] = json.loads((tmp_path / "m.sarif").read_text())["runs"][0]["results"]
    place = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert (found["ruleId"], place) == ("differs", "file:///src/examples/scale_bias/main.cpp")
    expected = matrix(*words[1:], "--image", TRIXIE, "--expect", "differs", cwd=tmp_path, exit_code=0)
    assert expected["summary"]["good"] == 1


def test_cells_run_elsewhere_give_the_same(tmp_path: Path) -> None:
    """Each line as it stands, in a shell; one of them never ran, one was torn, one is another cell's."""
    results = tmp_path / "results"
    results.mkdir()
    words: list[str | Path] = [PLAIN, GOLDEN / "lds-gfx1100.kcap.tar", "--image", f"{TRIXIE},{NO_IMAGE}"]
    here = kerncap("matrix", *words, "--cells", results / "cells.jsonl", cwd=tmp_path)
    assert here.returncode == 0, here.stderr
    printed = kerncap("matrix", *words, "--print-cells", cwd=tmp_path).stdout
    assert printed == (results / "cells.jsonl").read_text()
    cells = [json.loads(line) for line in printed.splitlines()]
    for cell in cells:
        validate(cell, "printed", what="cell")
    first, unknown, last, missing = cells
    for cell in (first, last):
        done = subprocess.run(cell["line"], shell=True, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr
        (results / cell["result"]).write_bytes(done.stdout)
    (results / unknown["result"]).write_bytes((results / first["result"]).read_bytes()[:200])
    document = matrix("--collect", results, "--junit", "m.xml", "--html", "m.html", cwd=tmp_path, exit_code=6)
    assert [word for *_, word in outcomes(document)] == ["faithful", "replay.bad-result", "faithful", "host.no-result"]
    shutil.copy(results / last["result"], results / missing["result"])
    shutil.copy(results / last["result"], results / first["result"])
    document = matrix("--collect", results, cwd=tmp_path, exit_code=6)
    assert [word for *_, word in outcomes(document)] == [
        "replay.bad-result",
        "replay.bad-result",
        "faithful",
        "faithful",
    ]


def test_a_gpu_that_is_not_here_has_a_line_for_elsewhere(tmp_path: Path) -> None:
    printed = kerncap("matrix", PLAIN, "--image", TRIXIE, "--device", "gpu:1", "--print-cells", cwd=tmp_path)
    assert printed.returncode == 0, printed.stderr
    [cell] = [json.loads(line) for line in printed.stdout.splitlines()]
    if not os.path.exists("/dev/kfd"):
        assert "--device /dev/kfd --device /dev/dri" in cell["line"]
        assert cell["line"].endswith("--device gpu:1 --json")
        run_here = matrix(PLAIN, "--image", TRIXIE, "--device", "gpu:1", cwd=tmp_path, exit_code=3)
        assert [word for *_, word in outcomes(run_here)] == ["host.no-gpu"]


def test_bundles_of_a_registry(tmp_path: Path) -> None:
    """Pinned to their digest, fetched once, signed or not; the line of a cell pulls by itself."""
    signing_key, key = _key(tmp_path, "key")
    _, other = _key(tmp_path, "other")
    with running_registry(tmp_path / "registry") as host:
        signed, unsigned = f"{host}/bugs/signed:1", f"{host}/bugs/unsigned:1"
        for reference, bundle in ((signed, PLAIN), (unsigned, GOLDEN / "variable-gfx942.kcap.tar")):
            assert kerncap("push", bundle, reference, cwd=tmp_path).returncode == 0
        assert kerncap("sign", signed, "--key", signing_key, cwd=tmp_path).returncode == 0
        words: list[str | Path] = [signed, unsigned, f"{host}/bugs/none:1", "--image", f"{TRIXIE},{SID}"]
        document = matrix(*words, "--key", key, "--key", other, cwd=tmp_path, exit_code=4)
        by_bundle = [word for *_, word in outcomes(document)]
        assert by_bundle[:4] == ["faithful", "faithful", "trust.unsigned", "trust.unsigned"]
        assert all(word.startswith(("transport.", "trust.")) for word in by_bundle[4:])
        cell = document["cells"][0]
        assert f"{host}/bugs/signed:1@{cell['digest']}" in cell["line"]
        typed = subprocess.run(cell["line"], shell=True, capture_output=True, timeout=300)
        assert json.loads(typed.stdout)["bundle"] == cell["digest"], typed.stderr
        assert json.loads(typed.stdout)["verdict"] == "faithful"


def _key(folder: Path, name: str) -> tuple[Path, Path]:
    """Paths of the private and the public one."""
    done = kerncap("sign", "--keygen", folder / name, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    return Path(made["private"]), Path(made["public"])


def test_a_container_that_hangs_or_dies_is_its_own_cell_s_error(tmp_path: Path, derived: Any) -> None:
    sleeps, dies = derived(_SLEEPS), derived(_DIES)
    words: list[str | Path] = [PLAIN, "--image", f"{sleeps},{dies},{TRIXIE}", "--timeout", "20"]
    document = matrix(*words, cwd=tmp_path, exit_code=6)
    assert [word for *_, word in outcomes(document)] == ["replay.timeout", "host.container", "faithful"]
    assert all(cell["line"].startswith("docker run --rm ") for cell in document["cells"])
    assert containers_of(sleeps) == containers_of(dies) == set()


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)])
def test_an_interrupt_leaves_no_container_and_what_is_finished(
    tmp_path: Path, derived: Any, number: signal.Signals
) -> None:
    sleeps = derived(_SLEEPS)
    words: list[str | Path] = [
        "matrix",
        PLAIN,
        GOLDEN / "lds-gfx1100.kcap.tar",
        "--image",
        f"{TRIXIE},{sleeps}",
        "--jobs",
        "2",
    ]
    process = _start(words, tmp_path)
    try:
        assert wait_until(lambda: _kept(tmp_path / "m.json") and len(containers_of(sleeps)) == 1, 120)
        assert wait_until(lambda: len(_kept(tmp_path / "m.json")) == 2, 120)
        process.send_signal(number)
        said = process.communicate(timeout=60)[1].decode()
        assert process.returncode == 128 + number, said
        assert "--resume --state m.json" in said
        assert containers_of(sleeps) == set()
        assert {path.name for path in tmp_path.iterdir()} == {"m.json"}
    finally:
        process.kill()
        process.wait()


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, derived: Any) -> None:
    """SIGKILL in the middle of a cell; what was finished is not run again, and the answer is that of a whole run."""
    sleeps = derived(_SLEEPS)
    golden = [PLAIN, GOLDEN / "lds-gfx1100.kcap.tar"]
    words: list[str | Path] = ["matrix", *golden, "--image", f"{TRIXIE},{sleeps}", "--jobs", "1", "--timeout", "20"]
    process = _start(words, tmp_path)
    try:
        assert wait_until(lambda: _kept(tmp_path / "m.json") == [TRIXIE] and bool(containers_of(sleeps)), 120)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    finally:
        process.kill()
        process.wait()
    assert _kept(tmp_path / "m.json") == [TRIXIE]
    subprocess.run(["docker", "rm", "--force", *containers_of(sleeps)], capture_output=True)
    document = matrix(*words[1:], "--state", "m.json", "--resume", cwd=tmp_path, exit_code=6)
    assert [word for *_, word in outcomes(document)] == ["faithful", "replay.timeout"] * 2
    assert [cell["kept"] for cell in document["cells"]] == [True, False, False, False]
    assert {path.name for path in tmp_path.iterdir()} == {"m.json"}


def _start(words: Sequence[str | Path], cwd: Path) -> subprocess.Popen[bytes]:
    argv = [*KERNCAP, *map(str, words), "--state", "m.json"]
    return subprocess.Popen(argv, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _kept(state: Path) -> list[str]:
    """Images of the cells that are in the state file, which is whole at any moment."""
    return [cell["image"] for cell in json.loads(state.read_text())["cells"]] if state.exists() else []


def test_bisect_finds_the_image_and_prints_both_lines(tmp_path: Path, derived: Any) -> None:
    good, bad = derived("true"), derived(_DIFFERS)
    dies, worse = derived(_DIES), derived(f"{_DIFFERS} && true")
    images = ",".join((TRIXIE, SID, dies, good, bad, worse))
    words: list[str | Path] = [
        "bisect",
        PLAIN,
        "--good",
        TRIXIE,
        "--bad",
        worse,
        "--image-list",
        images,
        "--state",
        "b.json",
    ]
    done = kerncap(*words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    validate(document, "printed", what="bisect")
    assert (document["last_good"]["image"], document["first_bad"]["image"]) == (good, bad)
    assert [step["mark"] for step in document["steps"][:2]] == ["good", "bad"]
    again = kerncap(*words, "--resume", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    lines = [line[2:] for line in again.stdout.splitlines() if line.startswith("$ ")]
    assert again.stdout.startswith(f"first: {bad}: differs\nbefore: {good}: faithful\n")
    words_of = [json.loads(subprocess.run(line, shell=True, capture_output=True).stdout)["verdict"] for line in lines]
    assert words_of == ["faithful", "differs"]
    assert "(kept)" in again.stderr
    unclear = kerncap("bisect", PLAIN, "--good", TRIXIE, "--bad", bad, "--image-list", dies, cwd=tmp_path)
    assert unclear.returncode == 1, unclear.stderr
    assert unclear.stdout.startswith(f"the first is one of:\n  {dies}: host.container\n  {bad}: differs\n")


def test_bisect_of_the_catalogue_and_of_ends_that_do_not_differ(tmp_path: Path) -> None:
    done = kerncap("bisect", PLAIN, "--good", TRIXIE, "--bad", SID, "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["code"]) == (2, "usage.bisect"), done.stderr
    assert f"2 images: {TRIXIE}, {SID}" in done.stderr
    done = kerncap("bisect", PLAIN, "--good", TRIXIE, "--bad", NO_IMAGE, "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["code"]) == (3, "host.no-image"), done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["matrix"], "usage.no-bundle"),
        (["matrix", str(PLAIN), "--resume"], "usage.option-alone"),
        (["matrix", str(PLAIN), "--image", "a,,b"], "usage.empty"),
        (["matrix", str(PLAIN), "--jobs", "0"], "usage.number"),
        (["matrix", str(PLAIN), "--timeout", "-1"], "usage.number"),
        (["matrix", str(PLAIN), "--junit", "none/a.xml"], "usage.path"),
        (["matrix", str(PLAIN), "--collect", "."], "usage.two-ways"),
        (["matrix", str(PLAIN), "--print-cells", "--state", "a"], "usage.two-ways"),
        (["matrix", "--collect", "."], "usage.cells"),
        (["matrix", str(PLAIN), "--key", "none.pem"], "usage.key"),
        (["bisect", str(PLAIN), "--good", "a", "--bad", "a"], "usage.bisect"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_runs(tmp_path: Path, words: list[str], code: str) -> None:
    done = kerncap(*words, "--json", cwd=tmp_path, timeout_s=60)
    assert (done.returncode, json.loads(done.stdout)["code"]) == (2, code), done.stderr
    assert list(tmp_path.iterdir()) == []
