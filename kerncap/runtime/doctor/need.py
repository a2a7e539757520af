"""What a bundle asks of the host that replays it: code for which target, how much memory, which addresses.

In: an open bundle, of which only capture and index are read. Out: a Need. Called by the workflows, for the checks.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass

from kerncap import native
from kerncap.bundle import Bundle
from kerncap.bundle.index import Index


@dataclass(frozen=True)
class Need:
    """`isa`: of the code object, `amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-`; `memory_bytes`: of all captured memory,
    which a replay has on the device; `index`: to count what of it is not zero. Addresses are the captured ones:
    `spans` separate ranges between `lowest` and `highest`, which is behind the last byte."""

    isa: str
    memory_bytes: int
    spans: int
    lowest: int
    highest: int
    index: Index | None = None

    @property
    def target(self) -> str:
        return native.target_of_isa(self.isa)

    def nonzero_bytes(self) -> int:
        """Of captured memory: pages of nothing but zeros take none on the virtual GPU."""
        if self.index is None:
            return self.memory_bytes
        chunks = (chunk for region in self.index.regions for chunk in region.pre)
        return sum(chunk.length for chunk in chunks if chunk.blob is not None or chunk.value != 0)


def need_of(bundle: Bundle) -> Need:
    index = bundle.index
    page = mmap.PAGESIZE
    spans, lowest, end = 0, 0, 0
    for region in index.regions:  # sorted by address
        if region.kind == "variable":  # part of the code object, wherever that is loaded
            continue
        begin = region.va // page * page
        if spans == 0:
            lowest = begin
        if begin > end or spans == 0:
            spans += 1
        end = -(-(region.va + region.size) // page) * page
    return Need(bundle.capture.code_object.isa, index.raw_bytes, spans, lowest, end, index)
