"""`kerncap run`: replay a bundle in a container, without network, and print the verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap import limits
from kerncap.cli import options
from kerncap.cli.output import note, set_verbosity
from kerncap.errors import UsageError

if TYPE_CHECKING:
    from kerncap.workflows.run_options import RunOptions


def register(app: typer.Typer) -> None:
    example = "kerncap run localhost:5000/bugs/vector_add:1 --device vgpu:gfx942\nkerncap run oci:bundle --recompile\n"
    example += "kerncap run ghcr.io/me/bugs/scale:1 --recompile --print kubernetes --device gpu | kubectl create -f -"
    options.add_command(app, "run", run, summary="Replay a bundle in a container, without network.", example=example)


def run(
    bundle: options.AnyBundle,
    image: Annotated[
        str | None,
        typer.Option("--image", help="Runtime image; default: the one that fits the capture (kerncap image list)."),
    ] = None,
    device: options.DeviceOption = "auto",
    gpu_access: options.GpuAccessOption = "auto",
    print_as: options.PrintOption = None,
    hsaco: options.HsacoOption = None,
    recompile: Annotated[
        bool, typer.Option("--recompile", help="Judge the bundle's own source, compiled in another container before.")
    ] = False,
    config: options.ConfigOption = None,
    programs: options.ProgramsOption = None,
    atol: options.AtolOption = 0.0,
    rtol: options.RtolOption = 0.0,
    ulp: options.UlpOption = 0,
    iterations: options.IterationsOption = 2,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that each container may take.")] = 900.0,
    memory: options.MemoryOption = None,
    plain_http: options.PlainHttpOption = False,
    only: options.OnlyOption = None,
    kernel: options.OfKernelOption = None,
    check: options.CheckOption = None,
    launcher: options.LauncherOption = None,
    key: options.PolicyOption = None,
    attest: Annotated[
        bool, typer.Option("--attest", help="Attach the verdict to the bundle, with the digest of the runtime image.")
    ] = False,
    attest_key: Annotated[
        Path | None, typer.Option("--attest-key", metavar="PRIVATE.pem", help="With --attest: sign it with this key.")
    ] = None,
    report: options.ReportOption = None,
    report_source: options.ReportSourceOption = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Replay a bundle in a container, without network, and print the verdict.

    The equivalent `docker run` lines are printed on stderr. With --print nothing is run: stdout gets a line, or a
    manifest, that does it elsewhere.
    """
    from kerncap.cli.report import Page
    from kerncap.cli.trusted import trusted
    from kerncap.workflows import run as workflow
    from kerncap.workflows.check import parse_checks
    from kerncap.workflows.recompile import configuration_of
    from kerncap.workflows.run_options import RunOptions

    set_verbosity(verbose)
    configuration = configuration_of(config, programs, prefix="--")
    recompile = recompile or configuration is not None
    if hsaco is not None and recompile:
        raise UsageError("--hsaco excludes --recompile and --config", code="usage.two-variants")
    limits.check_judging(atol, rtol, ulp, iterations, prefix="--")
    options.check_seconds("--timeout", timeout, "900")
    options.check_of_kernel(kernel, has_variant=recompile or hsaco is not None)
    options.check_memory(memory)
    options.check_image(image)
    page = Page(report, bundle, report_source, hsaco, recompile, only, plain_http)
    chosen = RunOptions(
        image=image,
        device=device,
        hsaco=hsaco,
        recompile=recompile,
        configuration=configuration,
        atol=atol,
        rtol=rtol,
        ulp=ulp,
        iterations=iterations,
        check=parse_checks(check),
        only=only,
        kernel=kernel,
        timeout_s=timeout,
        plain_http=plain_http,
        memory_bytes=memory,
        say=page.say,
        remark=note,
        launcher=launcher,
        access=gpu_access,
        on_stderr=_pass_on if verbose or launcher is not None else None,
    )
    if attest_key is not None and not attest:
        raise UsageError("--attest-key is of --attest", code="usage.option-alone", hint="--attest --attest-key KEY")
    if print_as is not None and (attest or report is not None):
        text = "--print runs nothing, so that there is no verdict to --attest or --report"
        raise UsageError(text, code="usage.two-purposes", hint="kerncap run BUNDLE  # without --print")
    bundle = trusted(bundle, key, plain_http=plain_http)
    if print_as is not None:
        return _print(bundle, print_as, chosen, as_json=as_json)
    if not attest:
        return page.finish(workflow.run(bundle, chosen), as_json=as_json)
    from kerncap.cli.attest import judge_and_attest

    return judge_and_attest(bundle, chosen, attest_key, page, as_json=as_json)


def _print(bundle: str, form: str, chosen: RunOptions, *, as_json: bool) -> int:
    """The text on stdout, remarks on stderr."""
    from kerncap.workflows.print_launch import launch_text

    sys.stdout.write(launch_text(bundle, form, chosen, as_json=as_json, remark=note))
    return 0


def _pass_on(piece: bytes) -> None:
    """What the container says, escaped."""
    for line in piece.decode("utf-8", "replace").splitlines():
        note(f"| {line}")
    sys.stderr.flush()
