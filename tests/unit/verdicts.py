"""Verdicts with a mismatch map, as big and as hostile as wanted, for the tests of reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kerncap.bundle import Bundle
from kerncap.bundle.dispatch import Tensor
from kerncap.results import (
    CheckResult,
    ElementDifference,
    Finding,
    Judgement,
    Mismatch,
    MismatchMap,
    OutputDifference,
    Ran,
    RanImage,
    Site,
    Verdict,
)
from kerncap.verdict.heat import Heat

HOSTILE = (
    "</style></title></code></pre><script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)>"
    "{{7*7}}{% raw %}]]>--><!-- \u202egnp.exe\u2066\u200b\x1b[31m\x00\r\n\ud800 javascript:alert(1) &lt;b&gt;"
)
"""Ends every context that a page has, turns the direction of text, hides, and moves a terminal's cursor."""


def mismatch_map(bundle: Bundle, elements: int, side: int = 1000) -> MismatchMap:
    """`elements` of a tensor of side x side, and of a line; half of them beyond the tolerance."""
    tensor = Tensor("torch.float32", (side, side), (side, 1), 0)
    numbers = np.random.default_rng(3).permutation(side * side)[:elements]
    numbers.sort()
    beyond = numbers < side * side // 2
    heat = Heat(tuple((region.va, region.size) for region in bundle.index.regions))
    heat.elements((1, 0, 4 * side * side, "f32"), tensor, numbers, beyond)
    heat.elements((0, 0, 20_000, "i8"), None, np.arange(0, 20_000, 3), np.ones(6667, dtype=np.bool_))
    heat.bytes(1, numbers, beyond)
    heat.bytes(0, np.arange(0, 20_000, 3), np.ones(6667, dtype=np.bool_))
    found = heat.result("captured", bundle.capture, complete=False)
    assert found is not None
    shapes = [(side, side) if one.rows > 1 else None for one in found.outputs]
    outputs = tuple(replace(one, shape=shape) for one, shape in zip(found.outputs, shapes, strict=True))
    return replace(found, outputs=outputs, more_regions=2)


def verdict_of(bundle: Bundle, *, foreign: str = "scale", elements: int = 5000, iterations: int = 300) -> Verdict:
    """`differs`, about this bundle; `foreign`: every text in it that a stranger may have chosen."""
    rng = np.random.default_rng(5)
    site = Site(4096, foreign, (1, 2, 3), 4, 5, foreign)
    first = (ElementDifference(12, (0, 3), "1.5", "-2.5"), ElementDifference(16, None, foreign, "nan"))
    return Verdict(
        verdict="differs",
        passed=False,
        bundle=bundle.manifest_digest,
        kernel=f"void {foreign}<float, 128>(float*, int)",
        device="vgpu:gfx942",
        hsaco="sha256:" + "a" * 64,
        changed_bytes=20_000,
        written_bytes=4096,
        bytes_compared=70_000_000,
        judgements=(Judgement("captured", False, False, 85_000, 30, 2), Judgement("perturbed", True, True, 0)),
        not_judged={"poisoned": foreign},
        mismatches=(Mismatch(0, 4096, 8, 2, "0000", "0100", foreign, None),),
        mismatch_bytes=85_000,
        iterations=iterations,
        noise_bytes=0,
        timing_ns=tuple(int(n) for n in rng.normal(52_000, 3000, iterations)),
        duration_s=1.25,
        reasons=("captured: 85000 bytes differ", foreign),
        tolerance={"atol": 1e-5, "rtol": 1e-3, "ulp": 0},
        captured_on="vgpu",
        product=foreign,
        checks=CheckResult(
            ("memory",),
            (Finding("memory", foreign, False, 7, foreign, site, site, "global", 8, 4, None, foreign),),
            (foreign,),
            9,
        ),
        outputs=(
            OutputDifference(
                "captured",
                foreign,
                1,
                0,
                "f32",
                (1000, 1000),
                10**6,
                5000,
                2500,
                3.25,
                None,
                131,
                (0, 2),
                (1, 0),
                first,
            ),
        ),
        mismatch_map=mismatch_map(bundle, elements),
        ran=Ran("2026-12-01T12:00:00Z", {"kerncap": "0.1.0", "os": foreign}, RanImage(foreign, foreign, None)),
    )
