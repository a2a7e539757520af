"""Runs every single-instruction kernel on the GPU at hand (real or virtual) and writes one result file.

Usage: conformance.py --rows ROWS.json --target gfx942 --work DIR --out RESULT.json [--env NAME=VALUE]
In a dev image (LLVM's assembler, g++, the HSA runtime). ROWS.json: `kerncap-isa rows`. The result is
    {schema, target, agent, isa, product, runtime, driver, not_assembled: [NAME],
     rows: {"NAME[ FORM]": {form?, format, fidelity, bound?, dst, sources: [TYPE], scalar,
                            inputs: [[SOURCES..., OLD] per lane],
                            runs: [{mode, exec, carry, scc, dst: [per lane], mask, exec_after}]}}}
Numbers are hex texts; of a scalar row `mask` is absent and `scc_after` is a list; an atomic has `memory`, the cell
afterwards, for it. FORM: modifiers (forms.py), or what of an atomic (atomics.py). Called by scripts/hw-conformance.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kernels
import targets
from kernels import INPUT_BYTES, LANES, OUTPUT_BYTES, SLOTS_OUT, Dispatch, Kernel

SCHEMA = "kerncap.hw-conformance/1"
HERE = Path(__file__).resolve().parent


def find_tool(*names: str) -> str:
    for name in names:
        found = subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.strip()
    sys.exit(f"none of {', '.join(names)} is installed")


def assembled(rows: Sequence[dict[str, Any]], target: str, work: Path) -> tuple[list[Kernel], list[str]]:
    """The kernels that the assembler takes, in one code object work/TARGET.hsaco; names of the others."""
    made = kernels.make(rows, target)
    # LLVM 19 and later want v1.l for a 16-bit register of gfx11, earlier ones refuse it.
    other = {k.symbol: k for k in kernels.make(rows, target, halves=True)}
    tried: set[str] = set()
    clang = find_tool("clang-21", "clang-19", "clang-17", "clang")
    rejected: set[str] = set()
    while True:
        kept = [k for k in made if k.symbol not in rejected]
        source = work / f"{target}.s"
        text = kernels.assembly(kept, target)
        source.write_text(text)
        command = [
            clang,
            "-x",
            "assembler",
            "-target",
            "amdgcn-amd-amdhsa",
            f"-mcpu={target}",
            "-mcode-object-version=4",
        ]
        done = subprocess.run(
            [*command, str(source), "-o", str(work / f"{target}.hsaco")], capture_output=True, text=True
        )
        if done.returncode == 0:
            return kept, sorted(k.key for k in made if k.symbol in rejected)
        places = [re.match(r"[^:]+:(\d+):\d+: error:", line) for line in done.stderr.splitlines()]
        bad = _symbols_at(text, [int(place.group(1)) for place in places if place])
        bad |= set(re.findall(r"referenced by \S+:\((k\w+)\)", done.stderr))  # v6.l, taken for a symbol
        if not bad - rejected:
            sys.exit(f"{target}: the assembler fails:\n{done.stderr[-2000:]}")
        rejected |= bad & tried
        made = [other[k.symbol] if k.symbol in bad - tried else k for k in made]
        tried |= bad


def _symbols_at(text: str, numbers: Sequence[int]) -> set[str]:
    symbols: dict[int, str] = {}
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("k") and line.endswith(":"):
            current = line[:-1]
        symbols[number] = current
    return {symbols[n] for n in numbers if symbols.get(n)}


def pack_inputs(dispatch: Dispatch, sources: int) -> bytes:
    """Slots of 64 dwords: low and high half of each source, then of the old destination."""
    slots = [[0] * LANES for _ in range(kernels.SLOTS_IN)]
    for lane, values in enumerate(dispatch.inputs):
        *given, old = values
        for i, value in enumerate([*given[:sources], *[0] * (3 - sources), old]):
            slots[2 * i][lane] = value & 0xFFFFFFFF
            slots[2 * i + 1][lane] = value >> 32
    return b"".join(struct.pack(f"<{LANES}I", *slot) for slot in slots)


def execute(
    kept: Sequence[Kernel], target: str, work: Path, environment: dict[str, str]
) -> tuple[dict[str, str], dict[str, list[bytes]]]:
    """What the runner says of the GPU, and a block of output a dispatch for each kernel."""
    runner = work / "hw_conformance"
    if not runner.exists():
        command = [
            "g++",
            "-std=c++20",
            "-O1",
            "-I/opt/rocm/include",
            "-L/opt/rocm/lib",
            str(HERE / "hw_conformance.cpp"),
        ]
        subprocess.run([*command, "-o", str(runner), "-lhsa-runtime64"], check=True)
    plan, blocks = [], []
    for k in kept:
        for d in k.dispatches:
            if not blocks or d.inputs is not k.dispatches[0].inputs or d is k.dispatches[0]:
                blocks.append(pack_inputs(d, len(k.kinds)))
            plan.append(
                f"{k.symbol} {len(blocks) - 1:x} {d.exec_mask:x} {d.carry:x} {kernels.MODES[d.mode]:x} {int(d.scc)}"
                f" {int(k.device_memory)}"
            )
    files = {name: work / f"{target}.{name}" for name in ("plan", "inputs", "outputs")}
    files["plan"].write_text("\n".join(plan) + "\n")
    files["inputs"].write_bytes(b"".join(blocks))
    lanes = targets.lanes(target)
    argv = [runner, work / f"{target}.hsaco", *files.values(), str(lanes), str(INPUT_BYTES), str(OUTPUT_BYTES)]
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-4:])
        stuck = next((k.row["name"] for k in kept if f"{k.symbol} " in last), "?")
        sys.exit(f"{target}: the run ended with {done.returncode} at {stuck}:\n{last}")
    about = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    outputs = files["outputs"].read_bytes()
    results: dict[str, list[bytes]] = {}
    position = 0
    for k in kept:
        for _ in k.dispatches:
            results.setdefault(k.symbol, []).append(outputs[position : position + OUTPUT_BYTES])
            position += OUTPUT_BYTES
    return about, results


def _hex(values: Sequence[int]) -> list[str]:
    return [f"{v:x}" for v in values]


def run_json(kernel: Kernel, dispatch: Dispatch, block: bytes, lanes: int) -> dict[str, Any]:
    words = struct.unpack(f"<{len(block) // 4}I", block)
    slots = [words[i * LANES : (i + 1) * LANES] for i in range(SLOTS_OUT)]
    wide = kernel.row["dst"] in kernels.WIDE
    run: dict[str, Any] = {"mode": dispatch.mode, "scc": dispatch.scc}
    count = LANES if kernel.scalar else lanes
    run["dst"] = _hex([slots[0][i] | (slots[1][i] << 32 if wide else 0) for i in range(count)])
    if kernel.scalar:
        run["scc_after"] = list(slots[2])
        return run
    tail = words[SLOTS_OUT * LANES :]
    keep = (1 << lanes) - 1
    if kernel.device_memory:
        cells = [words[2 * LANES + 2 * i] | words[2 * LANES + 2 * i + 1] << 32 for i in range(count)]
        returned = [slots[0][i] | slots[1][i] << 32 for i in range(count)]
        run |= {"exec": f"{dispatch.exec_mask & ((1 << lanes) - 1):x}", "dst": _hex(returned), "memory": _hex(cells)}
        return run
    run |= {"exec": f"{dispatch.exec_mask & keep:x}", "carry": f"{dispatch.carry & keep:x}"}
    run |= {"mask": f"{(tail[0] | tail[1] << 32) & keep:x}", "exec_after": f"{(tail[2] | tail[3] << 32) & keep:x}"}
    return run


def document(rows: Sequence[dict[str, Any]], target: str, work: Path, environment: dict[str, str]) -> dict[str, Any]:
    lanes = targets.lanes(target)
    kept, rejected = assembled(rows, target, work)
    about, results = execute(kept, target, work, environment)
    out: dict[str, Any] = {"schema": SCHEMA, "target": target, **about, "not_assembled": rejected, "rows": {}}
    for k in kept:
        entry = {key: k.row[key] for key in ("format", "fidelity", "bound", "dst", "src", "flags") if key in k.row}
        entry |= {"sources": list(k.kinds), "scalar": k.scalar, "inputs": [_hex(v) for v in k.dispatches[0].inputs]}
        if k.form:
            entry["form"] = k.form
        entry["runs"] = [run_json(k, d, b, lanes) for d, b in zip(k.dispatches, results[k.symbol], strict=True)]
        out["rows"][k.key] = entry
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name in ("rows", "target", "work", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--env", action="append", default=[], help="NAME=VALUE for the process that uses the GPU alone")
    options = parser.parse_args()
    rows = json.loads(Path(options.rows).read_text())["targets"].get(options.target)
    if rows is None:
        sys.exit(f"the instruction tables have no {options.target}")
    work = Path(options.work)
    work.mkdir(parents=True, exist_ok=True)
    result = document(rows, options.target, work, dict(pair.split("=", 1) for pair in options.env))
    if result.get("agent", options.target) != options.target:
        sys.exit(f"the GPU is a {result['agent']}, not a {options.target}")
    partial = Path(options.out + ".partial")
    partial.write_text(json.dumps(result))
    partial.rename(options.out)
    print(f"{options.out}: {len(result['rows'])} instructions on {result.get('product')} ({result.get('agent')})")


if __name__ == "__main__":
    main()
