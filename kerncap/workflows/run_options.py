"""How `kerncap run` is to judge a bundle. In: the command says it. Out: read by the workflows run and print_launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kerncap.workflows.recompile import Configuration


@dataclass(frozen=True)
class RunOptions:
    """How to run; `timeout_s` is for a container as a whole.

    `say` gets the equivalent `docker run` lines, `remark` what was chosen and why. `access`: how the container gets at
    a GPU (containers.access).
    """

    image: str | None = None
    device: str = "auto"
    hsaco: Path | None = None
    recompile: bool = False
    configuration: Configuration | None = None
    atol: float = 0.0
    rtol: float = 0.0
    ulp: int = 0
    iterations: int = 2
    timeout_s: float = 900.0
    check: str | None = None
    only: int | None = None
    kernel: str | None = None
    plain_http: bool = False
    memory_bytes: int | None = None
    launcher: str | None = None
    access: str = "auto"
    say: Callable[[str], None] = lambda line: None
    remark: Callable[[str], None] = lambda text: None
    on_stderr: Callable[[bytes], None] | None = None
