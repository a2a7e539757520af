"""Compiles a bundle's source and judges what came out.

In: a bundle, how to replay, where to compile. Out: Verdict. Called by `kerncap validate --config`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kerncap.results import Verdict
from kerncap.scratch import Scratch
from kerncap.workflows.recompile import Sandbox, recompile_source
from kerncap.workflows.replay import Options, judge


def judge_source(path: str, options: Options, sandbox: Sandbox, *, trust: bool) -> Verdict:
    """Raises: CompileError; as judge() and recompile_source()."""
    with Scratch("kerncap-recompiled-") as scratch:
        made = recompile_source(path, Path(scratch, "variant.hsaco"), trust=trust, sandbox=sandbox)
        verdict = judge(path, replace(options, hsaco=made.output))
    if made.difference is None:
        return verdict
    return replace(verdict, reasons=(*verdict.reasons, made.difference))
