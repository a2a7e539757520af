"""The reports of `kerncap matrix`: files that are replaced, the document or the table on stdout, the exit code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kerncap.cli.output import note, print_json

if TYPE_CHECKING:
    from kerncap.matrix import Matrix


@dataclass(frozen=True)
class Reports:
    """Where which report goes."""

    junit: Path | None = None
    sarif: Path | None = None
    html: Path | None = None

    def check(self) -> None:
        """Before anything runs. Raises: UsageError `usage.path`, `usage.same-file`."""
        from kerncap.errors import UsageError
        from kerncap.matrix.files import check_replaceable

        paths = [path for path in (self.junit, self.sarif, self.html) if path is not None]
        for path in paths:
            check_replaceable(path)
        if len({path.absolute() for path in paths}) != len(paths):
            text = "two reports would be the same file"
            raise UsageError(text, code="usage.same-file", hint="kerncap matrix --junit A.xml --html B.html")

    def write(self, matrix: Matrix) -> None:
        """Raises: OSError."""
        from kerncap.bundle.files import replace_file
        from kerncap.reproducer.directory import tool_version
        from kerncap.workflows.matrix.cells import now

        if self.junit is not None:
            from kerncap.matrix.junit import to_junit

            replace_file(self.junit, to_junit(matrix))
        if self.sarif is not None:
            from kerncap.matrix.sarif import to_sarif

            replace_file(self.sarif, to_sarif(matrix, tool_version().removeprefix("kerncap ")))
        if self.html is not None:
            from kerncap.matrix.page import to_html

            page = to_html(matrix, title="Kerncap matrix", made=f"{tool_version()}, {now()}")
            replace_file(self.html, page)
        for path in (self.junit, self.sarif, self.html):
            if path is not None:
                note(f"wrote {path}")


def report(matrix: Matrix, reports: Reports, *, as_json: bool) -> int:
    """The files, then stdout; gives the exit code of the command."""
    from kerncap.cli.matrix_text import print_matrix

    reports.write(matrix)
    if as_json:
        print_json(matrix.to_json())
    else:
        print_matrix(matrix)
    return matrix.exit_code
