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

import kernels
import model
import softfloat as sf


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
    for name, row in document["rows"].items():
        define = model.find(name)
        if define is None or row["fidelity"] == "unsupported":
            continue
        inputs = [[int(v, 16) for v in values] for values in row["inputs"]]
        for run in row["runs"]:
            checks = (
                _scalar_run(row, run, inputs, define) if row["scalar"] else _vector_run(name, row, run, inputs, define)
            )
            for lane, text in checks:
                where = f"{name} mode {run['mode']} exec {run.get('exec', '-')} [{lane}] {row['inputs'][lane]}"
                out.add(name, None if text is None else f"{where}: {text}")
    return out


def _scalar_run(
    row: dict[str, Any], run: dict[str, Any], inputs: list[list[int]], define: Any
) -> Iterator[tuple[int, str | None]]:
    for lane, (*sources, old) in enumerate(inputs):
        result = define(mode_of(run["mode"]), sources, old, run["scc"])
        if result is None:
            continue
        actual = int(run["dst"][lane], 16)
        text = None
        if result.dst is not None and not same(row["dst"], result.dst, actual):
            text = f"expected {result.dst:x}, got {actual:x}"
        if result.bit is not None and bool(run["scc_after"][lane]) != result.bit:
            text = f"expected SCC {int(result.bit)}"
        yield lane, text


def _vector_run(
    name: str, row: dict[str, Any], run: dict[str, Any], inputs: list[list[int]], define: Any
) -> Iterator[tuple[int, str | None]]:
    exec_mask, carry, mask = (int(run[key], 16) for key in ("exec", "carry", "mask"))
    if "exec-dst" in row["flags"]:
        mask = int(run["exec_after"], 16)
    for lane, dst in enumerate(run["dst"]):
        *sources, old = inputs[lane]
        actual = int(dst, 16)
        if not exec_mask >> lane & 1:
            kept = old if row["dst"] != "none" else actual
            bit = "mask-dst" in row["flags"] and mask >> lane & 1
            wide = row["dst"] in kernels.WIDE
            good = same("b64" if wide else "b32", kept, actual) and not bit
            yield lane, None if good else f"the lane is off: expected {old:x} and no mask bit, got {actual:x}"
            continue
        given = [*sources]
        if "literal" in row["flags"]:
            k = kernels.LITERAL if "16" not in name else 0x3E48
            given = [sources[0], k, sources[1]] if "mk_" in name else [*sources, k]
        result = define(mode_of(run["mode"]), given, old, bool(carry >> lane & 1))
        if result is None:
            continue
        text = None
        if result.dst is not None and not same(row["dst"], result.dst, actual):
            text = f"expected {'nan' if result.dst == model.NAN else f'{result.dst:x}'}, got {actual:x}"
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
