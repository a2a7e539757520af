"""Options that every command has, and how a command is registered: in one shape, with an example in its help.

Called by every `kerncap/cli/<command>.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout instead of text.")]
VerboseOption = Annotated[
    int, typer.Option("-v", "--verbose", count=True, help="Say more on stderr; -vv for everything.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")]
PlainHttpOption = Annotated[
    bool,
    typer.Option("--plain-http", help="Talk http to a registry that is not on loopback (loopback always is http)."),
]


def add_command(app: typer.Typer, name: str, function: Callable[..., Any], *, example: str, **settings: Any) -> None:
    """Register `function` as `kerncap NAME`. `example` is one line that can be typed; more lines are more examples."""
    lines = "\n\n".join(f"$ {line}" for line in example.strip().splitlines())
    app.command(name, epilog=f"Example:\n\n{lines}", **settings)(function)
