"""The workloads of Kerncap's paper that run here: unmodified binaries of Debian's, a kernel and a dispatch of each.

In: nothing. Out: WORKLOADS, and a variant of a captured code object whose kernel does nothing. Used by the tests of
tests/apps and by benchmarks/evaluation.py. The models of `llama` are written by tiny_llama.py into the working folder.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path

TARGETS = ("gfx90a", "gfx1100")
_LLAMA = ("llama-bench", "-m", "Q4_K.gguf", "-p", "0", "-n", "1", "-r", "1", "-ngl", "99", "--no-warmup", "-fa", "1")
_SIZES = tuple(word for name in ("-m", "-n", "-k", "--lda", "--ldb", "--ldc") for word in (name, "256"))


@dataclass(frozen=True)
class Workload:
    """`app` is the image; `command` runs in a folder where its input lies."""

    name: str
    app: str
    kernel: str
    dispatch: int
    command: tuple[str, ...]


WORKLOADS = (
    Workload("llama.cpp mul_mat_vec_q", "llama", "mul_mat_vec_q", 4, _LLAMA),
    Workload("llama.cpp flash attention", "llama", "flash_attn_tile", 1, _LLAMA),
    Workload(
        "rocBLAS Tensile GEMM",
        "rocblas",
        "Cijk_*",
        0,
        ("/usr/libexec/rocm/librocblas4-bench/rocblas-bench", "-f", "gemm", "-r", "s", *_SIZES, "-i", "1", "-j", "0"),
    ),
    Workload(
        "rocPRIM merge sort step",
        "rocprim",
        "device_block_merge_mergepath_kernel",
        0,
        (
            "/usr/libexec/rocm/librocprim-tests/test_device_merge_sort",
            "--gtest_filter=RocprimDeviceSortTests/2.SortKey",
        ),
    ),
)


def of_app(app: str) -> list[Workload]:
    return [workload for workload in WORKLOADS if workload.app == app]


def s_endpgm(target: str) -> bytes:
    """Source: "CDNA2" ISA, 12.5 SOPP, opcode 1; "RDNA3" ISA, 16.5 SOPP, opcode 48."""
    return struct.pack("<I", 0xBF810000 if target.startswith(("gfx9", "gfx10")) else 0xBFB00000)


def idle_variant(reproducer: Path) -> Path:
    """The captured code object with a kernel that ends at its first instruction, written beside it."""
    capture = json.loads((reproducer / "capture/capture.json").read_text())
    digest = capture["code_object"]["digest"].removeprefix("sha256:")
    code = bytearray((reproducer / "capture/blobs/sha256" / digest).read_bytes())
    entry = kernel_entry(bytes(code), capture["kernel"]["symbol"])
    code[entry : entry + 4] = s_endpgm(capture["device"]["agent"])
    path = reproducer.with_suffix(".idle.hsaco")
    path.write_bytes(code)
    return path


def kernel_entry(code: bytes, symbol: str) -> int:
    """File offset of the first instruction of the kernel with this descriptor symbol.

    Source: ELF-64; LLVM's "User Guide for AMDGPU Backend", Kernel Descriptor: kernel_code_entry_byte_offset at 16.
    """
    (section_table,) = struct.unpack_from("<Q", code, 0x28)
    entry_bytes, count = struct.unpack_from("<HH", code, 0x3A)
    # type at 4, address at 16, offset at 24, size at 32, link at 40
    sections = [struct.unpack_from("<4xI8xQQQI", code, section_table + i * entry_bytes) for i in range(count)]

    def file_offset(address: int) -> int:
        for kind, start, offset, size, _ in sections:
            if kind == 1 and start <= address < start + size:  # SHT_PROGBITS
                return offset + address - start
        raise ValueError(f"{address:#x} is in no section")

    for kind, _, offset, size, link in sections:
        if kind != 11:  # SHT_DYNSYM
            continue
        names = sections[link][2]
        for at in range(offset, offset + size, 24):
            (name,) = struct.unpack_from("<I", code, at)
            end = code.index(b"\0", names + name)
            if code[names + name : end] == symbol.encode():
                (descriptor,) = struct.unpack_from("<Q", code, at + 8)
                (entry,) = struct.unpack_from("<q", code, file_offset(descriptor) + 16)
                return file_offset(descriptor + entry)
    raise ValueError(f"no symbol {symbol}")
