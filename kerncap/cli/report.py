"""`--report FILE.html` of the commands that make a verdict: asked for before, written after.

Called by run, replay, validate and html.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from kerncap.cli.output import note
from kerncap.errors import UsageError, typed
from kerncap.results import Verdict


@dataclass
class Page:
    """The report of one command; nothing happens where `output` is None. `lines`: what was printed for repeating it."""

    output: Path | None
    bundle: str | None
    source: str | None = None
    hsaco: Path | None = None
    recompiled: bool = False
    only: int | None = None
    plain_http: bool = False
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Before anything runs. Raises: UsageError `usage.output-exists`, `usage.path`, `usage.option-alone`."""
        from kerncap.bundle.location import refuse_existing

        if self.output is not None:
            refuse_existing(self.output)
            if not self.output.parent.is_dir():
                hint = typed("mkdir", "-p", self.output.parent)
                raise UsageError(f"{self.output.parent} is no folder", code="usage.path", hint=hint)
        elif self.source is not None:
            hint = "--report FILE.html --report-source PLACE"
            raise UsageError("--report-source is of --report", code="usage.option-alone", hint=hint)

    def say(self, line: str) -> None:
        """A line that does the same, for the person and for the page."""
        note(f"$ {line}")
        self.lines.append(line)

    def finish(self, verdict: Verdict, *, as_json: bool) -> int:
        """Print the verdict, then write the page; gives the exit code of the command."""
        from kerncap.cli.verdict_text import report_verdict

        code = report_verdict(verdict, as_json=as_json)
        if self.output is not None:
            self.write(verdict)
            note(f"report: {self.output}")
        return code

    def write(self, verdict: Verdict) -> None:
        if self.output is None:
            return
        from kerncap.workflows.report import Request, write_report

        request = Request(
            output=self.output,
            bundle=self.bundle,
            source=self.source,
            hsaco=self.hsaco,
            recompiled=self.recompiled,
            only=self.only,
            plain_http=self.plain_http,
            lines=tuple(self.lines),
        )
        write_report(verdict, request)
