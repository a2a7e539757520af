"""How targets differ in the assembly text of one instruction's kernel.

In: a gfx target. Out: spellings and sizes. Called by kernels.py, atomics.py, forms.py and conformance.py.
"""

from __future__ import annotations


def rdna(target: str) -> bool:
    """Waves of 32, and the names of gfx11."""
    return target.startswith(("gfx11", "gfx12"))


def gfx12(target: str) -> bool:
    return target.startswith("gfx12")


def lanes(target: str) -> int:
    return 32 if rdna(target) else 64


def waits(target: str) -> list[str]:
    """For all that is under way: loads, stores, LDS and scalar memory."""
    if gfx12(target):
        return [f"s_wait_{counter}cnt 0x0" for counter in ("load", "store", "ds", "km")]
    return ["s_waitcnt vmcnt(0) lgkmcnt(0)", *(["s_waitcnt_vscnt null, 0x0"] if rdna(target) else [])]


def returning(target: str) -> str:
    """The bit of an atomic that wants the old value."""
    if gfx12(target):
        return " th:TH_ATOMIC_RETURN"
    return " sc0" if target in ("gfx942", "gfx950") else " glc"


def no_offset(target: str) -> str:
    """A buffer instruction's scalar offset of nothing."""
    return "null" if gfx12(target) else "0"


def modes(target: str, *, ieee: bool) -> str:
    """Directives of the kernel descriptor; gfx12 has neither an IEEE mode nor a choice of what clamps a NaN."""
    both = "" if gfx12(target) else f"  .amdhsa_ieee_mode {int(ieee)}\n  .amdhsa_dx10_clamp 1\n"
    return both + "  .amdhsa_float_denorm_mode_32 3"
