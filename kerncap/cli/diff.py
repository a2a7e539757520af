"""`kerncap diff`: what differs between two bundles, or in one kernel's machine code between two code objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kerncap import limits
from kerncap.cli import completion, options
from kerncap.cli.output import format_bytes, note, print_json, say, set_verbosity
from kerncap.errors import counted

if TYPE_CHECKING:
    from kerncap.workflows.bundle_diff import BundleDiff
    from kerncap.workflows.code_diff import CodeDiff
    from kerncap.workflows.content_diff import ContentDiff

_SIDE = "A code object, or oci:DIR[:tag], FILE.kcap.tar, a reproducer directory, or host[:port]/name[:tag][@digest]."
_MOST_CONTEXT = 1 << 20
_MOST_RANGES = 1 << 20
_MOST_LOOKED_AT = 1 << 44


def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help=_SIDE, autocompletion=completion.bundles)],
    after: Annotated[str, typer.Argument(metavar="AFTER", help=_SIDE, autocompletion=completion.bundles)],
    code: Annotated[bool, typer.Option("--code", help="Of two bundles: compare only the kernel's code.")] = False,
    isa: Annotated[bool, typer.Option("--isa", help="Show the assembly, line by line; means --code.")] = False,
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            metavar="NAME",
            help="Base or mangled name; default: the captured, or the only one. Means --code.",
        ),
    ] = None,
    context: Annotated[
        int, typer.Option("--context", metavar="N", help="With --isa: unchanged lines around a change.")
    ] = 3,
    ranges: Annotated[
        int, typer.Option("--ranges", metavar="N", help="Byte ranges that are shown of a region's memory.")
    ] = 16,
    look: Annotated[
        int,
        typer.Option("--look", metavar="BYTES", help="Memory of each bundle that is read for byte ranges; 0: none."),
    ] = 256 << 20,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Compare two bundles: call, versions, code, source, regions and memory; or the code of a kernel. No GPU is needed.

    Exit code 1 when something differs. Of the code: registers, LDS, scratch, occupancy, instructions, functions. Memory
    is compared by digests; only what differs is read (of a reference: fetched).
    """
    from kerncap.workflows.bundle_diff import BundleDiff, DiffOptions
    from kerncap.workflows.bundle_diff import diff as compare

    set_verbosity(verbose)
    limits.check_count("--context", context, 0, _MOST_CONTEXT)
    limits.check_count("--ranges", ranges, 0, _MOST_RANGES)
    limits.check_count("--look", look, 0, _MOST_LOOKED_AT)
    chosen = DiffOptions(kernel, context, code or isa, look, ranges, plain_http)
    found = compare(before, after, chosen)
    if as_json:
        print_json(found.to_json())
    elif isinstance(found, BundleDiff):
        _say_bundles(found)
    else:
        _say_code(found, before, after, isa=isa)
    return 0 if found.same else 1


def _say_code(found: CodeDiff, before: str, after: str, *, isa: bool) -> None:
    if found.same:
        say(f"{found.kernel}: the same code")
        return
    say(f"{found.kernel}: {', '.join(found.changes) or 'branches lead elsewhere'}")
    if isa:
        say(f"--- {before}")
        say(f"+++ {after}")
        for line in found.lines:
            say(line)
        for name, lines in found.functions.items():
            say(f"function {name}" + ("" if lines else ": on one side only"))
            for line in lines:
                say(line)


def _say_bundles(found: BundleDiff) -> None:
    if found.same:
        say("the same call, code and memory")
        return
    _say_section("call", [str(change) for change in found.call])
    _say_section("versions", [str(change) for change in found.versions])
    if not found.same_code:
        said = found.code.changes if found.code is not None else []
        _say_section("code", said or ["other bytes"])
        if found.code_remark is not None:
            note(found.code_remark)
    _say_section("source", ["another one"] if found.same_source is False else [])
    _say_section("regions", [str(change) for change in found.regions])
    _say_section("memory", [line for one in found.contents for line in _content_lines(one)])


def _say_section(title: str, lines: list[str]) -> None:
    if lines:
        say(title)
        for line in lines:
            say(f"  {line}")


def _content_lines(one: ContentDiff) -> list[str]:
    title = f"region {one.pair.before} ({one.pair.what}), {one.state} the dispatch: "
    title += f"{counted(one.differing_bytes, 'differing byte')} in chunks of {format_bytes(one.chunk_bytes)}"
    if one.unread_bytes:
        title += f"; {format_bytes(one.unread_bytes)} of them not looked at (--look)"
    lines = [title, *(f"  {offset:#x}+{length:#x}" for offset, length in one.ranges)]
    return [*lines, f"  and {one.more_ranges} ranges more (--ranges)"] if one.more_ranges else lines


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "diff",
        diff,
        summary="Compare two bundles, or a kernel in two code objects.",
        example="kerncap diff before.kcap.tar localhost:5000/kernels/vector_add:v2\n"
        "kerncap diff vector_add.kcap variant.hsaco --isa",
    )
