"""Tar headers: a deterministic ustar writer and a strict reader for uncompressed layout tars.

In: names and sizes, or a file of a stranger. Out: header bytes, or where each member's bytes lie.
Called by layout (reading), seal and transport (writing).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from kerncap.bundle.limits import MAX_TAR_MEMBERS
from kerncap.errors import BundleError

BLOCK = 512
_MAX_PAX_BYTES = 64 << 10
_USTAR_MAX_SIZE = 0o77777777777


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    offset: int
    """Of the content in the tar file."""
    size: int


def header(name: str, size: int) -> bytes:
    """A ustar header of a regular file: mode 0444, owner 0, time 0, so that the same content gives the same tar."""
    encoded = name.encode("ascii")
    if len(encoded) > 100 or size > _USTAR_MAX_SIZE:
        raise ValueError(f"{name} of {size} bytes does not fit a ustar header")
    block = bytearray(BLOCK)
    block[0 : len(encoded)] = encoded
    block[100:108] = b"0000444\0"
    block[108:116] = b"0000000\0"
    block[116:124] = b"0000000\0"
    block[124:136] = b"%011o\0" % size
    block[136:148] = b"00000000000\0"
    block[148:156] = b" " * 8
    block[156:157] = b"0"
    block[257:265] = b"ustar\x0000"
    block[329:337] = b"0000000\0"
    block[337:345] = b"0000000\0"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(size: int) -> int:
    """`size` rounded up to whole blocks."""
    return -(-size // BLOCK) * BLOCK


END = bytes(2 * BLOCK)


def read_members(file: IO[bytes], file_size: int, *, what: str, most: int = MAX_TAR_MEMBERS) -> Iterator[Member]:
    """Every regular file; directories are passed over, links, devices and whatever else is refused.

    Pax headers are read for path and size only. Raises: BundleError `bundle.hostile-file`, `bundle.truncated`, ...
    """
    position = 0
    pax: dict[str, str] = {}
    for _ in range(2 * most):
        if position + BLOCK > file_size:
            raise BundleError(f"{what}: the tar ends without an end mark", code="bundle.truncated")
        file.seek(position)
        block = _read_block(file, BLOCK, what)
        if not any(block):
            return
        name, size, kind = _parse_header(block, what)
        size = _pax_size(pax, size, what) if kind in b"\x000" else size
        start = position + BLOCK
        if start + size > file_size:
            raise BundleError(
                f"{what}: {name} ends {start + size - file_size} bytes behind the file", code="bundle.truncated"
            )
        position = start + padded(size)
        if kind == b"x":
            pax = _parse_pax(file, size, what)
            continue
        if kind == b"g":
            continue
        name, pax = pax.get("path", name), {}
        if kind in (b"0", b"\0"):
            yield Member(name, start, size)
        elif kind != b"5":
            raise BundleError(
                f"{what}: {name[:100]} is a tar member of type {kind!r}, only files are allowed",
                code="bundle.hostile-file",
            )
    raise BundleError(f"{what}: more than {most} members", code="bundle.limit")


def _read_block(file: IO[bytes], size: int, what: str) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise BundleError(f"{what}: ends in a header", code="bundle.truncated")
    return data


def _parse_header(block: bytes, what: str) -> tuple[str, int, bytes]:
    stored = _octal(block[148:156], what)
    if stored != sum(block[:148]) + 8 * 0x20 + sum(block[156:]):
        raise BundleError(f"{what}: not a tar file, or a header is damaged", code="bundle.malformed")
    name = block[:100].split(b"\0", 1)[0]
    prefix = block[345:500].split(b"\0", 1)[0] if block[257:263] == b"ustar\0" else b""
    text = (prefix + b"/" + name if prefix else name).decode("utf-8", "backslashreplace")
    return text, _octal(block[124:136], what), block[156:157]


def _octal(field: bytes, what: str) -> int:
    text = field.strip(b" \0")
    if not text:
        return 0
    if not all(0x30 <= byte < 0x38 for byte in text):
        raise BundleError(f"{what}: a number in a tar header is not octal", code="bundle.malformed")
    return int(text, 8)


def _parse_pax(file: IO[bytes], size: int, what: str) -> dict[str, str]:
    if size > _MAX_PAX_BYTES:
        raise BundleError(f"{what}: a pax header has {size} bytes", code="bundle.limit")
    data = _read_block(file, size, what)
    records: dict[str, str] = {}
    while data:
        length_text, _, _ = data.partition(b" ")
        is_number = length_text.isdigit() and len(length_text) <= len(str(_MAX_PAX_BYTES))
        if not is_number or not len(length_text) < int(length_text) <= len(data):
            raise BundleError(f"{what}: a pax record is damaged", code="bundle.malformed")
        record, data = data[len(length_text) + 1 : int(length_text)], data[int(length_text) :]
        key, _, value = record.rstrip(b"\n").partition(b"=")
        records[key.decode("utf-8", "backslashreplace")] = value.decode("utf-8", "backslashreplace")
    if any(key.startswith("GNU.sparse") for key in records):
        raise BundleError(f"{what}: sparse tar members are not allowed", code="bundle.hostile-file")
    return records


def _pax_size(pax: dict[str, str], size: int, what: str) -> int:
    text = pax.get("size")
    if text is None:
        return size
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise BundleError(f"{what}: a pax size is not a number", code="bundle.malformed")
    return int(text)
