"""`kerncap loop`: compile and judge at each save."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap import limits
from kerncap.cli import options
from kerncap.cli.output import note, print_json_line, say, set_verbosity
from kerncap.errors import UsageError

if TYPE_CHECKING:
    from kerncap.workflows.loop import Round


def loop(
    reproducer: Annotated[Path, typer.Argument(metavar="DIR", help="A reproducer directory (extract, unpack).")],
    hsaco: Annotated[
        Path | None, typer.Option("--hsaco", help="Compile nothing: judge this code object whenever it changes.")
    ] = None,
    atol: options.AtolOption = 0.0,
    rtol: options.RtolOption = 0.0,
    ulp: options.UlpOption = 0,
    iterations: options.IterationsOption = 3,
    device: options.DeviceOption = "auto",
    timeout: options.DispatchTimeoutOption = 60.0,
    trust: options.TrustOption = False,
    rounds: Annotated[
        int | None, typer.Option("--rounds", metavar="N", help="End after so many; exit with the last verdict's code.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document a line for each round.")] = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Watch the source; at each save compile it, judge it and say how fast it is next to the captured code.

    The captured memory stays on the device. Ctrl-C ends it.
    """
    from kerncap.workflows import loop as loops
    from kerncap.workflows.recompile import recompile_source
    from kerncap.workflows.session import Session

    set_verbosity(verbose)
    limits.check_judging(atol, rtol, ulp, iterations, prefix="--")
    options.check_seconds("--timeout", timeout, "60")
    if rounds is not None:
        limits.check_count("--rounds", rounds, 1, 1 << 30)
    if hsaco is not None and trust:
        raise UsageError("--trust compiles, and --hsaco does not", code="usage.option-alone", hint="--hsaco FILE")
    watched = hsaco if hsaco is not None else loops.watched_source(reproducer)

    def compile_to(output: Path) -> str | None:
        return recompile_source(str(reproducer), output, trust=trust).difference

    with Session(reproducer, device=device, timeout_s=timeout) as session:
        if not as_json:
            note(f"watching {watched}, on {session.device}; Ctrl-C ends it")
        judging = loops.Judging(iterations, atol, rtol, ulp)
        for one in loops.rounds(session, watched, None if hsaco is not None else compile_to, judging):
            if as_json:
                print_json_line(one.to_json())
            else:
                say(_line(one, model=session.device.startswith("vgpu")))
                if one.code_changes:
                    say(f"   {', '.join(one.code_changes)}")
            sys.stdout.flush()
            if rounds is not None and one.number + 1 >= rounds:
                return one.exit_code
    return 0


def _line(one: Round, *, model: bool) -> str:
    """`2: x.hip: compiled in 1.9 s, equivalent, 1.31 times the speed, judged in 0.2 s`."""
    words = []
    if one.compile_s is not None and one.judge_s is not None:
        words.append(f"compiled in {one.compile_s:.1f} s")
    if one.verdict is not None:
        words.append(one.verdict.verdict)
        if one.verdict.mismatch_bytes:
            words.append(f"{one.verdict.mismatch_bytes} bytes differ")
        if one.speed_ratio is not None:
            words.append(f"{one.speed_ratio:.2f} times the speed" + (" (of the virtual GPU's model)" if model else ""))
        words.append(f"judged in {one.judge_s:.1f} s")
    if one.difference:
        words.append(one.difference)
    if one.error is not None:
        words.append(f"{one.error.message} [{one.error.code}]")
    names = ", ".join(path.name for path in one.changed[:3]) + (", ..." if len(one.changed) > 3 else "")
    return f"{one.number}: " + (f"{names}: " if names else "") + ", ".join(words)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "loop",
        loop,
        summary="Compile and judge at each save of a reproducer's source.",
        example="kerncap loop vector_add.kcap --rtol 1e-5\nkerncap loop vector_add.kcap --hsaco build/variant.hsaco",
    )
