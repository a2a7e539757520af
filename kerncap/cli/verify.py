"""`kerncap verify`: check every byte of a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import format_bytes, note, print_error, print_json, progress_bar, say, set_verbosity
from kerncap.cli.trusted import key_names
from kerncap.errors import counted
from kerncap.scratch import Scratch

if TYPE_CHECKING:
    from kerncap.bundle import Bundle
    from kerncap.bundle.verify import Report
    from kerncap.trust.keys import PublicKey


def verify(
    bundle: options.AnyBundle,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also decompress every chunk and compare its raw digest.")
    ] = False,
    key: options.PolicyOption = None,
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> int:
    """Check schema, limits and the digest of every blob; a registry reference is fetched to a temporary place first.

    With --key also that one of the keys has signed just this bundle: that comes first, and nothing is fetched without.
    """
    from kerncap.bundle import open_bundle
    from kerncap.bundle.location import LayoutLocation, RegistryLocation, parse_source

    set_verbosity(verbose)
    name, digest, by = bundle, None, None
    if key:
        from kerncap.cli.trusted import check_signature

        bundle, digest, by = check_signature(bundle, key, plain_http=plain_http)
    if isinstance(parse_source(bundle), RegistryLocation):
        # Only a reference needs the transport, whose import takes longer than all the rest.
        from kerncap.transport import copy_bundle, open_any

        with Scratch("kerncap-verify-") as scratch:
            place = LayoutLocation(Path(scratch) / "bundle")
            with progress_bar("pull") as progress:
                copy_bundle(open_any(bundle, plain_http=plain_http), place, progress=progress)
            return _report(name, open_bundle(place), deep, as_json, by)
    opened = open_bundle(bundle)
    if digest is not None:
        from kerncap.workflows.trust import check_same

        check_same(opened, digest)
    return _report(name, opened, deep, as_json, by)


def _report(name: str, opened: Bundle, deep: bool, as_json: bool, by: tuple[PublicKey, ...] | None) -> int:
    from kerncap.bundle.verify import verify as check

    with progress_bar("verify") as progress:
        report = check(opened, deep=deep, progress=progress)
    if as_json:
        print_json(_report_json(name, opened, report, by))
    for problem in report.problems:
        print_error(problem, as_json=False)
    if report.problems:
        return report.problems[0].exit_code
    if not as_json:
        say(opened.manifest_digest or "not sealed")
        chunks = f", {counted(report.chunks, 'chunk')}" if deep else ""
        if by is not None:
            note(f"signed by {key_names(by)}")
        note(f"whole: {counted(report.blobs, 'blob')}, {format_bytes(report.stored_bytes)}{chunks}")
    return 0


def _report_json(name: str, opened: Bundle, report: Report, by: tuple[PublicKey, ...] | None) -> dict[str, object]:
    return {
        "schema": "kerncap.verified/1",
        "bundle": name,
        "digest": opened.manifest_digest,
        "whole": not report.problems,
        "blobs": report.blobs,
        "stored_bytes": report.stored_bytes,
        "chunks": report.chunks,
        "problems": [problem.to_json() for problem in report.problems],
        "signed_by": None if by is None else [key.key_id for key in by],
    }


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "verify",
        verify,
        summary="Check every byte of a bundle.",
        example="kerncap verify vector_add.kcap.tar --deep\n"
        "kerncap verify localhost:5000/kernels/vector_add:v1 --key maintainer.pub.pem",
    )
