"""`kerncap validate`: judge a code object, with tolerances for float data."""

from __future__ import annotations

from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import set_verbosity


def validate(
    bundle: options.LocalBundle,
    hsaco: options.HsacoOption = None,
    atol: Annotated[float, typer.Option("--atol", help="Absolute tolerance for float data.")] = 0.0,
    rtol: Annotated[float, typer.Option("--rtol", help="Relative tolerance for float data.")] = 0.0,
    iterations: Annotated[int, typer.Option("--iterations", help="Dispatches, each from the same state.")] = 2,
    device: options.DeviceOption = "auto",
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that one dispatch may take.")] = 60.0,
    only: options.OnlyOption = None,
    kernel: options.OfKernelOption = None,
    check: options.CheckOption = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Judge a code object from the captured state, with poisoned outputs and with perturbed inputs."""
    from kerncap.cli.verdict_text import report_verdict
    from kerncap.verdict.plan import Tolerance
    from kerncap.workflows.check import parse_checks
    from kerncap.workflows.replay import Options, judge

    set_verbosity(verbose)
    for name, value in (("--atol", atol), ("--rtol", rtol)):
        options.not_negative(name, value, "1e-5")
    options.check_count("--iterations", iterations, 1, options.MAX_ITERATIONS)
    options.check_seconds("--timeout", timeout, "60")
    options.check_of_kernel(kernel, has_variant=hsaco is not None)
    chosen = Options(
        device=device,
        hsaco=hsaco,
        iterations=iterations,
        tolerance=Tolerance(atol, rtol),
        timeout_s=timeout,
        check=parse_checks(check),
        only=only,
        kernel=kernel,
    )
    return report_verdict(judge(bundle, chosen), as_json=as_json)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "validate",
        validate,
        summary="Judge a code object, with tolerances for float data.",
        example="kerncap validate vector_add.kcap --hsaco variant.hsaco --rtol 1e-5",
    )
