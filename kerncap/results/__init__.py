"""Result types and their JSON: what a native replay reported, and the verdict drawn from it.

In: `kerncap.replay-result/1` and `kerncap.verdict/1` documents. Out: frozen dataclasses. Called by verdict, the
workflows and the commands; docs/interfaces.md describes the documents.
"""

from kerncap.results.findings import CheckResult, Finding, Site, parse_finding
from kerncap.results.mismatch_map import MismatchMap, OutputMap, RegionMap
from kerncap.results.outputs import ElementDifference, OutputDifference
from kerncap.results.ran import Ran, RanImage
from kerncap.results.replay import Mismatch, ReplayResult, RunResult, parse_replay_result
from kerncap.results.verdict import (
    DIFFERS,
    EQUIVALENT,
    FAITHFUL,
    NONDETERMINISTIC,
    VERDICTS,
    WITHIN_TOLERANCE,
    Judgement,
    Verdict,
    parse_verdict,
)

__all__ = [
    "DIFFERS",
    "EQUIVALENT",
    "FAITHFUL",
    "NONDETERMINISTIC",
    "VERDICTS",
    "WITHIN_TOLERANCE",
    "CheckResult",
    "ElementDifference",
    "Finding",
    "Judgement",
    "Mismatch",
    "MismatchMap",
    "OutputDifference",
    "OutputMap",
    "Ran",
    "RanImage",
    "RegionMap",
    "ReplayResult",
    "RunResult",
    "Site",
    "Verdict",
    "parse_finding",
    "parse_replay_result",
    "parse_verdict",
]
