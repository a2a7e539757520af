"""`kerncap validate`: judge a code object, with tolerances for float data."""

from __future__ import annotations

from pathlib import Path

import typer

from kerncap import limits
from kerncap.cli import options
from kerncap.cli.output import set_verbosity
from kerncap.errors import UsageError


def validate(
    bundle: options.AnyBundle,
    hsaco: options.HsacoOption = None,
    launch: options.LaunchOption = None,
    config: options.ConfigOption = None,
    programs: options.ProgramsOption = None,
    trust: options.TrustOption = False,
    atol: options.AtolOption = 0.0,
    rtol: options.RtolOption = 0.0,
    ulp: options.UlpOption = 0,
    iterations: options.IterationsOption = 2,
    device: options.DeviceOption = "auto",
    timeout: options.DispatchTimeoutOption = 60.0,
    only: options.OnlyOption = None,
    kernel: options.OfKernelOption = None,
    check: options.CheckOption = None,
    launcher: options.LauncherOption = None,
    key: options.PolicyOption = None,
    plain_http: options.PlainHttpOption = False,
    report: options.ReportOption = None,
    report_source: options.ReportSourceOption = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Judge a code object from the captured state, with poisoned outputs and with perturbed inputs.

    With --config the kernel is compiled for another configuration before, in the sandbox or with --trust here.
    """
    from kerncap.cli.report import Page
    from kerncap.cli.trusted import trusted
    from kerncap.verdict.plan import Tolerance
    from kerncap.workflows.check import parse_checks
    from kerncap.workflows.launcher import parse_launcher
    from kerncap.workflows.recompile import Sandbox, configuration_of
    from kerncap.workflows.recompiled import judge_source
    from kerncap.workflows.replay import Options, judge

    set_verbosity(verbose)
    limits.check_judging(atol, rtol, ulp, iterations, prefix="--")
    options.check_seconds("--timeout", timeout, "60")
    configuration = configuration_of(config, programs, prefix="--")
    _check_variant(hsaco, launch, configuration is not None, trust)
    options.check_of_kernel(kernel, has_variant=hsaco is not None or configuration is not None)
    chosen = Options(
        device=device,
        hsaco=hsaco,
        iterations=iterations,
        tolerance=Tolerance(atol, rtol, ulp),
        timeout_s=timeout,
        check=parse_checks(check),
        only=only,
        kernel=kernel,
        launch=launch,
        plain_http=plain_http,
        launcher=parse_launcher(launcher),
    )
    page = Page(report, bundle, report_source, hsaco, configuration is not None, only, plain_http)
    bundle = trusted(bundle, key, plain_http=plain_http)
    if configuration is None:
        return page.finish(judge(bundle, chosen), as_json=as_json)
    sandbox = Sandbox(say=page.say, configuration=configuration)
    return page.finish(judge_source(bundle, chosen, sandbox, trust=trust), as_json=as_json)


def _check_variant(hsaco: Path | None, launch: str | None, config: bool, trust: bool) -> None:
    """Raises: UsageError `usage.two-variants`, `usage.option-alone`."""
    if hsaco is not None and config:
        raise UsageError("--hsaco excludes --config, which compiles one", code="usage.two-variants")
    if launch is not None and hsaco is None:
        raise UsageError("--launch is of --hsaco", code="usage.option-alone", hint="--hsaco FILE --launch JSON")
    if trust and not config:
        raise UsageError("--trust is of --config, which compiles", code="usage.option-alone", hint="--config 2 --trust")


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "validate",
        validate,
        summary="Judge a code object, with tolerances for float data.",
        example="kerncap validate vector_add.kcap --hsaco variant.hsaco --rtol 1e-5",
    )
