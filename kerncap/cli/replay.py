"""`kerncap replay`: run a captured dispatch again where an HSA runtime is."""

from __future__ import annotations

from typing import Annotated

import typer

from kerncap import limits
from kerncap.cli import options
from kerncap.cli.output import set_verbosity


def replay(
    bundle: options.AnyBundle,
    hsaco: options.HsacoOption = None,
    iterations: options.IterationsOption = 1,
    device: options.DeviceOption = "auto",
    timeout: options.DispatchTimeoutOption = 60.0,
    withhold_variables: Annotated[
        bool, typer.Option("--withhold-variables", help="Leave module variables as the code object has them.")
    ] = False,
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
    """Replay a captured dispatch and compare all memory with what the application computed."""
    from kerncap.cli.report import Page
    from kerncap.cli.trusted import trusted
    from kerncap.workflows.check import parse_checks
    from kerncap.workflows.launcher import parse_launcher
    from kerncap.workflows.replay import Options, judge

    set_verbosity(verbose)
    limits.check_count("--iterations", iterations, 1, limits.MAX_ITERATIONS)
    options.check_seconds("--timeout", timeout, "60")
    options.check_of_kernel(kernel, has_variant=hsaco is not None)
    chosen = Options(
        device=device,
        hsaco=hsaco,
        iterations=iterations,
        timeout_s=timeout,
        withhold_variables=withhold_variables,
        check=parse_checks(check),
        only=only,
        kernel=kernel,
        plain_http=plain_http,
        launcher=parse_launcher(launcher),
    )
    page = Page(report, bundle, report_source, hsaco, only=only, plain_http=plain_http)
    return page.finish(judge(trusted(bundle, key, plain_http=plain_http), chosen), as_json=as_json)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "replay",
        replay,
        summary="Replay a captured dispatch where an HSA runtime is.",
        example="kerncap replay vector_add.kcap --iterations 100\nkerncap replay oci:bundle --hsaco variant.hsaco",
    )
