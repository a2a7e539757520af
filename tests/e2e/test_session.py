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
