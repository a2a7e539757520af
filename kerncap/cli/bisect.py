"""`kerncap bisect`: the first image of a list in which a bundle's verdict is another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kerncap.cli import completion, options
from kerncap.cli import matrix_options as shared
from kerncap.cli.output import note, print_json, say, set_verbosity
from kerncap.errors import counted, typed

if TYPE_CHECKING:
    from kerncap.workflows.matrix import Bisection, Step


def bisect(
    bundle: options.AnyBundle,
    good: Annotated[
        str,
        typer.Option(
            "--good", metavar="IMAGE", help="An image with the one verdict.", autocompletion=completion.runtime_images
        ),
    ],
    bad: Annotated[
        str,
        typer.Option(
            "--bad", metavar="IMAGE", help="An image with another verdict.", autocompletion=completion.runtime_images
        ),
    ],
    image_list: Annotated[
        list[str] | None,
        typer.Option(
            "--image-list",
            metavar="A,B,C",
            help="Images in order; default: the runtime images that are here, by the version of their runtime.",
            autocompletion=completion.runtime_images,
        ),
    ] = None,
    device: options.DeviceOption = "auto",
    state: shared.StateOption = None,
    resume: shared.ResumeOption = False,
    recompile: shared.RecompileOption = False,
    atol: options.AtolOption = 0.0,
    rtol: options.RtolOption = 0.0,
    ulp: options.UlpOption = 0,
    iterations: options.IterationsOption = 2,
    timeout: shared.TimeoutOption = 900.0,
    memory: options.MemoryOption = None,
    plain_http: options.PlainHttpOption = False,
    key: options.PolicyOption = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Find the first image between --good and --bad in which the verdict is another one than in --good.

    By binary search, the two ends first. An image in which nothing comes out is skipped; when that leaves several
    that may be the first, all are named and the exit code is 1.
    """
    from kerncap.matrix.state import open_state
    from kerncap.workflows import matrix as workflow

    set_verbosity(verbose)
    judging = shared.judging_of(recompile, atol, rtol, ulp, iterations, timeout, memory)
    images = shared.split_names(image_list, "--image-list") or tuple(workflow.runtime_images())
    ordered = workflow.image_range(images, good, bad)
    request = shared.request_of((bundle,), ordered, (device,), judging, key, plain_http=plain_http)
    with open_state(state, resume=resume) as kept:
        plan = workflow.make_plan(request)
        note(f"{counted(len(ordered), 'image')}: {', '.join(ordered)}")
        try:
            with workflow.ContainerRunner(plan) as runner:
                found = workflow.bisect(plan.cells, workflow.judge_with(runner, kept), _say_step)
        except KeyboardInterrupt:
            if state is not None:
                note(f"what is finished is kept; go on with --resume {typed('--state', state)}")
            raise
    if as_json:
        print_json(found.to_json())
    else:
        _print(found)
    return found.exit_code


def _say_step(step: Step) -> None:
    left = f", {step.left} left" if step.left else ""
    kept = " (kept)" if step.result.kept else ""
    note(f"{step.mark:4}  {step.result.cell.image}: {step.result.outcome}{kept}{left}")


def _print(found: Bisection) -> None:
    first, before = found.first_bad, found.last_good
    if found.conclusive:
        say(f"first: {first.cell.image}: {first.outcome}")
    else:
        say("the first is one of:")
        for result in (*found.skipped, first):
            say(f"  {result.cell.image}: {result.outcome}")
    say(f"before: {before.cell.image}: {before.outcome}")
    for name, result in (("before", before), ("first" if found.conclusive else "last", first)):
        versions = f" ({result.cell.runtime})" if result.cell.runtime else ""
        say(f"{name}: {result.cell.image}{versions} {result.cell.image_id or ''}".rstrip())
        if result.cell.line is not None:
            say(f"$ {result.cell.line}")


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "bisect",
        bisect,
        summary="Find the image in which a verdict changed.",
        example="kerncap bisect oci:bundle --good kerncap/runtime:rocm-6.4 --bad kerncap/runtime:rocm-7.0\n"
        "kerncap bisect oci:bundle --good old --bad new --image-list old,a,b,c,new --state bisect.json --resume",
    )
