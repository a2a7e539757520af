"""A code object whose kernels are started as by firmware that does not preload kernel arguments.

In: a code object. Out: a copy whose kernel descriptors ask for no preloading, so that kernels start at their entry,
where code loads the same SGPRs, instead of 256 bytes behind it; and how many descriptors had asked. Called by matrix.py
and tests/triton/triton_run.py. Source: LLVM AMDGPUUsage, "Preloaded Kernel Arguments" and "Kernel Descriptor".
"""

from __future__ import annotations

import struct
from pathlib import Path

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB, _DYNSYM = 2, 11
_PRELOAD_AT = 58


def without_preload(code: Path, out: Path) -> int:
    data = bytearray(code.read_bytes())
    at, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    sections = [_SECTION.unpack_from(data, at + i * _SECTION.size) for i in range(count)]
    asked = 0
    for descriptor in sorted(_descriptors(data, sections)):
        if data[descriptor + _PRELOAD_AT : descriptor + _PRELOAD_AT + 2] != b"\0\0":
            data[descriptor + _PRELOAD_AT : descriptor + _PRELOAD_AT + 2] = b"\0\0"
            asked += 1
    out.write_bytes(data)
    return asked


def _descriptors(data: bytearray, sections: list[tuple[int, ...]]) -> set[int]:
    """Where in the file the kernel descriptors are."""
    found = set()
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind not in (_SYMTAB, _DYNSYM):
            continue
        names = sections[link][4]
        for entry in range(offset, offset + size, _SYMBOL.size):
            name, _, _, section, value, _ = _SYMBOL.unpack_from(data, entry)
            text = data[names + name : data.index(0, names + name)]
            if text.endswith(b".kd") and 0 < section < len(sections):
                found.add(value - sections[section][3] + sections[section][4])
    return found
