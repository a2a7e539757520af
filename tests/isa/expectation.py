"""A conformance result against model/: every vector of every row that the model defines.

In: a `kerncap.hw-conformance/1` document. Out: differences as text, and how much was compared.
Called by test_conformance.py and from the command line: expectation.py RESULT.json.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import atomics
import forms
import kernels
import model
import softfloat as sf
from model import atomics as atomic_model


@dataclass
class Compared:
    """`vectors` by row; `differences` holds at most a few a row, all are counted."""

    vectors: Counter[str] = field(default_factory=Counter)
    different: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, name: str, text: str | None) -> None:
        self.vectors[name] += 1
        if text is not None:
            self.different[name] += 1
            if self.different[name] <= 3:
                self.differences.append(text)


def mode_of(name: str) -> model.Mode:
    bits = kernels.MODES[name]
    return model.Mode(bits & 3, bits >> 2 & 3, bits >> 4 & 3, bits >> 6 & 3)


def same(kind: str, expected: int, actual: int) -> bool:
    if expected == model.NAN:
        f = sf.FORMATS.get(kind)
        return f is not None and sf.is_nan(f, actual & (2 * f.sign_bit - 1)) and bool(actual & f.quiet_bit)
    width = 16 if kind in ("f16", "bf16", "u16", "i16", "b16") else 64 if kind in kernels.WIDE else 32
    return (expected ^ actual) & ((1 << width) - 1) == 0


def check(document: dict[str, Any]) -> Compared:
    out = Compared()
    for key, row in document["rows"].items():
        name = key.split(" ")[0]
        if row["format"] in ("ds", "flat", "global", "mubuf"):
            for where, text in _atomic_row(key, {**row, "name": name}, document["target"]):
                out.add(key, None if text is None else f"{where}: {text}")
            continue
        define = model.find_for(name, document["target"])
        if define is None or row["fidelity"] == "unsupported":
            continue
        inputs = [[int(v, 16) for v in values] for values in row["inputs"]]
        for run in row["runs"]:
            checks = (
                _scalar_run(name, row, run, inputs, define)
                if row["scalar"]
                else _vector_run(name, row, run, inputs, define)
            )
            for lane, text in checks:
                where = f"{key} mode {run['mode']} exec {run.get('exec', '-')} [{lane}] {row['inputs'][lane]}"
                out.add(key, None if text is None else f"{where}: {text}")
    return out


def _with_literal(name: str, row: dict[str, Any], given: list[int]) -> list[int]:
    """Sources in the operation's order, with the constant where the instruction always has one."""
    if "literal" not in row["flags"]:
        return given
    k = kernels.literal(name)
    return [given[0], k, given[1]] if "mk_" in name else [*given, k]


def _scalar_run(
    name: str, row: dict[str, Any], run: dict[str, Any], inputs: list[list[int]], define: Any
) -> Iterator[tuple[int, str | None]]:
    for lane, (*sources, old) in enumerate(inputs):
        result = define(mode_of(run["mode"]), _with_literal(name, row, sources), old, run["scc"])
        if result is None:
            continue
        actual = int(run["dst"][lane], 16)
        text = None
        if result.dst is not None and not same(row["dst"], result.dst, actual):
            text = f"expected {result.dst:x}, got {actual:x}"
        if result.bit is not None and bool(run["scc_after"][lane]) != result.bit:
            text = f"expected SCC {int(result.bit)}"
        yield lane, text


def _atomic_row(key: str, row: dict[str, Any], target: str) -> Iterator[tuple[str, str | None]]:
    """Cells afterwards and returned registers."""
    name = row["name"]
    kind, given = atomics.element(row), atomics.inputs(row)
    returns = row["form"] == "returns" or "_rtn" in name
    wide, width = kind in kernels.WIDE, "b64" if kind in kernels.WIDE else "b32"
    for run in row["runs"]:
        exec_mask = int(run["exec"], 16)
        for lane, (dst, memory) in enumerate(zip(run["dst"], run["memory"], strict=True)):
            *values, old = given[lane]
            where = f"{key} exec {run['exec']} [{lane}] {[f'{v:x}' for v in given[lane]]}"
            on, actual, returned = exec_mask >> lane & 1, int(memory, 16), int(dst, 16)
            before = atomics.UNTOUCHED
            if row["format"] == "mubuf":  # data and result share their registers
                registers = atomics.packed(row, values)
                before = registers[0] if wide or "cmpswap" in name else registers[0] & 0xFFFFFFFF
            if on and returns:
                text = None if same(width, old, returned) else f"expected {old:x} returned, got {returned:x}"
            else:
                text = (
                    None if same(width, before, returned) else f"the register changed from {before:x} to {returned:x}"
                )
            after = atomic_model.cell_after(name, target, old, values, kind) if on else old
            if after is not None and not same(kind if kind in ("f32", "f64") and on else width, after, actual):
                text = f"expected {'nan' if after == model.NAN else f'{after:x}'} in memory, got {actual:x}"
            yield where, text


def _given(
    row: dict[str, Any], form: forms.Form | None, inputs: list[list[int]], lane: int, exec_mask: int, lanes: int
) -> tuple[list[int], bool]:
    """Sources as the operation gets them, and whether the lane writes at all."""
    sources, writes = inputs[lane][:-1], True
    if form is None:
        return sources, writes
    if form.dpp:
        read, writes = forms.dpp_source(form.dpp, lane, lanes, exec_mask)
        sources = [0 if read is None else inputs[read][0], *sources[1:]]
    sext = not any(kind in forms.FLOAT for kind in row["sources"])
    kinds = row["sources"]
    return [forms.source(form, kinds[i], i, value, sext=sext) for i, value in enumerate(sources)], writes


def _result_text(row: dict[str, Any], form: forms.Form | None, expected: int, old: int, actual: int) -> str | None:
    """None when the destination is what the operation's result makes of it."""
    kind = row["dst"]
    if form is not None:
        expected = forms.result(form, kind, expected)
        if form.sdwa and form.sdwa.dst != "DWORD":
            if expected == model.NAN:
                return None
            bits = expected & (0xFFFF if kind in forms.SHORT else 0xFFFFFFFF)
            expected, kind = forms.placed(form.sdwa, old, bits), "b32"
        elif form.op_sel & 8 and kind in forms.SHORT:
            if (actual ^ old) & 0xFFFF:
                return f"the low half changed from {old & 0xFFFF:x} to {actual & 0xFFFF:x}"
            actual >>= 16
    if same(kind, expected, actual):
        return None
    return f"expected {'nan' if expected == model.NAN else f'{expected:x}'}, got {actual:x}"


def _vector_run(
    name: str, row: dict[str, Any], run: dict[str, Any], inputs: list[list[int]], define: Any
) -> Iterator[tuple[int, str | None]]:
    exec_mask, carry, mask = (int(run[key], 16) for key in ("exec", "carry", "mask"))
    form = forms.BY_NAME.get(row.get("form", ""))
    if "exec-dst" in row["flags"]:
        mask = int(run["exec_after"], 16)
    for lane, dst in enumerate(run["dst"]):
        old = inputs[lane][-1]
        actual = int(dst, 16)
        given, writes = _given(row, form, inputs, lane, exec_mask, len(run["dst"]))
        on = exec_mask >> lane & 1
        if not on or not writes:
            kept = old if row["dst"] != "none" else actual
            bit = not on and "mask-dst" in row["flags"] and mask >> lane & 1
            wide = row["dst"] in kernels.WIDE
            good = same("b64" if wide else "b32", kept, actual) and not bit
            yield lane, None if good else f"the lane is off: expected {old:x} and no mask bit, got {actual:x}"
            continue
        given = _with_literal(name, row, given)
        result = define(mode_of(run["mode"]), given, old, bool(carry >> lane & 1))
        if result is None:
            continue
        text = None if result.dst is None else _result_text(row, form, result.dst, old, actual)
        looks = "mask-dst" in row["flags"] or "carry-out" in row["flags"]
        if result.bit is not None and looks and bool(mask >> lane & 1) != result.bit:
            text = f"expected mask bit {int(result.bit)}"
        yield lane, text


def main() -> int:
    compared = check(json.loads(Path(sys.argv[1]).read_text()))
    print("\n".join(compared.differences))
    print(
        f"{sum(compared.vectors.values())} vectors of {len(compared.vectors)} rows, "
        f"{sum(compared.different.values())} differ"
    )
    return 1 if compared.different else 0


if __name__ == "__main__":
    sys.exit(main())
