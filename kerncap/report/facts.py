"""What a report says, in plain values that are still a stranger's: the template escapes all of them.

In: made by the report workflow. Out: read by page and the drawings.
"""

from __future__ import annotations

from dataclasses import dataclass

from kerncap.results import Verdict

Ranges = tuple[tuple[int, int], ...]
"""(offset in the region, length), bytes, sorted."""


@dataclass(frozen=True)
class Argument:
    """`value` is a number, an address with its region, or the first bytes of a struct."""

    name: str
    type: str
    value: str
    tensor: str
    hidden: bool


@dataclass(frozen=True)
class Region:
    """`read`: loaded before anything was stored there; None: not known. `changed`: whole chunks of the bundle."""

    number: int
    va: int
    size: int
    kind: str
    segment: str
    name: str
    """Of a variable, or the arguments that lead there."""
    read: Ranges | None
    written: Ranges | None
    changed: Ranges


@dataclass(frozen=True)
class Bundle:
    """What the bundle says of the captured dispatch."""

    mangled: str
    target: str
    framework: str
    code_object: str
    captured_on: str
    versions: tuple[tuple[str, str], ...]
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    group_segment_bytes: int
    private_segment_bytes: int
    steps: int
    """Dispatches; the call is the first one's."""
    arguments: tuple[Argument, ...]
    regions: tuple[Region, ...]
    more_regions: int
    """Regions that are not listed: the smallest of those that nothing is known of."""
    source_files: int


@dataclass(frozen=True)
class FileChange:
    """One file of the source; `lines` as `diff -U3` writes them, without the two lines of names."""

    name: str
    what: str
    """changed, added, removed."""
    lines: tuple[str, ...]
    cut: bool
    """There are more lines."""


@dataclass(frozen=True)
class Comparison:
    """The judged source against the captured one; `remark` says what was compared, or why nothing was."""

    remark: str
    files: tuple[FileChange, ...] = ()


@dataclass(frozen=True)
class Reproduce:
    """A line that can be typed, and what it does."""

    what: str
    line: str


@dataclass(frozen=True)
class Facts:
    verdict: Verdict
    bundle: Bundle | None
    source: Comparison | None
    reproduce: tuple[Reproduce, ...]
    written_by: str
    written_at: str
