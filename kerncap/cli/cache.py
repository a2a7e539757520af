"""`kerncap cache ls`, `prune` and `path`: the blobs that pulls left for later ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli.options import JsonOption, VerboseOption, add_command
from kerncap.cli.output import format_bytes, note, print_json, say, set_verbosity, table


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        name="cache", help="The blobs that pulls left on this machine for later ones.", no_args_is_help=True
    )
    add_command(
        group, "ls", ls, summary="List the blobs, the least recently used first.", example="kerncap cache ls --json"
    )
    add_command(
        group,
        "prune",
        prune,
        summary="Remove the least recently used blobs.",
        example="kerncap cache prune\nkerncap cache prune --to 1000000000\nkerncap cache prune --all",
    )
    add_command(group, "path", path, summary="Print where the blobs are.", example="kerncap cache path")
    app.add_typer(group)


def ls(as_json: JsonOption = False, verbose: VerboseOption = 0) -> None:
    """List the blobs, the least recently used first.

    KERNCAP_CACHE_DIR says where they are, KERNCAP_CACHE_LIMIT how many bytes there may be (0: nothing is kept).
    """
    from kerncap.bundle.cache import BlobCache, cache_folder
    from kerncap.bundle.files import host_errors

    set_verbosity(verbose)
    cache = BlobCache(cache_folder())
    with host_errors(cache.folder):
        entries = cache.entries()
    total = sum(entry.size for entry in entries)
    if as_json:
        blobs = [{"digest": e.digest, "size_bytes": e.size, "used_s": e.used_ns / 1e9} for e in entries]
        limits = {"limit_bytes": cache.limit_bytes, "total_bytes": total}
        print_json({"schema": "kerncap.cache/1", "path": str(cache.folder), **limits, "blobs": blobs})
        return
    rows = [(e.digest, format_bytes(e.size), _when(e.used_ns)) for e in entries]
    if rows:
        say(table(rows, header=("blob", "size", "last used")))
    note(f"{len(rows)} blobs, {format_bytes(total)} of at most {format_bytes(cache.limit_bytes)} in {cache.folder}")


def prune(
    to: Annotated[
        int | None, typer.Option("--to", metavar="BYTES", min=0, help="Until so much is left; default: the limit.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Until nothing is left.")] = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Remove the least recently used blobs. Bundles that were made with them keep their own."""
    from kerncap.bundle.cache import BlobCache, cache_folder
    from kerncap.bundle.files import host_errors
    from kerncap.errors import UsageError

    set_verbosity(verbose)
    if everything and to is not None:
        raise UsageError("--all and --to say two things", code="usage.prune", hint="kerncap cache prune --all")
    cache = BlobCache(cache_folder())
    with host_errors(cache.folder):
        done = cache.prune(0 if everything else cache.limit_bytes if to is None else to)
    if as_json:
        counts = {name: getattr(done, name) for name in ("removed_blobs", "removed_bytes", "kept_bytes")}
        print_json({"schema": "kerncap.pruned/1", "path": str(cache.folder), **counts})
    else:
        removed = f"removed {done.removed_blobs} blobs, {format_bytes(done.removed_bytes)}"
        note(f"{removed}; {format_bytes(done.kept_bytes)} left")


def path(as_json: JsonOption = False, verbose: VerboseOption = 0) -> None:
    """Print where the blobs are, whether or not there are any."""
    from kerncap.bundle.cache import cache_folder

    set_verbosity(verbose)
    folder: Path = cache_folder()
    if as_json:
        print_json({"schema": "kerncap.cache-path/1", "path": str(folder)})
    else:
        say(str(folder))


def _when(used_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(used_ns / 1e9))
