"""A session: one load of a bundle, many verdicts, each the one that `kerncap validate` gives."""

from __future__ import annotations

import json

from test_recompile import project
from workbench import Case, Workbench

from kerncap.bundle.documents import validate

DEVICE = "vgpu:gfx942"
_EVALUATE = """
import json, sys, time
from kerncap import Session
from kerncap.errors import KerncapError
answers = []
with Session(sys.argv[1], device=sys.argv[2], timeout_s=20) as session:
    for variant in sys.argv[3:]:
        started = time.monotonic()
        try:
            verdict = session.evaluate(variant or None)
            answer = [verdict.verdict, verdict.to_json()["judged"], verdict.mismatch_bytes]
        except KerncapError as error:
            answer = [error.code, [], 0]
        answers.append([*answer, time.monotonic() - started])
print(json.dumps(answers))
"""


def test_many_variants_one_load(workbench: Workbench) -> None:
    case, target = Case("vector_add", "vector_add"), "gfx942"
    bundle = workbench.capture(case, target)
    nothing = workbench.variant("vector_add", target, "nothing")
    wrong = workbench.variant("vector_add", target, "wrong-constant")
    missing = workbench.work / "missing.hsaco"
    order = ["", wrong, nothing, missing, "", wrong, ""]
    done = workbench.container.run(["python3", "-c", _EVALUATE, bundle, DEVICE, *order], check=True)
    answers = json.loads(done.stdout)
    alone = {}
    for variant in {str(one) for one in order if one != missing}:
        options = ["--hsaco", variant] if variant else []
        verdict = workbench.verdict("validate", bundle, *options, "--device", DEVICE)
        alone[variant] = [verdict["verdict"], verdict["judged"], verdict["mismatch_bytes"]]
    assert alone[""][0] == "faithful"
    assert alone[str(wrong)][0] == alone[str(nothing)][0] == "differs"
    for variant, answer in zip(order, answers, strict=True):
        expected = ["usage.no-such-file", [], 0] if variant == missing else alone[str(variant)]
        assert answer[:3] == expected, variant


def test_a_variant_that_faults_does_not_end_the_session(workbench: Workbench) -> None:
    case, target = Case("vector_add", "vector_add"), "gfx942"
    bundle = workbench.capture(case, target)
    hsaco, _ = workbench.edited(target, "vector_add", "c[i] = a", "c[i + (1ull << 40)] = a")
    done = workbench.container.run(["python3", "-c", _EVALUATE, bundle, DEVICE, "", hsaco, ""], check=True)
    first, faulting, last = json.loads(done.stdout)
    assert first[0] == last[0] == "faithful"
    assert faulting[0] == "replay.memory-fault"


# $1: reproducer, $2: its header. A save that is right, one that is not C++, one that is right and wrong at once.
_EDITS = r"""
python3 -m kerncap loop "$1" --trust --device vgpu:gfx942 --rounds 4 --json > rounds.out 2> rounds.err &
round() { for i in $(seq 600); do [ "$(wc -l < rounds.out)" -ge "$1" ] && return; sleep 0.2; done; }
cp "$2" saved
round 1; echo "// a remark" >> "$2"
round 2; echo "no C++" >> "$2"
round 3; sed "s/constant(1.0f, 2.0f) \\* bias/3.0f * bias/" saved > "$2"
wait $!
echo $? > rounds.code
"""


def test_a_loop_over_edits(workbench: Workbench) -> None:
    folder, out = project(workbench), workbench.work / "loop.kcap"
    argv = ["extract", "bias_relu", "-o", str(out), "--device", DEVICE, "--source-dir", str(folder)]
    done = workbench.kerncap(*argv, "--dispatch", "3", "--", folder / "app")
    assert done.returncode == 0, done.stderr
    work = workbench.work / "loop"
    work.mkdir()
    header = out / "src" / "root" / str(folder / "include" / "pipeline_kernels.hpp").lstrip("/")
    workbench.container.run(["bash", "-c", _EDITS, "-", out, header], cwd=work, check=True, timeout_s=600)
    said = (work / "rounds.out").read_text().splitlines()
    rounds = [json.loads(line) for line in said]
    for one in rounds:
        validate(one, "printed", what="loop")
    assert [one["verdict"] and one["verdict"]["verdict"] for one in rounds] == [
        "equivalent",
        "equivalent",
        None,
        "differs",
    ]
    assert rounds[0]["code_changes"] == []
    assert rounds[0]["code"]["resources"]["vgprs"] > 0
    assert rounds[2]["error"]["code"] == "compile.failed"
    assert str(header) in rounds[2]["error"]["message"]
    assert [one["changed"] for one in rounds] == [[], *[[str(header)]] * 3]
    assert rounds[0]["speed_ratio"] == 1.0
    assert (work / "rounds.code").read_text().strip() == "1"


_CLIENT = """
import json, socket, sys
import kerncap
from kerncap.errors import KerncapError
path, source, wrong = sys.argv[1:]
with kerncap.connect(path) as session, kerncap.connect(path) as other:
    answers = [session.evaluate().verdict, other.evaluate(wrong).verdict, session.evaluate(source=source).verdict]
    try:
        session.evaluate("serving.out")
    except KerncapError as error:
        answers.append(error.code)
    answers.append(session.code().instructions == other.code(wrong).instructions)
    answers.append(session.code().resources["vgprs"] > 0)
    raw = socket.socket(socket.AF_UNIX)
    raw.connect(path)
    lines = raw.makefile("rwb")
    for line in (b"no JSON", b'{"schema": "kerncap.request/2"}', b'{"schema": "kerncap.request/1", "operation": "x"}',
                 b'{"schema": "kerncap.request/1", "operation": "evaluate", "colour": 1}',
                 b'{"schema": "kerncap.request/1", "operation": "evaluate", "hsaco": "relative"}',
                 b'{"schema": "kerncap.request/1", "operation": "evaluate", "iterations": true}',
                 b'{"schema": "kerncap.request/1", "operation": "evaluate", "hsaco": "/tmp/\\\\u0000x"}',
                 b'{"schema": "kerncap.request/1", "operation": "evaluate", "hsaco": "/tmp/\\\\ud800x"}',
                 b'{"schema": "kerncap.request/1", "operation": "evaluate", "iterations": 0}',
                 b'{"schema": "kerncap.request/1", "operation": "evaluate", "atol": 1' + b"0" * 400 + b"}"):
        lines.write(line + b"\\n")
        lines.flush()
        answers.append(json.loads(lines.readline())["code"])
    session.stop()
try:
    kerncap.connect(path)
except KerncapError as error:
    answers.append(error.code)
print(json.dumps(answers))
"""
# $1: reproducer, $2: a variant.
_SERVED = r"""
python3 -m kerncap serve "$1" --socket s --trust --device vgpu:gfx942 --json > serving.out 2> serving.err &
for i in $(seq 300); do [ -s serving.out ] && break; sleep 0.1; done
stat -c %a s
python3 -m kerncap serve "$1" --socket s --device vgpu:gfx942; echo "$?"
python3 -c "$3" s "$1" "$2"
wait $!; echo "$?"
[ -e s ] || echo gone
python3 -m kerncap serve "$1" --socket s --device vgpu:gfx942 &
for i in $(seq 300); do [ -e s ] && break; sleep 0.1; done
kill -KILL $!; wait $!
python3 -m kerncap serve "$1" --socket s --device vgpu:gfx942 2> again.err &
for i in $(seq 300); do grep -q listening again.err && break; sleep 0.1; done
kill -TERM $!; wait $!; echo "$?"
[ -e s ] || echo gone
"""


def test_a_server_judges_for_other_processes(workbench: Workbench) -> None:
    """Two clients, source and code objects, requests that nobody understands, a server that was killed."""
    folder, out = project(workbench), workbench.work / "served.kcap"
    argv = ["extract", "bias_relu", "-o", str(out), "--device", DEVICE, "--source-dir", str(folder)]
    done = workbench.kerncap(*argv, "--dispatch", "3", "--", folder / "app")
    assert done.returncode == 0, done.stderr
    work = workbench.work / "served"
    work.mkdir()
    wrong = workbench.variant("pipeline", "gfx942", "wrong-constant")
    done = workbench.container.run(["bash", "-c", _SERVED, "-", out, wrong, _CLIENT], cwd=work, timeout_s=600)
    validate(json.loads((work / "serving.out").read_text()), "printed", what="serve")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["600", "3"], (done.stdout, done.stderr)
    answers = json.loads(lines[2])
    assert answers[:4] == ["faithful", "differs", "equivalent", "usage.not-a-code-object"]
    assert answers[4:6] == [False, True]
    assert answers[6:16] == ["usage.request"] * 8 + ["usage.number"] * 2
    assert answers[16] == "host.no-server"
    assert lines[3:] == ["0", "gone", "143", "gone"], done.stderr
    assert "another server listens on s" in done.stderr


def test_the_code_of_a_variant_beside_the_captured(workbench: Workbench) -> None:
    """`kerncap diff`: what an edit changed in the code, line by line, and nothing where nothing changed."""
    target = "gfx942"
    bundle = workbench.capture(Case("pipeline", "histogram", 0), target)
    same = workbench.kerncap("diff", bundle, bundle, "--json")
    assert same.returncode == 0, same.stderr
    document = json.loads(same.stdout)
    validate(document, "printed", what="diff")
    assert (document["same"], document["changes"], document["assembly"]) == (True, [], [])
    nothing = workbench.variant("pipeline", target, "nothing")
    done = workbench.kerncap("diff", bundle, nothing, "--isa", "--json", "--context", "1000000")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    validate(document, "printed", what="diff")
    before, after = document["before"]["instructions"], document["after"]["instructions"]
    header, *lines = document["assembly"]
    assert header == f"@@ -1,{before} +1,{after} @@"
    assert sum(line[0] != "+" for line in lines) == before
    assert sum(line[0] != "-" for line in lines) == after
    assert any(line.startswith("-") and "global_atomic_add" in line for line in lines)
    assert any(change.startswith("vmem ") for change in document["changes"])
    text = workbench.kerncap("diff", bundle, nothing, "--isa").stdout
    assert f"--- {bundle}\n+++ {nothing}\n@@ " in text
    several = workbench.error(2, "diff", nothing, nothing)
    assert "which-kernel" in several["stderr"] or "kernels are in both" in several["stderr"]
    assert workbench.kerncap("diff", nothing, nothing, "--kernel", "histogram").returncode == 0
    workbench.error(2, "diff", nothing, nothing, "--kernel", "no_such_kernel")
    junk = workbench.work / "junk.hsaco"
    junk.write_bytes(b"\x7fELF" + bytes(100))
    workbench.error(2, "diff", bundle, junk)
