"""`kerncap validate`: judge a code object, with tolerances for float data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import print_json, set_verbosity
from kerncap.cli.verdict_text import print_verdict
from kerncap.errors import UsageError
from kerncap.verdict.plan import Tolerance
from kerncap.workflows.replay import Options, judge


def validate(
    bundle: Annotated[str, typer.Argument(help="Reproducer directory, oci:DIR[:tag] or FILE.kcap.tar.")],
    hsaco: Annotated[Path | None, typer.Option("--hsaco", help="The variant's code object; default: captured.")] = None,
    atol: Annotated[float, typer.Option("--atol", help="Absolute tolerance for float data.")] = 0.0,
    rtol: Annotated[float, typer.Option("--rtol", help="Relative tolerance for float data.")] = 0.0,
    iterations: Annotated[int, typer.Option("--iterations", help="Dispatches, each from the same state.")] = 2,
    device: Annotated[str, typer.Option("--device", help="auto, gpu[:N] or vgpu:TARGET[,bar=large].")] = "auto",
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that one dispatch may take.")] = 60.0,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Judge a code object from the captured state, with poisoned outputs and with perturbed inputs."""
    set_verbosity(verbose)
    for name, value in (("--atol", atol), ("--rtol", rtol)):
        if not math.isfinite(value) or value < 0:
            raise UsageError(f"{name} is {value}, expected 0 or more", code="usage.tolerance", hint=f"{name} 1e-5")
    chosen = Options(
        device=device, hsaco=hsaco, iterations=iterations, tolerance=Tolerance(atol, rtol), timeout_s=timeout
    )
    verdict = judge(bundle, chosen)
    if as_json:
        print_json(verdict.to_json())
    else:
        print_verdict(verdict)
    return 0 if verdict.passed else 1


def register(app: typer.Typer) -> None:
    options.add_command(
        app, "validate", validate, example="kerncap validate vector_add.kcap --hsaco variant.hsaco --rtol 1e-5"
    )
