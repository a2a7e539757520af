"""The same kernels on tinygrad's AMD emulator: how long one workgroup takes it.

In: a tinygrad checkout (its emulator is part of its tests, not of the package), a code object of benchmarks/kernels,
kernel names. Out: one JSON line a kernel, `{"kernel", "group_s", "groups"}`, or `{"kernel", "refused"}` when it cannot.
Run by benchmarks/vgpu.py in the tool chain image, which has the clang that the emulator compiles instructions with.
Usage: vgpu_tinygrad.py CHECKOUT TARGET OBJECT KERNEL...
"""

from __future__ import annotations

import ctypes
import importlib
import json
import mmap
import os
import struct
import sys
import time
from dataclasses import dataclass, field
from typing import Any

_FLOATS = ctypes.c_float * (1 << 20)
_ARCHITECTURES = {"gfx90a": "cdna", "gfx942": "cdna", "gfx1100": "rdna3"}
_PAGE = 4096
# The least groups that are timed, and for how long: the first group compiles the instructions.
_GROUPS, _SECONDS = 2, 5.0


@dataclass
class Code:
    """A loaded code object. Its kernels use no relocations."""

    image: mmap.mmap
    base: int
    symbols: dict[str, int] = field(default_factory=dict)

    def word(self, address: int, code: str) -> int:
        (value,) = struct.unpack_from(code, self.image, address)
        return int(value)


def load(path: str) -> Code:
    with open(path, "rb") as file:
        elf = file.read()
    phoff, shoff = struct.unpack_from("<QQ", elf, 32)
    phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", elf, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", elf, phoff + i * phentsize) for i in range(phnum)]
    loads = [s for s in segments if s[0] == 1]
    size = max(s[3] + s[6] for s in loads)
    image = mmap.mmap(-1, (size + _PAGE - 1) // _PAGE * _PAGE)
    for _, _, offset, va, _, in_file, _, _ in loads:
        image[va : va + in_file] = elf[offset : offset + in_file]
    code = Code(image, ctypes.addressof(ctypes.c_char.from_buffer(image)))
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, shoff + i * shentsize) for i in range(shnum)]
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != 11:  # SHT_DYNSYM
            continue
        names = sections[link][4]
        for at in range(offset, offset + length, entry):
            name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", elf, at)
            text = elf[names + name : elf.index(b"\0", names + name)].decode()
            code.symbols[text] = value
    return code


# Kernels of 256 threads whose workgroups all do the same. Arguments: p is a buffer of ones, o the buffer for the
# result, a number an int; and the first element of the result.
_KERNELS: dict[str, tuple[list[str | int], float]] = {
    "vector_add": (["p", "p", "o", 1 << 20], 2.0),
    "sgemm_tiled": (["p", "p", "o", 256], 256.0),
    "sgemm_blocked": (["p", "p", "o", 256], 256.0),
    "nbody": (["p", "o", 1024], 0.0),
    "lds_reduce": (["p", "o"], 2048.0),
    "layernorm": (["p", "p", "p", "o"], 1.0),
}


def measure(emulator: Any, target: str, code: Code, name: str) -> dict[str, object]:
    arguments, expected = _KERNELS[name]
    ones, out = _FLOATS.from_buffer_copy(struct.pack("<f", 1.0) * (1 << 20)), _FLOATS(7.0)
    packed = b""
    for argument in arguments:
        if isinstance(argument, int):
            packed += struct.pack("<i", argument)
        else:
            packed += struct.pack("<Q", ctypes.addressof(ones if argument == "p" else out))
    kernarg = ctypes.create_string_buffer(packed, 512)
    descriptor = code.symbols[name + ".kd"]
    entry = descriptor + code.word(descriptor + 16, "<q")
    lds_bytes, rsrc2 = code.word(descriptor, "<I"), code.word(descriptor + 52, "<I")
    rsrc2 |= (lds_bytes + 511) // 512 << 15  # the packet processor does this

    def run(groups: int) -> float:
        start = time.thread_time()
        emulator.run_asm(
            code.base + entry,
            len(code.image) - entry,
            groups,
            1,
            1,
            256,
            1,
            1,
            ctypes.addressof(kernarg),
            rsrc2,
            0,
            _ARCHITECTURES[target],
        )
        return time.thread_time() - start

    run(1)
    if out[0] != expected:
        return {"kernel": name, "refused": f"wrong result {out[0]}, not {expected}"}
    seconds, groups = run(_GROUPS), _GROUPS
    while seconds < _SECONDS and groups < 64:
        groups *= 2
        seconds = run(groups)
    return {"kernel": name, "group_s": seconds / groups, "groups": groups}


def main() -> int:
    checkout, target, path, *names = sys.argv[1:]
    sys.path.insert(0, checkout)
    os.environ.setdefault("DEV", "CPU")
    emu = importlib.import_module("test.mockgpu.amd.emu")
    code = load(path)
    for name in names:
        if name not in _KERNELS:
            continue
        try:
            result = measure(emu, target, code, name)
        except Exception as error:  # whatever it does not know
            result = {"kernel": name, "refused": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
