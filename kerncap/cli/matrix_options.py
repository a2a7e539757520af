"""Options that `matrix` and `bisect` share, and what they come to: images, devices, how each cell is judged.

In: words of the command line. Out: a Request of the matrix workflow. Called by both commands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap import limits
from kerncap.cli import completion, options
from kerncap.errors import UsageError
from kerncap.results import VERDICTS

if TYPE_CHECKING:
    from kerncap.matrix import Judging
    from kerncap.workflows.matrix import Request

_CODE = re.compile(r"[a-z]+\.[a-z0-9-]+", re.ASCII)

StateOption = Annotated[
    Path | None, typer.Option("--state", metavar="FILE", help="Keep there what each finished cell came to.")
]
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Go on from --state: what is finished there is not run again."),
]
TimeoutOption = Annotated[float, typer.Option("--timeout", help="Seconds that each container may take.")]
RecompileOption = Annotated[
    bool, typer.Option("--recompile", help="Judge the bundle's own source, compiled in the same container before.")
]
ImagesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--image",
        metavar="A,B,C",
        help="Runtime images; default: kerncap/runtime:trixie (see kerncap image list).",
        autocompletion=completion.runtime_images,
    ),
]
DevicesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--device",
        metavar="D,E",
        help="auto, gpu[:N] or vgpu:TARGET[,bar=large]; default: auto.",
        autocompletion=completion.devices,
    ),
]


def judging_of(
    recompile: bool, atol: float, rtol: float, ulp: int, iterations: int, timeout: float, memory: int | None
) -> Judging:
    """Raises: UsageError `usage.number`."""
    from kerncap.matrix import Judging

    limits.check_judging(atol, rtol, ulp, iterations, prefix="--")
    options.check_seconds("--timeout", timeout, "900")
    options.check_memory(memory)
    return Judging(recompile, iterations, atol, rtol, ulp, timeout, memory)


def split_names(given: Sequence[str] | None, name: str = "--image") -> tuple[str, ...]:
    """Of an option with several names at once, which may be repeated.

    Raises: UsageError `usage.empty`, `usage.image`.
    """
    words = [word.strip() for text in given or () for word in text.split(",")]
    if not all(words):
        raise UsageError(f"{name} has an empty name in it", code="usage.empty", hint=f"{name} A,B")
    if name == "--image":
        for word in words:
            options.check_image(word)
    return tuple(dict.fromkeys(words))


def expected_of(given: Sequence[str] | None) -> frozenset[str]:
    """Verdicts and error codes. Raises: UsageError `usage.empty`, `usage.expect`."""
    words = split_names(given, "--expect")
    for word in words:
        if word not in VERDICTS and _CODE.fullmatch(word) is None:
            text = f"--expect {word[:80]!r} is no verdict ({', '.join(VERDICTS)}) and no error code"
            raise UsageError(text, code="usage.expect", hint="--expect differs  # or replay.timeout")
    return frozenset(words)


def split_devices(given: Sequence[str] | None) -> tuple[str, ...]:
    """As split_names; `bar=large` in `vgpu:gfx942,bar=large` belongs to the device before it."""
    devices: list[str] = []
    for text in given or ():
        for number, word in enumerate(text.split(",")):
            if number and "=" in word:
                devices[-1] += f",{word}"
            else:
                devices.append(word)
    if not all(device.strip() for device in devices):
        raise UsageError("--device has an empty name in it", code="usage.empty", hint="--device vgpu:gfx942,gpu")
    return tuple(dict.fromkeys(device.strip() for device in devices))


def request_of(
    bundles: Sequence[str],
    images: Sequence[str],
    devices: Sequence[str],
    judging: Judging,
    keys: Sequence[Path] | None,
    *,
    plain_http: bool,
    with_source: bool = False,
) -> Request:
    """Raises: UsageError `usage.key`: a key that cannot be read would refuse every bundle."""
    from kerncap.cli.trusted import trusted
    from kerncap.workflows.matrix import Request

    if keys:
        from kerncap.trust.keys import load_public_keys

        load_public_keys(keys)
    return Request(
        tuple(bundles),
        tuple(images),
        tuple(devices),
        judging,
        plain_http=plain_http,
        with_source=with_source,
        trusted=lambda bundle: trusted(bundle, keys, plain_http=plain_http),
    )
