"""The code layer: source closure, overlay and compile command of a bundle in one deterministic tar.

In: a reproducer directory to seal, or a code layer of a stranger. Out: tar bytes; or files in a new directory, never
outside of it, never executable. Called by seal, reader, unpack and verify.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import zstandard

from kerncap.bundle import limits
from kerncap.bundle.compression import Readable, open_stream
from kerncap.bundle.files import COPY_BYTES, host_errors, open_regular
from kerncap.bundle.tar import Member, read_members
from kerncap.errors import BundleError

SOURCE_FOLDER = "src"
SINGLE_FILES = ("compile.json", "triton.json", "vfs.yaml")

_SPOOL_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the code layer, named relative to the reproducer."""

    name: str
    size: int
    sha256: str


def list_source(folder: Path) -> list[str]:
    """Names of everything in a reproducer that goes into the code layer, sorted by their bytes.

    Raises: BundleError `bundle.hostile-file` for a link or device, `bundle.limit`.
    """
    names = [name for name in SINGLE_FILES if os.path.lexists(folder / name)]
    for at, folders, files in os.walk(folder / SOURCE_FOLDER):
        here = Path(at).relative_to(folder)
        names += [(here / name).as_posix() for name in files]
        links = [name for name in folders if (Path(at) / name).is_symlink()]
        if links:
            raise BundleError(f"{Path(at) / links[0]} is a symbolic link", code="bundle.hostile-file")
        if len(names) > limits.MAX_CODE_FILES:
            raise BundleError(f"{folder} has more than {limits.MAX_CODE_FILES} source files", code="bundle.limit")
    return sorted(names, key=os.fsencode)


def build_code_layer(folder: Path, out: IO[bytes]) -> tuple[SourceFile, ...]:
    """Write the compressed code layer of a reproducer; nothing is written when it has no source.

    Deterministic: sorted names, mode 0644, owner and time 0. Raises: BundleError, HostError.
    """
    names = list_source(folder)
    if not names:
        return ()
    files: list[SourceFile] = []
    total = 0
    compressor = zstandard.ZstdCompressor(level=9, write_checksum=True)
    with (
        host_errors(Path(tempfile.gettempdir())),
        compressor.stream_writer(out, closefd=False) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in names:
            _check_name(name, str(folder))
            with open_regular(folder / name, what=str(folder)) as file:
                member = tarfile.TarInfo(name)
                member.size = os.fstat(file.fileno()).st_size
                total += member.size
                if total > limits.MAX_CODE_BYTES:
                    raise BundleError(
                        f"{folder}: more than {limits.MAX_CODE_BYTES} bytes of source", code="bundle.limit"
                    )
                reader = _HashingReader(file, folder / name)
                archive.addfile(member, reader)
            files.append(SourceFile(name, member.size, reader.hexdigest()))
    return tuple(files)


def source_digests(folder: Path) -> tuple[SourceFile, ...]:
    """The same list as build_code_layer gives, without writing anything."""
    return build_code_layer(folder, _Nowhere())


def read_code_layer(file: Readable, *, what: str, into: Path | None) -> tuple[SourceFile, ...]:
    """Walk a stored code layer, checking everything; write its files below `into` unless that is None.

    Raises: BundleError `bundle.hostile-path`, `bundle.hostile-file`, `bundle.limit`, `bundle.corrupt`; HostError.
    """
    files: list[SourceFile] = []
    taken: set[str] = set()
    parents: set[str] = set()
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as raw:
        size = _decompress(file, raw, what)
        for member in read_members(raw, size, what=what, most=limits.MAX_CODE_FILES):
            name = member.name
            _check_name(name, what)
            above = {str(parent) for parent in Path(name).parents}
            if name in taken or name in parents or above & taken:
                raise BundleError(f"{what}: {name[:100]!r} comes twice", code="bundle.hostile-path")
            taken.add(name)
            parents |= above
            raw.seek(member.offset)
            files.append(_take(raw, member, into, what))
    return tuple(files)


def _decompress(file: Readable, out: IO[bytes], what: str) -> int:
    total = 0
    try:
        with open_stream(file) as stream, host_errors(Path(tempfile.gettempdir())):
            while piece := stream.read(COPY_BYTES):
                total += len(piece)
                if total > limits.MAX_CODE_BYTES:
                    raise BundleError(f"{what}: the code layer decompresses to more than allowed", code="bundle.limit")
                out.write(piece)
    except zstandard.ZstdError as error:
        raise BundleError(f"{what}: the code layer does not decompress: {error}", code="bundle.corrupt") from None
    return total


def _take(raw: IO[bytes], member: Member, into: Path | None, what: str) -> SourceFile:
    digest = hashlib.sha256()
    target = None if into is None else into / member.name
    with host_errors(target or Path(member.name)), contextlib.ExitStack() as stack:
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
        out = None if target is None else stack.enter_context(target.open("xb"))
        left = member.size
        while left:
            piece = raw.read(min(left, COPY_BYTES))
            if not piece:
                raise BundleError(f"{what}: {member.name} ends {left} bytes early", code="bundle.truncated")
            digest.update(piece)
            left -= len(piece)
            if out is not None:
                out.write(piece)
    return SourceFile(member.name, member.size, digest.hexdigest())


def is_allowed_name(name: str) -> bool:
    """Only `src/...` and the single files; no way out of the directory in any spelling."""
    parts = name.split("/")
    return (
        name.isprintable()  # then it is text, too: bytes that are no UTF-8 are not printable
        and 0 < len(os.fsencode(name)) <= limits.MAX_CODE_PATH_BYTES
        and all(part not in ("", ".", "..") for part in parts)
        and "\\" not in name
        and (name in SINGLE_FILES or (parts[0] == SOURCE_FOLDER and len(parts) > 1))
    )


def _check_name(name: str, what: str) -> None:
    if len(os.fsencode(name)) > limits.MAX_CODE_PATH_BYTES:
        raise BundleError(f"{what}: a name has more than {limits.MAX_CODE_PATH_BYTES} bytes", code="bundle.limit")
    if not is_allowed_name(name):
        raise BundleError(f"{what}: {name[:100]!r} is not allowed in a code layer", code="bundle.hostile-path")


class _HashingReader:
    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        with host_errors(self._path):
            data = self._file.read(size)
        self._digest.update(data)
        return data

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


class _Nowhere(io.BytesIO):
    def write(self, data: object) -> int:
        return len(data)  # type: ignore[arg-type]
