"""`kerncap validate`: judge a code object, with tolerances for float data."""

from __future__ import annotations

import typer

from kerncap import limits
from kerncap.cli import options
from kerncap.cli.output import set_verbosity


def validate(
    bundle: options.LocalBundle,
    hsaco: options.HsacoOption = None,
    atol: options.AtolOption = 0.0,
    rtol: options.RtolOption = 0.0,
    ulp: options.UlpOption = 0,
    iterations: options.IterationsOption = 2,
    device: options.DeviceOption = "auto",
    timeout: options.DispatchTimeoutOption = 60.0,
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
    limits.check_judging(atol, rtol, ulp, iterations, prefix="--")
    options.check_seconds("--timeout", timeout, "60")
    options.check_of_kernel(kernel, has_variant=hsaco is not None)
    chosen = Options(
        device=device,
        hsaco=hsaco,
        iterations=iterations,
        tolerance=Tolerance(atol, rtol, ulp),
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
